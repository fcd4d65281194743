// SPDX-License-Identifier: Apache-2.0
#include "lax/linalg/linalg_jvp.h"

#include "lax/linalg/dot.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

/// Row (dimension 0) or column (1) numbers, shifted by `k` as JAX shifts the rows.
Value numbers(Builder& b, const Dims& shape, std::int64_t dimension) {
    return b.bind1(kIota, {}, make_params(IotaParams{.dtype = DType::S32, .shape = shape, .dimension = dimension}));
}
Value shifted_rows(Builder& b, const Dims& shape, std::int64_t k) {
    return lax::add(b, numbers(b, shape, 0), make_literal(AvalRef(DType::S32, {}), k));
}

Value solve(Builder& b, Value a, Value rhs, TriangularSolveParams p) {
    p.conjugate_a = p.conjugate_a && is_complex(b.aval(a)->dtype);
    return b.bind1(kTriangularSolve, {a, rhs}, make_params(p));
}

/// (A^-1 dA) X or A^-1 (dA X), and mirrored from the right: whichever makes the solve the smaller one.
Value solve_tangent_of_a(Builder& b, const TriangularSolveParams& p, Value a, Value y, Value da) {
    da = lax::neg(b, triangle(b, da, p.lower, p.unit_diagonal ? (p.lower ? -1 : 1) : 0));
    if (p.transpose_a) da = matrix_transpose(b, da);
    if (p.conjugate_a && is_complex(b.aval(da)->dtype)) da = lax::conj(b, da);
    const Dims shape = b.aval(y)->shape;
    const std::int64_t m = shape[shape.size() - 2], n = shape.back();
    if (p.left_side) return m > n ? solve(b, a, precise_matmul(b, da, y), p) : precise_matmul(b, solve(b, a, da, p), y);
    return m < n ? solve(b, a, precise_matmul(b, y, da), p) : precise_matmul(b, y, solve(b, a, da, p));
}

}  // namespace

Value lower_mask(Builder& b, std::int64_t rows, std::int64_t columns, std::int64_t k) {
    const Value row = shifted_rows(b, {rows, columns}, k);
    return lax::ge(b, row, numbers(b, {rows, columns}, 1));
}

Value identity_matrix(Builder& b, DType dtype, std::int64_t n) {
    const Value row = shifted_rows(b, {n, n}, 0);
    return lax::convert_element_type(b, lax::eq(b, row, numbers(b, {n, n}, 1)), dtype);
}

Value triangle(Builder& b, Value x, bool keep_lower, std::int64_t k) {
    const AvalRef aval = b.aval(x);
    const auto rank = std::ssize(aval->shape);
    const Value mask = lower_mask(b, aval->shape[aval->shape.size() - 2], aval->shape.back(), keep_lower ? k : k - 1);
    const Value everywhere = lax::broadcast_in_dim(b, mask, aval->shape, {rank - 2, rank - 1});
    const Value zeros = lax::zeros_like(b, aval);
    return keep_lower ? lax::select(b, everywhere, x, zeros) : lax::select(b, everywhere, zeros, x);
}

Value matrix_transpose(Builder& b, Value x) {
    Dims permutation = iota_dims(b.aval(x)->rank());
    std::swap(permutation[permutation.size() - 2], permutation.back());
    return lax::transpose(b, x, permutation);
}

Value precise_matmul(Builder& b, Value x, Value y) {
    const std::int64_t rank = b.aval(x)->rank();
    const Attr highest = Attr::Enum{"Precision", "HIGHEST"};
    const DotGeneralParams p{.dimension_numbers = {.lhs_contract = {rank - 1},
                                                   .rhs_contract = {rank - 2},
                                                   .lhs_batch = iota_dims(rank - 2),
                                                   .rhs_batch = iota_dims(rank - 2)},
                             .precision = Attr::tuple({highest, highest})};
    return b.bind1(kDotGeneral, {x, y}, make_params(p));
}

/// dL = L phi(L^-1 dA L^-H), where phi keeps the lower triangle and halves the diagonal (arXiv:1602.07527). The primal result is
/// the lower triangle of what the routine gives, hence a new application.
PrimalsTangents cholesky_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const Value l = triangle(b, b.bind1(*op.prim, x, op.params), true, 0);
    const Value right = solve(b, l, dx[0], {.conjugate_a = true, .left_side = false, .lower = true, .transpose_a = true});
    const Value both = solve(b, l, right, {.left_side = true, .lower = true});
    const Value lower = triangle(b, both, true, 0);
    const AvalRef aval = b.aval(lower);
    const Value one = make_literal(AvalRef(aval->dtype, {}), 1.0);
    const Value weights = lax::add(b, one, identity_matrix(b, aval->dtype, aval->shape.back()));
    const Value phi = lax::div(b, lower, lax::expand_dims(b, weights, iota_dims(aval->rank() - 2)));
    return {{l}, {precise_matmul(b, l, phi)}};
}

Values triangular_solve_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    const auto& p = op.as<TriangularSolveParams>();
    Value sum = Value::zero();
    if (!dx[0].is_zero()) sum = solve_tangent_of_a(b, p, x[0], y[0], dx[0]);
    if (!dx[1].is_zero()) {
        const Value of_b = solve(b, x[0], dx[1], p);
        sum = sum.is_zero() ? of_b : lax::add_any(b, sum, of_b);
    }
    return {sum};
}

}  // namespace jaxscope
