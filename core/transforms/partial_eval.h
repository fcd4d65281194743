// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"
#include "transforms/policies.h"

namespace jaxscope {

/// A jaxpr split by what is known (JAX's partial_eval_jaxpr_nounits_fwd).
struct PartialEvalJaxpr {
    JaxprPtr known;    ///< inputs: the known ones; outputs: the known ones, then `num_residuals_out` residuals
    JaxprPtr unknown;  ///< inputs: all residuals, then the unknown inputs; outputs: the unknown ones
    std::vector<bool> unknown_out;
    std::vector<int> forwards;  ///< per residual of `unknown`: which of (constants, known inputs) it is, or -1: the next residual output
    int num_residuals_out = 0;
};
/// `instantiate` per output: staged as unknown even where it is known. `allow_forward` per constant and input: may a residual be that one
/// itself (scan forbids it for what changes from step to step)? Otherwise it is an output of `known`. Cached by identity.
const PartialEvalJaxpr& partial_eval_jaxpr(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& instantiate,
                                           const std::vector<bool>& allow_forward);
/// The same with `forward` for all constants and inputs.
const PartialEvalJaxpr& partial_eval_jaxpr(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& instantiate,
                                           bool forward);
const PartialEvalJaxpr& partial_eval_jaxpr(const JaxprPtr& j, const std::vector<bool>& unknown_in, bool instantiate, bool forward);

/// A jaxpr split under a policy (JAX's partial_eval_jaxpr_custom): what the known half saves is a residual, everything else the staged half
/// computes again from its inputs.
struct CustomPartialEval {
    JaxprPtr known;   ///< inputs: the known ones; outputs: the known ones, then the residuals
    JaxprPtr staged;  ///< inputs: the residuals, then the instantiated inputs; outputs: the instantiated ones
    std::vector<bool> unknown_out, inst_out;
    int num_residuals = 0;
};
/// Constvars count as known and instantiated: both halves keep them. Cached by the identities of jaxpr and policy; linear in the equations.
CustomPartialEval partial_eval_jaxpr_custom(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& inst_in,
                                            const std::vector<bool>& ensure_out_unknown, const std::vector<bool>& ensure_out_inst,
                                            const PolicyQuery& policy);
CustomPartialEval partial_eval_jaxpr_custom(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& inst_in,
                                            bool ensure_out_unknown, bool ensure_out_inst, const PolicyQuery& policy);

/// Inputs that the staged half doesn't have: JAX makes them residuals whether the body reads them or not.
std::vector<std::size_t> not_instantiated(const PartialEvalCustomArgs& args);

/// Inputs and results of the original equation, those that `which` marks with `wanted`.
std::vector<HalfInput> originals_where(const std::vector<bool>& which, bool wanted = true);
std::vector<HalfOutput> results_where(const std::vector<bool>& which, bool wanted = true);
/// The residuals from `begin` up to `end`, as inputs or as outputs of a half.
template <class Half>
std::vector<Half> residuals_between(std::size_t begin, std::size_t end) {
    std::vector<Half> out;
    for (std::size_t k = begin; k < end; ++k) out.push_back(Half::residual(k));
    return out;
}

/// The rule of call-like equations under a policy (JAX's closed_call_partial_eval_custom_rule): `param` names the jaxpr's parameter.
/// Residuals of the body that are known inputs or undropped known outputs of it are not computed twice. `update` gives the parameters of
/// the two halves, from the equation's with the jaxpr replaced: (params, inputs kept, outputs kept, new outputs / new inputs in front).
struct CallHalves {
    PartialEvalCustomResult result;
    std::vector<bool> known_in, known_out, staged_in, staged_out;
    int new_known_outputs = 0;  ///< residual outputs behind the known call's
    int new_staged_inputs = 0;  ///< residual inputs in front of the staged call's
};
CallHalves closed_call_partial_eval_custom(const PartialEvalCustomArgs& args, const char* param, const std::vector<bool>& no_input_forward);
/// The same of JAX's call_partial_eval_custom_rule (remat2, call): no forwarding.
CallHalves call_partial_eval_custom(const PartialEvalCustomArgs& args, const char* param);

}  // namespace jaxscope
