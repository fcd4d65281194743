// SPDX-License-Identifier: Apache-2.0
#include "calls/custom_rules.h"

#include <fmt/format.h>

#include "calls/control_flow.h"
#include "calls/families.h"
#include "calls/traced_rules.h"
#include "ir/followed.h"
#include "ir/interpret.h"
#include "ir/print/attr_text.h"
#include "ir/print/text_form.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"

// custom_jvp_call, custom_vjp_call (custom_derivatives.py of JAX 0.10.2) and custom_lin (interpreters/ad.py).
namespace jaxscope {

namespace {

/// A number of leading inputs comes from a file: rules count with it.
void expect_count(const Op& op, const char* param, std::int64_t n, std::int64_t least, std::size_t most) {
    if (n < least || n > static_cast<std::int64_t>(most))
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("{}: expected {} from {} to {}, found {}", op.prim->name.c_str(), param, least, most, n));
}
template <class P>
Avals custom_call_abstract_eval(const Op& op) {
    const P& p = op.as<P>();
    expect_count(op, "num_consts", p.num_consts, 0, op.in.size());
    return called_avals(op, *p.call_jaxpr.jaxpr);
}
JaxprPtr custom_jvp_expand(const Op& op) { return op.as<CustomJvpParams>().call_jaxpr.jaxpr; }
JaxprPtr custom_vjp_expand(const Op& op) { return op.as<CustomVjpParams>().call_jaxpr.jaxpr; }

/// Values that a rule closes over, which stand in front of its own inputs.
Values closed_values(const TracedRule& rule, const Values& x) {
    Values out;
    for (const int i : rule.closed_over) {
        if (i < 0 || static_cast<std::size_t>(i) >= x.size())
            throw Error(ErrorCode::BadInput,
                        fmt::format("expected a rule that closes over inputs from 0 to {}, found {}", static_cast<int>(x.size()) - 1, i));
        out.push_back(x[static_cast<std::size_t>(i)]);
    }
    return out;
}

void expect_inputs(const TracedRule& rule, const Values& in, const char* kind) {
    if (in.size() != rule.jaxpr->num_invars)
        throw Error(ErrorCode::TypeMismatch, std::string("expected a ") + kind + " rule of " + std::to_string(in.size()) +
                                                 " inputs, found one of " + std::to_string(rule.jaxpr->num_invars));
}
/// Of `results` that the rule answers for it gives those that aren't in its out_zeros: a result more or less would be another one's.
void expect_results(const TracedRule& rule, std::size_t results, const char* kind) {
    const std::size_t given = rule.jaxpr->outvars.size() + count_true(rule.out_zeros);
    if (given != results)
        throw Error(ErrorCode::TypeMismatch, std::string("expected a ") + kind + " rule of " + std::to_string(results) +
                                                 " results, found one of " + std::to_string(given));
}

/// Does JAX run the Python that makes this call, so that the call closes over values?
template <class P>
bool closes_over(const Builder& b, const P& p) {
    return b.outermost() && !p.from_jaxpr && !p.inlined;
}

/// The rule's jaxpr takes all primals and all tangents; where a tangent is zero an array of zeros is made, as JAX does, or with
/// symbolic_zeros nothing. Under a split builder the rule is split like any other code.
PrimalsTangents custom_jvp_with(Builder& b, const Op& op, const Values& x, const Values& dx, bool keep_places) {
    const CustomJvpParams& p = op.as<CustomJvpParams>();
    const auto skip = static_cast<std::size_t>(p.num_consts);
    RuleUse use;
    for (std::size_t i = skip; i < dx.size(); ++i) use.perturbed.push_back(!dx[i].is_zero());
    const TracedRule rule = find_rule(p.jvp_jaxpr_fun, op, use);
    Values in = closed_values(rule, x);
    in.insert(in.end(), x.begin() + p.num_consts, x.end());
    // Where what the function closes over is an argument, JAX makes zeros for it that nothing reads.
    for (std::size_t i = 0; i < skip && !p.symbolic_zeros && !closes_over(b, p); ++i) instantiate_zero(b, dx[i], op.in[i]);
    for (std::size_t i = skip; i < dx.size(); ++i)
        if (!p.symbolic_zeros || rule.perturbed.at(i - skip)) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    expect_inputs(rule, in, "custom_jvp");
    expect_results(rule, 2 * op.out.size(), "custom_jvp");
    const Values out = eval_rule(b, rule.jaxpr, in, op.source, keep_places);
    const std::size_t n = op.out.size();
    PrimalsTangents r;
    r.primals.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n));
    std::size_t next = n;
    for (std::size_t k = 0; k < n; ++k) {
        const bool zero = k < rule.out_zeros.size() && rule.out_zeros[k];
        r.tangents.push_back(zero ? Value::zero() : out[next++]);
    }
    return r;
}

PrimalsTangents custom_jvp_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) { return custom_jvp_with(b, op, x, dx, false); }
/// Does JAX run the rule where the user's function calls it? Not in what a backward pass made, or what was evaluated from a jaxpr: JAX sets
/// the place itself there, and that place is then the rule's too.
template <class P>
bool runs_in_place(const SplitBuilder& b, const Op& op) {
    const P& p = op.as<P>();
    return b.outermost() && !p.from_jaxpr && !p.inlined && !op.source->name_stack.has_transform(stack_names::kTranspose);
}
PrimalsTangents custom_jvp_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    const SplitBuilder::InRule in_rule(b);
    return custom_jvp_with(b, op, x, dx, runs_in_place<CustomJvpParams>(b, op));
}

/// JAX assumes that partial evaluation builds linear functions and keeps no rule (JaxprTrace.process_custom_jvp_call).
Values custom_jvp_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    return eval_jaxpr(b, *op.as<CustomJvpParams>().call_jaxpr.jaxpr, x);
}

const Primitive& custom_lin();

PrimalsTangents custom_vjp_with(Builder& known, Builder& linear, const Op& op, const Values& x, const Values& dx, bool keep_places) {
    const CustomVjpParams& p = op.as<CustomVjpParams>();
    const auto skip = static_cast<std::size_t>(p.num_consts);
    const bool closes = closes_over(known, p);
    for (std::size_t i = 0; i < skip; ++i)
        if (!dx[i].is_zero())
            throw Error(
                ErrorCode::NotDifferentiable,
                "Detected differentiation of a custom_vjp function with respect to a closed-over value. That isn't supported because the "
                "custom VJP rule only specifies how to differentiate the custom_vjp function with respect to explicit input parameters. "
                "Try "
                "passing the closed-over value into the custom_vjp function as an argument, and adapting the custom_vjp fwd and bwd rules.")
                .at(op.source.loc());
    RuleUse use;
    for (std::size_t i = skip; i < dx.size(); ++i) use.perturbed.push_back(!dx[i].is_zero());
    const TracedRule fwd = find_rule(p.fwd_jaxpr_thunk, op, use);
    const Values args(x.begin() + p.num_consts, x.end());
    Values fwd_in = closed_values(fwd, x);
    fwd_in.insert(fwd_in.end(), args.begin(), args.end());
    expect_inputs(fwd, fwd_in, "custom_vjp forward");
    const Values out = eval_rule(known, fwd.jaxpr, fwd_in, op.source, keep_places);
    const std::size_t n = op.out.size();
    CustomLinParams lin;
    Values in;
    for (const int i : closed_over(p.bwd)) in.push_back(x.at(static_cast<std::size_t>(i)));
    lin.num_closed = static_cast<std::int64_t>(in.size());
    std::size_t next = n;
    if (fwd.input_forwards.empty()) in.insert(in.end(), out.begin() + static_cast<std::ptrdiff_t>(n), out.end());
    for (const int f : fwd.input_forwards) in.push_back(f < 0 ? out[next++] : args[static_cast<std::size_t>(f)]);
    lin.num_res = static_cast<std::int64_t>(in.size());
    const std::size_t first = closes ? skip : 0;  // what is closed over has no tangent to speak of
    lin.num_consts = closes ? 0 : p.num_consts;
    lin.bwd = p.bwd;
    lin.symbolic_zeros = p.symbolic_zeros;
    Attrs avals;
    Avals out_avals;
    for (const AvalRef a : op.out) {
        out_avals.push_back(tangent_aval(a));
        avals.emplace_back(out_avals.back());
    }
    lin.out_avals = Attr::tuple(std::move(avals));
    for (std::size_t i = first; i < dx.size(); ++i) {
        lin.in_zeros.push_back(dx[i].is_zero());
        if (!dx[i].is_zero()) in.push_back(dx[i]);
    }
    PrimalsTangents r;
    r.primals.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n));
    r.tangents = linear.emit(custom_lin(), in, make_params(lin), out_avals);
    return r;
}

PrimalsTangents custom_vjp_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    return custom_vjp_with(b, b, op, x, dx, false);
}
PrimalsTangents custom_vjp_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    return custom_vjp_with(b, b.tangent(), op, x, dx, runs_in_place<CustomVjpParams>(b, op));
}

/// JAX splits the function with all of its arguments unknown (JaxprTrace.process_custom_vjp_call): the known half, which computes what
/// depends on none of them, leaves a call behind. What it gives the other half counts as closed over there.
Values custom_vjp_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    CustomVjpParams p = op.as<CustomVjpParams>();
    const JaxprPtr& body = p.call_jaxpr.jaxpr;
    const PartialEvalJaxpr& split = partial_eval_jaxpr(body, std::vector<bool>(x.size(), true), true, false);
    p.from_jaxpr = true;
    const bool gives = !split.known->outvars.empty();
    if (gives && p.num_consts > 0) return b.tangent().emit(*op.prim, x, make_params(p), op.out, body->effects);
    CustomVjpParams nothing = p;
    nothing.call_jaxpr.jaxpr = split.known;
    nothing.num_consts = 0;
    Values in = b.primal().emit(*op.prim, {}, make_params(nothing), split.known->out_avals(), split.known->effects);
    if (gives) {
        p.num_consts = static_cast<std::int64_t>(in.size());
        p.from_jaxpr = false;
        p.split = true;
    }
    in.insert(in.end(), x.begin(), x.end());
    p.call_jaxpr.jaxpr = split.unknown;
    return b.tangent().emit(*op.prim, in, make_params(p), op.out, split.unknown->effects);
}

/// Results that nobody reads go, out of the rules as well; arguments stay, as a rule may need what the body doesn't.
template <class P>
DceResult custom_call_dce(const Op& op, const std::vector<bool>& used_outputs) {
    P p = op.as<P>();
    const JaxprPtr body = p.call_jaxpr.jaxpr;
    DceResult r;
    r.used_inputs = r.kept_inputs = std::vector<bool>(op.in.size(), true);
    r.kept_outputs = used_outputs;
    p.call_jaxpr.jaxpr = dce_jaxpr(body, used_outputs, true).jaxpr;
    if (count_true(used_outputs) < used_outputs.size()) {
        const auto prune = [&](Attr& rule, RuleKind kind) { rule = pruned_rule(rule, kind, used_outputs, body->out_avals()); };
        if constexpr (std::is_same_v<P, CustomJvpParams>) {
            prune(p.jvp_jaxpr_fun, RuleKind::Jvp);
        } else {
            prune(p.fwd_jaxpr_thunk, RuleKind::Forward);
            prune(p.bwd, RuleKind::Backward);
        }
    }
    r.params = make_params(p);
    return r;
}

Avals custom_lin_abstract_eval(const Op& op) {
    const CustomLinParams& p = op.as<CustomLinParams>();
    expect_count(op, "num_res", p.num_res, 0, op.in.size());
    expect_count(op, "num_closed", p.num_closed, 0, static_cast<std::size_t>(p.num_res));
    expect_count(op, "num_consts", p.num_consts, 0, p.in_zeros.size());
    Avals out;
    if (const Attr::Seq* s = p.out_avals.get_seq())
        for (const Attr& a : s->items)
            if (const auto* aval = a.get<AvalRef>()) out.push_back(*aval);
    return out;
}

void custom_lin_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const CustomLinParams& p = op.as<CustomLinParams>();
    RuleUse use;
    for (std::size_t i = static_cast<std::size_t>(p.num_consts); i < p.in_zeros.size(); ++i) use.perturbed.push_back(!p.in_zeros[i]);
    for (const Value c : ct) use.zero_cotangents.push_back(c.is_zero());
    const TracedRule bwd = find_rule(p.bwd, op, use);
    // Of the values that any variant of the rule closes over, those that this one reads.
    const std::vector<int> closed = closed_over(p.bwd);
    Values in;
    for (const int i : bwd.closed_over)
        in.push_back(x.at(static_cast<std::size_t>(std::lower_bound(closed.begin(), closed.end(), i) - closed.begin())));
    in.insert(in.end(), x.begin() + p.num_closed, x.begin() + p.num_res);
    for (std::size_t k = 0; k < ct.size(); ++k)
        if (!p.symbolic_zeros || !bwd.zero_cotangents.at(k)) in.push_back(instantiate_zero(b, ct[k], op.out[k]));
    expect_inputs(bwd, in, "custom_vjp backward");
    expect_results(bwd, p.in_zeros.size() - static_cast<std::size_t>(p.num_consts), "custom_vjp backward");
    const Values out = eval_rule(b, bwd.jaxpr, in, op.source, true);
    // The rule answers for the user's arguments: behind the closed-over ones, whose cotangents are zero.
    std::size_t next = 0;
    auto operand = static_cast<std::size_t>(p.num_res);
    for (std::size_t i = 0; i < p.in_zeros.size(); ++i) {
        const bool closed_over = i < static_cast<std::size_t>(p.num_consts);
        const std::size_t k = i - static_cast<std::size_t>(p.num_consts);
        Value c = Value::zero();
        if (!closed_over && !(k < bwd.out_zeros.size() && bwd.out_zeros[k])) c = out[next++];
        if (p.in_zeros[i]) continue;
        if (!c.is_zero() && b.aval(c)->dtype != DType::Float0) sink.add(operand, c);
        ++operand;
    }
}

/// What every vmap of a custom call comes down to: the body batched, where its batch axes stand, and a rule batched alike.
struct BatchedCall {
    JaxprPtr body;
    BatchedRule rule;  ///< but for the rule itself
};
BatchedCall batched_call(const Op& op, const JaxprPtr& body, std::int64_t num_consts, const std::vector<int>& dims, std::int64_t size) {
    refuse_runaway(*body);
    const BatchedJaxpr& j = batch_jaxpr(body, size, dims);
    BatchedRule rule;
    rule.size = size;
    rule.num_consts = num_consts;
    rule.in_dims = dims;
    rule.out_dims = j.out_dims;
    JAXSCOPE_ASSERT(rule.out_dims.size() == op.out.size());
    return {j.jaxpr, std::move(rule)};
}
BatchResult custom_jvp_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    CustomJvpParams p = op.as<CustomJvpParams>();
    BatchedCall call = batched_call(op, p.call_jaxpr.jaxpr, p.num_consts, dims, size);
    call.rule.rule = p.jvp_jaxpr_fun;
    p.call_jaxpr.jaxpr = call.body;
    p.jvp_jaxpr_fun = batched_rule(call.rule);
    return {b.emit(*op.prim, x, make_params(p), call.body->out_avals(), call.body->effects), call.rule.out_dims};
}
BatchResult custom_vjp_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    CustomVjpParams p = op.as<CustomVjpParams>();
    BatchedCall call = batched_call(op, p.call_jaxpr.jaxpr, p.num_consts, dims, size);
    call.rule.rule = p.bwd;
    call.rule.fwd = p.fwd_jaxpr_thunk;
    p.bwd = batched_rule(call.rule);
    call.rule.rule = p.fwd_jaxpr_thunk;
    call.rule.fwd = Attr();
    p.fwd_jaxpr_thunk = batched_rule(call.rule);
    p.call_jaxpr.jaxpr = call.body;
    return {b.emit(*op.prim, x, make_params(p), call.body->out_avals(), call.body->effects), call.rule.out_dims};
}

/// JAX traces the function anew wherever the call is met again, so that its jaxpr is another one each time, and so are those of the calls
/// in it. Inner ones of large functions stay shared here: a small file can hold functions that call each other 2^59 times.
template <class P>
ParamsRef restage_call(const ParamsRef& params) {
    constexpr std::int64_t kDeep = 4096;
    P p = params->as<P>();
    const JaxprPtr& body = p.call_jaxpr.jaxpr;
    if (body->num_constvars > 0) return params;
    JaxprBuilder b;
    Values in;
    for (const AvalRef a : body->in_avals()) in.push_back(b.add_input(a));
    const Values out = count_equations(*body) <= kDeep ? eval_function(b, *body, in) : inline_jaxpr(b, *body, {}, in, Inlined::AsTheyAre);
    p.call_jaxpr.jaxpr = b.finish(out, body->name);
    p.restaged = true;
    return make_params(p);
}

// ---- Their texts: functions by their names alone

/// How many inputs a function closes over is known where JAX runs Python, once it was traced again.
bool if_num_consts_hidden(const Attr& value, const PrintedEqn& e) {
    const auto holds = [&](const char* param) {
        const Attr* a = e.params.find(param);
        return a && a->get<bool>() && *a->get<bool>();
    };
    if (holds("from_jaxpr") || (e.params.find("restaged") && !holds("split") && !e.outermost)) return true;
    return value.get<std::int64_t>() && *value.get<std::int64_t>() == 0;
}
constexpr HiddenParam kJvpHidden[] = {{"num_consts", if_num_consts_hidden, text_form::zero},
                                      {"out_trees", text_form::always},
                                      {"restaged", text_form::always},
                                      {"from_jaxpr", text_form::always},
                                      {"inlined", text_form::always}};
constexpr HiddenParam kVjpHidden[] = {{"num_consts", if_num_consts_hidden, text_form::zero},
                                      {"out_trees", text_form::always,
                                       [](const ReadEqn&) {
                                           return Attr(Attr::Object{"function", "out_trees_", "out_trees_"});
                                       }},
                                      {"restaged", text_form::always},
                                      {"from_jaxpr", text_form::always},
                                      {"inlined", text_form::always},
                                      {"split", text_form::always}};
constexpr SpelledParam kJvpSpelled[] = {{"jvp_jaxpr_fun", "jvp", text_form::function_name, text_form::function_of_name}};
constexpr SpelledParam kVjpSpelled[] = {{"fwd_jaxpr_thunk", "fwd", text_form::function_name, text_form::function_of_name},
                                        {"bwd", "bwd", text_form::function_name, text_form::function_of_name}};
constexpr TextForm kJvpText{.hidden = kJvpHidden, .spelled = kJvpSpelled, .title = TextForm::Title::Body};
constexpr TextForm kVjpText{.hidden = kVjpHidden, .spelled = kVjpSpelled, .title = TextForm::Title::Body};

std::string list_text(const Attr& a) { return a.get_seq() ? repr_text(Attr::list(a.get_seq()->items)) : str_text(a); }
Attr out_avals_of(const ReadEqn& e) { return Attr::list(Attrs(e.out.begin(), e.out.end())); }
/// JAX 0.4.30 has none: no tangent was zero.
Attr no_zeros(const ReadEqn& e) {
    const auto residuals = std::find_if(e.shown.begin(), e.shown.end(), [](const auto& p) { return p.first == Sym("num_res"); });
    const auto* n = residuals == e.shown.end() ? nullptr : residuals->second.get<std::int64_t>();
    const auto size = static_cast<std::int64_t>(e.in.size());
    return Attr::list(Attrs(n && *n >= 0 && *n <= size ? static_cast<std::size_t>(size - *n) : 0, Attr(false)));
}
constexpr HiddenParam kLinHidden[] = {
    {"in_zeros", [](const Attr&, const PrintedEqn&) { return false; }, no_zeros},
    {"out_avals", text_form::always, out_avals_of},
    // JAX's rules have these in their closures.
    {"num_consts", text_form::always},
    {"num_closed", text_form::always},
};
constexpr SpelledParam kLinSpelled[] = {{"in_zeros", "in_zeros", list_text},
                                        {"bwd", "bwd", text_form::function_name, text_form::function_of_name}};
constexpr TextForm kLinText{.hidden = kLinHidden, .spelled = kLinSpelled};

constexpr OlderParam kJvpOlder[] = {{"jvp_jaxpr_thunk", "jvp_jaxpr_fun"}};
constexpr OlderParam kVjpOlder[] = {{"fun_jaxpr", "call_jaxpr"}};
constexpr const char* kVjpOlderNames[] = {"custom_vjp_call_jaxpr"};

}  // namespace

constinit const Primitive kCustomJvpCall{
    .name = "custom_jvp_call",
    .abstract_eval = custom_call_abstract_eval<CustomJvpParams>,
    .restage = restage_call<CustomJvpParams>,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = custom_jvp_jvp,
    .linearize = custom_jvp_linearize,
    .partial_eval = custom_jvp_partial_eval,
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = NoRule{"partial evaluation leaves no call behind in linear code"},
    .batch = custom_jvp_batch,
    .dce = custom_call_dce<CustomJvpParams>,
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_jvp_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .flow = Flow::RuledCall,
    .body = "call_jaxpr",
    .custom_derivative = true,
    .text = &kJvpText,
    .older_params = kJvpOlder,
};

constinit const Primitive kCustomVjpCall{
    .name = "custom_vjp_call",
    .abstract_eval = custom_call_abstract_eval<CustomVjpParams>,
    .restage = restage_call<CustomVjpParams>,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = custom_vjp_jvp,
    .linearize = custom_vjp_linearize,
    .partial_eval = custom_vjp_partial_eval,
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = NoRule{"its linear part is custom_lin"},
    .batch = custom_vjp_batch,
    .dce = custom_call_dce<CustomVjpParams>,
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_vjp_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .flow = Flow::RuledCall,
    .body = "call_jaxpr",
    .custom_derivative = true,
    .text = &kVjpText,
    .older_names = kVjpOlderNames,
    .older_params = kVjpOlder,
};

namespace {

constexpr NoRule kNoForwardMode{"can't apply forward-mode autodiff (jvp) to a custom_vjp function.", true};
constexpr Primitive kCustomLin{
    .name = "custom_lin",
    .abstract_eval = custom_lin_abstract_eval,
    .jvp = kNoForwardMode,
    .transpose = custom_lin_transpose,
    .batch = kNoForwardMode,
    .lower = kNoForwardMode,
    .kernel = kNoForwardMode,
    .expand = kNoForwardMode,
    .cost = NoRule{"transposition leaves none behind"},
    .text = &kLinText,
};
const Primitive& custom_lin() { return kCustomLin; }

}  // namespace

std::span<const Primitive* const> custom_rule_primitives() {
    static constexpr const Primitive* all[] = {&kCustomJvpCall, &kCustomVjpCall, &kCustomLin};
    return all;
}

}  // namespace jaxscope
