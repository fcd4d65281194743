// SPDX-License-Identifier: Apache-2.0
// cholesky, qr, svd, eigh.
#include <jaxscope/linalg.h>

#include <fmt/core.h>

#include <jaxscope/jit.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using detail::apply;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

using namespace matrices;  // NOLINT(google-build-using-namespace)

namespace {

/// The mean of a matrix and its adjoint.
Value symmetrized(Builder& b, Value x) {
    Value t = cl::transpose(b, x, swapped_last(b.aval(x)->shape.size()));
    if (is_complex(b.aval(x)->dtype)) t = cl::conj(b, t);
    const Value sum = cl::add(b, x, t);
    return cl::div(b, sum, cl::constant(b, sum, 2));
}
template <class F>
Array jitted_one(const char* name, const std::string& key, const Operand& x, F f) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, name, key, v, [&](Builder& i, const Values& w) { return f(i, detail::inexact_operand(i, w[0])); });
    });
}
/// Several results of one primitive, the matrix made inexact.
std::vector<Array> decomposed(const Array& a, const ::jaxscope::Primitive& p, const ::jaxscope::ParamsRef& params) {
    const Operand in[] = {a};
    return apply(in, Where("", 0, ""), [&](Builder& b, const Values& v) { return b.bind(p, {detail::inexact_operand(b, v[0])}, params); });
}

}  // namespace

namespace linalg {

Array cholesky(const Operand& a, const CholeskyOptions& o) {
    expect_matrix(asarray(a), "cholesky", a.where);
    return jitted_one("cholesky", fmt::format("{} {}", o.upper, o.symmetrize_input), a, [&](Builder& b, Value x) {
        if (o.symmetrize_input) x = symmetrized(b, x);
        const AvalRef t = b.aval(x);
        const Value factor = b.bind1(kCholesky, {x}, {});
        const Dims last{t->shape[t->shape.size() - 2], t->shape.back()};
        const Value rows = cl::add(b, detail::iota_of(b, D::S32, last, 0), make_literal(AvalRef(D::S32, {}), std::int64_t{0}));
        Value lower = cl::ge(b, rows, detail::iota_of(b, D::S32, last, 1));
        lower = detail::broadcast_to(b, lower, t->shape);
        Value out = cl::select(b, lower, factor, cl::zeros_like(b, t));
        if (!o.upper) return out;
        out = cl::transpose(b, out, swapped_last(t->shape.size()));
        return is_complex(t->dtype) ? cl::conj(b, out) : out;
    });
}
Qr qr(const Operand& a, const char* mode) {
    const std::string_view m = mode;
    if (m != "reduced" && m != "complete")
        detail::refuse_at(a.where, ErrorCode::BadUsage, fmt::format("Unsupported QR decomposition mode '{}'", mode),
                          "\"reduced\" or \"complete\"");
    expect_matrix(asarray(a), "qr", a.where);
    const auto f = [full = m == "complete"](const Array& x) {
        const std::vector<Array> v = decomposed(x, kQr, make_params(QrParams{.full_matrices = full}));
        return std::pair{v[0], v[1]};
    };
    const detail::InUsersLine line(a.where);
    const auto [q, r] = jax::jit(f, {.name = "qr"})(asarray(a));
    return {q, r};
}
Svd svd(const Operand& a, bool full_matrices) {
    expect_matrix(asarray(a), "svd", a.where);
    const auto f = [full_matrices](const Array& x) {
        const std::vector<Array> v = decomposed(x, kSvd, make_params(SvdParams{.compute_uv = true, .full_matrices = full_matrices}));
        return std::tuple{v[1], v[0], v[2]};
    };
    const detail::InUsersLine line(a.where);
    const auto [u, s, vh] = jax::jit(f, {.name = "svd"})(asarray(a));
    return {u, s, vh};
}
Array svdvals(const Operand& a) {
    expect_matrix(asarray(a), "svdvals", a.where);
    return jitted_one("svd", "values", a, [](Builder& b, Value x) {
        return b.bind1(kSvd, {x}, make_params(SvdParams{.compute_uv = false, .full_matrices = true}));
    });
}
namespace {
bool lower_of(char uplo, const Where& where) {
    if (uplo != 'L' && uplo != 'U')
        detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("UPLO must be one of None, 'L', or 'U', got {}", uplo),
                          "which triangle of the matrix is read");
    return uplo == 'L';
}
}  // namespace
Eigh eigh(const Operand& a, char uplo, bool symmetrize_input) {
    expect_square(asarray(a), "eigh", a.where);
    const auto f = [symmetrize_input, lower = lower_of(uplo, a.where)](const Array& x) {
        const Operand in[] = {x};
        const std::vector<Array> v = apply(in, Where("", 0, ""), [&](Builder& b, const Values& w) {
            Value m = detail::inexact_operand(b, w[0]);
            if (symmetrize_input) m = symmetrized(b, m);
            return b.bind(kEigh, {m}, make_params(EighParams{.lower = lower}));
        });
        return std::pair{v[1], v[0]};
    };
    const detail::InUsersLine line(a.where);
    const auto [values, vectors] = jax::jit(f, {.name = "eigh"})(asarray(a));
    return {values, vectors};
}
Array eigvalsh(const Operand& a, char uplo) {
    const auto f = [uplo](const Array& x) { return eigh(x, uplo).eigenvalues; };
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "eigvalsh"})(asarray(a));
}

}  // namespace linalg

}  // namespace jaxscope::jax::numpy
