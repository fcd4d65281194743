// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "picture/graph_model.h"

namespace jaxscope {

/// Where a value is made or read in what is open of a picture.
struct InnerEnd {
    std::uint32_t node = VisibleGraph::kNone;
    std::int64_t times = 1;  ///< steps of the loops that it lies in, each of which makes or reads a part of it
};

/// The innermost visible node that makes result `result` of equation `eqn` of the root: through open calls and bodies of scans, where a
/// stacked result is made part by part.
InnerEnd made_at(const GraphModel& model, const VisibleGraph& graph, std::uint32_t eqn, std::uint32_t result);
/// The innermost visible nodes that read the variable `var` of the root in its equation `eqn`, each once.
std::vector<InnerEnd> read_at(const GraphModel& model, const VisibleGraph& graph, std::uint32_t eqn, Var var);

}  // namespace jaxscope
