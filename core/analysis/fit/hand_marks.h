// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "analysis/fit/fit_budget.h"
#include "analysis/inspection.h"
#include "analysis/picked_facts.h"

namespace jaxscope {

enum class HandVerdict : std::uint8_t { Save, Offload, Recompute };

/// How a mark names the value of an equation.
HandMark mark_of(const Jaxpr& jaxpr, const Eqn& eqn);
/// What is saved under an inspection's choices, as marks: of all residuals those that a name in Python can be given to.
std::vector<HandMark> marks_of(const Inspection& now);
/// What a mark is about: one line of Python may make many values, and a name in it is given to all of them.
struct MarkReach {
    std::int64_t values = 0, bytes = 0;
};
MarkReach reach_of(const Inspection& now, const HandMark& value);
/// The choices of `now` with one value marked otherwise: what is saved now is marked first, where nothing was marked by hand yet.
/// Throws Error{NotFound} where Python can't name the value (what stands inside a library's function, an integer, a number).
Choices marked(const Inspection& now, const HandMark& value, HandVerdict verdict);

/// The choices that a search for a budget ended with: `plain` where the program fits as it is.
Choices fitted(const Choices& plain, const BudgetFit& fit);

}  // namespace jaxscope
