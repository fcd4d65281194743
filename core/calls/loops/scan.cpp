// SPDX-License-Identifier: Apache-2.0
#include "calls/loops/scan.h"
#include "calls/families.h"

#include "calls/closures.h"
#include "ir/interpret.h"
#include "lax/ops.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/transpose.h"

// scan (control_flow/loops.py of JAX 0.10.2). Splitting it into known and unknown halves: scan_split.cpp.
namespace jaxscope {

ScanView::ScanView(const Op& op)
    : params(op.as<ScanParams>()),
      body(params.jaxpr.jaxpr),
      num_consts(static_cast<std::size_t>(params.num_consts)),
      num_carry(static_cast<std::size_t>(params.num_carry)),
      num_xs(body->num_invars - num_consts - num_carry),
      num_ys(body->outvars.size() - num_carry) {}

Flags ScanView::forwardable() const {
    return joined(Flags(body->num_constvars + num_consts, true), Flags(num_carry, false), Flags(num_xs, true));
}

ParamsRef ScanView::with(JaxprPtr new_body, std::size_t consts, std::size_t carries) const {
    ScanParams p = params;
    p.jaxpr = {std::move(new_body), true};
    p.num_consts = static_cast<std::int64_t>(consts);
    p.num_carry = static_cast<std::int64_t>(carries);
    return make_params(p);
}

Avals ScanView::result_avals(const Jaxpr& new_body, std::size_t carries) const {
    Avals out = new_body.out_avals();
    for (std::size_t k = carries; k < out.size(); ++k) out[k] = stacked(out[k], params.length);
    return out;
}

Values ScanView::emit(Builder& b, const Values& in, const JaxprPtr& new_body, std::size_t consts, std::size_t carries, bool flip) const {
    JAXSCOPE_ASSERT(in.size() == new_body->num_invars);
    ScanParams p = params;
    p.jaxpr = {new_body, true};
    p.num_consts = static_cast<std::int64_t>(consts);
    p.num_carry = static_cast<std::int64_t>(carries);
    p.reverse = p.reverse != flip;
    return b.emit(kScan, in, make_params(p), result_avals(*new_body, carries), new_body->effects);
}

namespace {

Avals scan_abstract_eval(const Op& op) {
    for (const char* hint : {"linear", "_split_transpose"}) ParamReads::note(hint);  // to JAX's own transformations
    const ScanParams& p = op.as<ScanParams>();
    const Jaxpr& j = *p.jaxpr.jaxpr;
    if (p.num_consts < 0 || p.num_carry < 0 || p.length < 0)
        throw Error(ErrorCode::TypeMismatch, "scan: expected counts and a length of 0 or more, found a negative one");
    const auto carried = static_cast<std::uint64_t>(p.num_carry);
    if (op.in.size() != j.num_invars || static_cast<std::uint64_t>(p.num_consts) > j.num_invars ||
        carried > j.num_invars - static_cast<std::uint64_t>(p.num_consts) || carried > j.outvars.size())
        throw Error(ErrorCode::TypeMismatch, "scan: expected " + std::to_string(j.num_invars) + " inputs as its body has, found " +
                                                 std::to_string(op.in.size()) + ", " + std::to_string(p.num_consts) + " constants and " +
                                                 std::to_string(p.num_carry) + " carries among them");
    const ScanView s(op);
    const Avals wanted = j.in_avals(), out = j.out_avals();
    if (!same_types(s.carry(wanted), s.carry_out(out)))
        throw Error(ErrorCode::TypeMismatch, "scan: expected a body that gives its carry's types " + types_text(s.carry(wanted)) +
                                                 ", found " + types_text(s.carry_out(out)));
    if (!same_types(s.consts(wanted), s.consts(op.in)))
        throw Error(ErrorCode::TypeMismatch,
                    "scan: expected constants of types " + types_text(s.consts(wanted)) + ", found " + types_text(s.consts(op.in)));
    if (!same_types(s.carry(wanted), s.carry(op.in)))
        throw Error(ErrorCode::TypeMismatch,
                    "scan: expected an initial carry of types " + types_text(s.carry(wanted)) + ", found " + types_text(s.carry(op.in)));
    Avals sequences;
    for (const AvalRef a : s.xs(wanted)) sequences.push_back(stacked(a, p.length));
    if (!same_types(sequences, s.xs(op.in)))
        throw Error(ErrorCode::TypeMismatch,
                    "scan: expected sequences of types " + types_text(sequences) + ", found " + types_text(s.xs(op.in)));
    return s.result_avals(j, s.num_carry);
}

PrimalsTangents scan_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const ScanView s(op);
    Flags nz = nonzero_pattern(b, dx);
    const Flags const_nz = s.consts(nz), xs_nz = s.xs(nz);
    const JvpJaxpr* body = nullptr;
    const Flags carry_nz = carry_fixpoint(s.carry(nz), [&](const Flags& carry) {
        nz = joined(const_nz, carry, xs_nz);
        body = &jvp_jaxpr(s.body, nz, s.only_carry(carry));
        return s.carry_out(body->nonzero_out);
    });
    const std::size_t n = x.size(), dc = count_true(const_nz), dr = count_true(carry_nz), dxs = count_true(xs_nz);
    const std::size_t n_out = op.out.size(), dys = count_true(body->nonzero_out) - dr;
    const JaxprPtr tangents_inside =
        rearrange(body->jaxpr,
                  joined(positions(0, s.num_consts), positions(n, dc), positions(s.num_consts, s.num_carry), positions(n + dc, dr),
                         positions(s.num_consts + s.num_carry, s.num_xs), positions(n + dc + dr, dxs)),
                  joined(positions(0, s.num_carry), positions(n_out, dr), positions(s.num_carry, s.num_ys), positions(n_out + dr, dys)));
    Values tangents;
    for (std::size_t i = 0; i < n; ++i) tangents.push_back(nz[i] ? instantiate_zero(b, dx[i], op.in[i]) : Value::zero());
    const Values in = joined(s.consts(x), select(s.consts(tangents), const_nz), s.carry(x), select(s.carry(tangents), carry_nz), s.xs(x),
                             select(s.xs(tangents), xs_nz));
    const Values out = s.emit(b, in, tangents_inside, s.num_consts + dc, s.num_carry + dr);
    PrimalsTangents r;
    r.primals = joined(s.carry_out(out), part(out, s.num_carry + dr, s.num_ys));
    const Values given = joined(part(out, s.num_carry, dr), rest(out, s.num_carry + dr + s.num_ys));
    std::size_t next = 0;
    for (const bool some : body->nonzero_out) r.tangents.push_back(some ? given[next++] : Value::zero());
    return r;
}

AvalRef with_weak_type(AvalRef aval, bool weak) {
    if (aval->weak_type == weak) return aval;
    Aval a = *aval;
    a.weak_type = weak;
    return a;
}
/// The body with inputs of other weak types. What its equations make keeps the types that it has.
JaxprPtr with_inputs(const JaxprPtr& j, const Avals& in) {
    if (j->in_avals() == in) return j;
    JaxprBuilder b;
    Values all;
    for (std::uint32_t i = 0; i < j->num_constvars; ++i)
        all.push_back(b.add_constvar(j->aval(j->constvar(i)), i < j->consts.size() ? j->consts[i] : nullptr));
    for (const AvalRef a : in) all.push_back(b.add_input(a));
    Interpreter run(*j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_all(all);
    const Values out =
        run.forward([&](const Eqn& e, const Values& x) { return b.append(*e.prim, x, e.params, j->out_avals(e), e.effects); });
    return b.finish(out, j->name);
}

/// Types of the body's inputs where it is transposed: linear ones are what their cotangents are, weak or not (in JAX they stand for the
/// accumulated sums), so a weak carry's conversion leaves none behind.
struct TransposedTypes {
    Avals in;  ///< of the body
    Avals ct;  ///< of carries and ys
};

/// The body of a transposed scan: [residual constants, (sums of the constants' cotangents, cotangents of carries), (nonzero cotangents of
/// ys, scanned residuals)] -> [(sums, cotangents of carries), cotangents of xs].
JaxprPtr transposed_body(const ScanView& s, std::size_t num_residual_consts, std::size_t num_linear_xs, const Flags& nonzero_ys,
                         const TransposedTypes& types) {
    JaxprBuilder b;
    const Avals& in = types.in;
    const JaxprPtr body = with_inputs(s.body, in);
    Values x(in.size(), Value::linear()), sums(in.size(), Value::zero()), ct;
    for (std::size_t i = 0; i < num_residual_consts; ++i) x[i] = b.add_input(in[i]);
    for (std::size_t i = num_residual_consts; i < s.num_consts; ++i) sums[i] = b.add_input(tangent_aval(in[i]));
    for (std::size_t k = 0; k < s.num_carry; ++k) ct.push_back(b.add_input(types.ct[k]));
    for (std::size_t k = 0; k < s.num_ys; ++k) ct.push_back(nonzero_ys[k] ? b.add_input(types.ct[s.num_carry + k]) : Value::zero());
    const std::size_t first_residual = s.num_consts + s.num_carry + num_linear_xs;
    for (std::size_t i = first_residual; i < in.size(); ++i) x[i] = b.add_input(in[i]);
    const Values cts = backward_pass(b, *body, x, ct, sums);
    Values outs;
    for (std::size_t i = num_residual_consts; i < first_residual; ++i) outs.push_back(instantiate_zero(b, cts[i], in[i]));
    return b.finish(outs, s.body->name);
}

void scan_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const ScanView s(op);
    Flags linear;
    for (std::size_t i = 0; i < x.size(); ++i) linear.push_back(sink.wanted(i));
    // As linearization and partial evaluation lay the operands out: residual constants first, scanned residuals last.
    const std::size_t num_residual_consts = s.num_consts - count_true(s.consts(linear));
    const std::size_t num_linear_xs = count_true(s.xs(linear)), first_residual = s.num_consts + s.num_carry + num_linear_xs;
    for (std::size_t i = 0; i < x.size(); ++i)
        if ((i < s.num_consts || i >= s.num_consts + s.num_carry) && linear[i] != (i >= num_residual_consts && i < first_residual))
            throw Error(ErrorCode::NoRule, "scan: expected linear constants behind the others and linear sequences before the others");
    Values ct_carry, sums, ct_ys;
    Flags nonzero_ys;
    for (std::size_t k = 0; k < s.num_carry; ++k) ct_carry.push_back(instantiate_zero(b, ct[k], op.out[k]));
    for (std::size_t i = num_residual_consts; i < s.num_consts; ++i) sums.push_back(instantiate_zero(b, Value::zero(), op.in[i]));
    for (std::size_t k = s.num_carry; k < ct.size(); ++k) {
        nonzero_ys.push_back(!ct[k].is_zero());
        if (nonzero_ys.back()) ct_ys.push_back(ct[k]);
    }
    TransposedTypes types{s.body->in_avals(), s.body->out_avals()};
    const auto weak = [&](Value v) { return b.aval(v)->weak_type; };
    for (std::size_t i = num_residual_consts; i < s.num_consts; ++i)
        types.in[i] = with_weak_type(types.in[i], weak(sums[i - num_residual_consts]));
    for (std::size_t k = 0; k < s.num_carry; ++k)
        types.in[s.num_consts + k] = with_weak_type(types.in[s.num_consts + k], weak(ct_carry[k]));
    for (std::size_t i = s.num_consts + s.num_carry; i < first_residual; ++i)
        types.in[i] = with_weak_type(types.in[i], op.in[i]->weak_type);
    for (std::size_t k = 0, next = 0; k < types.ct.size(); ++k) {
        types.ct[k] = tangent_aval(types.ct[k]);
        if (k < s.num_carry)
            types.ct[k] = with_weak_type(types.ct[k], weak(ct_carry[k]));
        else if (nonzero_ys[k - s.num_carry])
            types.ct[k] = with_weak_type(types.ct[k], weak(ct_ys[next++]));
    }
    const JaxprPtr body = transposed_body(s, num_residual_consts, num_linear_xs, nonzero_ys, types);
    const Values in = joined(part(x, 0, num_residual_consts), sums, ct_carry, ct_ys, rest(x, first_residual));
    const Values out = s.emit(b, in, body, num_residual_consts, sums.size() + s.num_carry, true);
    for (std::size_t i = num_residual_consts; i < first_residual; ++i)
        if (linear[i]) sink.add(i, out[i - num_residual_consts]);
}

BatchResult scan_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const ScanView s(op);
    Flags mapped;
    for (const int d : dims) mapped.push_back(d != kNotMapped);
    const Flags const_mapped = s.consts(mapped), init_mapped = s.carry(mapped), xs_mapped = s.xs(mapped);
    const BatchedJaxpr* body = nullptr;
    const Flags carry_mapped = carry_fixpoint(init_mapped, [&](const Flags& carry) {
        std::vector<int> in_dims;
        for (const bool m : joined(const_mapped, carry, xs_mapped)) in_dims.push_back(m ? 0 : kNotMapped);
        body = &batch_jaxpr_front(s.body, size, in_dims, s.only_carry(carry));
        Flags out;
        for (std::size_t k = 0; k < s.num_carry; ++k) out.push_back(body->out_dims[k] != kNotMapped);
        return out;
    });
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool carried = i >= s.num_consts && i < s.num_consts + s.num_carry;
        if (carried && carry_mapped[i - s.num_consts])
            in.push_back(batch_to_front(b, x[i], dims[i], size));
        else if (dims[i] == kNotMapped)
            in.push_back(x[i]);
        else
            in.push_back(moveaxis(b, x[i], dims[i], i < s.num_consts ? 0 : 1));
    }
    BatchResult r{s.emit(b, in, body->jaxpr, s.num_consts, s.num_carry), {}};
    for (std::size_t k = 0; k < r.out.size(); ++k) {
        const bool m = body->out_dims[k] != kNotMapped;
        r.out_dims.push_back(!m ? kNotMapped : k < s.num_carry ? 0 : 1);
    }
    return r;
}

std::optional<Reclosed> scan_reclose(const Op& op, const Flags& tangent) {
    const ScanView s(op);
    const PrimalReads reads = read_primals(s.body, s.num_consts, tangent);
    if (reads.empty()) return {};
    return Reclosed{s.with(reads.body(), reads.inputs.size(), s.num_carry), with_rest(reads.inputs, s.num_consts, op.in.size())};
}

DceResult scan_dce(const Op& op, const Flags& used_outputs) {
    const ScanView s(op);
    DceResult r;
    if (!any_true(used_outputs) && !has_effects(s.body->effects)) {
        r.dropped = true;
        r.used_inputs = r.kept_inputs = Flags(op.in.size(), false);
        r.kept_outputs = used_outputs;
        return r;
    }
    const Flags used_ys = rest(used_outputs, s.num_carry);
    DceJaxpr body;
    // A carry that goes in comes out: what one step reads of it, the step before must give.
    const Flags used_carry = carry_fixpoint(s.carry_out(used_outputs), [&](const Flags& carry) {
        body = dce_jaxpr(s.body, joined(carry, used_ys), joined(Flags(s.num_consts, false), carry, Flags(s.num_xs, false)));
        return s.carry(body.used_inputs);
    });
    r.used_inputs = r.kept_inputs = body.used_inputs;
    r.kept_outputs = joined(used_carry, used_ys);
    r.params = body.jaxpr == s.body ? op.params : s.with(body.jaxpr, count_true(s.consts(body.used_inputs)), count_true(used_carry));
    return r;
}

}  // namespace

constinit const Primitive kScan{
    .name = "scan",
    .abstract_eval = scan_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = scan_jvp,
    .linearize = scan_linearize,
    .partial_eval = scan_partial_eval,
    .partial_eval_custom = scan_partial_eval_custom,
    .transpose = scan_transpose,
    .batch = scan_batch,
    .dce = scan_dce,
    .reclose = scan_reclose,
    .lower = NoRule{"runs as a loop of the executor"},
    .kernel = NoRule{"runs as a loop of the executor"},
    .expand = NoRule{"runs as a loop of the executor"},
    .cost = NoRule{"the cost of a scan is that of its body's equations, times its length"},
    .flow = Flow::Scan,
    .body = "jaxpr",
};

std::span<const Primitive* const> scan_primitives() {
    static constexpr const Primitive* all[] = {&kScan};
    return all;
}

}  // namespace jaxscope
