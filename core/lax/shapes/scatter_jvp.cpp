// SPDX-License-Identifier: Apache-2.0
#include "lax/shapes/scatter_jvp.h"

#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

Value zeros_for(Builder& b, Value v) { return lax::zeros_like(b, b.aval(v)); }
Value ones_for(Builder& b, Value v) { return lax::ones_like(b, b.aval(v)); }
Value scalar(Builder& b, Value v, double number) { return make_literal(AvalRef(b.aval(v)->dtype, {}), number); }
Value select(Builder& b, Value condition, Value if_true, Value if_false) { return lax::select_n(b, condition, {if_false, if_true}); }

/// The gather of the windows that the scatter writes, with lax.gather's defaults.
GatherParams plain_gather(const ScatterParams& p, Builder& b, Value operand, Value updates) {
    GatherParams g{.dimension_numbers = inverse_gather(p.dimension_numbers)};
    g.slice_sizes = scatter_window_sizes(p.dimension_numbers, b.aval(operand)->rank(), b.aval(updates)->shape);
    return g;
}

/// Each update gets a number from 1 on, the same for all elements of a window; `scattered` tells whose update each element of the
/// operand holds (0: none), `gathered` which of the contending updates won at each update's window.
struct UpdateIds {
    Value ids, scattered, gathered;
};
UpdateIds number_updates(Builder& b, const ScatterParams& p, Value operand, Value indices, Value updates) {
    Dims shape = b.aval(updates)->shape;
    const Dims full = shape;
    for (const std::int64_t d : p.dimension_numbers.update_window_dims) shape[static_cast<std::size_t>(d)] = 1;
    const std::int64_t count = element_count(shape);
    const DType dtype = index_dtype_unsigned({count});
    const Value numbers = b.bind1(kIota, {}, make_params(IotaParams{.dtype = dtype, .shape = {count}}));
    const Value reshaped = lax::reshape(b, numbers, shape);
    const Value ids = lax::add(b, reshaped, lax::ones_like(b, AvalRef(dtype, full)));
    const Value none = lax::zeros_like(b, AvalRef(dtype, b.aval(operand)->shape));
    const Value scattered = lax::scatter(b, kScatter, none, indices, ids, p);
    return {ids, scattered, lax::gather(b, scattered, indices, plain_gather(p, b, scattered, updates))};
}

Value keep_untouched(Builder& b, const UpdateIds& u, Value operand) {
    const Value untouched = lax::eq(b, u.scattered, zeros_for(b, u.scattered));
    return select(b, untouched, operand, zeros_for(b, operand));
}

Value keep_winners(Builder& b, const UpdateIds& u, Value updates) {
    const Value won = lax::eq(b, u.ids, u.gathered);
    return select(b, won, updates, zeros_for(b, updates));
}

}  // namespace

void require_unique_indices(const Op& op) {
    if (!op.as<ScatterParams>().unique_indices)
        throw Error(ErrorCode::NotDifferentiable, std::string("expected unique_indices=True to differentiate ") + op.prim->name +
                                                      ", found False: JAX has no gradient for overlapping updates either");
}

PrimalsTangents scatter_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const auto& p = op.as<ScatterParams>();
    if (!p.update_jaxpr.is_none())
        throw Error(ErrorCode::NotDifferentiable,
                    "expected a scatter that overwrites, found scatter_apply, which JAX doesn't differentiate either");
    if (dx[0].is_zero() && dx[2].is_zero()) return {b.bind(kScatter, x, op.params), {Value::zero()}};
    const Value d_operand = instantiate_tangent(b, dx[0], op.in[0]);
    const Value d_updates = instantiate_tangent(b, dx[2], op.in[2]);
    if (p.unique_indices) {
        const Value y = b.bind1(kScatter, x, op.params);
        return {{y}, {b.bind1(kScatter, {d_operand, x[1], d_updates}, op.params)}};
    }
    const UpdateIds u = number_updates(b, p, x[0], x[1], x[2]);
    const Value operand = keep_untouched(b, u, x[0]);
    const Value updates = keep_winners(b, u, x[2]);
    const Value masked_d_operand = keep_untouched(b, u, d_operand);
    const Value masked_d_updates = keep_winners(b, u, d_updates);
    const Value y = lax::scatter(b, kScatterAdd, operand, x[1], updates, p);
    return {{y}, {lax::scatter(b, kScatterAdd, masked_d_operand, x[1], masked_d_updates, p)}};
}

Values scatter_addsub_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    if (dx[0].is_zero() && dx[2].is_zero()) return {Value::zero()};
    const Value d_operand = instantiate_tangent(b, dx[0], op.in[0]);
    const Value d_updates = instantiate_tangent(b, dx[2], op.in[2]);
    return b.bind(*op.prim, {d_operand, x[1], d_updates}, op.params);
}

Values scatter_mul_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    Value sum = Value::zero();
    if (!dx[0].is_zero()) sum = b.bind1(kScatterMul, {dx[0], x[1], x[2]}, op.params);
    if (!dx[2].is_zero()) {
        require_unique_indices(op);
        const Value zeros = zeros_for(b, x[0]);
        const Value spread = lax::scatter(b, kScatterAdd, zeros, x[1], dx[2], op.as<ScatterParams>());
        const Value part = lax::mul(b, x[0], spread);
        sum = sum.is_zero() ? part : lax::add_any(b, sum, part);
    }
    return {sum};
}

/// The tangent at each place is the mean of the tangents of those that reached the extremum there, the operand's own included.
Values scatter_extremal_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    if (dx[0].is_zero() && dx[2].is_zero()) return {Value::zero()};
    const auto& p = op.as<ScatterParams>();
    const Value operand = x[0], indices = x[1], updates = x[2];
    const Value d_operand = instantiate_tangent(b, dx[0], op.in[0]);
    const Value d_updates = instantiate_tangent(b, dx[2], op.in[2]);
    const GatherParams windows = plain_gather(p, b, operand, updates);
    ScatterParams plain{.dimension_numbers = p.dimension_numbers};
    const auto read = [&](Value from) { return lax::gather(b, from, indices, windows); };

    const Value initial = read(operand);
    const Value target = read(y[0]);
    const Value successful = lax::eq(b, updates, target);
    const Value retained = lax::eq(b, initial, target);

    const Value zeros = zeros_for(b, operand);
    const Value ones = ones_for(b, updates);
    const Value votes = select(b, successful, ones, zeros_for(b, updates));
    const Value num_updates = read(lax::scatter(b, kScatterAdd, zeros, indices, votes, plain));
    const Value more_zeros = zeros_for(b, operand);
    const Value num_refs = read(lax::scatter(b, kScatterAdd, more_zeros, indices, ones_for(b, updates), plain));

    const Value one = scalar(b, operand, 1.0);
    const auto share_with_operand = [&] { return lax::div(b, one, lax::add(b, num_updates, one)); };
    const Value shared = share_with_operand();
    const Value normalizer = select(b, retained, shared, lax::div(b, one, num_updates));
    const Value updates_coef = select(b, successful, normalizer, zeros_for(b, updates));
    const Value own_share = share_with_operand();
    const Value operand_normalizer = select(b, retained, own_share, zeros_for(b, num_updates));
    const Value operand_coef = lax::div(b, lax::add(b, scalar(b, operand, -1.0), operand_normalizer), num_refs);

    const Value target_tangents = read(d_operand);
    const Value from_operand = lax::mul(b, target_tangents, operand_coef);
    const Value from_updates = lax::mul(b, d_updates, updates_coef);
    const Value tangent = lax::add(b, from_operand, from_updates);
    return {lax::scatter(b, kScatterAdd, d_operand, indices, tangent, p)};
}

}  // namespace jaxscope
