// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "calls/call_params.h"
#include "calls/closures.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "ir/interpret.h"
#include "ir/print/text_form.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/linearize.h"
#include "transforms/partial_eval.h"
#include "transforms/split_builder.h"
#include "transforms/transpose.h"

// cond (control_flow/conditionals.py of JAX 0.10.2): lax.cond, lax.switch, lax.platform_dependent.
namespace jaxscope {

namespace {

using Branches = std::vector<JaxprPtr>;

const Branches& branches_of(const Op& op) { return op.as<CondParams>().branches; }
ParamsRef with_branches(const Op& op, const Branches& branches) { return with_param(op.params, "branches", to_attr(branches)); }
Values emit_cond(Builder& b, const Op& op, const Values& in, const Branches& branches) {
    return b.emit(*op.prim, in, with_branches(op, branches), branches.front()->out_avals(), joined_effects(branches));
}

Avals cond_abstract_eval(const Op& op) {
    ParamReads::note("linear");              // of JAX before 0.5
    ParamReads::note("branches_platforms");  // which platform each branch is for: platform_index chose
    const Branches& branches = branches_of(op);
    if (branches.empty()) throw Error(ErrorCode::TypeMismatch, "cond requires at least one branch function");
    const Avals in = branches.front()->in_avals();
    Avals out = branches.front()->out_avals();
    for (std::size_t i = 1; i < branches.size(); ++i) {
        const auto mismatch = [&](const char* what, const Avals& first, const Avals& other) {
            throw Error(ErrorCode::TypeMismatch, "cond branches 0 and " + std::to_string(i) + " have mismatching " + what +
                                                     " types: " + types_text(first) + " vs " + types_text(other));
        };
        if (!same_types(in, branches[i]->in_avals())) mismatch("input", in, branches[i]->in_avals());
        if (!same_types(out, branches[i]->out_avals())) mismatch("output", out, branches[i]->out_avals());
    }
    if (op.in.size() != 1 + in.size())
        throw Error(ErrorCode::TypeMismatch, "cond called with " + std::to_string(op.in.empty() ? 0 : op.in.size() - 1) +
                                                 " non-predicate operands, but branches take " + std::to_string(in.size()) + " inputs");
    if (op.in.front()->dtype != DType::S32 || op.in.front()->rank() != 0)
        throw Error(ErrorCode::TypeMismatch, "cond called with index of type " + to_text(op.in.front()) + " instead of int32");
    if (!same_types(in, rest(op.in, 1)))
        throw Error(ErrorCode::TypeMismatch,
                    "cond branches take input types " + types_text(in) + ", called with operands of type " + types_text(rest(op.in, 1)));
    return out;
}

// ---- Residuals of several branches in one list

/// Residuals of equal type are shared by the branches: each branch has a place in the list for its first, second, ... of a type.
struct MergedResiduals {
    Avals all;
    std::vector<std::vector<int>> place;  ///< per branch and residual of it
};
MergedResiduals merge_residuals(const std::vector<Avals>& per_branch) {
    MergedResiduals m;
    std::unordered_map<AvalRef, std::vector<int>> places;  ///< of a type, in order
    for (const Avals& residuals : per_branch) {
        std::unordered_map<AvalRef, std::size_t> count;
        auto& mine = m.place.emplace_back();
        for (const AvalRef a : residuals) {
            std::vector<int>& known = places[a];
            const std::size_t nth = count[a]++;
            if (nth == known.size()) {
                known.push_back(static_cast<int>(m.all.size()));
                m.all.push_back(a);
            }
            mine.push_back(known[nth]);
        }
    }
    return m;
}

/// The branches give all residuals: where one has none of its own, whatever the memory holds.
Branches join_outputs(const Branches& branches, const MergedResiduals& m, std::size_t num_outputs) {
    Branches out;
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const Jaxpr& j = *branches[i];
        JaxprBuilder b;
        Values in;
        for (const AvalRef a : j.in_avals()) in.push_back(b.add_input(a));
        const Values given = inline_jaxpr(b, j, constants_of(b, j), in);
        Values residuals;
        for (const AvalRef a : m.all) residuals.push_back(empty_like(b, a));
        for (std::size_t k = num_outputs; k < given.size(); ++k)
            residuals[static_cast<std::size_t>(m.place[i][k - num_outputs])] = given[k];
        out.push_back(b.finish(joined(part(given, 0, num_outputs), residuals), j.name, false));
    }
    return out;
}

/// The branches take all residuals, and read their own.
Branches join_inputs(const Branches& branches, const MergedResiduals& m) {
    Branches out;
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const Avals in = rest(branches[i]->in_avals(), m.place[i].size());
        // Never the branch itself, though nothing be added: in JAX equal branches are jaxprs of their own from here on.
        out.push_back(widen_inputs(branches[i], joined(m.all, in), joined(m.place[i], positions(m.all.size(), in.size()))));
        if (out.back() == branches[i]) out.back() = std::make_shared<const Jaxpr>(*branches[i]);
    }
    return out;
}

PrimalsTangents cond_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const Flags nz = rest(nonzero_pattern(b, dx), 1);
    const Branches& branches = branches_of(op);
    Flags nonzero_out(op.out.size(), false);
    for (const JaxprPtr& j : branches) nonzero_out = either(std::move(nonzero_out), jvp_jaxpr(j, nz).nonzero_out);
    Branches with_tangents;
    for (const JaxprPtr& j : branches) with_tangents.push_back(jvp_jaxpr(j, nz, nonzero_out).jaxpr);
    const Values out = emit_cond(b, op, joined(x, select(rest(dx, 1), nz)), with_tangents);
    return {part(out, 0, op.out.size()),
            merged(nonzero_out, Values(op.out.size() - count_true(nonzero_out), Value::zero()), rest(out, op.out.size()))};
}

PrimalsTangents cond_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    const Flags nz = rest(nonzero_pattern(b, dx), 1);
    const Branches& branches = branches_of(op);
    const std::size_t n = op.out.size();
    const auto linearized = [&](const JaxprPtr& j, const Flags& instantiate) -> const LinearizedJaxpr& {
        return linearize_jaxpr(j, nz, instantiate, Flags(j->num_constvars + j->num_invars, false));
    };
    Flags nonzero_out(n, false);
    for (const JaxprPtr& j : branches) nonzero_out = either(std::move(nonzero_out), linearized(j, Flags(n, false)).nonzero_out);
    Branches primal, tangent;
    std::vector<Avals> residuals;
    for (const JaxprPtr& j : branches) {
        const LinearizedJaxpr& lin = linearized(j, nonzero_out);
        primal.push_back(lin.primal);
        tangent.push_back(lin.tangent);
        residuals.push_back(rest(lin.primal->out_avals(), n));
    }
    const MergedResiduals m = merge_residuals(residuals);
    const Values out = emit_cond(b.primal(), op, x, join_outputs(primal, m, n));
    const Values in = joined(Values{x.front()}, rest(out, n), select(rest(dx, 1), nz));
    const Values tangents = emit_cond(b.tangent(), op, in, join_inputs(tangent, m));
    return {part(out, 0, n), merged(nonzero_out, Values(n - count_true(nonzero_out), Value::zero()), tangents)};
}

Values cond_partial_eval(SplitBuilder& b, const Op& op, const Values& x) {
    const Branches& branches = branches_of(op);
    if (!joined_effects(branches).filter_in(&EffectTraits::ref).empty())
        throw Error(ErrorCode::NotDifferentiable, "State effect not supported in cond partial-eval.").at(op.source.loc());
    if (x.front().is_unknown()) return b.tangent().emit(*op.prim, x, op.params, op.out, joined_effects(branches));
    Flags unknown;
    for (const Value v : rest(x, 1)) unknown.push_back(v.is_unknown());
    Flags unknown_out(op.out.size(), false);
    for (const JaxprPtr& j : branches)
        unknown_out = either(std::move(unknown_out), partial_eval_jaxpr(j, unknown, false, false).unknown_out);
    const std::size_t num_known = count_true(negated(unknown_out));
    Branches known, staged;
    std::vector<Avals> residuals;
    for (const JaxprPtr& j : branches) {
        const PartialEvalJaxpr& split = partial_eval_jaxpr(j, unknown, unknown_out, false);
        known.push_back(split.known);
        staged.push_back(split.unknown);
        residuals.push_back(rest(split.known->out_avals(), num_known));
    }
    const MergedResiduals m = merge_residuals(residuals);
    const Values index{x.front()}, operands = rest(x, 1);
    const Values known_out = emit_cond(b.primal(), op, joined(index, select(operands, unknown, false)), join_outputs(known, m, num_known));
    const Values staged_out =
        emit_cond(b.tangent(), op, joined(index, rest(known_out, num_known), select(operands, unknown)), join_inputs(staged, m));
    return merged(unknown_out, part(known_out, 0, num_known), staged_out);
}

PartialEvalCustomResult cond_partial_eval_custom(const PartialEvalCustomArgs& args) {
    const Op& op = args.op;
    const Branches& branches = branches_of(op);
    const std::size_t n = op.out.size();
    PartialEvalCustomResult r;
    r.residual_inputs = not_instantiated(args);
    r.inst_out = Flags(n, true);
    if (args.unknown_in.front()) {
        r.staged = HalfEqn{op.prim, op.params, originals_where(Flags(op.in.size(), true)), results_where(r.inst_out), args.eqn.effects};
        r.unknown_out = r.inst_out;
        return r;
    }
    const Flags unknown = rest(args.unknown_in, 1), all_in(unknown.size(), true);
    const auto split = [&](const JaxprPtr& j, const Flags& ensure) {
        return partial_eval_jaxpr_custom(j, unknown, all_in, ensure, Flags(n, true), args.policy);
    };
    r.unknown_out = Flags(n, false);
    for (const JaxprPtr& j : branches) r.unknown_out = either(std::move(r.unknown_out), split(j, Flags(n, false)).unknown_out);
    Branches known, staged;
    std::vector<Avals> residuals;
    for (const JaxprPtr& j : branches) {
        const CustomPartialEval halves = split(j, r.unknown_out);
        known.push_back(halves.known);
        staged.push_back(halves.staged);
        residuals.push_back(part(halves.staged->in_avals(), 0, static_cast<std::size_t>(halves.num_residuals)));
    }
    const MergedResiduals m = merge_residuals(residuals);
    r.residuals = m.all;
    known = join_outputs(known, m, count_true(negated(r.unknown_out)));
    staged = join_inputs(staged, m);
    r.known = HalfEqn{op.prim, with_branches(op, known), originals_where(args.unknown_in, false),
                      joined(results_where(r.unknown_out, false), residuals_between<HalfOutput>(0, m.all.size())), joined_effects(known)};
    const std::vector<HalfInput> whole = originals_where(Flags(op.in.size(), true));
    r.staged = HalfEqn{op.prim, with_branches(op, staged),
                       joined(part(whole, 0, 1), residuals_between<HalfInput>(0, m.all.size()), rest(whole, 1)), results_where(r.inst_out),
                       joined_effects(staged)};
    return r;
}

void cond_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    JAXSCOPE_ASSERT(!sink.wanted(0));
    const Branches& branches = branches_of(op);
    Flags linear, nonzero;
    for (std::size_t i = 1; i < x.size(); ++i) linear.push_back(sink.wanted(i));
    for (const Value c : ct) nonzero.push_back(!c.is_zero());
    Flags nonzero_in(linear.size(), false);
    for (const JaxprPtr& j : branches) nonzero_in = either(std::move(nonzero_in), transpose_jaxpr(j, linear, nonzero).nonzero_in);
    Branches transposed;
    for (const JaxprPtr& j : branches) transposed.push_back(transpose_jaxpr(j, linear, nonzero, nonzero_in).jaxpr);
    const Values in = joined(Values{x.front()}, select(rest(x, 1), linear, false), select(ct, nonzero));
    const Values out = emit_cond(b, op, in, transposed);
    std::size_t next = 0;
    for (std::size_t i = 0; i < nonzero_in.size(); ++i)
        if (nonzero_in[i]) sink.add(i + 1, out[next++]);
}

/// A mapped index chooses per example: all branches run, and a select takes what each example asked for.
BatchResult cond_batch_select(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const auto chosen = [&](Value which, const Values& cases) {
        const Dims& shape = b.aval(cases.front())->shape;
        if (b.aval(which)->shape.size() != shape.size()) which = lax::broadcast_in_dim(b, which, shape, {0});
        return lax::select_n(b, which, cases);
    };
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    const Branches& branches = branches_of(op);
    std::vector<Values> results;
    for (std::size_t k = 0; k < branches.size(); ++k) {
        const BatchedJaxpr& j = batch_jaxpr_front(branches[k], size, std::vector<int>(x.size() - 1, 0), Flags(op.out.size(), true));
        // Operands of other examples than the branch's own pass without gradient: theirs could be NaN.
        const Value mine = lax::eq(b, in.front(), lax::constant(b, in.front(), static_cast<double>(k)));
        Values operands;
        for (const Value v : rest(in, 1)) operands.push_back(chosen(mine, {is_key(b.aval(v)->dtype) ? v : b.bind1(kStopGradient, {v}), v}));
        results.push_back(eval_jaxpr(b, *j.jaxpr, operands));
    }
    BatchResult r{{}, std::vector<int>(op.out.size(), 0)};
    for (std::size_t o = 0; o < op.out.size(); ++o) {
        Values cases;
        for (const Values& one : results) cases.push_back(one[o]);
        r.out.push_back(chosen(in.front(), cases));
    }
    return r;
}

void refuse_effects_in_vmap(const Op& op) {
    const EffectSet effects = joined_effects(branches_of(op));
    const auto refuse = [&](const char* what) {
        throw Error(ErrorCode::NoRule, std::string(what) + " effect not supported in vmap-of-cond.").at(op.source.loc());
    };
    if (!effects.filter_in(&EffectTraits::ref).empty()) refuse("State");
    if (effects.contains(EffectKind::IO) || effects.contains(EffectKind::OrderedIO)) refuse("IO");
}

BatchResult cond_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    refuse_effects_in_vmap(op);
    if (dims.front() != kNotMapped && !op.params->find("branches_platforms")) return cond_batch_select(b, op, x, dims, size);
    Values in{x.front()};
    std::vector<int> in_dims;
    for (std::size_t i = 1; i < x.size(); ++i) {
        in.push_back(dims[i] == kNotMapped ? x[i] : moveaxis(b, x[i], dims[i], 0));
        in_dims.push_back(dims[i] == kNotMapped ? kNotMapped : 0);
    }
    const Branches& branches = branches_of(op);
    Flags mapped(op.out.size(), false);
    for (const JaxprPtr& j : branches) {
        const BatchedJaxpr& one = batch_jaxpr_front(j, size, in_dims, Flags(op.out.size(), false));
        for (std::size_t k = 0; k < mapped.size(); ++k) mapped[k] = mapped[k] || one.out_dims[k] != kNotMapped;
    }
    Branches batched;
    for (const JaxprPtr& j : branches) batched.push_back(batch_jaxpr_front(j, size, in_dims, mapped).jaxpr);
    BatchResult r{emit_cond(b, op, in, batched), {}};
    for (const bool m : mapped) r.out_dims.push_back(m ? 0 : kNotMapped);
    return r;
}

/// Operands that the branches close over, by which branch reads them first when JAX traces them in this order.
std::vector<std::uint32_t> first_reads(const Branches& branches, const std::vector<std::size_t>& order, std::size_t closed) {
    std::vector<std::uint32_t> out;
    std::vector<bool> seen(closed, false);
    for (const std::size_t b : order) {
        const Jaxpr& j = *branches[b];
        for (const std::vector<Atom>* atoms : {&j.atoms, &j.outvars})
            for (const Atom a : *atoms) {
                if (!a.is_var() || a.var().index < j.num_constvars || a.var().index - j.num_constvars >= closed) continue;
                const std::uint32_t i = a.var().index - j.num_constvars;
                if (!seen[i]) out.push_back(i);
                seen[i] = true;
            }
    }
    return out;
}

/// lax.switch traces its branches in order; lax.cond the true one first, which is the last. Nothing but the order of what they close over
/// tells which of them it was.
std::vector<std::size_t> tracing_order(const Op& op, const Branches& branches, std::size_t closed) {
    if (branches.size() == 2 && !op.params->find("branches_platforms")) {
        const std::vector<std::uint32_t> read = first_reads(branches, {1, 0}, closed);
        if (std::is_sorted(read.begin(), read.end())) return {1, 0};
    }
    std::vector<std::size_t> order(branches.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

std::optional<Reclosed> cond_reclose(const Op& op, const Flags& tangent) {
    const Branches& branches = branches_of(op);
    const std::size_t closed = count_unnamed(*branches.front());
    const PrimalReads reads = read_primals(branches, tracing_order(op, branches, closed), closed, rest(tangent, 1));
    if (reads.empty()) return {};
    std::vector<ClosedOperand> operands{{0, false}};
    for (const ClosedOperand& o : reads.inputs) operands.push_back({1 + o.operand, o.primal});
    return Reclosed{with_branches(op, reads.bodies), with_rest(std::move(operands), 1 + closed, op.in.size())};
}

DceResult cond_dce(const Op& op, const Flags& used_outputs) {
    const Branches& branches = branches_of(op);
    DceResult r;
    r.kept_outputs = used_outputs;
    if (!any_true(used_outputs) && !has_effects(joined_effects(branches))) {
        r.dropped = true;
        r.used_inputs = r.kept_inputs = Flags(op.in.size(), false);
        return r;
    }
    Flags used(op.in.size() - 1, false);
    for (const JaxprPtr& j : branches) used = either(std::move(used), dce_jaxpr(j, used_outputs).used_inputs);
    Branches smaller;
    for (const JaxprPtr& j : branches) smaller.push_back(dce_jaxpr(j, used_outputs, used).jaxpr);
    r.used_inputs = r.kept_inputs = joined(Flags{true}, used);
    r.params = smaller == branches ? op.params : with_branches(op, smaller);
    return r;
}

}  // namespace

namespace {

std::vector<CalledInput> cond_called_inputs(const Params& params, std::int64_t operand) {
    std::vector<CalledInput> out;
    const Attr* branches = params.find("branches");
    if (const Attr::Seq* s = branches ? branches->get_seq() : nullptr)
        for (const Attr& b : s->items)
            if (const auto* ref = b.get<Attr::JaxprRef>()) out.push_back({ref->jaxpr.get(), operand - 1});
    return out;
}
constexpr TextForm kCondText{.called_inputs = cond_called_inputs};

}  // namespace

constinit const Primitive kCond{
    .name = "cond",
    .abstract_eval = cond_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = cond_jvp,
    .linearize = cond_linearize,
    .partial_eval = cond_partial_eval,
    .partial_eval_custom = cond_partial_eval_custom,
    .transpose = cond_transpose,
    .batch = cond_batch,
    .dce = cond_dce,
    .reclose = cond_reclose,
    .lower = NoRule{"the executor runs the branch chosen"},
    .kernel = NoRule{"the executor runs the branch chosen"},
    .expand = NoRule{"the executor runs the branch chosen"},
    .cost = NoRule{"which branch runs depends on a value"},
    .flow = Flow::Cond,
    .text = &kCondText,
};

std::span<const Primitive* const> cond_primitives() {
    static constexpr const Primitive* all[] = {&kCond};
    return all;
}

}  // namespace jaxscope
