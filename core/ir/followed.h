// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/jaxpr.h"

namespace jaxscope {

/// Sixty jaxprs that each call the next twice are a small file and 2^59 equations to whoever follows every call. What follows calls
/// asks here first: a program may grow to `kMaxFollowedEqns`, or to 8 times the equations that are there.
/// Throws   Error{CannotRun} that says how many they would be.
/// Cost     linear in the equations of distinct jaxprs.
void refuse_runaway(const Jaxpr& j);

}  // namespace jaxscope
