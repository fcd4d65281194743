// SPDX-License-Identifier: Apache-2.0
#include "lax/params/linalg.h"

#include <algorithm>

#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/linalg/linalg_jvp.h"
#include "lax/ops.h"
#include "lax/params/products.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

DType real_part(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }

/// Splits an operand's shape into batch dimensions and the last `rank` ones. All operands must have the same number of batch dimensions.
struct Matrices {
    Dims batch;
    std::vector<Dims> shapes;
};
Matrices matrices(const Op& op, const std::vector<std::int64_t>& ranks) {
    expect_arrays(op, ranks.size());
    Matrices m;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const Dims& shape = op.in[i]->shape;
        const auto batch = std::ssize(shape) - ranks[i];
        if (batch < 0) type_mismatch(op, "operands of rank " + std::to_string(ranks[i]) + " and more", shape_text(shape));
        if (!is_inexact(op.in[i]->dtype)) type_mismatch(op, "a floating or complex dtype", info(op.in[i]->dtype).name);
        if (i == 0) m.batch.assign(shape.begin(), shape.begin() + batch);
        if (batch != std::ssize(m.batch)) type_mismatch(op, "operands with equally many batch dimensions", shape_text(shape));
        m.shapes.emplace_back(shape.begin() + batch, shape.end());
    }
    expect_same_dtype(op, 0, op.in.size());
    return m;
}

AvalRef batched(const Op& op, const Matrices& m, DType dtype, const Dims& shape) {
    Dims all = m.batch;
    all.insert(all.end(), shape.begin(), shape.end());
    return standard_result(op, dtype, all);
}

void expect_square(const Op& op, const Dims& shape) {
    if (shape[0] != shape[1]) type_mismatch(op, "square matrices", shape_text(shape));
}

Avals cholesky_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    expect_square(op, m.shapes[0]);
    return {batched(op, m, op.in[0]->dtype, m.shapes[0])};
}

Avals triangular_solve_eval(const Op& op) {
    const Matrices m = matrices(op, {2, 2});
    expect_square(op, m.shapes[0]);
    const bool left = op.as<TriangularSolveParams>().left_side;
    if (m.shapes[0][0] != m.shapes[1][left ? 0 : 1])
        type_mismatch(op, "shapes that multiply", shape_text(m.shapes[0]) + " and " + shape_text(m.shapes[1]));
    return {batched(op, m, op.in[0]->dtype, m.shapes[1])};
}

Avals lu_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    const std::int64_t rows = m.shapes[0][0], columns = m.shapes[0][1];
    return {batched(op, m, op.in[0]->dtype, m.shapes[0]), batched(op, m, DType::S32, {std::min(rows, columns)}),
            batched(op, m, DType::S32, {rows})};
}

Avals lu_pivots_eval(const Op& op) {
    expect_arrays(op, 1);
    const std::int64_t size = op.as<LuPivotsParams>().permutation_size;
    Dims shape = op.in[0]->shape;
    if (shape.empty() || op.in[0]->dtype != DType::S32) type_mismatch(op, "int32 pivots of rank 1 and more", to_text(op.in[0]));
    if (size < shape.back()) type_mismatch(op, "a permutation at least as long as the pivots", std::to_string(size));
    shape.back() = size;
    return {standard_result(op, DType::S32, shape)};
}

Avals qr_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    const auto& p = op.as<QrParams>();
    const std::int64_t rows = m.shapes[0][0], columns = m.shapes[0][1], k = p.full_matrices ? rows : std::min(rows, columns);
    Avals out{batched(op, m, op.in[0]->dtype, {rows, k}), batched(op, m, op.in[0]->dtype, {k, columns})};
    if (p.pivoting) out.push_back(batched(op, m, DType::S32, {columns}));
    return out;
}

Avals geqrf_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    return {batched(op, m, op.in[0]->dtype, m.shapes[0]), batched(op, m, op.in[0]->dtype, {std::min(m.shapes[0][0], m.shapes[0][1])})};
}

Avals hessenberg_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    expect_square(op, m.shapes[0]);
    return {batched(op, m, op.in[0]->dtype, m.shapes[0]), batched(op, m, op.in[0]->dtype, {std::max<std::int64_t>(m.shapes[0][0] - 1, 0)})};
}

Avals householder_eval(const Op& op) {
    const Matrices m = matrices(op, {2, 1});
    if (m.shapes[0][0] < m.shapes[0][1]) type_mismatch(op, "at least as many rows as columns", shape_text(m.shapes[0]));
    if (m.shapes[1][0] > m.shapes[0][1]) type_mismatch(op, "at most one reflector for each column", shape_text(m.shapes[1]));
    return {batched(op, m, op.in[0]->dtype, m.shapes[0])};
}

struct OrmqrParams {
    bool left = true;
    bool transpose = false;
    static constexpr auto kFields = std::tuple(field("left", &OrmqrParams::left), field("transpose", &OrmqrParams::transpose));
};

Avals ormqr_eval(const Op& op) {
    const Matrices m = matrices(op, {2, 1, 2});
    const std::int64_t rows = m.shapes[0][0], other = m.shapes[2][op.as<OrmqrParams>().left ? 0 : 1];
    if (m.shapes[1][0] > std::min(rows, m.shapes[0][1]))
        type_mismatch(op, "at most one reflector for each column", shape_text(m.shapes[1]));
    if (other != rows) type_mismatch(op, "a matrix that fits " + std::to_string(rows) + " reflected rows", shape_text(m.shapes[2]));
    return {op.in[2]};
}

/// The product with the whole orthogonal matrix. Its columns behind the given ones come of the same reflectors.
JaxprPtr ormqr_expand(const Op& op) {
    const auto& p = op.as<OrmqrParams>();
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    const Dims& shape = op.in[0]->shape;
    PadConfig whole(shape.size());
    whole.back().high = shape[shape.size() - 2] - shape.back();
    const Value reflectors = lax::pad(b, x[0], make_literal(AvalRef(op.in[0]->dtype, {}), 0.0), whole);
    Value q = b.bind1(kHouseholderProduct, {reflectors, x[1]}, Params::make({}));
    if (p.transpose) q = matrix_transpose(b, is_complex(op.in[0]->dtype) ? lax::conj(b, q) : q);
    return b.finish({p.left ? precise_matmul(b, q, x[2]) : precise_matmul(b, x[2], q)}, "ormqr");
}

Avals svd_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    const auto& p = op.as<SvdParams>();
    const std::int64_t rows = m.shapes[0][0], columns = m.shapes[0][1];
    std::int64_t rank = std::min(rows, columns);
    if (p.subset_by_index) {
        if (p.subset_by_index->size() != 2) type_mismatch(op, "subset_by_index of two", shape_text(*p.subset_by_index));
        if (p.full_matrices && *p.subset_by_index != Dims{0, rank})
            type_mismatch(op, "full_matrices or subset_by_index, not both", shape_text(*p.subset_by_index));
        rank = std::min(rank, (*p.subset_by_index)[1] - (*p.subset_by_index)[0]);
    }
    const DType dtype = op.in[0]->dtype;
    Avals out{batched(op, m, real_part(dtype), {rank})};
    if (!p.compute_uv) return out;
    out.push_back(batched(op, m, dtype, {rows, p.full_matrices ? rows : rank}));
    out.push_back(batched(op, m, dtype, {p.full_matrices ? columns : rank, columns}));
    return out;
}

Avals eigh_eval(const Op& op) {
    ParamReads::note("implementation");  // which routine: results are the same
    const Matrices m = matrices(op, {2});
    expect_square(op, m.shapes[0]);
    const auto& subset = op.as<EighParams>().subset_by_index;
    if (subset && subset->size() != 2) type_mismatch(op, "subset_by_index of two", shape_text(*subset));
    const std::int64_t n = m.shapes[0][0], count = subset ? (*subset)[1] - (*subset)[0] : n;
    return {batched(op, m, op.in[0]->dtype, {n, count}), batched(op, m, real_part(op.in[0]->dtype), {count})};
}

Avals eig_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    expect_square(op, m.shapes[0]);
    const auto& p = op.as<EigParams>();
    const DType dtype = real_part(op.in[0]->dtype) == DType::F64 ? DType::C128 : DType::C64;
    Avals out{batched(op, m, dtype, {m.shapes[0][0]})};
    for (int n = p.compute_left_eigenvectors + p.compute_right_eigenvectors; n > 0; --n) out.push_back(batched(op, m, dtype, m.shapes[0]));
    return out;
}

Avals schur_eval(const Op& op) {
    const Matrices m = matrices(op, {2});
    expect_square(op, m.shapes[0]);
    return Avals(op.as<SchurParams>().compute_schur_vectors ? 2 : 1, batched(op, m, op.in[0]->dtype, m.shapes[0]));
}

// ---- Transposition and batching

void triangular_solve_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    auto p = op.as<TriangularSolveParams>();
    p.transpose_a = !p.transpose_a;
    p.conjugate_a = p.conjugate_a && is_complex(op.in[0]->dtype);
    sink.add(1, b.bind1(kTriangularSolve, {x[0], ct[0]}, make_params(p)));
}

/// Leading dimensions are batch dimensions of all operands.
BatchResult batch_leading(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    Values front;
    for (std::size_t i = 0; i < x.size(); ++i) front.push_back(batch_to_front(b, x[i], dims[i], size));
    Values out = b.bind(*op.prim, front, op.params);
    const std::size_t n = out.size();
    return {std::move(out), std::vector<int>(n, 0)};
}

/// With one matrix for all, the batch axis of the right-hand sides becomes more columns (or rows): one solve.
BatchResult triangular_solve_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    if (dims[0] != kNotMapped) return batch_leading(b, op, x, dims, size);
    const int rank = b.aval(x[1])->rank(), at = op.as<TriangularSolveParams>().left_side ? rank - 1 : rank - 2;
    const Value y = moveaxis(b, x[1], dims[1], at);
    const Dims shape = b.aval(y)->shape;
    // Left: (..., m, n, size) to (..., m, n*size). Right: (..., m, size, n), where JAX merges m and size.
    const auto merged = static_cast<std::size_t>(at) - 1;
    Dims flat = shape;
    flat[merged] *= flat[merged + 1];
    flat.erase(flat.begin() + at);
    const Value solved = b.bind1(kTriangularSolve, {x[0], lax::reshape(b, y, flat)}, op.params);
    return {{lax::reshape(b, solved, shape)}, {at}};
}

KernelSpec schur_kernel(const Op& op) {
    if (op.as<SchurParams>().sort_eig_vals) throw Error(ErrorCode::NoRule, "The sort feature of LAPACK's gees routine is not implemented.");
    return routine_kernel(op);
}

/// Order of magnitude: the leading term for m by n matrices is a small multiple of m n min(m, n).
Cost cubic_cost(const Op& op) {
    const Dims& shape = op.in[0]->shape;
    const double smaller = static_cast<double>(std::min(shape[shape.size() - 2], shape.back()));
    return {.flops = static_cast<double>(op.in[0]->size()) * smaller, .bytes = total_bytes(op)};
}

Cost triangular_solve_cost(const Op& op) {
    return {.flops = static_cast<double>(op.in[1]->size()) * static_cast<double>(op.in[0]->shape.back()), .bytes = total_bytes(op)};
}

constexpr NoRule kNotLinear{"not linear: jvp emits solves and products"};
constexpr NoRule kJaxHasNone{"JAX has none either"};

}  // namespace

// Rules of linalg.py, JAX 0.10.2.

constinit const Primitive kCholesky{
    .name = "cholesky",
    .abstract_eval = cholesky_eval,
    .jvp = NoRule{"the primal result is made anew: see jvp_call"},
    .jvp_call = cholesky_jvp_call,
    .transpose = kNotLinear,
    .batch = batch_leading,
    .lower = kRunsAsRoutine,
    .kernel = routine_kernel,
    .cost = cubic_cost,
};

constinit const Primitive kTriangularSolve{
    .name = "triangular_solve",
    .abstract_eval = triangular_solve_eval,
    .jvp = triangular_solve_jvp,
    .transpose = triangular_solve_transpose,
    .batch = triangular_solve_batch,
    .lower = kRunsAsRoutine,
    .kernel = routine_kernel,
    .cost = triangular_solve_cost,
};

constinit const Primitive kLu{.name = "lu",
                              .abstract_eval = lu_eval,
                              .jvp = lu_jvp,
                              .transpose = kNotLinear,
                              .batch = batch_leading,
                              .lower = kRunsAsRoutine,
                              .kernel = routine_kernel,
                              .cost = cubic_cost};

constinit const Primitive kLuPivotsToPermutation{
    .name = "lu_pivots_to_permutation",
    .abstract_eval = lu_pivots_eval,
    .jvp = NoRule{"its results are integers, which have no tangents"},
    .transpose = NoRule{"not linear"},
    .batch = batch_leading,
    .lower = kRunsAsRoutine,
    .kernel = routine_kernel,
    .cost = data_movement_cost,
};

constinit const Primitive kQr{.name = "qr",
                              .abstract_eval = qr_eval,
                              .jvp = qr_jvp,
                              .transpose = kNotLinear,
                              .batch = batch_leading,
                              .lower = kRunsAsRoutine,
                              .kernel = routine_kernel,
                              .cost = cubic_cost};

namespace {

/// A routine for each matrix, of which JAX has no derivative.
constexpr Primitive routine_without_derivative(const char* name, Avals (*abstract_eval)(const Op&)) {
    return {.name = name,
            .abstract_eval = abstract_eval,
            .jvp = kJaxHasNone,
            .transpose = kJaxHasNone,
            .batch = batch_leading,
            .lower = kRunsAsRoutine,
            .kernel = routine_kernel,
            .cost = cubic_cost};
}

Avals tridiagonal_eval(const Op& op) {
    ParamReads::note("lower");
    const Matrices m = matrices(op, {2});
    expect_square(op, m.shapes[0]);
    const std::int64_t n = m.shapes[0][0];
    if (n == 0) type_mismatch(op, "matrices that aren't empty", shape_text(m.shapes[0]));
    const DType d = op.in[0]->dtype;
    return {batched(op, m, d, {n, n}), batched(op, m, real_part(d), {n}), batched(op, m, real_part(d), {n - 1}),
            batched(op, m, d, {n - 1})};
}

Avals cholesky_update_eval(const Op& op) {
    expect_arrays(op, 2);
    expect_same_dtype(op, 0, 2);
    const Dims &r = op.in[0]->shape, &w = op.in[1]->shape;
    if (r.size() != 2 || r[0] != r[1] || w != Dims{r[0]})
        type_mismatch(op, "a square matrix and a vector of its size", shape_text(r) + " and " + shape_text(w));
    return {with_shape(op.in[0], r)};
}

/// alpha a a^T + beta c.
struct SymmetricProductParams {
    double alpha = 1, beta = 0;
    static constexpr auto kFields =
        std::tuple(field("alpha", &SymmetricProductParams::alpha), field("beta", &SymmetricProductParams::beta));
};
Avals symmetric_product_eval(const Op& op) {
    ParamReads::note("alpha"), ParamReads::note("beta");
    const Matrices m = matrices(op, {2, 2});
    if (m.shapes[1] != Dims{m.shapes[0][0], m.shapes[0][0]})
        type_mismatch(op, "a square matrix of as many rows", shape_text(m.shapes[1]) + " beside " + shape_text(m.shapes[0]));
    return {batched(op, m, op.in[0]->dtype, m.shapes[1])};
}
JaxprPtr symmetric_product_expand(const Op& op) {
    const auto& p = op.as<SymmetricProductParams>();
    const std::int64_t batch = op.in[0]->rank() - 2;
    JaxprBuilder b;
    const Value a = b.add_input(op.in[0]), c = b.add_input(op.in[1]);
    DotGeneralParams q;
    q.dimension_numbers = {{batch + 1}, {batch + 1}, iota_dims(batch), iota_dims(batch)};
    const Value product = b.bind1(kDotGeneral, {a, a}, make_params(q));
    const Value left = lax::mul(b, lax::constant(b, product, p.alpha), product), right = lax::mul(b, lax::constant(b, c, p.beta), c);
    return b.finish({lax::add(b, left, right)});
}

}  // namespace

constinit const Primitive kTridiagonal = routine_without_derivative("tridiagonal", tridiagonal_eval);
constinit const Primitive kCholeskyUpdate{.name = "cholesky_update",
                                          .abstract_eval = cholesky_update_eval,
                                          .jvp = kJaxHasNone,
                                          .transpose = kJaxHasNone,
                                          .batch = kJaxHasNone,
                                          .lower = kRunsAsRoutine,
                                          .kernel = routine_kernel,
                                          .cost = cubic_cost};
constinit const Primitive kSymmetricProduct{.name = "symmetric_product",
                                            .abstract_eval = symmetric_product_eval,
                                            .jvp = kJaxHasNone,
                                            .transpose = kJaxHasNone,
                                            .batch = batch_leading,
                                            .lower = NoRule{"expands to a product and a sum"},
                                            .expand = symmetric_product_expand};

constinit const Primitive kGeqrf = routine_without_derivative("geqrf", geqrf_eval);
constinit const Primitive kHessenberg = routine_without_derivative("hessenberg", hessenberg_eval);
constinit const Primitive kHouseholderProduct = routine_without_derivative("householder_product", householder_eval);

namespace {

constinit const Primitive kOrmqr{.name = "ormqr",
                                 .abstract_eval = ormqr_eval,
                                 .jvp = kJaxHasNone,
                                 .transpose = kJaxHasNone,
                                 .batch = batch_leading,
                                 .lower = NoRule{"expands to a product with the orthogonal matrix"},
                                 .kernel = NoRule{"expands to a product with the orthogonal matrix"},
                                 .expand = ormqr_expand,
                                 .cost = cubic_cost};

}  // namespace

constinit const Primitive kSvd{.name = "svd",
                               .abstract_eval = svd_eval,
                               .jvp = NoRule{"the thin decomposition is computed: see jvp_call"},
                               .jvp_call = svd_jvp_call,
                               .transpose = kNotLinear,
                               .batch = batch_leading,
                               .lower = kRunsAsRoutine,
                               .kernel = routine_kernel,
                               .cost = cubic_cost};

constinit const Primitive kEigh{.name = "eigh",
                                .abstract_eval = eigh_eval,
                                .jvp = NoRule{"the matrix is made symmetric first: see jvp_call"},
                                .jvp_call = eigh_jvp_call,
                                .transpose = kNotLinear,
                                .batch = batch_leading,
                                .lower = kRunsAsRoutine,
                                .kernel = routine_kernel,
                                .cost = cubic_cost};

constinit const Primitive kEig{.name = "eig",
                               .abstract_eval = eig_eval,
                               .jvp = NoRule{"the eigenvectors are computed for it: see jvp_call"},
                               .jvp_call = eig_jvp_call,
                               .transpose = kNotLinear,
                               .batch = batch_leading,
                               .lower = kRunsAsRoutine,
                               .kernel = routine_kernel,
                               .cost = cubic_cost};

constinit const Primitive kSchur{.name = "schur",
                                 .abstract_eval = schur_eval,
                                 .jvp = kJaxHasNone,
                                 .transpose = kJaxHasNone,
                                 .batch = batch_leading,
                                 .lower = kRunsAsRoutine,
                                 .kernel = schur_kernel,
                                 .cost = cubic_cost};

std::span<const Primitive* const> linalg_primitives() {
    static constexpr const Primitive* all[] = {&kCholesky,
                                               &kTriangularSolve,
                                               &kLu,
                                               &kLuPivotsToPermutation,
                                               &kQr,
                                               &kGeqrf,
                                               &kHessenberg,
                                               &kHouseholderProduct,
                                               &kOrmqr,
                                               &kSvd,
                                               &kEigh,
                                               &kEig,
                                               &kSchur,
                                               &kTridiagonal,
                                               &kCholeskyUpdate,
                                               &kSymmetricProduct};
    return all;
}

}  // namespace jaxscope
