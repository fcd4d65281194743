// SPDX-License-Identifier: Apache-2.0
#include "calls/call_params.h"
#include "calls/families.h"
#include "calls/loops/scan.h"
#include "ir/interpret.h"
#include "transforms/jaxpr_util.h"
#include "transforms/linearize.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"

// How a scan splits into a known and an unknown scan: linearization, partial evaluation with and without a policy
// (control_flow/loops.py of JAX 0.10.2). Residuals that change from step to step are stacked; those that don't are computed once, in front
// of the loop.
namespace jaxscope {

namespace {

/// The body of the known scan without what doesn't change from step to step: that is computed by equations in front of the loop
/// (JAX's _scan_known_hoisting).
struct HoistedBody {
    JaxprPtr body;
    Values consts;     ///< of the new body, in `b`
    Flags which;       ///< per residual: is it computed in front?
    Values residuals;  ///< those
};
HoistedBody hoist(JaxprBuilder& b, const JaxprPtr& known, const Values& consts, std::size_t num_residuals) {
    SplitBuilder split(b, false, true);
    Values in = consts;
    for (std::uint32_t i = static_cast<std::uint32_t>(consts.size()); i < known->num_invars; ++i)
        in.push_back(split.add_unknown_input(known->aval(known->invar(i))));
    const SourceRef source = b.source;
    const ContextRef context = b.context;
    const Values out = eval_jaxpr(split, *known, in);
    b.source = source;
    b.context = context;
    const std::size_t num_primals = out.size() - num_residuals;
    HoistedBody h;
    Values outs = part(out, 0, num_primals);
    for (std::size_t k = num_primals; k < out.size(); ++k) {
        h.which.push_back(!out[k].is_unknown());
        (h.which.back() ? h.residuals : outs).push_back(out[k]);
    }
    SplitBuilder::Unknown loop = split.finish_unknown(outs, false, known->name);
    h.body = std::move(loop.jaxpr);
    h.consts = std::move(loop.residuals);
    return h;
}

/// The two scans of a split one: what linearization and partial evaluation have in common.
struct KnownScan {
    const ScanView& scan;
    const JaxprPtr& body;  ///< of the known half: outputs, then residuals
    Values in;             ///< its inputs
    std::size_t num_consts, num_carry;
    std::size_t num_residuals_out;
    const std::vector<int>& forwards;  ///< per residual: which of (constants of the body, `in`), or -1
};
struct KnownResult {
    Values outputs;
    Values residuals;  ///< all, completed with those that are forwarded
    Flags stacked;     ///< which of them are elements of something in the body: the others are constants of the unknown scan
};
KnownResult run_known_half(JaxprBuilder& b, const KnownScan& k) {
    const std::size_t num_body_consts = k.scan.body->num_constvars;
    HoistedBody h = hoist(b, k.body, part(k.in, 0, k.num_consts), k.num_residuals_out);
    Values out;
    if (!h.body->outvars.empty() || !h.body->effects.empty())
        out = k.scan.emit(b, joined(h.consts, rest(k.in, k.num_consts)), h.body, h.consts.size(), k.num_carry);
    KnownResult r;
    const std::size_t num_outputs = out.size() - (k.num_residuals_out - count_true(h.which));
    r.outputs = part(out, 0, num_outputs);
    const Values computed = merged(h.which, rest(out, num_outputs), h.residuals);
    std::size_t next = 0;
    for (const int f : k.forwards) {
        const auto i = static_cast<std::size_t>(f);
        if (f < 0) {
            r.stacked.push_back(!h.which[next]);
            r.residuals.push_back(computed[next++]);
        } else {
            r.stacked.push_back(i >= num_body_consts + k.num_consts + k.num_carry);
            r.residuals.push_back(i < num_body_consts ? b.constant(k.scan.body->consts[i]) : k.in[i - num_body_consts]);
        }
    }
    return r;
}

/// The unknown half's scan: its body takes residuals, then `in`; scanned residuals go behind.
Values emit_unknown_half(Builder& b, const ScanView& s, const JaxprPtr& body, const KnownResult& known, const Values& in,
                         std::size_t num_consts, std::size_t num_carry) {
    const Values fixed = select(known.residuals, known.stacked, false), scanned = select(known.residuals, known.stacked);
    const JaxprPtr rearranged = permute_inputs(body, moved_to_back(joined(known.stacked, Flags(in.size(), false))));
    return s.emit(b, joined(fixed, in, scanned), rearranged, fixed.size() + num_consts, num_carry);
}

}  // namespace

PrimalsTangents scan_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    const ScanView s(op);
    Flags nz = nonzero_pattern(b, dx);
    const Flags const_nz = s.consts(nz), xs_nz = s.xs(nz), allow_forward = s.forwardable();
    const LinearizedJaxpr* lin = nullptr;
    const Flags carry_nz = carry_fixpoint(s.carry(nz), [&](const Flags& carry) {
        nz = joined(const_nz, carry, xs_nz);
        lin = &linearize_jaxpr(s.body, nz, s.only_carry(carry), allow_forward);
        return s.carry_out(lin->nonzero_out);
    });
    const KnownResult known = run_known_half(b.primal(), {s, lin->primal, x, s.num_consts, s.num_carry,
                                                          static_cast<std::size_t>(lin->num_residuals_out), lin->residual_forward});
    Values tangents;
    Builder& linear = b.tangent();
    for (std::size_t i = 0; i < dx.size(); ++i)
        if (nz[i]) tangents.push_back(instantiate_zero(linear, dx[i], op.in[i]));
    const Values out = emit_unknown_half(linear, s, lin->tangent, known, tangents, count_true(const_nz), count_true(carry_nz));
    PrimalsTangents r;
    r.primals = known.outputs;
    std::size_t next = 0;
    for (const bool some : lin->nonzero_out) r.tangents.push_back(some ? out[next++] : Value::zero());
    return r;
}

Values scan_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    const ScanView s(op);
    Flags unknown;
    for (const Value v : x) unknown.push_back(v.is_unknown());
    const Flags const_uk = s.consts(unknown), xs_uk = s.xs(unknown), allow_forward = s.forwardable();
    const PartialEvalJaxpr* split = nullptr;
    const Flags carry_uk = carry_fixpoint(s.carry(unknown), [&](const Flags& carry) {
        unknown = joined(const_uk, carry, xs_uk);
        split = &partial_eval_jaxpr(s.body, unknown, s.only_carry(carry), allow_forward);
        return s.carry_out(split->unknown_out);
    });
    const KnownResult known =
        run_known_half(b.primal(), {s, split->known, select(x, unknown, false), count_true(negated(const_uk)),
                                    count_true(negated(carry_uk)), static_cast<std::size_t>(split->num_residuals_out), split->forwards});
    const Values out =
        emit_unknown_half(b.tangent(), s, split->unknown, known, select(x, unknown), count_true(const_uk), count_true(carry_uk));
    return merged(split->unknown_out, known.outputs, out);
}

namespace {

/// The known half under a policy: one closed_call of what doesn't change from step to step and the scan of the rest. Gives the fixed
/// residuals, the known outputs, the stacked residuals.
struct KnownCall {
    JaxprPtr call;
    Flags stacked;  ///< per residual
};
KnownCall known_call(const ScanView& s, const CustomPartialEval& split, std::size_t num_consts, std::size_t num_carry, const Op& op,
                     const Avals& in_avals) {
    const Jaxpr& known = *split.known;
    const auto num_residuals = static_cast<std::size_t>(split.num_residuals);
    const std::size_t num_outputs = known.outvars.size() - num_residuals;
    const Flags in_loop = joined(Flags(num_consts, false), Flags(known.num_invars - num_consts, true));
    const PartialEvalJaxpr& parts =
        partial_eval_jaxpr(split.known, in_loop, joined(Flags(num_outputs, true), Flags(num_residuals, false)), false);
    KnownCall r;
    r.stacked = rest(parts.unknown_out, num_outputs);
    const std::size_t num_fixed = count_true(negated(r.stacked));
    JaxprBuilder b;
    Values in;
    for (const AvalRef a : in_avals) in.push_back(b.add_input(a));
    const Values front = inline_jaxpr(b, *parts.known, constants_of(b, *parts.known), part(in, 0, num_consts));
    const Values consts = rest(front, num_fixed);
    b.source = op.source.with({});
    b.context = op.context;
    const Values out = s.emit(b, joined(consts, rest(in, num_consts)), parts.unknown, consts.size(), num_carry);
    r.call = b.finish(joined(part(front, 0, num_fixed), out), s.body->name);
    return r;
}

}  // namespace

PartialEvalCustomResult scan_partial_eval_custom(const PartialEvalCustomArgs& args) {
    const Op& op = args.op;
    const ScanView s(op);
    Flags unknown = args.unknown_in;
    const Flags const_uk = s.consts(unknown), xs_uk = s.xs(unknown), all_in(op.in.size(), true), all_out(op.out.size(), true);
    CustomPartialEval split;
    const Flags carry_uk = carry_fixpoint(s.carry(unknown), [&](const Flags& carry) {
        unknown = joined(const_uk, carry, xs_uk);
        split = partial_eval_jaxpr_custom(s.body, unknown, all_in, s.only_carry(carry), all_out, args.policy);
        return s.carry_out(split.unknown_out);
    });
    const std::size_t known_consts = count_true(negated(const_uk)), known_carry = count_true(negated(carry_uk));
    const KnownCall known = known_call(s, split, known_consts, known_carry, op, select(op.in, unknown, false));

    // Fixed residuals are numbered before the stacked ones.
    const auto num_residuals = static_cast<std::size_t>(split.num_residuals);
    const std::size_t num_fixed = count_true(negated(known.stacked));
    const Avals inner = part(split.staged->in_avals(), 0, num_residuals);
    PartialEvalCustomResult r;
    r.residuals = select(inner, known.stacked, false);
    for (const AvalRef a : select(inner, known.stacked)) r.residuals.push_back(stacked(a, s.params.length));

    HalfEqn known_eqn{&kClosedCall, Params::make({{"call_jaxpr", Attr(Attr::JaxprRef{known.call, true})}}), originals_where(unknown, false),
                      joined(residuals_between<HalfOutput>(0, num_fixed), results_where(split.unknown_out, false),
                             residuals_between<HalfOutput>(num_fixed, num_residuals)),
                      known.call->effects};

    // The staged body takes [residuals, all inputs]; fixed residuals become constants in front, stacked ones scanned inputs behind.
    const JaxprPtr staged = permute_inputs(split.staged, moved_to_back(joined(known.stacked, Flags(op.in.size(), false))));
    HalfEqn staged_eqn{
        op.prim, s.with(staged, num_fixed + s.num_consts, s.num_carry),
        joined(residuals_between<HalfInput>(0, num_fixed), originals_where(all_in), residuals_between<HalfInput>(num_fixed, num_residuals)),
        results_where(split.inst_out), staged->effects};

    r.known = std::move(known_eqn);
    r.staged = std::move(staged_eqn);
    r.unknown_out = split.unknown_out;
    r.inst_out = split.inst_out;
    r.residual_inputs = not_instantiated(args);
    return r;
}

}  // namespace jaxscope
