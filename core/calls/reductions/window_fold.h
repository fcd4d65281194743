// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/builder.h"
#include "lax/params/windows.h"

namespace jaxscope {

/// Folds the elements of each window into the initial values, one after the other in row-major order, as XLA's CPU compiler does: right for
/// any function, associative or not, and for any initial value, which counts once a window. Padding and the holes of a dilation don't
/// count. `function`: scalars (accumulators, elements) -> accumulators; operands are of one shape. What it emits is one scan over the
/// positions of a window.
Values fold_windows(JaxprBuilder& b, const JaxprPtr& function, Values operands, const Values& inits, const ReduceWindowParams& windows);

/// The function on arrays of `shape`, one vmap per dimension.
JaxprPtr on_arrays(JaxprPtr function, const Dims& shape);

}  // namespace jaxscope
