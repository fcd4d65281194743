// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which axes of a call's arguments are mapped: what vmap and pmap share.
#include <optional>

#include <jaxscope/tree.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax::detail {

AxisTree as_tree(const Axis& a);
/// One per leaf; members of a struct may be given in order or by name. None: it is no prefix of the tree.
std::optional<std::vector<Axis>> spread_axes(const Axis& axes, const PyTreeDef& tree);
/// Where each leaf has the mapped axis (kNotMapped: nowhere), and the axis' size. Throws in vmap's words.
std::int64_t mapped_size(const Call& call, const std::vector<Axis>& axes, const VmapOptions& options, std::vector<int>& dims);

}  // namespace jaxscope::jax::detail
