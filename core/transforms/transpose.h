// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"

namespace jaxscope {

/// Reverse mode of a jaxpr that is linear in some inputs (JAX's backward_pass3): equations that don't depend on them are
/// evaluated into `b` first, then the linear ones are transposed from the last to the first.
///
/// `x`   per input a known value, or `Value::linear()` where the cotangent is wanted.
/// `ct`  per output a cotangent, or zero.
/// Returns per input its cotangent, or zero (also for the known ones). Sums are add_any equations, in JAX's order.
/// Throws Error{NoRule}, context "transposing eqn 7: ...".
/// `sums` per input, or empty: what cotangents are added to (scan carries the sums of its constants' along).
/// `outermost`: the user's own gradient, whose transposed equations stand in "transpose(...)"; bodies of calls don't repeat it.
Values backward_pass(JaxprBuilder& b, const Jaxpr& j, const Values& x, const Values& ct, const Values& sums = {}, bool outermost = false);

/// A linear call transposed as a call (JAX's _transpose_jaxpr_fancy).
struct TransposedJaxpr {
    JaxprPtr jaxpr;                ///< inputs: the nonlinear ones, then the nonzero cotangents; outputs: the nonzero input cotangents
    std::vector<bool> nonzero_in;  ///< per input of the original: is its cotangent among the outputs?
};
/// Cached by identity. `instantiate` per input, or empty: a linear input's cotangent is an output even where it is zero (cond).
const TransposedJaxpr& transpose_jaxpr(const JaxprPtr& j, const std::vector<bool>& linear_in, const std::vector<bool>& nonzero_ct,
                                       const std::vector<bool>& instantiate = {});
/// What remat2 and scan use (JAX's ad_checkpoint.transpose_jaxpr): nonlinear work is split off by partial evaluation first.
const TransposedJaxpr& transpose_rematted_jaxpr(const JaxprPtr& j, const std::vector<bool>& linear_in, const std::vector<bool>& nonzero_ct);

}  // namespace jaxscope
