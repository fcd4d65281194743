// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "jit/plan/loops.h"
#include "jit/plan/options.h"

namespace jaxscope::exec {

/// A unit with the call or body that runs it: what doesn't depend on the order.
struct Step {
    Thunk thunk;
    std::vector<ValueId> reads, writes;  ///< roots
    std::int64_t scratch = 0;
    bool barrier = false;  ///< nothing to run
};

/// One step a unit. Throws Error{NoRule} for what has no implementation.
std::vector<Step> make_steps(const Graph& g, const std::vector<Unit>& units, const ComputationOptions& options, const PlanBody& plan_body);

}  // namespace jaxscope::exec
