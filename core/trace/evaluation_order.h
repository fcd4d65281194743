// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope::jax::detail {

/// In which order the equations of a trace stand in its jaxpr. C++ leaves open which operand of `f(x) * g(y)` is evaluated first (g++ takes
/// the last, clang the first); Python takes the first. Equations are recorded as they come; `arrange` says that some have to stand
/// elsewhere, and `applied` puts them there. Positions count equations from 0.
class EvaluationOrder {
public:
    /// Equations from `begin` up to `end`: what one operand's evaluation made.
    struct Part {
        std::uint32_t begin = 0, end = 0;
    };
    /// `parts` as they were evaluated, one behind the other, and for each which operand it is. They are put in the operands' order, unless
    /// one reads what another made: those were no independent operands, and stay.
    void arrange(const ::jaxscope::Jaxpr& recorded, std::vector<Part> parts, const std::vector<std::size_t>& operand);
    /// The jaxpr with its equations in that order, its variables numbered anew, its constvars in the order in which they are read first;
    /// itself where nothing was arranged.
    JaxprPtr applied(const JaxprPtr& recorded) const;

private:
    void extend(std::size_t count);
    /// Where what belongs to the first part alone begins: what others read was a named value of the same line, made before all of them.
    std::uint32_t behind_shared(const ::jaxscope::Jaxpr& recorded, const std::vector<Part>& parts) const;
    std::vector<std::uint32_t> order_;  ///< of the first so many positions, which equation stands there; the others as recorded
};

}  // namespace jaxscope::jax::detail
