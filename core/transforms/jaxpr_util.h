// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

/// The constvars as leading inputs (JAX's convert_constvars_jaxpr); `j` itself when there are none. Their values are the caller's.
JaxprPtr convert_constvars(const JaxprPtr& j);

/// The same jaxpr with some outputs only (JAX's prune_jaxpr_outputs): no equation is removed.
JaxprPtr prune_outputs(const JaxprPtr& j, const std::vector<bool>& keep);

/// The same jaxpr with the inputs in another order: input i of the result is input `order[i]` of `j`.
JaxprPtr permute_inputs(const JaxprPtr& j, const std::vector<int>& order);

/// Inputs and outputs in other orders, or fewer outputs: input i of the result is input `in_order[i]` of `j`, output k is output
/// `out_order[k]`.
JaxprPtr rearrange(const JaxprPtr& j, const std::vector<int>& in_order, const std::vector<int>& out_order);

/// The same jaxpr with more inputs, which nothing reads: inputs of `avals`, of which number `position[i]` is input i of `j`.
JaxprPtr widen_inputs(const JaxprPtr& j, const Avals& avals, const std::vector<int>& position);

/// The same equations with other parameters, in the jaxprs inside too, inner ones first: `change` gets an equation and its parameters with
/// the jaxprs inside done. Asked of equations that hold jaxprs. A jaxpr that stands in several places is done once, what nothing changes in
/// is the same object; `done` may begin with jaxprs that are to be replaced.
using DoneJaxprs = std::unordered_map<const Jaxpr*, JaxprPtr>;
JaxprPtr map_params(const JaxprPtr& j, const std::function<ParamsRef(const Eqn&, ParamsRef inside)>& change, DoneJaxprs& done);

/// Values of the constvars of a closed jaxpr as constants of `b`.
Values constants_of(Builder& b, const Jaxpr& j);

/// An equation that is evaluated from a jaxpr, as it comes into the trace that runs then: what the function of a custom call closed over is
/// an argument, and a closed_call's body is traced anew, so that its constants are operands in front.
struct EvaluatedEqn {
    ParamsRef params;
    Values in;
};
EvaluatedEqn evaluated(Builder& b, const Eqn& e, const Values& in);
/// `inline_jaxpr` of a jaxpr that JAX evaluates in a trace.
Values inline_evaluated(JaxprBuilder& b, const Jaxpr& j, const Values& consts, const Values& in);

/// add_any, or the other operand where one is symbolically zero (JAX's add_tangents).
Value add_tangents(Builder& b, Value x, Value y);

/// Elements of `items` where `which` is `wanted`.
template <class V>
V select(const V& items, const std::vector<bool>& which, bool wanted = true) {
    V out;
    for (std::size_t i = 0; i < items.size(); ++i)
        if (which[i] == wanted) out.push_back(items[i]);
    return out;
}
std::size_t count_true(const std::vector<bool>& which);
bool any_true(const std::vector<bool>& which);
std::vector<bool> negated(std::vector<bool> which);
/// Everywhere but in Zero marks and float0.
std::vector<bool> nonzero_pattern(const Builder& b, const Values& tangents);

/// A zero of a tangent's type where `t` is symbolically zero; float0 tangents are constants without data.
Value instantiate_zero(Builder& b, Value t, AvalRef primal);

/// What is thrown where `prim` has no rule of a `kind` ("batch rule"): JAX's `sentence`, and our reason as context.
template <class Fn>
Error missing_rule(const Primitive& prim, const Rule<Fn>& rule, const char* kind, const std::string& sentence) {
    if (prim.opaque) return Error(ErrorCode::UnknownPrimitive, sentence);
    if (rule.words_of_jax) return Error(ErrorCode::NoRule, rule.absent);
    Error e(ErrorCode::NoRule, sentence);
    e.in(std::string("jaxscope has no ") + kind + " for '" + prim.name + "': " + rule.absent);
    return e;
}

}  // namespace jaxscope
