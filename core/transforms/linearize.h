// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"
#include "transforms/split_builder.h"

namespace jaxscope {

/// The linearization of a jaxpr inside another one (JAX's ad.linearize_jaxpr).
struct LinearizedJaxpr {
    JaxprPtr primal;   ///< inputs as the original's; outputs: the original's, then `num_residuals_out` residuals
    JaxprPtr tangent;  ///< inputs: all residuals, then the nonzero tangents; outputs: the nonzero output tangents
    std::vector<bool> nonzero_out;
    std::vector<int> residual_forward;  ///< per residual of `tangent`: which of (constants, inputs) of the original it is, or -1: the next
                                        ///< residual output of `primal`
    int num_residuals_out = 0;
};
/// `nonzero_in` per input: has it a tangent? `instantiate` per output: an array even where the tangent is zero. `allow_forward` per
/// constant and input: may a residual be that one itself (scan forbids it for what changes from step to step)? Dead code of the primal half
/// is dropped. Cached by identity: a sub-jaxpr used ten times is linearized once. Throws Error{NoRule | NotDifferentiable}, context
/// "linearizing eqn 7: ...".
const LinearizedJaxpr& linearize_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, const std::vector<bool>& instantiate,
                                       const std::vector<bool>& allow_forward);
const LinearizedJaxpr& linearize_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, bool instantiate = false);

/// One equation under the split builder: JAX's LinearizeTrace.process_primitive. `dx` are unknown values or zeros.
PrimalsTangents linearize_eqn(SplitBuilder& b, const Op& op, EffectSet effects, const Values& x, const Values& dx);

/// A jaxpr's equations, linearized under `b` (constvars as constants). Tangents that come out known are zero, as in JAX.
PrimalsTangents linearize_into(SplitBuilder& b, const Jaxpr& j, const Values& x, const Values& dx);

/// After a jvp rule was run under the split builder: a tangent that is known is zero (JAX's linearize_from_jvp). Throws
/// Error{NotDifferentiable} where an output's primal isn't known.
void settle_linearized(PrimalsTangents& out, const Op& op);

}  // namespace jaxscope
