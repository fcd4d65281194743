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

/// What a function of two scalars does where that is one operation whose terms may come in any order: extrema, sums of integers and of
/// floats that aren't narrow.
struct PlainReduction {
    const Primitive &combine, &reduce, &windows;
};
/// Null for other functions.
const PlainReduction* plain_reduction(const Jaxpr& function);

/// The function on arrays of `shape`, one vmap per dimension.
JaxprPtr on_arrays(JaxprPtr function, const Dims& shape);

}  // namespace jaxscope
