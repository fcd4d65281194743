// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "jit/jit.h"
#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// What people see of a computation's memory. `pairs`: per output the donated input JAX pairs it with.
MemoryPlan report_plan(const Computation& c, const std::vector<std::optional<int>>& pairs);

}  // namespace jaxscope::exec
