// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "jit/graph/unit.h"

namespace jaxscope::exec {

/// Which unit runs when: positions are numbers of units.
using Order = std::vector<std::uint32_t>;

/// Program order, but that a unit which can write its result over an operand (`overwrites`: unit and value) waits for the operand's other
/// readers where these could have run before it: then nothing is copied. What they make isn't larger than the copy.
Order program_order(const Graph& g, const std::vector<Unit>& units, const std::function<bool(std::uint32_t, ValueId)>& overwrites);

/// Orders of `units` (given in program order) that may need less memory than program order. All respect `after`, and a unit that reads
/// an input whose memory an output takes stays in front of the unit that makes this output, if it was.
///
///   early   what gives back at least as much memory as it takes runs as soon as it can: Adam's update of a leaf right behind its gradient
///   late    what takes memory waits until somebody needs it (the same rule from the last unit to the first)
///   both    late, then early
///   deep    early or late, and what was begun is ended before something else begins: two losses whose programs alternate, each with its
///           gradient behind it
///
/// `alias`  per output of the graph: the input whose memory it should take.
/// `whole`  a program, whose outputs count; else (a loop's body) only temporaries count.
/// Costs O(n log n) in units and their operands. Empty when there is nothing to choose.
std::vector<Order> low_memory_orders(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias,
                                     bool whole);

/// Orders that XLA's TPU compiler may come to; it takes the best of a few simple ones, too.
///
///   list  next is what gives back most memory, less what it takes; of what is equal in this that which could run latest, and of what could
///         run at the same time the first of the program (XLA takes the last one that its list got, behind splits and copies that turn
///         their order round)
///   deep  as above
///
/// `bytes` per value, where it stands in the device's memory.
std::vector<Order> compiler_orders(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias, bool whole,
                                   const std::vector<std::int64_t>& bytes);

}  // namespace jaxscope::exec
