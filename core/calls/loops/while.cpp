// SPDX-License-Identifier: Apache-2.0
#include "calls/closures.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "ir/print/text_form.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"

// while (control_flow/loops.py of JAX 0.10.2). How often it runs isn't known before, so nothing can be saved of its steps: forward mode
// only.
namespace jaxscope {

namespace {

/// Operands: constants of the condition, constants of the body, carries. Results: carries.
struct WhileView {
    explicit WhileView(const Op& op)
        : params(op.as<WhileParams>()),
          cond(params.cond_jaxpr.jaxpr),
          body(params.body_jaxpr.jaxpr),
          num_cond(static_cast<std::size_t>(params.cond_nconsts)),
          num_body(static_cast<std::size_t>(params.body_nconsts)),
          num_carry(op.in.size() - num_cond - num_body) {}
    template <class V>
    V cond_consts(const V& in) const {
        return part(in, 0, num_cond);
    }
    template <class V>
    V body_consts(const V& in) const {
        return part(in, num_cond, num_body);
    }
    template <class V>
    V carry(const V& in) const {
        return rest(in, num_cond + num_body);
    }
    const WhileParams& params;
    const JaxprPtr &cond, &body;
    std::size_t num_cond, num_body, num_carry;
};

ParamsRef while_params(const JaxprPtr& cond, std::size_t num_cond, const JaxprPtr& body, std::size_t num_body) {
    return make_params(WhileParams{static_cast<std::int64_t>(num_body), {body, true}, static_cast<std::int64_t>(num_cond), {cond, true}});
}
Values emit_while(Builder& b, const Values& in, const JaxprPtr& cond, std::size_t num_cond, const JaxprPtr& body, std::size_t num_body) {
    return b.emit(kWhile, in, while_params(cond, num_cond, body, num_body), body->out_avals(), joined_effects({cond, body}));
}

Avals while_abstract_eval(const Op& op) {
    const WhileParams& p = op.as<WhileParams>();
    const std::size_t n = op.in.size();
    const auto num_cond = static_cast<std::uint64_t>(p.cond_nconsts), num_body = static_cast<std::uint64_t>(p.body_nconsts);
    if (p.cond_nconsts < 0 || p.body_nconsts < 0 || num_cond > n || num_body > n - num_cond)
        throw Error(ErrorCode::TypeMismatch, "while: expected counts of constants that fit its " + std::to_string(n) + " inputs, found " +
                                                 std::to_string(p.cond_nconsts) + " and " + std::to_string(p.body_nconsts));
    const WhileView w(op);
    const auto check = [](const char* what, const Avals& wanted, const Avals& found) {
        if (!same_types(wanted, found))
            throw Error(ErrorCode::TypeMismatch,
                        std::string("while: expected ") + what + " of types " + types_text(wanted) + ", found " + types_text(found));
    };
    check("inputs of the condition", w.cond->in_avals(), joined(w.cond_consts(op.in), w.carry(op.in)));
    check("inputs of the body", w.body->in_avals(), joined(w.body_consts(op.in), w.carry(op.in)));
    check("results of the body", w.carry(op.in), w.body->out_avals());
    if (w.cond->outvars.size() != 1 || w.cond->aval(w.cond->outvars.front())->dtype != DType::Bool)
        throw Error(ErrorCode::TypeMismatch, "while: expected a condition that gives one bool, found " + types_text(w.cond->out_avals()));
    return w.body->out_avals();
}

PrimalsTangents while_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const WhileView w(op);
    const Flags nz = nonzero_pattern(b, dx), body_nz = w.body_consts(nz);
    const JvpJaxpr* jvp = nullptr;
    const Flags carry_nz = carry_fixpoint(w.carry(nz), [&](const Flags& carry) {
        jvp = &jvp_jaxpr(w.body, joined(body_nz, carry), carry);
        return jvp->nonzero_out;
    });
    const std::size_t n = w.num_body + w.num_carry, dc = count_true(body_nz), dr = count_true(carry_nz);
    const JaxprPtr body =
        rearrange(jvp->jaxpr, joined(positions(0, w.num_body), positions(n, dc), positions(w.num_body, w.num_carry), positions(n + dc, dr)),
                  positions(0, jvp->jaxpr->outvars.size()));
    Values carry_dx = w.carry(dx);
    for (std::size_t k = 0; k < w.num_carry; ++k)
        if (carry_nz[k]) carry_dx[k] = instantiate_zero(b, carry_dx[k], op.out[k]);
    carry_dx = select(carry_dx, carry_nz);
    // The condition takes the tangents too, and reads none.
    Avals cond_in = w.cond->in_avals();
    for (const Value t : carry_dx) cond_in.push_back(b.aval(t));
    const JaxprPtr cond = widen_inputs(w.cond, cond_in, positions(0, w.cond->num_invars));
    const Values in = joined(w.cond_consts(x), w.body_consts(x), select(w.body_consts(dx), body_nz), w.carry(x), carry_dx);
    const Values out = emit_while(b, in, cond, w.num_cond, body, w.num_body + dc);
    return {part(out, 0, w.num_carry), merged(carry_nz, Values(w.num_carry - dr, Value::zero()), rest(out, w.num_carry))};
}

/// As long as the condition is known, the known carries are computed by a loop of their own; the unknown ones by the whole loop, known
/// parts again.
Values while_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    const WhileView w(op);
    Flags unknown;
    for (const Value v : x) unknown.push_back(v.is_unknown());
    const Flags cond_uk = w.cond_consts(unknown), body_uk = w.body_consts(unknown);
    const PartialEvalJaxpr* body = nullptr;
    const Flags carry_uk = carry_fixpoint(w.carry(unknown), [&](const Flags& carry) {
        body = &partial_eval_jaxpr(w.body, joined(body_uk, carry), carry, false);
        return body->unknown_out;
    });
    const PartialEvalJaxpr& cond = partial_eval_jaxpr(w.cond, joined(cond_uk, carry_uk), false, false);
    const EffectSet effects = joined_effects({w.cond, w.body});
    const bool all_unknown = count_true(unknown) == unknown.size();
    Values whole_out = b.tangent().emit(*op.prim, x, op.params, op.out, effects);
    if (cond.unknown_out.front() || all_unknown) return whole_out;
    const Values known_in =
        joined(select(w.cond_consts(x), cond_uk, false), select(w.body_consts(x), body_uk, false), select(w.carry(x), carry_uk, false));
    const std::size_t num_known = count_true(negated(carry_uk));
    const JaxprPtr known_body =
        prune_outputs(body->known, joined(Flags(num_known, true), Flags(body->known->outvars.size() - num_known, false)));
    const JaxprPtr known_cond = prune_outputs(cond.known, joined(Flags(1, true), Flags(cond.known->outvars.size() - 1, false)));
    const Values known_out =
        emit_while(b.primal(), known_in, known_cond, count_true(negated(cond_uk)), known_body, count_true(negated(body_uk)));
    return merged(carry_uk, known_out, select(whole_out, carry_uk));
}

PartialEvalCustomResult while_partial_eval_custom(const PartialEvalCustomArgs& args) {
    const Op& op = args.op;
    const WhileView w(op);
    const Flags cond_uk = w.cond_consts(args.unknown_in), body_uk = w.body_consts(args.unknown_in);
    const PolicyQuery nothing;
    CustomPartialEval body;
    const Flags carry_uk = carry_fixpoint(w.carry(args.unknown_in), [&](const Flags& carry) {
        body = partial_eval_jaxpr_custom(w.body, joined(body_uk, carry), Flags(w.body->num_invars, true), carry, Flags(w.num_carry, true),
                                         nothing);
        return body.unknown_out;
    });
    const CustomPartialEval cond =
        partial_eval_jaxpr_custom(w.cond, joined(cond_uk, carry_uk), Flags(w.cond->num_invars, true), false, true, nothing);
    PartialEvalCustomResult r;
    r.residual_inputs = not_instantiated(args);
    r.staged = HalfEqn{op.prim, op.params, originals_where(Flags(op.in.size(), true)), results_where(Flags(op.out.size(), true)),
                       args.eqn.effects};
    r.unknown_out = carry_uk;
    r.inst_out = Flags(w.num_carry, true);
    if (cond.unknown_out.front()) {
        r.unknown_out = r.inst_out;
        return r;
    }
    const Flags unknown = joined(cond_uk, body_uk, carry_uk);
    r.known = HalfEqn{op.prim, while_params(cond.known, count_true(negated(cond_uk)), body.known, count_true(negated(body_uk))),
                      originals_where(unknown, false), results_where(carry_uk, false), joined_effects({cond.known, body.known})};
    return r;
}

/// Condition and body close over values by themselves.
std::optional<Reclosed> while_reclose(const Op& op, const Flags& tangent) {
    const WhileView w(op);
    PrimalReads cond = read_primals(w.cond, w.num_cond, tangent);
    PrimalReads body = read_primals(w.body, w.num_body, rest(tangent, w.num_cond));
    if (cond.empty() && body.empty()) return {};
    if (cond.empty()) cond = {{w.cond}, with_rest({}, 0, w.num_cond)};
    if (body.empty()) body = {{w.body}, with_rest({}, 0, w.num_body)};
    std::vector<ClosedOperand> operands = cond.inputs;
    for (const ClosedOperand& o : body.inputs) operands.push_back({w.num_cond + o.operand, o.primal});
    return Reclosed{while_params(cond.body(), cond.inputs.size(), body.body(), body.inputs.size()),
                    with_rest(std::move(operands), w.num_cond + w.num_body, op.in.size())};
}

void while_transpose(Builder&, const Op& op, const Values&, const Values&, TransposeSink&) {
    throw Error(ErrorCode::NotDifferentiable,
                "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. Try using "
                "lax.scan, or using fori_loop with static start/stop.")
        .at(op.source.loc());
}

Flags mapped_outputs(const BatchedJaxpr& j) {
    Flags out;
    for (const int d : j.out_dims) out.push_back(d != kNotMapped);
    return out;
}
std::vector<int> dims_where(const Flags& mapped, int dim = 0) {
    std::vector<int> out;
    for (const bool m : mapped) out.push_back(m ? dim : kNotMapped);
    return out;
}

BatchResult while_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const WhileView w(op);
    const EffectSet effects = joined_effects({w.cond, w.body});
    if (effects.contains(EffectKind::OrderedIO))
        throw Error(ErrorCode::NoRule, "Ordered IO effects not supported in vmap.").at(op.source.loc());
    Flags mapped;
    for (const int d : dims) mapped.push_back(d != kNotMapped);
    const Flags cond_mapped = w.cond_consts(mapped), body_mapped = w.body_consts(mapped);
    Flags carry_mapped = carry_fixpoint(w.carry(mapped), [&](const Flags& carry) {
        return mapped_outputs(batch_jaxpr_front(w.body, size, dims_where(joined(body_mapped, carry)), carry));
    });
    const bool pred_mapped =
        mapped_outputs(batch_jaxpr_front(w.cond, size, dims_where(joined(cond_mapped, carry_mapped)), {false})).front();
    // A mapped condition maps every carry. Otherwise the batch axis of carries goes behind the condition's own axes, if it has any.
    if (pred_mapped && effects.contains(EffectKind::IO))
        throw Error(ErrorCode::NoRule, "Unordered IO effects not supported in while_loop with batched predicate").at(op.source.loc());
    if (pred_mapped) carry_mapped = Flags(w.num_carry, true);
    const int axis = pred_mapped ? 0 : w.cond->aval(w.cond->outvars.front())->rank();
    const std::vector<int> carry_dims = dims_where(carry_mapped, axis);
    const JaxprPtr body = batch_jaxpr_axes(w.body, size, joined(w.body_consts(dims), carry_dims), carry_dims);
    const JaxprPtr cond = batch_jaxpr_axes(w.cond, size, joined(w.cond_consts(dims), carry_dims), {pred_mapped ? 0 : kNotMapped});
    Values in = part(x, 0, w.num_cond + w.num_body);
    for (std::size_t k = 0; k < w.num_carry; ++k) {
        const std::size_t i = w.num_cond + w.num_body + k;
        if (carry_dims[k] == kNotMapped)
            in.push_back(x[i]);
        else if (dims[i] == kNotMapped)
            in.push_back(moveaxis(b, batch_to_front(b, x[i], kNotMapped, size), 0, carry_dims[k]));
        else
            in.push_back(moveaxis(b, x[i], dims[i], carry_dims[k]));
    }
    return {emit_while(b, in, cond, w.num_cond, body, w.num_body), carry_dims};
}

/// The loop with a scalar condition (_while_lowering): where the condition is batched it runs while any of its examples does, and those
/// that are done keep their carries.
JaxprPtr while_expand(const Op& op) {
    const WhileView w(op);
    const int rank = w.cond->aval(w.cond->outvars.front())->rank();
    JAXSCOPE_ASSERT(rank > 0);
    const auto inputs = [](JaxprBuilder& b, const Avals& avals) {
        Values x;
        for (const AvalRef a : avals) x.push_back(b.add_input(a));
        return x;
    };
    const Avals carry = w.carry(op.in), cond_consts = w.cond_consts(op.in);
    JaxprBuilder cond, body, loop;
    const Values running = eval_jaxpr(cond, *w.cond, inputs(cond, joined(cond_consts, carry)));
    const Value any = cond.bind1(kReduceOr, running, make_params(ReduceSumParams{iota_dims(rank), {}}));

    const Values in = inputs(body, joined(cond_consts, w.body_consts(op.in), carry));
    const Values old = rest(in, w.num_cond + w.num_body);
    const Value pred = eval_jaxpr(body, *w.cond, joined(part(in, 0, w.num_cond), old)).front();
    Values next = eval_jaxpr(body, *w.body, rest(in, w.num_cond));
    for (std::size_t k = 0; k < next.size(); ++k)
        next[k] = lax::select(body, lax::broadcast_in_dim(body, pred, carry[k]->shape, iota_dims(rank)), next[k], old[k]);

    const Values x = inputs(loop, op.in);
    return loop.finish(
        emit_while(loop, joined(part(x, 0, w.num_cond), x), cond.finish({any}), w.num_cond, body.finish(next), w.num_cond + w.num_body));
}

}  // namespace

namespace {

/// Operands are constants of the condition, constants of the body, carries; those go to both.
std::vector<CalledInput> while_called_inputs(const Params& params, std::int64_t operand) {
    const auto body = [&](const char* name) -> const Jaxpr* {
        const Attr* a = params.find(name);
        const auto* ref = a ? a->get<Attr::JaxprRef>() : nullptr;
        return ref ? ref->jaxpr.get() : nullptr;
    };
    const Attr* a = params.find("cond_nconsts");
    const auto* n = a ? a->get<std::int64_t>() : nullptr;
    const std::int64_t cond = n ? *n : 0;
    if (operand < cond) return {{body("cond_jaxpr"), operand}};
    return {{body("body_jaxpr"), operand - cond}};
}
constexpr TextForm kWhileText{.last_jaxpr_first = true, .called_inputs = while_called_inputs};

}  // namespace

constinit const Primitive kWhile{
    .name = "while",
    .abstract_eval = while_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = while_jvp,
    .linearize = NoRule{"JAX linearizes it by jvp and partial evaluation; transposing the result is refused"},
    .partial_eval = while_partial_eval,
    .partial_eval_custom = while_partial_eval_custom,
    .transpose = while_transpose,
    .batch = while_batch,
    .dce = NoRule{"JAX has none either: a loop stays whole as soon as one result is used"},
    .reclose = while_reclose,
    .lower = NoRule{"runs as a loop of the executor"},
    .kernel = NoRule{"runs as a loop of the executor"},
    .expand = while_expand,
    .cost = NoRule{"how often it runs depends on values"},
    .flow = Flow::While,
    .text = &kWhileText,
};

std::span<const Primitive* const> while_primitives() {
    static constexpr const Primitive* all[] = {&kWhile};
    return all;
}

}  // namespace jaxscope
