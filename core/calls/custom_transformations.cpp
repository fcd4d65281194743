// SPDX-License-Identifier: Apache-2.0
#include "calls/control_flow.h"
#include "calls/custom_rules.h"
#include "calls/families.h"
#include "calls/traced_rules.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/split_builder.h"

// custom_vmap_call (custom_batching.py of JAX 0.10.2), linear_call (custom_derivatives.py) and custom_transpose_call (custom_transpose.py
// of JAX 0.6.2, the last to have it).
namespace jaxscope {

namespace {

// ---- custom_vmap --------------------------------------------------------------------------------------------------------------

Avals custom_vmap_abstract_eval(const Op& op) { return called_avals(op, *op.as<CustomVmapParams>().call.jaxpr); }
JaxprPtr custom_vmap_expand(const Op& op) { return op.as<CustomVmapParams>().call.jaxpr; }

/// Batch axes in front, then the user's rule for just these and for this size.
BatchResult custom_vmap_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    RuleUse use;
    use.axis_size = size;
    Values front;
    for (std::size_t i = 0; i < x.size(); ++i) {
        use.in_batched.push_back(dims[i] != kNotMapped);
        front.push_back(dims[i] == kNotMapped ? x[i] : moveaxis(b, x[i], dims[i], 0));
    }
    const TracedRule rule = find_rule(op.as<CustomVmapParams>().rule, op, use);
    Values in;
    for (const int i : rule.closed_over) in.push_back(x.at(static_cast<std::size_t>(i)));
    in.insert(in.end(), front.begin(), front.end());
    if (in.size() != rule.jaxpr->num_invars)
        throw Error(ErrorCode::TypeMismatch, "expected a custom_vmap rule of " + std::to_string(in.size()) + " inputs, found one of " +
                                                 std::to_string(rule.jaxpr->num_invars));
    BatchResult r{eval_rule(b, rule.jaxpr, in, op.source, true), {}};
    for (std::size_t k = 0; k < r.out.size(); ++k)
        r.out_dims.push_back(k < rule.out_batched.size() && rule.out_batched[k] ? 0 : kNotMapped);
    return r;
}

/// `PyTreeDef((T, T))` of two trees `PyTreeDef(T)`, as their treedef_tuple prints.
Attr twice(const Attr& tree) {
    const auto* o = tree.get<Attr::Object>();
    if (!o) return tree;
    static constexpr std::string_view kHead = "PyTreeDef(";
    std::string_view text = o->text.str();
    if (!text.starts_with(kHead) || !text.ends_with(")")) return tree;
    text = text.substr(kHead.size(), text.size() - kHead.size() - 1);
    Attr::Object pair = *o;
    pair.text = Sym(std::string(kHead) + "(" + std::string(text) + ", " + std::string(text) + "))");
    return pair;
}

/// The call again, of primals and all tangents, with the rule that batches both.
PrimalsTangents custom_vmap_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    CustomVmapParams p = op.as<CustomVmapParams>();
    for (const AvalRef a : op.in)
        if (tangent_aval(a)->dtype == DType::Float0)
            throw Error(ErrorCode::NoRule, "expected inexact inputs of a custom_vmap function that is differentiated, found " + to_text(a));
    Values in = x;
    for (std::size_t i = 0; i < dx.size(); ++i) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    p.call.jaxpr = jvp_jaxpr(p.call.jaxpr, std::vector<bool>(x.size(), true), true).jaxpr;
    p.rule = jvp_of_vmap_rule(p.rule);
    p.in_tree = twice(p.in_tree);
    p.out_tree = twice(p.out_tree);
    const Values out = b.emit(*op.prim, in, make_params(p), p.call.jaxpr->out_avals(), p.call.jaxpr->effects);
    const auto half = out.begin() + static_cast<std::ptrdiff_t>(op.out.size());
    return {Values(out.begin(), half), Values(half, out.end())};
}

constexpr Primitive kCustomVmapCall{
    .name = "custom_vmap_call",
    .abstract_eval = custom_vmap_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = custom_vmap_jvp,
    .linearize = NoRule{"JAX can't linearize a custom_vmap function either: its primal outputs don't stay known"},
    .partial_eval = NoRule{"JAX keeps it whole"},
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = NoRule{"JAX can't transpose a custom_vmap function either"},
    .batch = custom_vmap_batch,
    .dce = NoRule{"kept whole: dropping outputs would make another rule of it"},
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_vmap_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .flow = Flow::RuledCall,
    .body = "call",
};

// ---- custom_transpose ---------------------------------------------------------------------------------------------------------

Avals custom_transpose_abstract_eval(const Op& op) { return called_avals(op, *op.as<CustomTransposeParams>().call_jaxpr.jaxpr); }
JaxprPtr custom_transpose_expand(const Op& op) { return op.as<CustomTransposeParams>().call_jaxpr.jaxpr; }

/// The rule answers for the linear inputs, which stand last: how many they are is known from it.
TracedRule transpose_rule(const Op& op, std::size_t& first_linear) {
    TracedRule rule = find_rule(op.as<CustomTransposeParams>().transpose_jaxpr_thunk, op, {});
    if (rule.jaxpr->outvars.size() > op.in.size())
        throw Error(ErrorCode::TypeMismatch, "expected a transpose rule of at most " + std::to_string(op.in.size()) + " results, found " +
                                                 std::to_string(rule.jaxpr->outvars.size()));
    first_linear = op.in.size() - rule.jaxpr->outvars.size();
    return rule;
}

/// The call is linear in its last inputs: the same call of their tangents.
PrimalsTangents custom_transpose_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    std::size_t first_linear = 0;
    transpose_rule(op, first_linear);
    for (std::size_t i = 0; i < first_linear; ++i)
        if (!dx[i].is_zero())
            throw Error(ErrorCode::NotDifferentiable, "JVP of custom transpose with respect to non-symbolic-zero residuals")
                .at(op.source.loc());
    Values in(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(first_linear));
    PrimalsTangents r;
    r.primals = b.emit(*op.prim, x, op.params, op.out);
    for (std::size_t i = first_linear; i < dx.size(); ++i) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    r.tangents = b.emit(*op.prim, in, op.params, op.out);
    return r;
}

void custom_transpose_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    std::size_t first_linear = 0;
    const TracedRule rule = transpose_rule(op, first_linear);
    Values in;
    for (const int i : rule.closed_over) in.push_back(x.at(static_cast<std::size_t>(i)));
    // What the function closes over comes first; the rule has values of its own.
    const std::size_t residuals = rule.jaxpr->num_invars - in.size() - ct.size();
    if (residuals > first_linear) throw Error(ErrorCode::TypeMismatch, "expected a transpose rule that takes the call's residuals");
    for (std::size_t i = first_linear - residuals; i < first_linear; ++i) in.push_back(x[i]);
    for (std::size_t k = 0; k < ct.size(); ++k) in.push_back(instantiate_zero(b, ct[k], op.out[k]));
    const Values out = eval_rule(b, rule.jaxpr, in, op.source, true);
    for (std::size_t i = 0; i < out.size(); ++i) sink.add(first_linear + i, out[i]);
}

constexpr Primitive kCustomTransposeCall{
    .name = "custom_transpose_call",
    .abstract_eval = custom_transpose_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = custom_transpose_jvp,
    .linearize = NoRule{"its jvp_call rule serves"},
    .partial_eval = NoRule{"JAX keeps it whole"},
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = custom_transpose_transpose,
    .batch = NoRule{"JAX has none either"},
    .dce = NoRule{"kept whole: dropping outputs would make another rule of it"},
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_transpose_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .flow = Flow::RuledCall,
    .body = "call_jaxpr",
};

// ---- linear_call --------------------------------------------------------------------------------------------------------------

Avals linear_call_abstract_eval(const Op& op) { return op.as<LinearCallParams>().callee.jaxpr->out_avals(); }
JaxprPtr linear_call_expand(const Op& op) { return op.as<LinearCallParams>().callee.jaxpr; }

PrimalsTangents linear_call_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const LinearCallParams& p = op.as<LinearCallParams>();
    if (const Attr* n = op.params->find("num_transpose_consts"); n && !(n->get<std::int64_t>() && *n->get<std::int64_t>() == 0))
        throw Error(ErrorCode::NoRule,
                    "expected a linear_call whose transposition is a rule, found that of an older JAX, which takes its constants as inputs")
            .at(op.source.loc());
    const auto first = static_cast<std::size_t>(p.num_callee_consts + p.num_res);
    for (std::size_t i = 0; i < first; ++i)
        if (!dx[i].is_zero())
            throw Error(ErrorCode::NotDifferentiable,
                        "linear_call can't be differentiated by its residuals: JAX's rule takes them for constants")
                .at(op.source.loc());
    PrimalsTangents r;
    r.primals = b.emit(*op.prim, x, op.params, op.out);
    Values in(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t i = first; i < dx.size(); ++i) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    r.tangents = b.emit(*op.prim, in, op.params, op.out);
    return r;
}

/// The transposition is a linear call too, of the function that the user gave for it.
void linear_call_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const LinearCallParams& p = op.as<LinearCallParams>();
    const TracedRule rule = find_rule(p.transpose_thunk, op, {});
    Values in = constants_of(b, *rule.jaxpr);
    for (const int i : rule.closed_over) in.push_back(x.at(static_cast<std::size_t>(i)));
    LinearCallParams q;
    q.callee = {convert_constvars(rule.jaxpr), true};
    q.num_callee_consts = static_cast<std::int64_t>(in.size());
    q.num_res = p.num_res;
    q.transpose_thunk =
        Attr::Object{"function", "new_transpose_thunk", "<function _linear_call_transpose_rule.<locals>.new_transpose_thunk at 0x_>"};
    const auto first = static_cast<std::size_t>(p.num_callee_consts + p.num_res);
    in.insert(in.end(), x.begin() + p.num_callee_consts, x.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t k = 0; k < ct.size(); ++k) in.push_back(instantiate_zero(b, ct[k], op.out[k]));
    if (in.size() != q.callee.jaxpr->num_invars || q.callee.jaxpr->outvars.size() + first != x.size())
        throw Error(ErrorCode::TypeMismatch, "expected a transposition of " + std::to_string(in.size()) + " inputs, found one of " +
                                                 std::to_string(q.callee.jaxpr->num_invars));
    const Values out = b.emit(*op.prim, in, make_params(q), q.callee.jaxpr->out_avals());
    for (std::size_t i = 0; i < out.size(); ++i) sink.add(first + i, out[i]);
}

constexpr Primitive kLinearCall{
    .name = "linear_call",
    .abstract_eval = linear_call_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = linear_call_jvp,
    .linearize = NoRule{"its jvp_call rule serves"},
    .partial_eval = NoRule{"JAX keeps it whole"},
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = linear_call_transpose,
    .batch = NoRule{"JAX has none either"},
    .dce = NoRule{"kept whole, as in JAX"},
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = linear_call_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .flow = Flow::RuledCall,
    .body = "callee",
};

}  // namespace

std::span<const Primitive* const> custom_transformation_primitives() {
    static constexpr const Primitive* all[] = {&kCustomVmapCall, &kCustomTransposeCall, &kLinearCall};
    return all;
}

}  // namespace jaxscope
