// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/choices.h"
#include "analysis/correspondence.h"

namespace jaxscope {

/// What is known of a picked thing: facts alone, for whoever words them (report/explain_text.h). Pointers are into the program and the
/// stages that were given; what doesn't apply is null.
struct PickedFacts {
    /// What became of an equation's value.
    enum class Part : std::uint8_t {
        Unknown,     ///< there is no split to say so
        Recomputed,  ///< in the backward pass
        Forward,     ///< needed by nothing behind it
        Backward,
        Outside,         ///< of the differentiated function
        Around,          ///< holds the differentiated function
        BackwardBefore,  ///< of a backward pass that the program was captured with
    };
    bool is_argument = false;
    std::optional<std::uint32_t> input;  ///< of the program
    const Eqn* first_reader = nullptr;   ///< of the argument
    const Jaxpr* jaxpr = nullptr;        ///< in which the equation stands, whichever of the picked ones it is found in
    const Eqn* eqn = nullptr;            ///< of a pick that is no argument
    std::optional<std::int64_t> bytes;   ///< of the equation's results, where a number holds it
    std::optional<double> flops;         ///< where its cost is known
    Part part = Part::Unknown;           ///< of the equation
    PolicyPtr policy;                    ///< that decided; null: the checkpoint's own
    const ResidualRow* residual = nullptr;
    const DonatedLeaf* donated = nullptr;
    bool residual_is_inside = false;  ///< of the equation, a call: none of its results is the residual
    const PlannedBuffer* buffer = nullptr;
    const MemoryPlan* buffer_plan = nullptr;  ///< of the buffer: the whole program's, or that of a loop's iteration
    bool at_peak = false;                     ///< the buffer
};

PickedFacts facts_of(const Program& program, const Picked& picked, const KnownStages& stages, const Choices& choices);

}  // namespace jaxscope
