// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

/// Forward mode of one application: the primitive's jvp or jvp_call rule under `b` (JAX's JVPTrace.process_primitive). With all tangents
/// zero the equation itself is emitted. Throws Error{NoRule} in JAX's words when there is no rule.
PrimalsTangents jvp_eqn(Builder& b, const Op& op, EffectSet effects, const Values& x, const Values& dx);

struct JvpJaxpr {
    JaxprPtr jaxpr;  ///< inputs: primals, then the nonzero tangents; outputs: primals, then the nonzero tangents
    std::vector<bool> nonzero_out;
    std::vector<bool> zeros;  ///< per output: is its tangent zero whatever the inputs are, though an array of zeros may stand for it?
};
/// JAX's ad.jvp_jaxpr. `instantiate`: outputs whose tangent is wanted as an array even where it is zero. Cached by the jaxpr's
/// identity, so that a shared sub-jaxpr stays shared. Constvars with values keep them.
/// Throws Error{NoRule} with the equation in its context.
const JvpJaxpr& jvp_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, const std::vector<bool>& instantiate);
const JvpJaxpr& jvp_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, bool instantiate = false);
/// jax.jvp of a whole function: all tangents are instantiated, and what it makes stands in the name stack "jvp(...)".
/// `num_outputs`: the first so many results are differentiated; of the rest, aux, no tangents come out.
JvpJaxpr jvp(const JaxprPtr& j, const std::vector<bool>& nonzero_in, std::size_t num_outputs = SIZE_MAX);

}  // namespace jaxscope
