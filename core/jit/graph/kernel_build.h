// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "jit/graph/unit.h"

namespace jaxscope::exec {

/// What the grouping knows of one group when its kernel is put together.
struct KernelParts {
    const Graph& graph;
    const Dims& domain;    ///< full shape without 1s
    bool split, column;    ///< has row or column reductions
    std::size_t row_dims;  ///< with `split`: how many leading dimensions make a row's number; more than there are: none do
    Reduction reduction;
    const std::vector<bool>& row_level;                     ///< per node
    const std::vector<bool>& needed;                        ///< per root: somebody reads it from memory
    std::function<std::uint32_t(ValueId)> direct_producer;  ///< node behind a value, ~0 when it has to be loaded
    std::function<bool(std::uint32_t)> on_demand;           ///< node is computed again by each consumer
};

/// Fills in `u.kernel`, `u.reads` and `u.writes` of a unit whose nodes are known.
void build_kernel_for(Unit& u, const KernelParts& parts);

}  // namespace jaxscope::exec
