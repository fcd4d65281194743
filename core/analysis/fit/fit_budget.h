// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `analysis/fit`: what to save so that a step fits a budget of memory. Comes in: an Inspection and a size. Goes out: the cheapest
// choice that was found, derived and planned. Never here: sentences for people.
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/inspection.h"
#include "analysis/naming/candidates.h"
#include "analysis/naming/placements.h"

namespace jaxscope {

/// What one choice costs, derived and planned.
struct FitFigures {
    std::int64_t planned_peak = 0, residual_bytes = 0;
    double recomputed_flops = 0, total_flops = 0;
    bool fits(std::int64_t budget) const { return planned_peak <= budget; }
};

/// How a step comes to fit a budget of memory.
struct BudgetFit {
    std::int64_t budget = 0;
    StepName of;                ///< what all peaks are of
    std::optional<int> region;  ///< of several differentiations the one that `placement` stands in
    bool fits = false;
    bool as_it_is = false;  ///< it fits without any change; `placement` is then of what fits and recomputes less, if there is such
    FitFigures before;      ///< the program as it is
    FitFigures found;       ///< under the choice; where nothing fits, of the choice that needs least
    std::optional<Placement> placement;  ///< without its jaxpr
    std::vector<SaveCandidate> saved;    ///< empty: nothing is saved
    std::string policy;                  ///< as on the command line
    std::int64_t tried = 0;              ///< choices that were derived and planned
    double equations = 0;                ///< of the programs that `fit_budget` derived, together
    bool out_of_time = false;            ///< the clock ended it: a faster machine may find more
    bool exhaustive = false;             ///< all subsets of the candidates were
    std::vector<std::string> problems;   ///< placements that could not be had, and why
};

/// When a search ends, whichever comes first: by the clock, or by what it has derived and planned, which is the same on every machine.
struct SearchLimit {
    double seconds = 8;
    double equations = std::numeric_limits<double>::infinity();
    SearchLimit over(std::size_t searches) const {
        return {seconds / static_cast<double>(searches), equations / static_cast<double>(searches)};
    }
};

/// The choice of values to save that recomputes least among those whose planned peak is at most `budget`: for each way to lay checkpoints
/// (placements.h) subsets of its candidates (candidates.h); all of them where that ends within `limit`, else greedily, best gain for its
/// bytes first, then by exchanges. Values whose saving spares less than 0.2 % of the work are left out in the end. Every figure comes from
/// deriving and planning the step. Throws  what planning the program as it is throws; Error{Cancelled}.
BudgetFit fit_budget(const Inspection& inspection, std::int64_t budget, const SearchLimit& limit = {});
/// The best of that for each differentiation in the step, one at a time, where the choices leave open which; together within `limit`.
BudgetFit fit_budget_anywhere(const Inspection& inspection, std::int64_t budget, const SearchLimit& limit = {});

/// The choices that differ in where a policy would stand: of each_region (stages/subject.h) one for each line of the user's.
std::vector<Choices> places_for_policies(const Program& program, const Choices& choices);

}  // namespace jaxscope
