// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/jaxpr.h"

namespace jaxscope {

/// The jaxpr as people would rather read it: jit, closed_call and core_call inlined, equal equations merged, conversions and reshapes to
/// what a value is already left out, dead code dropped; in the bodies of scan, while, cond and checkpoint too. It computes the same and
/// has the same derivatives: custom rules, checkpoints, optimization barriers and whatever has effects stay as they are.
/// Throws Error{LimitExceeded} where inlining gives more than ten million equations.
JaxprPtr simplify(const JaxprPtr& j);

}  // namespace jaxscope
