// SPDX-License-Identifier: Apache-2.0
#include "calls/remat/remat.h"
#include "calls/control_flow.h"

#include "calls/closures.h"
#include "calls/families.h"
#include "ir/interpret.h"
#include "ir/print/text_form.h"
#include "lax/primitives.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/eqn_tape.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"
#include "transforms/transpose.h"

// remat2 (ad_checkpoint.py of JAX 0.10.2).
namespace jaxscope {

namespace {

/// `prevent_cse` for other inputs: per-input flags follow `in`, new inputs are guarded.
Attr cse_for(const Attr& prevent_cse, const Picks& in) {
    const Attr::Seq* s = prevent_cse.get_seq();
    if (!s) return prevent_cse;
    Attrs out;
    for (const int i : in) out.push_back(i == kNew ? Attr(true) : s->items[static_cast<std::size_t>(i)]);
    return Attr::tuple(std::move(out));
}

ParamsRef remat_params(const Op& op, JaxprPtr body, const Picks& in, bool differentiated) {
    RematParams p = op.as<RematParams>();
    p.jaxpr = {std::move(body), false};
    p.prevent_cse = cse_for(p.prevent_cse, in);
    p.differentiated = differentiated;
    return make_params(p);
}

Avals remat_abstract_eval(const Op& op) { return called_avals(op, *op.as<RematParams>().jaxpr.jaxpr); }

PrimalsTangents remat_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const std::vector<bool> nz = nonzero_pattern(b, dx);
    const JvpJaxpr& j = jvp_jaxpr(op.as<RematParams>().jaxpr.jaxpr, nz);
    const JaxprPtr body = convert_constvars(j.jaxpr);
    Values in = constants_of(b, *j.jaxpr);
    const std::size_t num_consts = in.size();
    in.insert(in.end(), x.begin(), x.end());
    for (std::size_t i = 0; i < dx.size(); ++i)
        if (nz[i]) in.push_back(dx[i]);
    const Picks picks = new_ones(num_consts) + pick_all(x.size()) + new_ones(in.size() - x.size() - num_consts);
    const Values out =
        b.emit(*op.prim, in, remat_params(op, body, picks, op.as<RematParams>().differentiated), body->out_avals(), body->effects);
    PrimalsTangents r;
    r.primals.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(op.out.size()));
    std::size_t next = op.out.size();
    for (const bool n : j.nonzero_out) r.tangents.push_back(n ? out[next++] : Value::zero());
    return r;
}

/// JAX 0.10.2 meets its own refusal here.
[[noreturn]] void refuse_complex(AvalRef aval, const Eqn* made_by) {
    Error e(ErrorCode::NotDifferentiable, std::string("reduce_precision does not accept dtype ") + info(aval->dtype).name +
                                              ". Accepted dtypes are subtypes of floating.");
    if (made_by) e.at(made_by->source.loc());
    e.advise(
        "JAX can't differentiate a checkpoint that saves a complex value which it computes with: choose a policy that doesn't save it");
    throw e;
}

/// Behind every floating residual that the known half uses itself, its own precision is asserted: otherwise XLA might keep it wider
/// in the forward pass than the backward pass reads it (JAX's _insert_reduce_precision).
JaxprPtr insert_reduce_precision(const JaxprPtr& j, std::size_t num_residuals) {
    const Primitive& reduce_precision = kReducePrecision;
    std::vector<bool> used(j->num_vars(), false), rounded(j->num_vars(), false);
    for (const Atom a : j->atoms)
        if (a.is_var()) used[a.var().index] = true;
    bool any = false;
    for (std::size_t k = j->outvars.size() - num_residuals; k < j->outvars.size(); ++k) {
        const Atom a = j->outvars[k];
        if (a.is_literal() || !used[a.var().index] || !j->aval(a)->is_array() || !is_inexact(j->aval(a)->dtype)) continue;
        any = rounded[a.var().index] = true;
    }
    if (!any) return j;
    const auto params_of = [&](AvalRef a) {
        const DType d = a->dtype;
        return Params::make({{"exponent_bits", Attr(int{info(d).exponent_bits})}, {"mantissa_bits", Attr(int{info(d).mantissa_bits})}});
    };
    JaxprBuilder b;
    // Rounds those of `values` that are to be, the values of variables `first` and on; `made_by`: the equation that they come from.
    const auto round = [&](Values& values, Var first, const Eqn* made_by) {
        for (std::uint32_t k = 0; k < values.size(); ++k) {
            const Var v{first.index + k};
            if (!rounded[v.index]) continue;
            if (is_complex(j->aval(v)->dtype)) refuse_complex(j->aval(v), made_by);
            const ParamsRef params = params_of(j->aval(v));
            if (made_by && made_by->prim == &reduce_precision && made_by->params == params) continue;
            values[k] = b.emit(reduce_precision, {values[k]}, params, {j->aval(v)}).front();
        }
    };
    Values in;
    for (const AvalRef a : j->in_avals()) in.push_back(b.add_input(a));
    round(in, j->invar(0), nullptr);
    Interpreter run(*j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_inputs(in);
    const Values outs = run.forward([&](const Eqn& e, const Values& args) {
        Values out = b.copy(*j, e, args);
        round(out, j->output(e, 0), &e);
        return out;
    });
    return b.finish(outs, j->name);
}

void check_effects(const Jaxpr& j, const Op& op) {
    const EffectSet disallowed = j.effects.filter_not_in(&EffectTraits::remat_allowed);
    if (disallowed.empty()) return;
    throw Error(ErrorCode::NotDifferentiable, "Effects not supported in partial-eval of `checkpoint`/`remat`: [" + disallowed.str() + "]")
        .at(op.source.loc());
}

Values remat_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    const RematParams& p = op.as<RematParams>();
    if (p.jaxpr.jaxpr->num_constvars != 0)
        throw Error(ErrorCode::BadInput,
                    "expected a checkpointed function without constvars, found " + std::to_string(p.jaxpr.jaxpr->num_constvars))
            .at(op.source.loc());
    check_effects(*p.jaxpr.jaxpr, op);
    std::vector<bool> unknown;
    for (const Value v : x) unknown.push_back(v.is_unknown());
    const CustomPartialEval split = partial_eval_jaxpr_custom(p.jaxpr.jaxpr, unknown, std::vector<bool>(x.size(), true), false, false,
                                                              PolicyQuery{p.policy, op.source});

    // Of the staged half's outputs, only the unknown ones come out of it.
    const DceJaxpr staged = dce_jaxpr(split.staged, select(split.unknown_out, split.inst_out));
    const auto num_all = static_cast<std::ptrdiff_t>(split.num_residuals);
    const std::vector<bool> used_residuals(staged.used_inputs.begin(), staged.used_inputs.begin() + num_all);
    const std::vector<bool> used_staged(staged.used_inputs.begin() + num_all, staged.used_inputs.end());
    const std::size_t num_residuals = count_true(used_residuals);

    std::vector<bool> used_known(count_true(negated(split.unknown_out)), true);
    used_known.insert(used_known.end(), used_residuals.begin(), used_residuals.end());
    const DceJaxpr known = dce_jaxpr(split.known, used_known);
    const JaxprPtr known_body = insert_reduce_precision(known.jaxpr, num_residuals);
    const Values out =
        inline_evaluated(b.primal(), *known_body, constants_of(b, *known_body), select(select(x, unknown, false), known.used_inputs));
    const std::size_t num_known = out.size() - num_residuals;

    Values in(out.begin() + static_cast<std::ptrdiff_t>(num_known), out.end());
    const Values staged_in = select(x, used_staged);
    in.insert(in.end(), staged_in.begin(), staged_in.end());
    const ParamsRef params = remat_params(op, staged.jaxpr, new_ones(num_residuals) + pick_where(used_staged), true);
    Builder& half = b.tangent();
    // In linearize JAX evaluates what partial evaluation staged once more, and this equation, other than all else, has the whole stack
    // then.
    if (!b.by_data()) half.source = op.source.with(op.source->name_stack + op.source->name_stack);
    if (const auto& listener = remat_split_listener()) {
        RematSplit made{{}, known.jaxpr, num_residuals};
        const std::vector<bool> staged_unknown = select(unknown, used_staged);
        for (std::size_t i = 0; i < staged_unknown.size(); ++i)
            if (!staged_unknown[i]) made.inputs.push_back(half.aval(staged_in[i]));
        listener(made);
    }
    const Values staged_out = half.emit(*op.prim, in, params, staged.jaxpr->out_avals(), staged.jaxpr->effects);
    Values r;
    std::size_t next_known = 0, next_unknown = 0;
    for (const bool u : split.unknown_out) r.push_back(u ? staged_out[next_unknown++] : out[next_known++]);
    return r;
}

PartialEvalCustomResult remat_partial_eval_custom(const PartialEvalCustomArgs& args) {
    CallHalves h = call_partial_eval_custom(args, "jaxpr");
    const bool differentiated = args.op.as<RematParams>().differentiated;
    Attr::JaxprRef known, staged;
    from_attr(*h.result.known->params->find("jaxpr"), known);
    from_attr(*h.result.staged->params->find("jaxpr"), staged);
    h.result.known->params = remat_params(args.op, known.jaxpr, pick_where(h.known_in), differentiated);
    h.result.staged->params =
        remat_params(args.op, staged.jaxpr, new_ones(static_cast<std::size_t>(h.new_staged_inputs)) + pick_where(h.staged_in), true);
    return std::move(h.result);
}

void remat_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const RematParams& p = op.as<RematParams>();
    std::vector<bool> linear, nonzero;
    for (std::size_t i = 0; i < x.size(); ++i) linear.push_back(sink.wanted(i));
    for (const Value c : ct) nonzero.push_back(!c.is_zero());
    const TransposedJaxpr& t = transpose_rematted_jaxpr(p.jaxpr.jaxpr, linear, nonzero);
    const JaxprPtr body = convert_constvars(t.jaxpr);
    Values in = constants_of(b, *t.jaxpr);
    Picks picks = new_ones(in.size()) + pick_where(linear, false);
    for (const Value v : select(x, linear, false)) in.push_back(v);
    for (const Value c : select(ct, nonzero)) in.push_back(c);
    picks.resize(in.size(), kNew);
    const Values out = b.emit(*op.prim, in, remat_params(op, body, picks, p.differentiated), body->out_avals(), body->effects);
    std::size_t next = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (t.nonzero_in[i]) sink.add(i, out[next++]);
}

BatchResult remat_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const RematParams& p = op.as<RematParams>();
    const BatchedJaxpr& j = batch_jaxpr_front(p.jaxpr.jaxpr, size, dims, std::vector<bool>(op.out.size(), false));
    const JaxprPtr body = convert_constvars(j.jaxpr);
    Values in = constants_of(b, *j.jaxpr);
    const Picks picks = new_ones(in.size()) + pick_all(x.size());
    in.insert(in.end(), x.begin(), x.end());
    return {b.emit(*op.prim, in, remat_params(op, body, picks, p.differentiated), body->out_avals(), body->effects), j.out_dims};
}

std::optional<Reclosed> remat_reclose(const Op& op, const std::vector<bool>& tangent) {
    const RematParams& p = op.as<RematParams>();
    const std::size_t closed = count_unnamed(*p.jaxpr.jaxpr);
    const PrimalReads reads = read_primals(p.jaxpr.jaxpr, closed, tangent);
    if (reads.empty()) return {};
    const std::vector<ClosedOperand> operands = with_rest(reads.inputs, closed, op.in.size());
    return Reclosed{remat_params(op, reads.body(), picks_of(operands), p.differentiated), operands};
}

DceResult remat_dce(const Op& op, const std::vector<bool>& used_outputs) {
    const RematParams& p = op.as<RematParams>();
    const DceJaxpr d = dce_jaxpr(p.jaxpr.jaxpr, used_outputs);
    DceResult r;
    r.used_inputs = r.kept_inputs = d.used_inputs;
    r.kept_outputs = used_outputs;
    // JAX 0.10.2 drops what has effects and neither inputs nor results: a print of nothing but text.
    const auto any = [](const std::vector<bool>& flags) { return std::find(flags.begin(), flags.end(), true) != flags.end(); };
    const auto real = [](const Effect& e) { return e.kind != EffectKind::NamedAxis && e.kind != EffectKind::InternalMutableArray; };
    const std::vector<Effect>& effects = d.jaxpr->effects.list();
    r.dropped = !any(d.used_inputs) && !any(used_outputs) && std::any_of(effects.begin(), effects.end(), real);
    r.params = d.jaxpr == p.jaxpr.jaxpr ? op.params : remat_params(op, d.jaxpr, pick_where(d.used_inputs), p.differentiated);
    return r;
}

JaxprPtr remat_expand(const Op& op) { return op.as<RematParams>().jaxpr.jaxpr; }

constexpr TextForm kRematText{.open_body = true};
constexpr const char* kRematOlderNames[] = {"checkpoint", "remat"};

}  // namespace

constinit const Primitive kRemat{
    .name = "remat2",
    .abstract_eval = remat_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = remat_jvp,
    .linearize = NoRule{"JAX linearizes it by jvp and partial evaluation under its policy"},
    .partial_eval = remat_partial_eval,
    .partial_eval_custom = remat_partial_eval_custom,
    .transpose = remat_transpose,
    .batch = remat_batch,
    .dce = remat_dce,
    .reclose = remat_reclose,
    .lower = NoRule{"its body is inlined behind a barrier before kernels are made"},
    .kernel = NoRule{"its body is inlined behind a barrier before kernels are made"},
    .expand = remat_expand,
    .cost = NoRule{"the cost of a call is that of its equations"},
    .flow = Flow::Remat,
    .body = "jaxpr",
    .text = &kRematText,
    .older_names = kRematOlderNames,
};

std::function<void(const RematSplit&)>& remat_split_listener() {
    thread_local std::function<void(const RematSplit&)> listener;
    return listener;
}

std::span<const Primitive* const> remat_primitives() {
    static constexpr const Primitive* all[] = {&kRemat};
    return all;
}

}  // namespace jaxscope
