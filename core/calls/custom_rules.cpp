#include "calls/custom_rules.h"

#include "calls/families.h"
#include "ir/followed.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/split_builder.h"

// custom_jvp_call, custom_vjp_call (custom_derivatives.py of JAX 0.10.2) and custom_lin (interpreters/ad.py).
namespace jaxscope {

FoundRule find_rule(const Attr& rule, const Op& op) {
    const auto* ref = rule.get<Attr::Rule>();
    const std::string what = std::string("expected the rule of this ") + op.prim->name;
    if (!ref) {
        Error error(ErrorCode::NoRule, what + ", found none: the program was captured or pasted without it");
        const Attr* call = op.params->find("call_jaxpr");
        if (const auto* body = call ? call->get<Attr::JaxprRef>() : nullptr; body && !body->jaxpr->name.empty())
            error.advise("--rule " + printable(body->jaxpr->name.str(), 60) + "=inline, to differentiate the function's body");
        throw error.at(op.source.loc());
    }
    FoundRule found{ref->table.lock(), nullptr};
    if (!found.table || ref->index >= found.table->rules.size())
        throw Error(ErrorCode::NoRule, what + " (" + printable(ref->text.str()) + "), found no table of rules").at(op.source.loc());
    found.rule = &found.table->rules[ref->index];
    if (!found.rule->jaxpr)
        throw Error(ErrorCode::NoRule,
                    what + " (" + printable(found.rule->function.str()) + "), found no jaxpr of it: " + printable(found.rule->why.str()))
            .at(op.source.loc());
    return found;
}

namespace {

Avals custom_jvp_abstract_eval(const Op& op) { return op.as<CustomJvpParams>().call_jaxpr.jaxpr->out_avals(); }
Avals custom_vjp_abstract_eval(const Op& op) { return op.as<CustomVjpParams>().call_jaxpr.jaxpr->out_avals(); }
JaxprPtr custom_jvp_expand(const Op& op) { return op.as<CustomJvpParams>().call_jaxpr.jaxpr; }
JaxprPtr custom_vjp_expand(const Op& op) { return op.as<CustomVjpParams>().call_jaxpr.jaxpr; }

/// The rule's jaxpr takes all primals and all tangents; where a tangent is zero an array of zeros is made, as JAX does. Under a split
/// builder the rule is split like any other code.
PrimalsTangents custom_jvp_with(Builder& b, const Op& op, const Values& x, const Values& dx, bool keep_places) {
    const CustomJvpParams& p = op.as<CustomJvpParams>();
    const FoundRule rule = find_rule(p.jvp_jaxpr_fun, op);
    const auto skip = static_cast<std::size_t>(p.num_consts);
    Values in(x.begin() + p.num_consts, x.end());
    for (std::size_t i = skip; i < dx.size(); ++i) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    if (in.size() != rule->jaxpr->num_invars)
        throw Error(ErrorCode::TypeMismatch, "expected a custom_jvp rule of " + std::to_string(in.size()) + " inputs, found one of " +
                                                 std::to_string(rule->jaxpr->num_invars));
    const Values out = eval_rule(b, *rule->jaxpr, in, op.source, keep_places);
    const std::size_t n = op.out.size();
    PrimalsTangents r;
    r.primals.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n));
    std::size_t next = n;
    for (std::size_t k = 0; k < n; ++k) {
        const bool zero = k < rule->out_zeros.size() && rule->out_zeros[k];
        r.tangents.push_back(zero || next >= out.size() ? Value::zero() : out[next++]);
    }
    return r;
}

PrimalsTangents custom_jvp_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) { return custom_jvp_with(b, op, x, dx, false); }
PrimalsTangents custom_jvp_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    return custom_jvp_with(b, op, x, dx, b.outermost());
}

/// JAX assumes that partial evaluation builds linear functions and keeps no rule (JaxprTrace.process_custom_jvp_call).
Values custom_jvp_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    return eval_jaxpr(b, *op.as<CustomJvpParams>().call_jaxpr.jaxpr, x);
}

const Primitive& custom_lin();

PrimalsTangents custom_vjp_with(Builder& known, Builder& linear, const Op& op, const Values& x, const Values& dx, bool keep_places) {
    const CustomVjpParams& p = op.as<CustomVjpParams>();
    const auto skip = static_cast<std::size_t>(p.num_consts);
    for (std::size_t i = 0; i < skip; ++i)
        if (!dx[i].is_zero())
            throw Error(
                ErrorCode::NotDifferentiable,
                "Detected differentiation of a custom_vjp function with respect to a closed-over value. That isn't supported because the "
                "custom VJP rule only specifies how to differentiate the custom_vjp function with respect to explicit input parameters. "
                "Try "
                "passing the closed-over value into the custom_vjp function as an argument, and adapting the custom_vjp fwd and bwd rules.")
                .at(op.source.loc());
    const FoundRule fwd = find_rule(p.fwd_jaxpr_thunk, op);
    const Values args(x.begin() + p.num_consts, x.end());
    const Values out = eval_rule(known, *fwd->jaxpr, args, op.source, keep_places);
    const std::size_t n = op.out.size();
    Values in;
    std::size_t next = n;
    if (fwd->input_forwards.empty()) in.assign(out.begin() + static_cast<std::ptrdiff_t>(n), out.end());
    for (const int f : fwd->input_forwards) in.push_back(f < 0 ? out[next++] : args[static_cast<std::size_t>(f)]);
    CustomLinParams lin;
    lin.num_res = static_cast<std::int64_t>(in.size());
    lin.num_consts = p.num_consts;
    lin.bwd = p.bwd;
    lin.symbolic_zeros = p.symbolic_zeros;
    Attrs avals;
    Avals out_avals;
    for (const AvalRef a : op.out) {
        out_avals.push_back(tangent_aval(a));
        avals.emplace_back(out_avals.back());
    }
    lin.out_avals = Attr::tuple(std::move(avals));
    for (const Value t : dx) {
        lin.in_zeros.push_back(t.is_zero());
        if (!t.is_zero()) in.push_back(t);
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
    return custom_vjp_with(b, b.tangent(), op, x, dx, b.outermost());
}

Avals custom_lin_abstract_eval(const Op& op) {
    Avals out;
    if (const Attr::Seq* s = op.as<CustomLinParams>().out_avals.get_seq())
        for (const Attr& a : s->items)
            if (const auto* aval = a.get<AvalRef>()) out.push_back(*aval);
    return out;
}

void custom_lin_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const CustomLinParams& p = op.as<CustomLinParams>();
    const FoundRule bwd = find_rule(p.bwd, op);
    Values in(x.begin(), x.begin() + p.num_res);
    for (std::size_t k = 0; k < ct.size(); ++k) in.push_back(instantiate_zero(b, ct[k], op.out[k]));
    const Values out = eval_rule(b, *bwd->jaxpr, in, op.source, true);
    // The rule answers for the user's arguments: behind the closed-over ones, whose cotangents are zero.
    std::size_t next = 0;
    auto operand = static_cast<std::size_t>(p.num_res);
    for (std::size_t i = 0; i < p.in_zeros.size(); ++i) {
        const bool closed_over = i < static_cast<std::size_t>(p.num_consts);
        const std::size_t k = i - static_cast<std::size_t>(p.num_consts);
        Value c = Value::zero();
        if (!closed_over && !(k < bwd->out_zeros.size() && bwd->out_zeros[k]) && next < out.size()) c = out[next++];
        if (p.in_zeros[i]) continue;
        if (!c.is_zero() && b.aval(c)->dtype != DType::Float0) sink.add(operand, c);
        ++operand;
    }
}

/// vmap keeps the call, but not its rule: batching a rule of Python's needs Python (capture vmap and grad together instead).
template <class P>
BatchResult batch_body(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const JaxprPtr& body = op.as<P>().call_jaxpr.jaxpr;
    refuse_runaway(*body);  // its equations stand for the call from here on
    const BatchedJaxpr& j = batch_jaxpr_front(body, size, dims, std::vector<bool>(op.out.size(), false));
    return {eval_jaxpr(b, *j.jaxpr, x), j.out_dims};
}

constexpr Primitive kCustomJvpCall{
    .name = "custom_jvp_call",
    .abstract_eval = custom_jvp_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = custom_jvp_jvp,
    .linearize = custom_jvp_linearize,
    .partial_eval = custom_jvp_partial_eval,
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = NoRule{"partial evaluation leaves no call behind in linear code"},
    .batch = batch_body<CustomJvpParams>,
    .dce = NoRule{"kept whole: dropping outputs would make another rule of it"},
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_jvp_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .call = true,
};
constexpr Primitive kCustomVjpCall{
    .name = "custom_vjp_call",
    .abstract_eval = custom_vjp_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = custom_vjp_jvp,
    .linearize = custom_vjp_linearize,
    .partial_eval = NoRule{"JAX keeps it whole"},
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = NoRule{"its linear part is custom_lin"},
    .batch = batch_body<CustomVjpParams>,
    .dce = NoRule{"kept whole: dropping outputs would make another rule of it"},
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_vjp_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .call = true,
};
constexpr Primitive kCustomLin{
    .name = "custom_lin",
    .abstract_eval = custom_lin_abstract_eval,
    .jvp = NoRule{"can't apply forward-mode autodiff (jvp) to a custom_vjp function."},
    .transpose = custom_lin_transpose,
    .batch = NoRule{"can't apply forward-mode autodiff (jvp) to a custom_vjp function."},
    .lower = NoRule{"can't apply forward-mode autodiff (jvp) to a custom_vjp function."},
    .kernel = NoRule{"can't apply forward-mode autodiff (jvp) to a custom_vjp function."},
    .expand = NoRule{"can't apply forward-mode autodiff (jvp) to a custom_vjp function."},
    .cost = NoRule{"transposition leaves none behind"},
};
const Primitive& custom_lin() { return kCustomLin; }

/// custom_vmap_call (custom_batching.py): what remains of it in a program is not batched, so it is its body.
Avals custom_vmap_abstract_eval(const Op& op) { return op.as<CustomVmapParams>().call.jaxpr->out_avals(); }
JaxprPtr custom_vmap_expand(const Op& op) { return op.as<CustomVmapParams>().call.jaxpr; }
/// A function, not a stated reason: without a rule the body would be batched, which is what the user's rule is there to replace.
BatchResult custom_vmap_batch(Builder&, const Op& op, const Values&, const std::vector<int>&, std::int64_t) {
    const auto* rule = op.as<CustomVmapParams>().rule.get<Attr::Rule>();
    throw Error(ErrorCode::NoRule, std::string("expected the vmap rule of this custom_vmap_call") +
                                       (rule ? " (" + printable(rule->text.str()) + ")" : "") +
                                       ", found that it depends on the size of the axis: batch in Python, and capture that")
        .at(op.source.loc());
}
constexpr const char* kNoLinear = "JAX can't linearize a custom_vmap function either: its primal outputs don't stay known";

constexpr Primitive kCustomVmapCall{
    .name = "custom_vmap_call",
    .abstract_eval = custom_vmap_abstract_eval,
    .jvp = NoRule{kNoLinear},
    .jvp_call = NoRule{kNoLinear},
    .linearize = NoRule{kNoLinear},
    .partial_eval = NoRule{"JAX keeps it whole"},
    .partial_eval_custom = NoRule{"JAX asks the policy about the call itself"},
    .transpose = NoRule{kNoLinear},
    .batch = custom_vmap_batch,
    .dce = NoRule{"kept whole: dropping outputs would make another rule of it"},
    .lower = NoRule{"calls are inlined before kernels are made"},
    .kernel = NoRule{"calls are inlined before kernels are made"},
    .expand = custom_vmap_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .call = true,
};

}  // namespace

std::span<const Primitive* const> custom_rule_primitives() {
    static constexpr const Primitive* all[] = {&kCustomJvpCall, &kCustomVjpCall, &kCustomLin, &kCustomVmapCall};
    return all;
}

}  // namespace jaxscope
