// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `jit/run`: running. Comes in: a planned computation with its code. Goes out: results, times, and what was resident. Never
// here: decisions about memory; measured figures must not read the plan's.
#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// Gives the constants of a computation and its bodies their bytes.
void fill_pool(Computation& c);

}  // namespace jaxscope::exec
