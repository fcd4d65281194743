// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/graph/unit.h"

namespace jaxscope::exec {

/// Which unit runs when: positions are numbers of units.
using Order = std::vector<std::uint32_t>;

/// Orders of `units` (given in program order) that may need less memory than program order. All respect `after`, and a unit that reads
/// an input whose memory an output takes stays in front of the unit that makes this output, if it was.
///
///   early   what gives back at least as much memory as it takes runs as soon as it can: Adam's update of a leaf right behind its gradient
///   late    what takes memory waits until somebody needs it (the same rule from the last unit to the first)
///   both    late, then early
///
/// `alias`     per output of the graph: the input whose memory it should take.
/// `whole`     a program, whose outputs count; else (a loop's body) only temporaries count.
/// Costs O(n log n) in units and their operands. Empty when there is nothing to choose.
std::vector<Order> low_memory_orders(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias,
                                     bool whole);

}  // namespace jaxscope::exec
