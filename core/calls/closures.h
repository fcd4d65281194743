// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "calls/call_params.h"

namespace jaxscope {

/// Bodies whose closed-over inputs, which lead, were asked for their primals: what `reclose` rules are made of.
struct PrimalReads {
    std::vector<JaxprPtr> bodies;       ///< none: nothing in them stops a gradient of what is closed over
    std::vector<ClosedOperand> inputs;  ///< their leading ones, by those of the bodies that were given
    const JaxprPtr& body() const { return bodies.front(); }
    bool empty() const { return bodies.empty(); }
};
/// The `count` leading inputs of `j` are closed over, and have a tangent where `tangent` says so.
PrimalReads read_primals(const JaxprPtr& j, std::size_t count, const std::vector<bool>& tangent);
/// Bodies that take the same inputs, which JAX traces in this order.
PrimalReads read_primals(const std::vector<JaxprPtr>& bodies, const std::vector<std::size_t>& order, std::size_t count,
                         const std::vector<bool>& tangent);

/// How many leading inputs JAX gave no name, as it does for what a function closes over; 0 where names aren't known.
std::size_t count_unnamed(const Jaxpr& j);

/// `closed`, then the operands from `first` up to `end` as they are.
std::vector<ClosedOperand> with_rest(std::vector<ClosedOperand> closed, std::size_t first, std::size_t end);
/// What parameters with an entry for each operand follow: primals are new operands.
Picks picks_of(const std::vector<ClosedOperand>& operands);

}  // namespace jaxscope
