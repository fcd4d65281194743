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
///   deep    early or late, and what was begun is ended before something else begins: two losses whose programs alternate, each with its
///           gradient behind it
///
/// `alias`     per output of the graph: the input whose memory it should take.
/// `whole`     a program, whose outputs count; else (a loop's body) only temporaries count.
/// `thorough`  all of them; else those that come nearest to what XLA's TPU compiler finds, which doesn't look for the best one either.
/// Costs O(n log n) in units and their operands. Empty when there is nothing to choose.
std::vector<Order> low_memory_orders(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias,
                                     bool whole, bool thorough);

}  // namespace jaxscope::exec
