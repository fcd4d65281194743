// SPDX-License-Identifier: Apache-2.0
// slogdet and det, with derivatives of their own.
#include <jaxscope/linalg.h>

#include <fmt/core.h>

#include <jaxscope/custom_rules.h>
#include <jaxscope/jit.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

using namespace matrices;  // NOLINT(google-build-using-namespace)

namespace {

Array at2(const Array& a, int i, int j) { return a[{ellipsis, i, j}]; }
Array det2(const Array& a) {
    const Array a00 = at2(a, 0, 0), a11 = at2(a, 1, 1);
    const Array down = a00 * a11;
    const Array a01 = at2(a, 0, 1), a10 = at2(a, 1, 0);
    const Array up = a01 * a10;
    return down - up;
}
Array det3(const Array& a) {
    constexpr int kTerms[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
    Array sum;
    for (int k = 0; k < 6; ++k) {
        const Array first = at2(a, 0, kTerms[k][0]), second = at2(a, 1, kTerms[k][1]);
        const Array two = first * second;
        const Array third = at2(a, 2, kTerms[k][2]);
        const Array term = two * third;
        sum = k == 0 ? term : k < 3 ? sum + term : sum - term;
    }
    return sum;
}
/// 1 for an even number of swapped rows, -1 for an odd one.
Array sign_of_parity(const Array& parity) { return -2 * (parity % 2) + 1; }
using SignAndLog = std::pair<Array, Array>;
SignAndLog slogdet_by_lu(const Array& a) {
    const std::vector<Array> lu = detail::bind_primitive(kLu, {a}, {}, Where("", 0, ""));
    const Array diag = diagonal(lu[0]);
    const Array is_zero = any(diag == 0);
    const Array numbers = jax::lax::iota(dtype::int32, a.shape(-1));
    const Array swaps = count_nonzero(lu[1] != numbers);
    const Array negative = count_nonzero(diag < 0);
    const Array parity = swaps + negative;
    const Array sign_factor = jax::lax::convert_element_type(sign_of_parity(parity).copy(), a.dtype());
    const Array sign = where(is_zero, jax::lax::convert_element_type(0., a.dtype()), 1. * sign_factor);
    const Array sum = numpy::sum(log(abs(diag)));
    return {sign, where(is_zero, jax::lax::convert_element_type(-inf, a.dtype()), sum)};
}
SignAndLog slogdet_small(const Array& a) {
    if (a.shape(-1) == 1) {
        const Array only = at2(a, 0, 0), size = abs(only);
        return {sign(only), log(size)};
    }
    const Array a00 = at2(a, 0, 0), a01 = at2(a, 0, 1), a10 = at2(a, 1, 0), a11 = at2(a, 1, 1);
    const Array down = a00 * a11, up = a01 * a10;
    const Array det = down - up;
    const Array size = abs(det), s = numpy::sign(det);
    return {s, log(size)};
}
struct SlogdetRule {
    std::pair<SignAndLog, SignAndLog> operator()(const std::tuple<Array>& primals, const std::tuple<Array>& tangents) const {
        const auto& [x] = primals;
        const auto& [g] = tangents;
        const linalg::Slogdet out = linalg::slogdet(x);
        const Array change = trace_of(linalg::solve(x, g), {.axis1 = -1, .axis2 = -2});
        return {{out.sign, out.logabsdet}, {zeros_like(Operand(out.sign)), change}};
    }
};
struct SmallSlogdetRule {
    std::pair<SignAndLog, SignAndLog> operator()(const std::tuple<Array>& primals, const std::tuple<Array>& tangents) const;
};
const auto& small_slogdet() {
    static const auto f = custom_jvp(slogdet_small, {.name = "_slogdet_small"}).defjvp(SmallSlogdetRule(), {.name = "_slogdet_small_jvp"});
    return f;
}
std::pair<SignAndLog, SignAndLog> SmallSlogdetRule::operator()(const std::tuple<Array>& primals, const std::tuple<Array>& tangents) const {
    const auto& [x] = primals;
    const auto& [g] = tangents;
    const SignAndLog out = small_slogdet()(x);
    Array change;
    if (x.shape(-1) == 1) {
        const Array d = at2(g, 0, 0);
        change = d / at2(x, 0, 0);
    } else {
        const Array x00 = at2(x, 0, 0), x01 = at2(x, 0, 1), x10 = at2(x, 1, 0), x11 = at2(x, 1, 1);
        const Array down = x00 * x11, up = x01 * x10;
        const Array det = down - up;
        const Array first = at2(g, 0, 0) * x11, second = at2(g, 0, 1) * x10;
        const Array two = first - second, third = at2(g, 1, 0) * x01;
        const Array three = two - third, fourth = at2(g, 1, 1) * x00;
        change = (three + fourth) / det;
    }
    return {out, {zeros_like(Operand(out.first)), change}};
}
/// What Cramer's rule gives beside the determinant, which stays finite where the matrix has one rank less.
std::pair<Array, Array> cofactor_solve(const Array& a, const Array& b) {
    const std::vector<Array> factors = detail::bind_primitive(kLu, {a}, {}, Where("", 0, ""));
    const std::int64_t n = a.shape(-1);
    const Array diag = diagonal(factors[0]);
    const Array parity = count_nonzero(factors[1] != jax::lax::iota(dtype::int32, n));
    const Array sign = jax::lax::convert_element_type(sign_of_parity(parity), a.dtype());
    const Array products = cumprod(diag, -1);
    const Array partial = products * sign[{none}];
    const Array lu = factors[0].at({-1, -1}).set(1. / partial[{-2}]);
    jax::lax::iota(dtype::int32, 1);  // JAX's, of batches that a matrix alone hasn't
    const Array ones_of_column = ones(n, a.dtype());
    const Array singular = jax::lax::squeeze(triangular(lu, ones_of_column[{jax::all, none}], false, false, false), 1);
    const Array bad = tile(any(logical_or(isnan(singular), isinf(singular)))[{none, none}], {n, n});
    Array x = where(bad, zeros_like(Operand(b)), b);
    x = x[{factors[2], jax::all}];
    x = triangular(lu, x, true, true, false);
    const Array above = x[{slice(-1)}];
    const Array scaled = above * partial[{-1, none, none}];
    x = concatenate({scaled, x[{slice(-1, none)}]}, 0);
    x = triangular(lu, x, false, false, false);
    x = where(bad, zeros_like(Operand(x)), x);
    return {partial[{-1}], x};
}

}  // namespace

namespace linalg {

Slogdet slogdet(const Operand& a) {
    static const auto by_lu = custom_jvp(slogdet_by_lu, {.name = "_slogdet_lu"}).defjvp(SlogdetRule(), {.name = "_slogdet_jvp"});
    const Where where = a.where;
    const auto f = [where](const Array& given) {
        const Array m = inexact_of(given);
        expect_square(m, "slogdet()", where);
        return m.shape(-1) == 1 || m.shape(-1) == 2 ? small_slogdet()(m) : by_lu(m);
    };
    const detail::InUsersLine line(a.where);
    const SignAndLog out = jax::jit(f, {.name = "slogdet"})(asarray(a));
    return {out.first, out.second};
}
namespace {
Array det_by_lu(const Array& a) {
    const Slogdet s = slogdet(a);
    return s.sign * exp(s.logabsdet);
}
}  // namespace
Array det(const Operand& a) {
    static const auto large = custom_jvp(det_by_lu, {.name = "_det"})
                                  .defjvp(
                                      [](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
                                          const auto [y, z] = cofactor_solve(std::get<0>(primals), std::get<0>(tangents));
                                          return std::pair{y, trace_of(z, {.axis1 = -1, .axis2 = -2})};
                                      },
                                      {.name = "_det_jvp"});
    const Where where = a.where;
    const auto f = [where](const Array& given) {
        const Array m = inexact_of(given);
        expect_square(m, "_det()", where);
        if (m.shape(-1) == 2) return det2(m);
        if (m.shape(-1) == 3) return det3(m);
        return large(m);
    };
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "det"})(asarray(a));
}

}  // namespace linalg

}  // namespace jaxscope::jax::numpy
