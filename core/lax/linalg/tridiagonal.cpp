// SPDX-License-Identifier: Apache-2.0
#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

// Tridiagonal systems (linalg.py of JAX 0.10.2).
namespace jaxscope {

namespace {

Avals eval_tridiagonal_solve(const Op& op) {
    ParamReads::note("perturb_singular");
    expect_arrays(op, 4);
    expect_same_dtype(op, 0, 4);
    const Dims& b = op.in[3]->shape;
    if (!is_inexact(op.in[3]->dtype)) type_mismatch(op, "a floating dtype", info(op.in[3]->dtype).name);
    if (b.size() < 2) type_mismatch(op, "right-hand sides of rank 2 or more", shape_text(b));
    const Dims diagonal(b.begin(), b.end() - 1);
    for (std::size_t i = 0; i < 3; ++i)
        if (op.in[i]->shape != diagonal) type_mismatch(op, "diagonals of " + shape_text(diagonal), shape_text(op.in[i]->shape));
    return {with_shape(op.in[3], b)};
}

/// x[..., from:to] along dimension `d`, and all of the others.
Value part(Builder& b, Value x, std::int64_t d, std::int64_t from, std::int64_t to) {
    const Dims& shape = b.aval(x)->shape;
    Dims start(shape.size(), 0), limit = shape;
    start[static_cast<std::size_t>(d)] = from, limit[static_cast<std::size_t>(d)] = to;
    return lax::slice(b, x, start, limit);
}

/// `y` with `rows` added to those from row `first` on, as JAX's y.at[..., first:, :].add makes it.
Value added_from(Builder& b, Value y, Value rows, std::int64_t first) {
    const std::int64_t rank = b.aval(y)->rank();
    const Value at = lax::broadcast_in_dim(b, make_literal(AvalRef(DType::S32, {}), first), {1}, {});
    const ScatterParams p{.dimension_numbers = {.update_window_dims = iota_dims(rank),
                                                .inserted_window_dims = {},
                                                .scatter_dims_to_operand_dims = {rank - 2},
                                                .operand_batching_dims = {},
                                                .scatter_indices_batching_dims = {}},
                          .indices_are_sorted = true,
                          .unique_indices = true};
    return lax::scatter(b, kScatterAdd, y, at, rows, p);
}

/// The matrix of the three diagonals times `x`.
Value product(Builder& b, const Values& diagonals, Value x) {
    const Dims& shape = b.aval(x)->shape;
    const auto rank = std::ssize(shape);
    const std::int64_t n = shape[shape.size() - 2];
    const auto column = [&](Value v) { return lax::expand_dims(b, v, {rank - 1}); };
    Dims with_unit(shape.begin(), shape.end() - 1);
    with_unit.push_back(1);
    const Value middle = lax::mul(b, lax::reshape(b, diagonals[1], with_unit), x);
    const Value lower = column(part(b, diagonals[0], rank - 2, 1, n));
    const Value below = added_from(b, middle, lax::mul(b, lower, part(b, x, rank - 2, 0, n - 1)), 1);
    const Value upper = column(part(b, diagonals[2], rank - 2, 0, n - 1));
    return added_from(b, below, lax::mul(b, upper, part(b, x, rank - 2, 1, n)), 0);
}

Values jvp_tridiagonal_solve(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    Value right = dx[3];
    if (!dx[0].is_zero() || !dx[1].is_zero() || !dx[2].is_zero()) {
        Values tangents;
        for (std::size_t i = 0; i < 3; ++i) tangents.push_back(instantiate_tangent(b, dx[i], op.in[i]));
        const Value moved = lax::neg(b, product(b, tangents, y[0]));
        right = right.is_zero() ? moved : lax::add_any(b, right, moved);
    }
    return {b.bind1(*op.prim, {x[0], x[1], x[2], right}, op.params)};
}

/// The transposed matrix has its outer diagonals exchanged, each moved by one.
void transpose_tridiagonal_solve(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const std::int64_t last = op.in[0]->rank() - 1, n = op.in[0]->shape.back();
    const auto zero_like = [&](Value v) { return lax::zeros_like(b, b.aval(v)); };
    const Value first_zero = zero_like(part(b, x[2], last, n - 1, n));
    const Value lower = lax::concatenate(b, {first_zero, part(b, x[2], last, 0, n - 1)}, last);
    const Value rest = part(b, x[0], last, 1, n);
    const Value upper = lax::concatenate(b, {rest, zero_like(part(b, x[0], last, 0, 1))}, last);
    sink.add(3, b.bind1(*op.prim, {lower, x[1], upper, ct[0]}, op.params));
}

/// With one matrix for all, the batch axis of the right-hand sides becomes more columns.
BatchResult batch_tridiagonal_solve(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    if (dims[0] == kNotMapped && dims[1] == kNotMapped && dims[2] == kNotMapped) {
        const int at = b.aval(x[3])->rank() - 2;
        const Value right = moveaxis(b, x[3], dims[3], at);
        const Dims shape = b.aval(right)->shape;
        Dims flat(shape.begin(), shape.end() - 1);
        flat.back() *= shape.back();
        const Value solved = b.bind1(*op.prim, {x[0], x[1], x[2], lax::reshape(b, right, flat)}, op.params);
        return {{lax::reshape(b, solved, shape)}, {at}};
    }
    Values front;
    for (std::size_t i = 0; i < x.size(); ++i) front.push_back(batch_to_front(b, x[i], dims[i], size));
    return {b.bind(*op.prim, front, op.params), {0}};
}

Cost tridiagonal_cost(const Op& op) { return {.flops = 8 * static_cast<double>(op.in[3]->size()), .bytes = total_bytes(op)}; }

}  // namespace

constinit const Primitive kTridiagonalSolve{.name = "tridiagonal_solve",
                                            .abstract_eval = eval_tridiagonal_solve,
                                            .jvp = jvp_tridiagonal_solve,
                                            .transpose = transpose_tridiagonal_solve,
                                            .batch = batch_tridiagonal_solve,
                                            .lower = kRunsAsRoutine,
                                            .kernel = routine_kernel,
                                            .cost = tridiagonal_cost};

std::span<const Primitive* const> tridiagonal_primitives() {
    static constexpr const Primitive* all[] = {&kTridiagonalSolve};
    return all;
}

}  // namespace jaxscope
