// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// A longest chain of nodes that wait for each other: of a network the way of the data through all layers and back. Where a node stands
/// beside it answers most questions of the kind 'does y wait for x' at once: x is before a node of the chain that y is behind.
class LongestChain {
public:
    explicit LongestChain(const Graph& g);
    /// The first node of the chain that waits for node `i`, or is it; the chain's length: none.
    std::uint32_t first_behind(std::uint32_t i) const { return behind_[i]; }
    /// One more than the place of the last node of the chain that node `i` waits for, or is; 0: none.
    std::uint32_t end_before(std::uint32_t i) const { return before_[i]; }

private:
    std::vector<std::uint32_t> behind_, before_;
};

}  // namespace jaxscope::exec
