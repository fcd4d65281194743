// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "calls/closures.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "ir/print/text_form.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/linearize.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"
#include "transforms/transpose.h"

// Calls: jit (pjit.py of JAX 0.10.2), closed_call and core_call (core.py, partial_eval.py).
namespace jaxscope {

namespace {

struct JitParams {
    Attr::JaxprRef jaxpr;
    static constexpr auto kFields = std::tuple(field("jaxpr", &JitParams::jaxpr));
};
struct CallParams {
    Attr::JaxprRef call_jaxpr;
    static constexpr auto kFields = std::tuple(field("call_jaxpr", &CallParams::call_jaxpr));
};

/// jit and the calls differ in the parameter's name and in the tuples that go with inputs and outputs.
bool is_jit(const Op& op) { return op.params->find("jaxpr") != nullptr; }
const JaxprPtr& body(const Op& op) { return is_jit(op) ? op.as<JitParams>().jaxpr.jaxpr : op.as<CallParams>().call_jaxpr.jaxpr; }
ParamsRef with_body(const Op& op, JaxprPtr j, const Picks& in, const Picks& out, bool keep_donation = true) {
    if (is_jit(op)) return jit_params(op.params, j, in, out, keep_donation);
    return with_param(op.params, "call_jaxpr", Attr(Attr::JaxprRef{std::move(j), op.as<CallParams>().call_jaxpr.closed}));
}

Values emit_call(Builder& b, const Op& op, const Values& in, const ParamsRef& params, const Jaxpr& j) {
    return b.emit(*op.prim, in, params, j.out_avals(), j.effects);
}

Avals call_abstract_eval(const Op& op) {
    ParamReads::note("name");  // of the function, which vmap gives every call
    return called_avals(op, *body(op));
}

JaxprPtr call_expand(const Op& op) { return body(op); }

bool unspecified_output(const Op& op, std::size_t k) {
    const Attr* shardings = op.params->find("out_shardings");
    const Attr* layouts = op.params->find("out_layouts");
    const Attr::Seq* s = shardings ? shardings->get_seq() : nullptr;
    const Attr::Seq* l = layouts ? layouts->get_seq() : nullptr;
    if (l && k < l->items.size() && !l->items[k].is_none()) return false;
    if (!s || k >= s->items.size()) return true;
    const auto* object = s->items[k].get<Attr::Object>();
    return object && object->type == Sym("UnspecifiedValue");
}

/// A known call whose outputs (primals, then residuals) are looked through: a primal that is an input isn't an output of the call, and a
/// residual that is also a primal is one output. Emits the call; returns the values of all outputs. `primal_of` maps the first outputs
/// to the original's, `inputs` and `in_picks` are those that the body takes.
Values emit_known_call(Builder& b, const Op& op, const JaxprPtr& known, const Values& inputs, const Picks& in_picks,
                       const Picks& primal_of) {
    const std::size_t n = known->outvars.size();
    Values out(n);
    std::vector<bool> keep(n, true);
    std::unordered_map<std::uint32_t, std::size_t> primal_at;  ///< variable -> first kept output
    std::vector<std::size_t> same_as(n, SIZE_MAX);
    for (std::size_t k = 0; k < n; ++k) {
        const Atom a = known->outvars[k];
        if (a.is_literal()) continue;
        const std::uint32_t v = a.var().index;
        const bool input = v >= known->num_constvars && v < known->num_constvars + known->num_invars;
        if (k < primal_of.size()) {
            if (input && unspecified_output(op, static_cast<std::size_t>(primal_of[k]))) {
                keep[k] = false;
                out[k] = inputs[v - known->num_constvars];
            } else {
                primal_at[v] = k;
            }
        } else if (const auto found = primal_at.find(v); found != primal_at.end()) {
            keep[k] = false;
            same_as[k] = found->second;
        }
    }
    Picks out_picks;
    for (std::size_t k = 0; k < n; ++k)
        if (keep[k]) out_picks.push_back(k < primal_of.size() ? primal_of[k] : kNew);
    const JaxprPtr pruned = prune_outputs(known, keep);
    const Values given = emit_call(b, op, inputs, with_body(op, pruned, in_picks, out_picks), *pruned);
    std::size_t next = 0;
    for (std::size_t k = 0; k < n; ++k)
        if (keep[k]) out[k] = given[next++];
    for (std::size_t k = 0; k < n; ++k)
        if (same_as[k] != SIZE_MAX) out[k] = out[same_as[k]];
    return out;
}

/// All residuals of a split call: those that are constants or inputs by `forwards`, the others in order from `given`.
Values merge_residuals(Builder& b, const Jaxpr& j, const std::vector<int>& forwards, const Values& inputs, const Values& given) {
    Values out;
    std::size_t next = 0;
    for (const int f : forwards) {
        const auto i = static_cast<std::size_t>(f);
        if (f < 0)
            out.push_back(given[next++]);
        else if (i < j.num_constvars)
            out.push_back(b.constant(j.consts[i]));
        else
            out.push_back(inputs[i - j.num_constvars]);
    }
    return out;
}

PrimalsTangents call_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const std::vector<bool> nz = nonzero_pattern(b, dx);
    const JvpJaxpr& j = jvp_jaxpr(body(op), nz);
    Values in = x;
    for (std::size_t i = 0; i < dx.size(); ++i)
        if (nz[i]) in.push_back(dx[i]);
    const ParamsRef params =
        with_body(op, j.jaxpr, pick_all(x.size()) + pick_where(nz), pick_all(op.out.size()) + pick_where(j.nonzero_out));
    const Values out = emit_call(b, op, in, params, *j.jaxpr);
    PrimalsTangents r;
    r.primals.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(op.out.size()));
    std::size_t next = op.out.size();
    for (const bool n : j.nonzero_out) r.tangents.push_back(n ? out[next++] : Value::zero());
    return r;
}

PrimalsTangents call_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    const std::vector<bool> nz = nonzero_pattern(b, dx);
    const JaxprPtr& j = body(op);
    const LinearizedJaxpr& lin = linearize_jaxpr(j, nz);
    const Values out = emit_known_call(b.primal(), op, lin.primal, x, pick_all(x.size()), pick_all(op.out.size()));
    PrimalsTangents r;
    r.primals.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(op.out.size()));
    const Values given(out.begin() + static_cast<std::ptrdiff_t>(op.out.size()), out.end());
    Values in = merge_residuals(b, *j, lin.residual_forward, x, given);
    const std::size_t num_residuals = in.size();
    for (std::size_t i = 0; i < dx.size(); ++i)
        if (nz[i]) in.push_back(dx[i]);
    const ParamsRef params = with_body(op, lin.tangent, new_ones(num_residuals) + pick_where(nz), pick_where(lin.nonzero_out));
    const Values tangents = emit_call(b.tangent(), op, in, params, *lin.tangent);
    std::size_t next = 0;
    for (const bool n : lin.nonzero_out) r.tangents.push_back(n ? tangents[next++] : Value::zero());
    return r;
}

Values call_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    std::vector<bool> unknown;
    Values known_in, unknown_in;
    for (const Value v : x) {
        unknown.push_back(v.is_unknown());
        (v.is_unknown() ? unknown_in : known_in).push_back(v);
    }
    const JaxprPtr& j = body(op);
    const PartialEvalJaxpr& split = partial_eval_jaxpr(j, unknown, false, true);
    const Values out =
        emit_known_call(b.primal(), op, split.known, known_in, pick_where(unknown, false), pick_where(split.unknown_out, false));
    const std::size_t num_primals = out.size() - static_cast<std::size_t>(split.num_residuals_out);
    const Values given(out.begin() + static_cast<std::ptrdiff_t>(num_primals), out.end());
    Values residuals = merge_residuals(b, *j, split.forwards, known_in, given);
    // A number that the caller handed in stays one, but for jit, whose rule makes constants of all residuals.
    for (Value& v : residuals)
        if (v.is_literal() && is_jit(op)) v = b.folded(v.literal());
    // Residuals come last in a staged jit, first in other calls and in the jaxpr that partial evaluation gives.
    JaxprPtr staged = split.unknown;
    Values in = joined(residuals, unknown_in);
    if (is_jit(op)) {
        in = joined(unknown_in, residuals);
        staged = permute_inputs(staged, joined(positions(residuals.size(), unknown_in.size()), positions(0, residuals.size())));
    }
    const ParamsRef params = with_body(op, staged, pick_where(unknown) + new_ones(residuals.size()), pick_where(split.unknown_out));
    const Values staged_out = emit_call(b.tangent(), op, in, params, *staged);
    Values r;
    std::size_t next_known = 0, next_unknown = 0;
    for (const bool u : split.unknown_out) r.push_back(u ? staged_out[next_unknown++] : out[next_known++]);
    return r;
}

PartialEvalCustomResult call_partial_eval_custom_rule(const PartialEvalCustomArgs& args) {
    const Op& op = args.op;
    if (!is_jit(op)) {
        const bool closed = op.as<CallParams>().call_jaxpr.closed;
        return (closed ? closed_call_partial_eval_custom(args, "call_jaxpr", {}) : call_partial_eval_custom(args, "call_jaxpr")).result;
    }
    // An input with a sharding or layout of its own may be another value inside: it isn't forwarded.
    std::vector<bool> no_forward(op.in.size(), false);
    const auto forbid = [&](const char* name, auto plain) {
        const Attr* a = op.params->find(name);
        const Attr::Seq* s = a ? a->get_seq() : nullptr;
        for (std::size_t i = 0; s && i < std::min(s->items.size(), no_forward.size()); ++i)
            if (!plain(s->items[i])) no_forward[i] = true;
    };
    forbid("in_shardings", [](const Attr& a) {
        const auto* o = a.get<Attr::Object>();
        return o && o->type == Sym("UnspecifiedValue");
    });
    forbid("in_layouts", [](const Attr& a) { return a.is_none(); });
    CallHalves h = closed_call_partial_eval_custom(args, "jaxpr", no_forward);
    const auto fresh_out = new_ones(static_cast<std::size_t>(h.new_known_outputs));
    const auto fresh_in = new_ones(static_cast<std::size_t>(h.new_staged_inputs));
    Attr::JaxprRef known, staged;
    from_attr(*h.result.known->params->find("jaxpr"), known);
    from_attr(*h.result.staged->params->find("jaxpr"), staged);
    h.result.known->params = jit_params(op.params, known.jaxpr, pick_where(h.known_in), pick_where(h.known_out) + fresh_out);
    h.result.staged->params = jit_params(op.params, staged.jaxpr, fresh_in + pick_where(h.staged_in), pick_where(h.staged_out));
    return std::move(h.result);
}

void call_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    std::vector<bool> linear, nonzero;
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) {
        linear.push_back(sink.wanted(i));
        if (!linear.back()) in.push_back(x[i]);
    }
    for (const Value c : ct) {
        nonzero.push_back(!c.is_zero());
        if (nonzero.back()) in.push_back(c);
    }
    const TransposedJaxpr& t = transpose_jaxpr(body(op), linear, nonzero);
    // Inputs and outputs change sides: what is per input of the original is per output here.
    ParamsRef params;
    if (is_jit(op)) {
        const Attr *in_s = op.params->find("in_shardings"), *out_s = op.params->find("out_shardings");
        const Attr *in_l = op.params->find("in_layouts"), *out_l = op.params->find("out_layouts");
        const auto chosen = [](const Attr* a, const std::vector<bool>& which, bool wanted) {
            const Attr::Seq* s = a ? a->get_seq() : nullptr;
            return s && s->items.size() == which.size() ? select(s->items, which, wanted) : Attrs();
        };
        const auto joined = [](Attrs p, const Attrs& q) {
            p.insert(p.end(), q.begin(), q.end());
            return Attr::tuple(std::move(p));
        };
        params = jit_params(op.params, t.jaxpr, new_ones(in.size()), new_ones(t.jaxpr->outvars.size()), false);
        params = with_param(params, "in_shardings", joined(chosen(in_s, linear, false), chosen(out_s, nonzero, true)));
        params = with_param(params, "in_layouts", joined(chosen(in_l, linear, false), chosen(out_l, nonzero, true)));
        params = with_param(params, "out_shardings", Attr::tuple(chosen(in_s, t.nonzero_in, true)));
        params = with_param(params, "out_layouts", Attr::tuple(chosen(in_l, t.nonzero_in, true)));
    } else {
        params = with_body(op, t.jaxpr, {}, {});
    }
    const Values out = emit_call(b, op, in, params, *t.jaxpr);
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (t.nonzero_in[i]) sink.add(i, out[next++]);
}

BatchResult call_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const BatchedJaxpr& j = batch_jaxpr(body(op), size, dims);
    ParamsRef params = with_body(op, j.jaxpr, pick_all(x.size()), pick_all(op.out.size()));
    // JAX's process_call names the function that it calls, which is the one that evaluates the body.
    if (!is_jit(op) && !params->find("name")) params = with_param(params, "name", Attr(Sym("eval_jaxpr")));
    return {emit_call(b, op, x, params, *j.jaxpr), j.out_dims};
}

std::optional<Reclosed> jit_reclose(const Op& op, const std::vector<bool>& tangent) {
    const std::size_t closed = count_unnamed(*body(op));
    const PrimalReads reads = read_primals(body(op), closed, tangent);
    if (reads.empty()) return {};
    const std::vector<ClosedOperand> operands = with_rest(reads.inputs, closed, op.in.size());
    return Reclosed{with_body(op, reads.body(), picks_of(operands), pick_all(op.out.size())), operands};
}

DceResult call_dce(const Op& op, const std::vector<bool>& used_outputs) {
    const JaxprPtr& j = body(op);
    DceResult r;
    const DceJaxpr d = dce_jaxpr(j, used_outputs);
    r.used_inputs = r.kept_inputs = d.used_inputs;
    r.kept_outputs = used_outputs;
    r.dropped = !any_true(d.used_inputs) && !any_true(used_outputs) && d.jaxpr->effects.empty();
    // Unchanged bodies keep their parameters, so that equations that share them go on sharing them.
    r.params = d.jaxpr == j ? op.params : with_body(op, d.jaxpr, pick_where(d.used_inputs), pick_where(used_outputs));
    return r;
}

// ---- jit's text: what is as jax.jit has it when it is told nothing isn't shown

template <class Test>
bool all_items(const Attr& a, Test test) {
    const Attr::Seq* s = a.get_seq();
    return s && std::all_of(s->items.begin(), s->items.end(), test);
}
bool if_all_false(const Attr& a, const PrintedEqn&) {
    return all_items(a, [](const Attr& x) { return x.get<bool>() && !*x.get<bool>(); });
}
bool if_all_none(const Attr& a, const PrintedEqn&) {
    return all_items(a, [](const Attr& x) { return x.is_none(); });
}
bool if_all_unspecified(const Attr& a, const PrintedEqn&) {
    return all_items(a, [](const Attr& x) { return x.get<Attr::Object>() && x.get<Attr::Object>()->type == Sym("UnspecifiedValue"); });
}
bool if_no_mesh(const Attr& a, const PrintedEqn& e) {
    const Attr::Record* r = a.get_record();
    return a.is_none() || (r && r->type == Sym("Mesh") && !r->fields.empty() && text_form::if_empty(r->fields[0].second, e));
}
Attr repeated(const Attr& value, std::size_t n) { return Attr::tuple(Attrs(n, value)); }
Attr unspecified(std::size_t n) { return repeated(Attr::Object{"UnspecifiedValue", {}, "UnspecifiedValue"}, n); }
Attr no_mesh(const ReadEqn&) {
    Attr::Record mesh;
    mesh.type = "Mesh";
    mesh.fields.emplace_back("axes", Attr::tuple({}));
    mesh.text = "Mesh()";
    return std::make_shared<const Attr::Record>(std::move(mesh));
}
constexpr HiddenParam kJitHidden[] = {
    {"compiler_options_kvs", text_form::if_empty, text_form::empty_tuple},
    {"ctx_mesh", if_no_mesh, no_mesh},
    {"donated_invars", if_all_false, [](const ReadEqn& e) { return repeated(false, e.in.size()); }},
    {"in_layouts", if_all_none, [](const ReadEqn& e) { return repeated(Attr(), e.in.size()); }},
    {"in_shardings", if_all_unspecified, [](const ReadEqn& e) { return unspecified(e.in.size()); }},
    {"inline", text_form::always, text_form::no},
    {"keep_unused", text_form::if_false, text_form::no},
    {"name", [](const Attr&, const PrintedEqn&) { return false; }, [](const ReadEqn&) { return Attr("f"); }},
    {"out_layouts", if_all_none, [](const ReadEqn& e) { return repeated(Attr(), e.out.size()); }},
    {"out_shardings", if_all_unspecified, [](const ReadEqn& e) { return unspecified(e.out.size()); }},
    {"resource_env", text_form::if_none},  // of JAX before 0.6
};
constexpr TextForm kJitText{.hidden = kJitHidden, .title = TextForm::Title::Param, .shares_names = true};
constexpr const char* kJitOlderNames[] = {"pjit", "xla_call"};

constexpr Primitive call_primitive_named(const char* name) {
    Primitive p;
    p.name = name;
    p.abstract_eval = call_abstract_eval;
    p.jvp = NoRule{"its jvp_call rule gives primals and tangents together"};
    p.jvp_call = call_jvp;
    p.linearize = call_linearize;
    p.partial_eval = call_partial_eval;
    p.partial_eval_custom = call_partial_eval_custom_rule;
    p.transpose = call_transpose;
    p.batch = call_batch;
    p.dce = call_dce;
    p.lower = NoRule{"calls are inlined before kernels are made"};
    p.kernel = NoRule{"calls are inlined before kernels are made"};
    p.expand = call_expand;
    p.cost = NoRule{"the cost of a call is that of its equations"};
    p.flow = Flow::Call;
    p.body = "call_jaxpr";
    return p;
}
constexpr Primitive jit_primitive() {
    Primitive p = call_primitive_named("jit");
    p.body = "jaxpr";
    p.reclose = jit_reclose;
    p.residual = ResidualLabel::Function;
    p.text = &kJitText;
    p.older_names = kJitOlderNames;
    return p;
}

}  // namespace

constinit const Primitive kJit = jit_primitive();
constinit const Primitive kClosedCall = call_primitive_named("closed_call");

namespace {

constexpr Primitive kCall = call_primitive_named("call");
constexpr Primitive kCoreCall = call_primitive_named("core_call");
constexpr Primitive kCoreClosedCall = call_primitive_named("core_closed_call");

/// A function under a name that compilers may know better than by its body. JAX doesn't differentiate it, nor map it; we map its body.
Avals composite_abstract_eval(const Op& op) {
    for (const char* told : {"attributes", "name", "version"}) ParamReads::note(told);
    return called_avals(op, *body(op));
}

constexpr NoRule kCompositeHasNoDerivative{
    "JVP rule for composite not implemented. You can use `jax.custom_jvp` to add support. See "
    "https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html",
    true};
constexpr Primitive kComposite{.name = "composite",
                               .abstract_eval = composite_abstract_eval,
                               .jvp = kCompositeHasNoDerivative,
                               .transpose = kCompositeHasNoDerivative,
                               .batch = NoRule{"its expansion is mapped"},
                               .lower = NoRule{"calls are inlined before kernels are made"},
                               .kernel = NoRule{"calls are inlined before kernels are made"},
                               .expand = call_expand,
                               .cost = NoRule{"the cost of a call is that of its equations"},
                               .flow = Flow::Call,
                               .body = "jaxpr"};

}  // namespace

std::span<const Primitive* const> call_primitives() {
    static constexpr const Primitive* all[] = {&kJit, &kClosedCall, &kCall, &kCoreCall, &kCoreClosedCall, &kComposite};
    return all;
}

}  // namespace jaxscope
