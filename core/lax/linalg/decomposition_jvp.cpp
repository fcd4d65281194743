// SPDX-License-Identifier: Apache-2.0
// Forward mode of the decompositions whose rules are whole programs (linalg.py, JAX 0.10.2).
#include "lax/linalg/dot.h"
#include "lax/linalg/linalg_jvp.h"
#include "lax/mapped.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/linalg.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

Value adjoint(Builder& b, Value x) {
    const Value t = matrix_transpose(b, x);
    return is_complex(b.aval(x)->dtype) ? lax::conj(b, t) : t;
}

Value real_part(Builder& b, Value x) { return is_complex(b.aval(x)->dtype) ? lax::real(b, x) : x; }

/// `x @ y` of NumPy: the product's dtype is asked for by name.
Value matmul(Builder& b, Value x, Value y, bool precise) {
    const AvalRef aval = b.aval(x);
    const std::int64_t rank = aval->rank();
    DotGeneralParams p{
        .dimension_numbers = {
            .lhs_contract = {rank - 1}, .rhs_contract = {rank - 2}, .lhs_batch = iota_dims(rank - 2), .rhs_batch = iota_dims(rank - 2)}};
    const Attr highest = Attr::Enum{"Precision", "HIGHEST"};
    if (precise) p.precision = Attr::tuple({highest, highest});
    p.preferred_element_type = aval->dtype;
    return b.bind1(kDotGeneral, {x, y}, make_params(p));
}

/// NumPy's reading of indices: negative ones count from the end of a dimension of `size`. Scalar index vectors of length 1.
Value wrapped(Builder& b, Value indices, std::int64_t size) {
    const LiteralRef zero = make_literal(AvalRef(DType::S32, {}), std::int64_t{0});
    const Value negative = lax::lt(b, indices, zero);
    const Value shifted = lax::add(b, indices, make_literal(AvalRef(DType::S32, {}), size));
    return lax::select_n(b, negative, {indices, shifted});
}
Value as_vectors(Builder& b, Value indices) { return lax::broadcast_in_dim(b, indices, {b.aval(indices)->shape[0], 1}, {0}); }

/// x[..., i, i] for all i.
Value diagonal(Builder& b, Value x) {
    const Dims shape = b.aval(x)->shape;
    const auto rank = std::ssize(shape);
    const std::int64_t rows = shape[shape.size() - 2], columns = shape.back(), n = std::min(rows, columns);
    const Value i = b.bind1(kIota, {}, make_params(IotaParams{.dtype = DType::S32, .shape = {n}}));
    const Value row = wrapped(b, i, rows), column = wrapped(b, i, columns);
    const Value row_vectors = as_vectors(b, row);
    const Value indices = lax::concatenate(b, {row_vectors, as_vectors(b, column)}, 1);
    GatherParams g{.dimension_numbers = {.offset_dims = iota_dims(rank - 2),
                                         .collapsed_slice_dims = {rank - 2, rank - 1},
                                         .start_index_map = {rank - 2, rank - 1},
                                         .operand_batching_dims = {},
                                         .start_indices_batching_dims = {}}};
    g.slice_sizes = shape;
    g.slice_sizes[shape.size() - 2] = g.slice_sizes.back() = 1;
    return lax::gather(b, x, indices, g);
}

/// A vector (or batch of vectors) as rows (n copies to come by stretching) or as columns.
Value as_rows(Builder& b, Value v) { return lax::expand_dims(b, v, {b.aval(v)->rank() - 1}); }
Value as_columns(Builder& b, Value v) { return lax::expand_dims(b, v, {b.aval(v)->rank()}); }
Value to_rank(Builder& b, Value x, std::int64_t rank) { return lax::expand_dims(b, x, iota_dims(rank - b.aval(x)->rank())); }

}  // namespace

/// Perturbation theory of distinct eigenvalues: dV = V (F * V^H dA V), dw = diag(V^H dA V), F_ij = 1 / (w_j - w_i) off the diagonal.
PrimalsTangents eigh_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const auto& p = op.as<EighParams>();
    const AvalRef aval = op.in[0];
    const std::int64_t rank = aval->rank(), n = aval->shape.back();
    if (p.subset_by_index && *p.subset_by_index != Dims{0, n})
        throw Error(ErrorCode::NotDifferentiable, "expected all eigenvalues, found subset_by_index=" + shape_text(*p.subset_by_index) +
                                                      ": JAX doesn't differentiate partial decompositions either");
    const Value sum = lax::add(b, x[0], adjoint(b, x[0]));
    const Value symmetric = lax::div(b, sum, make_literal(AvalRef(aval->dtype, {}), 2.0));
    const Values vw = b.bind(*op.prim, {symmetric}, op.params);
    const Value v = vw[0], w = lax::convert_element_type(b, vw[1], aval->dtype);
    const Value eye = identity_matrix(b, aval->dtype, n);
    const Value rows = as_rows(b, w);
    const Value shifted = lax::add(b, to_rank(b, eye, rank), rows);
    const Value gaps = lax::sub(b, shifted, as_columns(b, w));
    const Value inverse = lax::integer_pow(b, gaps, -1);
    const Value f = lax::sub(b, inverse, to_rank(b, eye, rank));
    const Value left = precise_matmul(b, adjoint(b, v), dx[0]);
    const Value rotated = precise_matmul(b, left, v);
    const Value dv = precise_matmul(b, v, lax::mul(b, f, rotated));
    return {vw, {dv, diagonal(b, real_part(b, rotated))}};
}

namespace {

/// dLU = L tril(L^-1 P dA U^-1, -1) + triu(L^-1 P dA U^-1) U of one matrix, with L and U made square.
Value lu_tangent(Builder& b, Value lu, Value da, Value permutation) {
    const AvalRef aval = b.aval(lu);
    const DType dtype = aval->dtype;
    const std::int64_t m = aval->shape[0], n = aval->shape[1], k = std::min(m, n);
    const LiteralRef zero = make_literal(AvalRef(dtype, {}), 0.0);
    const Value strict = triangle(b, lax::slice(b, lu, {0, 0}, {m, k}), true, -1);
    const Value strict_padded = lax::pad(b, strict, zero, {{}, {0, m - k, 0}});
    const Value l = lax::add(b, strict_padded, identity_matrix(b, dtype, m));
    const Value u_eye = lax::pad(b, identity_matrix(b, dtype, n - k), zero, {{k, 0, 0}, {k, 0, 0}});
    const Value upper = triangle(b, lax::slice(b, lu, {0, 0}, {k, n}), false, 0);
    const Value u = lax::add(b, lax::pad(b, upper, zero, {{0, n - k, 0}, {}}), u_eye);

    GatherParams rows{.dimension_numbers = {.offset_dims = {1},
                                            .collapsed_slice_dims = {0},
                                            .start_index_map = {0},
                                            .operand_batching_dims = {},
                                            .start_indices_batching_dims = {}}};
    rows.slice_sizes = {1, n};
    const Value permuted = lax::gather(b, da, as_vectors(b, wrapped(b, permutation, m)), rows);
    const Value la = b.bind1(kTriangularSolve, {l, permuted},
                             make_params(TriangularSolveParams{.left_side = true, .lower = true, .unit_diagonal = true}));
    const Value lau = b.bind1(kTriangularSolve, {u, la}, make_params(TriangularSolveParams{}));
    const Value l_dot = matmul(b, l, triangle(b, lau, true, -1), true);
    const Value u_dot = matmul(b, triangle(b, lau, false, 0), u, true);
    return lax::add(b, l_dot, u_dot);
}

}  // namespace

/// Batches are vmapped, a level for each batch dimension.
Values lu_jvp(Builder& b, const Op& op, const Values&, const Values& y, const Values& dx) {
    if (dx[0].is_zero()) return Values(3, Value::zero());
    const Dims& shape = op.in[0]->shape;
    if (shape.size() == 2) return {lu_tangent(b, y[0], dx[0], y[2]), Value::zero(), Value::zero()};
    const std::size_t batch = shape.size() - 2;
    const auto one = [&](AvalRef a) { return with_shape(a, Dims(a->shape.begin() + static_cast<std::ptrdiff_t>(batch), a->shape.end())); };
    JaxprBuilder body;
    const Value lu = body.add_input(one(b.aval(y[0]))), da = body.add_input(one(b.aval(dx[0]))), p = body.add_input(one(b.aval(y[2])));
    const Value tangent = lu_tangent(body, lu, da, p);
    const JaxprPtr j = body.finish({tangent}, "lu_jvp");
    const Values mapped = vmapped(b, j, Dims(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch)), {y[0], dx[0], y[2]});
    return {mapped[0], Value::zero(), Value::zero()};
}

namespace {

/// x of a x = b for one matrix a, of which `lu` and `permutation` are the factors.
Value solve_factored(Builder& b, Value lu, Value permutation, Value rhs) {
    const Dims& shape = b.aval(rhs)->shape;
    GatherParams rows{.dimension_numbers = {.offset_dims = {1},
                                            .collapsed_slice_dims = {0},
                                            .start_index_map = {0},
                                            .operand_batching_dims = {},
                                            .start_indices_batching_dims = {}}};
    rows.slice_sizes = {1, shape[1]};
    const Value permuted = lax::gather(b, rhs, as_vectors(b, wrapped(b, permutation, shape[0])), rows);
    const Value half = b.bind1(kTriangularSolve, {lu, permuted},
                               make_params(TriangularSolveParams{.left_side = true, .lower = true, .unit_diagonal = true}));
    return b.bind1(kTriangularSolve, {lu, half}, make_params(TriangularSolveParams{.left_side = true}));
}

Value solve_batched(Builder& b, Value a, Value rhs) {
    const Values lu = b.bind(kLu, {a});
    const Dims& shape = b.aval(a)->shape;
    if (shape.size() == 2) return solve_factored(b, lu[0], lu[2], rhs);
    const auto batch = static_cast<std::ptrdiff_t>(shape.size()) - 2;
    const auto one = [&](Value v) { return with_shape(b.aval(v), Dims(b.aval(v)->shape.begin() + batch, b.aval(v)->shape.end())); };
    JaxprBuilder body;
    const Value factors = body.add_input(one(lu[0])), permutation = body.add_input(one(lu[2])), right = body.add_input(one(rhs));
    const Value solved = solve_factored(body, factors, permutation, right);
    return vmapped(b, body.finish({solved}, "solve"), Dims(shape.begin(), shape.begin() + batch), {lu[0], lu[2], rhs})[0];
}

}  // namespace

namespace {

/// 1 at the largest component of each vector (a column of `v`), 0 elsewhere.
Value largest_components(Builder& b, Value v) {
    const AvalRef aval = b.aval(v);
    const std::int64_t rows = aval->rank() - 2;
    const Value largest = b.bind1(kArgMax, {lax::abs(b, v)}, make_params(ArgReduceParams{.axes = {rows}, .index_dtype = DType::S32}));
    const Value number = b.bind1(kIota, {}, make_params(IotaParams{.dtype = DType::S32, .shape = aval->shape, .dimension = rows}));
    const Value spread = lax::broadcast_in_dim(b, lax::expand_dims(b, largest, {rows}), aval->shape, iota_dims(aval->rank()));
    return lax::convert_element_type(b, lax::eq(b, number, spread), aval->dtype);
}

/// Tangents of eigenvalues and of eigenvectors. A v = w v leaves each vector a complex factor, which LAPACK chooses so that its length
/// is 1 and its largest component real: dv = u + c v, where c keeps both.
Values eigenvector_tangents(Builder& b, Value w, Value v, Value da) {
    const AvalRef aval = b.aval(v);
    const std::int64_t rank = aval->rank(), rows = rank - 2;
    const Value eye = to_rank(b, identity_matrix(b, aval->dtype, aval->shape.back()), rank);
    const Value gaps = lax::sub(b, lax::add(b, eye, as_rows(b, w)), as_columns(b, w));
    const Value f = lax::sub(b, lax::integer_pow(b, gaps, -1), eye);
    const Value rotated = precise_matmul(b, solve_batched(b, v, da), v);
    const Value u = precise_matmul(b, v, lax::mul(b, f, rotated));
    const Value mask = largest_components(b, v);
    const auto picked = [&](Value x) { return lax::reduce_sum(b, lax::mul(b, mask, x), {rows}); };
    const Value length = lax::real(b, lax::reduce_sum(b, lax::mul(b, lax::conj(b, v), u), {rows}));
    const Value turn = lax::div(b, lax::imag(b, picked(u)), lax::real(b, picked(v)));
    const Value c = lax::expand_dims(b, lax::complex(b, lax::neg(b, length), lax::neg(b, turn)), {rows});
    return {diagonal(b, rotated), lax::add(b, u, lax::mul(b, v, c))};
}

}  // namespace

/// dw = diag(V^-1 dA V), with right eigenvectors that are computed for it. JAX solves in a custom_linear_solve of its own; here are the
/// same factors and triangular solves without that call.
PrimalsTangents eig_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    EigParams p = op.as<EigParams>();
    const bool left = p.compute_left_eigenvectors, right = p.compute_right_eigenvectors;
    const bool* enabled = p.enable_eigvec_derivs.get<bool>();
    if ((left || right) && (!enabled || !*enabled))
        throw Error(ErrorCode::NotDifferentiable,
                    "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the input that JAX cannot check: "
                    "pass enable_eigvec_derivs=True to jax.lax.linalg.eig");
    p.compute_right_eigenvectors = true;
    const Values y = b.bind(*op.prim, x, make_params(p));
    const Value w = y.front(), v = y.back();
    const Value da = lax::convert_element_type(b, dx[0], b.aval(v)->dtype);
    if (!left && !right) {
        const Value rotated = lax::mul(b, solve_batched(b, v, da), matrix_transpose(b, v));
        return {{w}, {lax::reduce_sum(b, rotated, {b.aval(rotated)->rank() - 1})}};
    }
    const Values tangents = eigenvector_tangents(b, w, v, da);
    PrimalsTangents out{{w}, {tangents[0]}};
    if (left) {
        out.primals.push_back(y[1]);
        out.tangents.push_back(eigenvector_tangents(b, lax::conj(b, w), y[1], adjoint(b, da))[1]);
    }
    if (right) {
        out.primals.push_back(v);
        out.tangents.push_back(tangents[1]);
    }
    return out;
}

/// The thin decomposition of matrices with at least as many rows as columns (j-towns' derivation).
static Values thin_qr_jvp(Builder& b, Value q, Value r, Value dx) {
    const std::int64_t n = b.aval(r)->shape.back();
    const Value dx_rinv = b.bind1(kTriangularSolve, {r, dx}, make_params(TriangularSolveParams{}));
    const Value qt_dx_rinv = matmul(b, adjoint(b, q), dx_rinv, false);
    const Value lower = triangle(b, qt_dx_rinv, true, -1);
    const Value skew = lax::sub(b, lower, adjoint(b, lower));
    const AvalRef aval = b.aval(qt_dx_rinv);
    const Value eye = to_rank(b, identity_matrix(b, aval->dtype, n), aval->rank());
    const Value imaginary = lax::sub(b, qt_dx_rinv, lax::convert_element_type(b, real_part(b, qt_dx_rinv), aval->dtype));
    const Value omega = lax::add(b, skew, lax::mul(b, eye, imaginary));
    const Value dq = lax::add(b, matmul(b, q, lax::sub(b, omega, qt_dx_rinv), false), dx_rinv);
    return {dq, matmul(b, lax::sub(b, qt_dx_rinv, omega), r, false)};
}

/// Of matrices: rows or columns `from` to `to`.
static Value part_of(Builder& b, Value x, std::size_t from_end, std::int64_t from, std::int64_t to) {
    Dims start(b.aval(x)->shape.size(), 0), limit = b.aval(x)->shape;
    start[start.size() - from_end] = from, limit[limit.size() - from_end] = to;
    return lax::slice(b, x, start, limit);
}
static Value columns(Builder& b, Value x, std::int64_t from, std::int64_t to) { return part_of(b, x, 1, from, to); }
static Value rows(Builder& b, Value x, std::int64_t from, std::int64_t to) { return part_of(b, x, 2, from, to); }

/// Full matrices with more rows (m) than columns (n): Q = [Q_mn, Q_mp], whose second part has a derivative by the choice that
/// arXiv:2409.13374 makes (its equations 32 and 33).
static Values full_qr_jvp(Builder& b, Value q, Value r, Value dx, std::int64_t m, std::int64_t n) {
    const Value q_mn = columns(b, q, 0, n), q_mp = columns(b, q, n, m), q_nn = rows(b, q_mn, 0, n), q_pn = rows(b, q_mn, n, m);
    const Values thin = thin_qr_jvp(b, q_mn, rows(b, r, 0, n), dx);
    const Value dq_nn = rows(b, thin[0], 0, n), dq_pn = rows(b, thin[0], n, m);
    const AvalRef aval = b.aval(q_nn);
    const Value shifted = lax::sub(b, q_nn, to_rank(b, identity_matrix(b, aval->dtype, n), aval->rank()));
    const Value z_adjoint = solve_batched(b, adjoint(b, shifted), adjoint(b, q_pn)), z = adjoint(b, z_adjoint);
    const Value moved = adjoint(b, lax::sub(b, dq_pn, matmul(b, z, dq_nn, false)));
    const Value base = lax::add(b, q_mn, matmul(b, q_mp, z, false));
    const Value dq_mp = lax::sub(b, matmul(b, thin[0], z_adjoint, false), matmul(b, base, moved, false));
    Dims below = b.aval(thin[1])->shape;
    below[below.size() - 2] = m - n;
    const Value zeros = lax::zeros_like(b, AvalRef(aval->dtype, below));
    return {lax::concatenate(b, {thin[0], dq_mp}, aval->rank() - 1), lax::concatenate(b, {thin[1], zeros}, aval->rank() - 2)};
}

/// x[:, p] of a matrix.
static Value permuted_columns(Builder& b, Value x, Value permutation) {
    const Dims& shape = b.aval(x)->shape;
    GatherParams g{.dimension_numbers = {.offset_dims = {0},
                                         .collapsed_slice_dims = {1},
                                         .start_index_map = {1},
                                         .operand_batching_dims = {},
                                         .start_indices_batching_dims = {}}};
    g.slice_sizes = {shape[0], 1};
    return lax::gather(b, x, as_vectors(b, wrapped(b, permutation, shape[1])), g);
}

/// Matrices with more columns than rows: the square in front as of a thin decomposition, the rest from R2 = Q^H X2.
static Values wide_qr_jvp(Builder& b, Value q, Value r, Value x, Value dx, std::int64_t m, std::int64_t n) {
    const Value x2 = columns(b, x, m, n), dx1 = columns(b, dx, 0, m), dx2 = columns(b, dx, m, n);
    const Values square = thin_qr_jvp(b, q, columns(b, r, 0, m), dx1);
    const Value turned = matmul(b, adjoint(b, square[0]), x2, false);
    const Value dr2 = lax::add(b, turned, matmul(b, adjoint(b, q), dx2, false));
    return {square[0], lax::concatenate(b, {square[1], dr2}, b.aval(x)->rank() - 1)};
}

Values qr_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    const auto& p = op.as<QrParams>();
    if (dx[0].is_zero()) return Values(y.size(), Value::zero());
    const Dims& shape = op.in[0]->shape;
    const std::int64_t m = shape[shape.size() - 2], n = shape.back();
    if (p.pivoting && shape.size() != 2)
        throw Error(ErrorCode::NotDifferentiable, "expected qr with pivoting of one matrix to differentiate, found " + shape_text(shape) +
                                                      ": JAX's rule doesn't permute tangents of batches either");
    const Value tangent = p.pivoting ? permuted_columns(b, dx[0], y[2]) : dx[0];
    Values out = m < n                      ? wide_qr_jvp(b, y[0], y[1], x[0], tangent, m, n)
                 : p.full_matrices && m > n ? full_qr_jvp(b, y[0], y[1], tangent, m, n)
                                            : thin_qr_jvp(b, y[0], y[1], tangent);
    if (p.pivoting) out.push_back(Value::zero());
    return out;
}

namespace {

/// Matrices with `v` on their diagonals.
Value diagonal_matrix(Builder& b, Value v) {
    const AvalRef aval = b.aval(v);
    const auto rank = aval->rank();
    const std::int64_t n = aval->shape.back();
    const Value i = b.bind1(kIota, {}, make_params(IotaParams{.dtype = DType::S32, .shape = {n}}));
    Dims shape = aval->shape;
    shape.push_back(n);
    const Value zeros = lax::zeros_like(b, AvalRef(aval->dtype, shape));
    const Value row = wrapped(b, i, n), column = wrapped(b, i, n);
    const Value row_vectors = as_vectors(b, row);
    const Value indices = lax::concatenate(b, {row_vectors, as_vectors(b, column)}, 1);
    const ScatterParams p{.dimension_numbers = {.update_window_dims = iota_dims(rank - 1),
                                                .inserted_window_dims = {rank - 1, rank},
                                                .scatter_dims_to_operand_dims = {rank - 1, rank},
                                                .operand_batching_dims = {},
                                                .scatter_indices_batching_dims = {}}};
    return lax::scatter(b, kScatter, zeros, indices, v, p);
}

/// What the rule of svd computes with: the thin decomposition A = U diag(s) Vh, and dS = U^H dA V.
struct ThinSvd {
    Value s, u, vh, uh, v, s_rows, ds;
    DType dtype;
};

Value converted(Builder& b, Value x, DType dtype) { return lax::convert_element_type(b, x, dtype); }

/// 1 / x, and 0 where x is 0 and `zeros` is 1.
Value safe_reciprocal(Builder& b, Value x, Value zeros) {
    const Value sum = lax::add(b, x, zeros);
    return lax::sub(b, lax::div(b, make_literal(AvalRef(b.aval(x)->dtype, {}), 1.0), sum), zeros);
}

/// F_ij = 1 / (s_j^2 - s_i^2) off the diagonal, 0 on it.
Value gap_reciprocals(Builder& b, const ThinSvd& t) {
    const Value sums = lax::add(b, t.s_rows, matrix_transpose(b, t.s_rows));
    const Value differences = lax::sub(b, t.s_rows, matrix_transpose(b, t.s_rows));
    const Value gaps = lax::mul(b, sums, differences);
    const AvalRef s = b.aval(t.s);
    return safe_reciprocal(b, gaps, to_rank(b, identity_matrix(b, s->dtype, s->shape.back()), s->rank() + 1));
}

/// The part of dA that leaves the space of `basis`: (X - B (B^H X)) / s.
Value leaving(Builder& b, const ThinSvd& t, Value x, Value basis, Value basis_adjoint) {
    const Value inside = matmul(b, basis, matmul(b, basis_adjoint, x, true), true);
    const Value outside = lax::sub(b, x, inside);
    return lax::div(b, outside, converted(b, t.s_rows, t.dtype));
}

Values svd_vector_tangents(Builder& b, const ThinSvd& t, Value da) {
    const Value f = gap_reciprocals(b, t);
    const Value dss = lax::mul(b, converted(b, t.s_rows, t.dtype), t.ds);
    const Value sds = lax::mul(b, matrix_transpose(b, converted(b, t.s_rows, t.dtype)), t.ds);
    const DType real = b.aval(t.s)->dtype;
    const Value s_zeros = converted(b, lax::eq(b, t.s, make_literal(AvalRef(real, {}), 0.0)), real);
    const Value s_inverse = diagonal_matrix(b, safe_reciprocal(b, t.s, s_zeros));
    const Value skew = lax::sub(b, t.ds, adjoint(b, t.ds));
    const Value half = lax::mul(b, b.folded(make_literal(AvalRef(t.dtype, {}), 0.5)), skew);
    const Value phases = lax::mul(b, half, converted(b, s_inverse, t.dtype));

    const Value f_left = converted(b, f, t.dtype);
    const Value left = lax::mul(b, f_left, lax::add(b, dss, adjoint(b, dss)));
    Value du = matmul(b, t.u, lax::add(b, left, phases), true);
    const Value f_right = converted(b, f, t.dtype);
    const Value right = lax::mul(b, f_right, lax::add(b, sds, adjoint(b, sds)));
    Value dv = matmul(b, t.v, right, true);
    const Dims& shape = b.aval(da)->shape;
    const std::int64_t m = shape[shape.size() - 2], n = shape.back();
    if (m > n) du = lax::add(b, du, leaving(b, t, matmul(b, da, t.v, true), t.u, t.uh));
    if (n > m) dv = lax::add(b, dv, leaving(b, t, matmul(b, adjoint(b, da), t.u, true), t.v, t.vh));
    return {du, adjoint(b, dv)};
}

}  // namespace

PrimalsTangents svd_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    SvdParams p = op.as<SvdParams>();
    const Dims& shape = op.in[0]->shape;
    if (p.compute_uv && p.full_matrices && shape[shape.size() - 2] != shape.back())
        throw Error(ErrorCode::NotDifferentiable,
                    "expected full_matrices=False to differentiate svd of " + shape_text(shape) + ", found True: JAX doesn't either");
    const bool vectors = p.compute_uv;
    p.full_matrices = false;
    p.compute_uv = true;
    const Values y = b.bind(*op.prim, x, make_params(p));
    ThinSvd t{.s = y[0], .u = y[1], .vh = y[2], .uh = {}, .v = {}, .s_rows = {}, .ds = {}, .dtype = op.in[0]->dtype};
    t.uh = adjoint(b, t.u);
    t.v = adjoint(b, t.vh);
    t.s_rows = as_rows(b, t.s);
    t.ds = matmul(b, matmul(b, t.uh, dx[0], true), t.v, true);
    const Value d_values = diagonal(b, real_part(b, t.ds));
    if (!vectors) return {{t.s}, {d_values}};
    const Values d_vectors = svd_vector_tangents(b, t, dx[0]);
    return {y, {d_values, d_vectors[0], d_vectors[1]}};
}

}  // namespace jaxscope
