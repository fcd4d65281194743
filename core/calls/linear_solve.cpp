// SPDX-License-Identifier: Apache-2.0
#include "calls/linear_solve.h"

#include <array>

#include "calls/control_flow.h"
#include "calls/families.h"
#include "lax/ops.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/split_builder.h"

// custom_linear_solve (control_flow/solves.py of JAX 0.10.2): the solution of A x = b, differentiated by solving with A again.
namespace jaxscope {

namespace {

struct LinearSolveParams {
    Attr const_lengths, jaxprs;  ///< _LinearSolveTuple(matvec, vecmat, solve, transpose_solve)
    static constexpr auto kFields =
        std::tuple(field("const_lengths", &LinearSolveParams::const_lengths), field("jaxprs", &LinearSolveParams::jaxprs));
};

enum Part : std::size_t { kMatvec, kVecmat, kSolve, kTransposeSolve };
template <class T>
using Parts = std::array<T, 4>;
/// The same system with A transposed: matvec and vecmat change places, and so do the two solves.
constexpr Parts<std::size_t> kTransposed{kVecmat, kMatvec, kTransposeSolve, kSolve};

Attr tuple_of(const Parts<Attr>& parts) {
    Attr::Record r;
    r.type = "_LinearSolveTuple";
    constexpr Parts<const char*> names{"matvec", "vecmat", "solve", "transpose_solve"};
    for (std::size_t i = 0; i < parts.size(); ++i) r.fields.emplace_back(names[i], parts[i]);
    return Attr(std::make_shared<const Attr::Record>(std::move(r)));
}
Parts<Attr> parts_of(const Attr& a) {
    const Attr::Record* r = a.get_record();
    if (!r || r->fields.size() != 4) wrong_attr(a, "a _LinearSolveTuple");
    return {r->fields[0].second, r->fields[1].second, r->fields[2].second, r->fields[3].second};
}

/// Operands are the constants of the four functions, then b; results are x, then what the solver gives besides.
struct LinearSolve {
    explicit LinearSolve(const Op& op) {
        const LinearSolveParams& p = op.as<LinearSolveParams>();
        const Parts<Attr> lengths = parts_of(p.const_lengths), bodies = parts_of(p.jaxprs);
        for (std::size_t i = 0; i < 4; ++i) {
            std::int64_t n = 0;
            from_attr(lengths[i], n);
            if (n < 0 || static_cast<std::uint64_t>(n) > op.in.size() - num_consts)
                throw Error(ErrorCode::TypeMismatch,
                            "custom_linear_solve: expected counts of constants that fit its inputs, found " + std::to_string(n));
            num[i] = static_cast<std::size_t>(n);
            begin[i] = num_consts;
            num_consts += num[i];
            if (bodies[i].is_none()) continue;
            Attr::JaxprRef ref;
            from_attr(bodies[i], ref);
            jaxpr[i] = ref.jaxpr;
        }
        if (!jaxpr[kMatvec] || !jaxpr[kSolve])
            throw Error(ErrorCode::BadInput, "custom_linear_solve: expected a matvec and a solve, found none");
        num_b = op.in.size() - num_consts;
    }
    template <class V>
    V consts(const V& in, Part p) const {
        return part(in, begin[p], num[p]);
    }
    template <class V>
    V b(const V& in) const {
        return rest(in, num_consts);
    }
    ParamsRef with(const Parts<JaxprPtr>& bodies) const {
        Parts<Attr> lengths, refs;
        for (std::size_t i = 0; i < 4; ++i) {
            lengths[i] = Attr(static_cast<std::int64_t>(num[i]));
            if (bodies[i]) refs[i] = Attr(Attr::JaxprRef{bodies[i], true});
        }
        return make_params(LinearSolveParams{tuple_of(lengths), tuple_of(refs)});
    }

    Parts<JaxprPtr> jaxpr;  ///< null: not given
    Parts<std::size_t> num{}, begin{};
    std::size_t num_consts = 0, num_b = 0;
};

Avals solve_abstract_eval(const Op& op) {
    const LinearSolve s(op);
    const auto check = [&](Part p, const char* name) {
        if (!s.jaxpr[p]) return;
        const Avals wanted = s.jaxpr[p]->in_avals(), found = joined(s.consts(op.in, p), s.b(op.in));
        if (!same_types(wanted, found))
            throw Error(ErrorCode::TypeMismatch, std::string("custom_linear_solve: expected inputs of ") + name + " of types " +
                                                     types_text(wanted) + ", found " + types_text(found));
    };
    check(kMatvec, "matvec");
    check(kVecmat, "vecmat");
    check(kSolve, "solve");
    check(kTransposeSolve, "transpose_solve");
    const Avals out = s.jaxpr[kSolve]->out_avals();
    if (out.size() < s.num_b)
        throw Error(ErrorCode::TypeMismatch, "custom_linear_solve: expected a solve with " + std::to_string(s.num_b) +
                                                 " results or more, found " + std::to_string(out.size()));
    return joined(s.b(op.in), rest(out, s.num_b));
}

/// A x = b, so A dx = db - dA x.
PrimalsTangents solve_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const LinearSolve s(op);
    PrimalsTangents r;
    r.primals = b.emit(*op.prim, x, op.params, op.out, s.jaxpr[kSolve]->effects);
    Values rhs = s.b(dx);
    const Values matrix_dx = s.consts(dx, kMatvec);
    const Flags matrix_nz = nonzero_pattern(b, matrix_dx);
    if (any_true(matrix_nz)) {
        const JvpJaxpr& matvec = jvp_jaxpr(s.jaxpr[kMatvec], joined(matrix_nz, Flags(s.num_b, false)), true);
        const Values out =
            eval_jaxpr(b, *matvec.jaxpr, joined(s.consts(x, kMatvec), part(r.primals, 0, s.num_b), select(matrix_dx, matrix_nz)));
        for (std::size_t i = 0; i < s.num_b; ++i) rhs[i] = add_tangents(b, rhs[i], lax::neg(b, out[s.num_b + i]));
    }
    for (std::size_t i = 0; i < s.num_b; ++i) rhs[i] = instantiate_zero(b, rhs[i], op.in[s.num_consts + i]);
    const Values tangents = b.emit(*op.prim, joined(part(x, 0, s.num_consts), rhs), op.params, op.out, s.jaxpr[kSolve]->effects);
    r.tangents = joined(part(tangents, 0, s.num_b), Values(op.out.size() - s.num_b, Value::zero()));
    return r;
}

void solve_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const LinearSolve s(op);
    if (!s.jaxpr[kTransposeSolve] || !s.jaxpr[kVecmat])
        throw Error(ErrorCode::NotDifferentiable,
                    "transpose_solve required for backwards mode automatic differentiation of custom_linear_solve");
    for (std::size_t i = 0; i < x.size(); ++i)
        if (sink.wanted(i) != (i >= s.num_consts))
            throw Error(ErrorCode::NoRule, "custom_linear_solve: expected all of b and nothing else to be linear, as JAX does");
    const LinearSolveParams& p = op.as<LinearSolveParams>();
    const Parts<Attr> lengths = parts_of(p.const_lengths), bodies = parts_of(p.jaxprs);
    Parts<Attr> new_lengths, new_bodies;
    Values in;
    for (std::size_t i = 0; i < 4; ++i) {
        new_lengths[i] = lengths[kTransposed[i]];
        new_bodies[i] = bodies[kTransposed[i]];
        in = joined(std::move(in), s.consts(x, static_cast<Part>(kTransposed[i])));
    }
    Avals out_avals;
    for (std::size_t i = 0; i < s.num_b; ++i) {
        in.push_back(instantiate_zero(b, ct[i], op.out[i]));
        out_avals.push_back(b.aval(in.back()));
    }
    out_avals = joined(out_avals, rest(s.jaxpr[kTransposeSolve]->out_avals(), s.num_b));
    const ParamsRef params = make_params(LinearSolveParams{tuple_of(new_lengths), tuple_of(new_bodies)});
    const Values out = b.emit(*op.prim, in, params, out_avals, s.jaxpr[kTransposeSolve]->effects);
    for (std::size_t i = 0; i < s.num_b; ++i) sink.add(s.num_consts + i, out[i]);
}

/// The four functions batched so that they agree on which parts of x and b are mapped.
struct BatchedSolve {
    Parts<JaxprPtr> jaxpr;
    Flags b_mapped, solution_mapped;
};
BatchedSolve batch_parts(const LinearSolve& s, const Flags& mapped, std::int64_t size) {
    const std::size_t num_x = s.jaxpr[kMatvec]->outvars.size(), num_out = s.jaxpr[kSolve]->outvars.size();
    BatchedSolve r;
    const auto batch = [&](Part p, const Flags& operand, const Flags& instantiate) {
        std::vector<int> dims;
        for (const bool m : joined(s.consts(mapped, p), operand)) dims.push_back(m ? 0 : kNotMapped);
        const BatchedJaxpr& j = batch_jaxpr_front(s.jaxpr[p], size, dims, instantiate);
        r.jaxpr[p] = j.jaxpr;
        Flags out;
        for (const int d : j.out_dims) out.push_back(d != kNotMapped);
        return out;
    };
    const Flags given = s.b(mapped);
    r.b_mapped = given;
    Flags x_mapped(num_out, false);
    for (std::size_t round = 0; round <= s.num_b + num_out; ++round) {
        r.solution_mapped = batch(kSolve, r.b_mapped, x_mapped);
        Flags x_out = r.solution_mapped;
        if (s.jaxpr[kVecmat])
            x_out = either(joined(batch(kVecmat, r.b_mapped, r.b_mapped), Flags(num_out - num_x, true)), r.solution_mapped);
        const Flags x_alone = part(x_out, 0, num_x);
        Flags b_out = either(batch(kMatvec, x_alone, r.b_mapped), given);
        if (s.jaxpr[kTransposeSolve]) b_out = either(part(batch(kTransposeSolve, x_alone, x_out), 0, s.num_b), b_out);
        if (x_out == x_mapped && b_out == r.b_mapped) return r;
        x_mapped = std::move(x_out);
        r.b_mapped = std::move(b_out);
    }
    JAXSCOPE_ASSERT(!"what is mapped settles after one round per value");
    return r;
}

BatchResult solve_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const LinearSolve s(op);
    Flags mapped;
    for (const int d : dims) mapped.push_back(d != kNotMapped);
    const BatchedSolve batched = batch_parts(s, mapped, size);
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool now = i < s.num_consts ? mapped[i] : batched.b_mapped[i - s.num_consts];
        in.push_back(now ? batch_to_front(b, x[i], dims[i], size) : x[i]);
    }
    Avals out_avals = batched.jaxpr[kSolve]->out_avals();
    BatchResult r{b.emit(*op.prim, in, s.with(batched.jaxpr), out_avals, batched.jaxpr[kSolve]->effects), {}};
    for (const bool m : batched.solution_mapped) r.out_dims.push_back(m ? 0 : kNotMapped);
    return r;
}

}  // namespace

constinit const Primitive kLinearSolve{
    .name = "custom_linear_solve",
    .abstract_eval = solve_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = solve_jvp,
    .linearize = NoRule{"JAX linearizes it by jvp"},
    .partial_eval = NoRule{"JAX has none: it is known or unknown as a whole"},
    .partial_eval_custom = NoRule{"JAX has none: it is known or unknown as a whole"},
    .transpose = solve_transpose,
    .batch = solve_batch,
    .dce = NoRule{"JAX has none either"},
    .lower = NoRule{"the executor runs its solve jaxpr"},
    .kernel = NoRule{"the executor runs its solve jaxpr"},
    .expand = NoRule{"the executor runs its solve jaxpr"},
    .cost = NoRule{"the cost of a solve is that of its equations"},
    .flow = Flow::LinearSolve,
};

Values linear_solve(Builder& b, const std::array<JaxprPtr, 4>& functions, const std::array<Values, 4>& consts, const Values& rhs) {
    Parts<Attr> lengths, refs;
    Values in;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        lengths[i] = Attr(static_cast<std::int64_t>(consts[i].size()));
        if (functions[i]) refs[i] = Attr(Attr::JaxprRef{functions[i], true});
        in.insert(in.end(), consts[i].begin(), consts[i].end());
    }
    in.insert(in.end(), rhs.begin(), rhs.end());
    return b.bind(kLinearSolve, in, make_params(LinearSolveParams{tuple_of(lengths), tuple_of(refs)}));
}

std::span<const Primitive* const> linear_solve_primitives() {
    static constexpr const Primitive* all[] = {&kLinearSolve};
    return all;
}

}  // namespace jaxscope
