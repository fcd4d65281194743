// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that hold a pmap, run as others are: what jit and single operations compile. In: a jaxpr. Out: an Executable. Never here: how a
// program is cut.
#include "jit/jit.h"

namespace jaxscope::jax::detail {

/// Executable::compile_in_place; over the virtual devices where the jaxpr holds a shard_map.
std::shared_ptr<Executable> compile_here(const JaxprPtr& program, const Aliases& aliases = {}, const std::vector<bool>& kept = {},
                                         const ::jaxscope::JitOptions& options = {});
/// The plan of the same: of one device.
MemoryPlan plan_here(const JaxprPtr& program, const Aliases& aliases = {}, const std::vector<bool>& kept = {});

}  // namespace jaxscope::jax::detail
