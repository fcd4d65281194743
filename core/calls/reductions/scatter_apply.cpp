// SPDX-License-Identifier: Apache-2.0
#include "calls/control_flow.h"
#include "calls/families.h"
#include "calls/reductions/window_fold.h"
#include "ir/interpret.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {

namespace {

constexpr DType kCount = DType::S32;

/// The function of an element and of the update that JAX gives it for want of one: what scatter_apply makes never reads that.
const JaxprPtr& function_of(const Op& op, const ScatterParams& p) {
    const auto* ref = p.update_jaxpr.get<Attr::JaxprRef>();
    const Attr::Seq* consts = p.update_consts.get_seq();
    if (!ref || !consts || !consts->items.empty() || ref->jaxpr->num_constvars != 0)
        throw Error(ErrorCode::NoRule, "scatter: expected a function without arrays of its own, as JAX does").at(op.source.loc());
    const Jaxpr& f = *ref->jaxpr;
    if (!f.effects.empty()) throw Error(ErrorCode::NoRule, "Cannot lower effectful `scatter`.").at(op.source.loc());
    const AvalRef element(op.in[0]->dtype, {});
    if (f.num_invars != 2 || f.outvars.size() != 1 || f.aval(f.outvars[0])->dtype != element->dtype || f.aval(f.outvars[0])->rank() != 0)
        type_mismatch(op, "a function from " + to_text(element) + " to the same type",
                      f.outvars.size() == 1 ? to_text(f.aval(f.outvars[0])) : "");
    for (const Eqn& e : f.eqns)
        for (const Atom a : f.inputs(e))
            if (a.is_var() && a.var() == f.invar(1))
                throw Error(ErrorCode::NoRule, "scatter: expected a function of the operand's elements alone, found one that reads updates")
                    .at(op.source.loc());
    return ref->jaxpr;
}

Value on_elements(JaxprBuilder& b, const JaxprPtr& function, Value x) {
    const JaxprPtr f = on_arrays(function, b.aval(x)->shape);
    return inline_jaxpr(b, *f, {}, {x, lax::zeros_like(b, b.aval(x))}).front();
}

Value gathered(JaxprBuilder& b, const Op& op, const ScatterParams& p, const Values& x) {
    GatherParams g{.dimension_numbers = inverse_gather(p.dimension_numbers)};
    g.slice_sizes = scatter_window_sizes(p.dimension_numbers, op.in[0]->rank(), op.in[2]->shape);
    g.mode = p.mode;
    g.fill_value = Attr(0);
    return lax::gather(b, x[0], x[1], g);
}

/// The function once more of those that have been met more than `round` times.
JaxprPtr next_round(const JaxprPtr& function, AvalRef counts, AvalRef operand) {
    JaxprBuilder b;
    const Value met = b.add_input(counts), round = b.add_input(AvalRef(kCount, {})), x = b.add_input(operand);
    const Value again = lax::gt(b, met, lax::broadcast_in_dim(b, round, counts->shape, {}));
    const Value changed = lax::select(b, again, on_elements(b, function, x), x);
    return b.finish({lax::add(b, round, make_literal(AvalRef(kCount, {}), std::int64_t{1})), changed}, "scatter_apply");
}
JaxprPtr rounds_left(AvalRef operand) {
    JaxprBuilder b;
    const Value most = b.add_input(AvalRef(kCount, {})), round = b.add_input(AvalRef(kCount, {}));
    b.add_input(operand);
    return b.finish({lax::lt(b, round, most)}, "scatter_apply");
}

/// Windows may overlap, and the function is applied as often as an element is met.
Value applied_by_count(JaxprBuilder& b, const Op& op, const ScatterParams& p, const JaxprPtr& function, const Values& x) {
    const AvalRef counts(kCount, op.in[0]->shape);
    const Value ones = lax::ones_like(b, AvalRef(kCount, op.in[2]->shape));
    const Value met = lax::scatter(b, kScatterAdd, lax::zeros_like(b, counts), x[1], ones, p);
    const Value flat = lax::reshape(b, met, {counts->size()});
    const Value most = b.bind1(kReduceMax, {flat}, make_params(ReduceParams{{0}}));
    const WhileParams loop{.body_nconsts = 1,
                           .body_jaxpr = {next_round(function, counts, op.in[0]), true},
                           .cond_nconsts = 1,
                           .cond_jaxpr = {rounds_left(op.in[0]), true}};
    return b.bind(kWhile, {most, met, make_literal(AvalRef(kCount, {}), std::int64_t{0}), x[0]}, make_params(loop)).back();
}

}  // namespace

JaxprPtr expand_scatter_apply(const Op& op) {
    ScatterParams p = op.as<ScatterParams>();
    const JaxprPtr function = function_of(op, p);
    p.update_jaxpr = Attr();
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    if (op.in[0]->size() == 0 || op.in[2]->size() == 0) return b.finish({x[0]}, "scatter_apply");
    const std::int64_t depth = op.in[1]->shape.back();
    if (p.unique_indices || (depth > 0 && op.in[1]->size() == depth))
        return b.finish({lax::scatter(b, kScatter, x[0], x[1], on_elements(b, function, gathered(b, op, p, x)), p)}, "scatter_apply");
    return b.finish({applied_by_count(b, op, p, function, x)}, "scatter_apply");
}

}  // namespace jaxscope
