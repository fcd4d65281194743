// SPDX-License-Identifier: Apache-2.0
// jax.scipy.linalg: LU decompositions, the matrix exponential.
#include <fmt/core.h>

#include <array>

#include <jaxscope/control_flow.h>
#include <jaxscope/jit.h>
#include <jaxscope/scipy.h>
#include <jaxscope/vectorize.h>

#include "base/error.h"
#include "lax/primitives.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/refusals.h"

namespace jaxscope::jax::scipy::linalg {

namespace nu = jax::numpy;

Lu lu(const Operand& a) {
    const detail::InUsersLine line(a.where);
    const auto decomposed = [where = a.where](const Array& given) {
        const Array x = numpy::matrices::inexact_of(given);
        if (x.ndim() != 2)
            detail::refuse_at(where, ErrorCode::BadUsage, "lu: expected a matrix, found an array of shape " + x.shape().str(),
                              "batches go through jax::vmap");
        const std::int64_t m = x.shape(0), n = x.shape(1), k = std::min(m, n);
        const std::vector<Array> factors = detail::bind_primitive(kLu, {x}, {}, where);
        const Array& permutation = factors[2];
        const Array columns = permutation[{none, jax::all}];
        const Array rows = nu::arange(m, permutation.dtype())[{jax::all, none}];
        const Array p = nu::array(columns == rows, x.dtype());
        const Array below = nu::tril(factors[0], -1);
        const Array l = below[{jax::all, slice(k)}] + nu::eye(m, k, 0, x.dtype());
        const Array above = nu::triu(factors[0]);
        return std::tuple(nu::real(p), l, Array(above[{slice(k), jax::all}]));
    };
    const auto inner = [&](const Array& x) { return jax::jit(decomposed, {.name = "_lu"}, a.where)(x); };
    auto [p, l, u] = jax::jit(inner, {.name = "lu"}, a.where)(nu::asarray(a));
    return {p, l, u};
}

namespace {

Array precise(const Array& a, const Array& b) { return nu::dot(a, b, {.precision = "highest"}); }
using Fraction = std::pair<Array, Array>;

/// Numerator and denominator have the odd terms with other signs: U holds those, V the even ones. `c`: from the lowest power.
Fraction pade(const Array& a, const std::vector<double>& c) {
    const Array identity = nu::eye(a.shape(0), a.shape(1), 0, a.dtype());
    std::vector<Array> powers{precise(a, a)};  // of the square
    for (std::size_t degree = 4; degree < c.size(); degree += 2)
        powers.push_back(degree == 4 ? precise(powers[0], powers[0]) : precise(powers.back(), powers[0]));
    const auto sum = [&](std::size_t first) {
        Array s;
        for (std::size_t i = powers.size(); i-- > 0;) {
            const Array term = c[first + 2 * (i + 1)] * powers[i];
            s = s.has_value() ? s + term : term;
        }
        return s + c[first] * identity;
    };
    const Array odd = sum(1);
    const Array u = precise(a, odd);
    return {u, sum(0)};
}
std::tuple<Array, Array, Array> scaled_fraction(const Array& a) {
    const Array size = nu::linalg::norm(a, 1);
    const Array ratio = nu::log2(size / 3.925724783138660);
    const Array squarings = nu::maximum(0, nu::floor(ratio));
    const Array small = a / nu::power(2, squarings.astype(a.dtype()));
    const Array limits = nu::array({4.258730016922831e-001, 1.880152677804762e+000}, size.dtype());
    const auto of_3 = [](const Array& x) { return pade(x, {120., 60., 12., 1.}); };
    const auto of_5 = [](const Array& x) { return pade(x, {30240., 15120., 3360., 420., 30., 1.}); };
    const auto of_7 = [](const Array& x) { return pade(x, {17297280., 8648640., 1995840., 277200., 25200., 1512., 56., 1.}); };
    const auto [u, v] = jax::lax::switch_(nu::digitize(size, limits), std::tuple(of_3, of_5, of_7), small);
    const Array p = u + v;
    return {p, -u + v, squarings};
}
/// Undoes the scaling.
Array squared(const Array& r, const Array& squarings, std::int64_t most) {
    const auto step = [&](const Array& c, const Array& i) {
        return std::pair(jax::lax::cond(
                             i < squarings, [](const Array& x) { return precise(x, x); }, [](const Array& x) { return x; }, c),
                         jax::lax::Nothing{});
    };
    return jax::lax::scan(step, r, nu::arange(most, squarings.dtype())).first;
}

}  // namespace

namespace {

Array expm_of(const Array& given, const Exponential& how, const Where& where) {
    const Array a = numpy::matrices::inexact_of(given);
    if (a.ndim() < 2 || a.shape(-1) != a.shape(-2))
        detail::refuse_at(where, ErrorCode::BadUsage, "Expected A to be a (batched) square matrix, got A.shape=" + a.shape().str() + ".",
                          "the exponential is of square matrices");
    if (a.ndim() > 2)
        return nu::vectorize(
            [&](const Array& each) {
                return expm({each, where.file, where.line, where.function}, how);
            },
            "(n,n)->(n,n)", where)(a);
    const auto [p, q, squarings] = jax::jit(scaled_fraction, {.name = "_calc_P_Q"}, where)(a);
    const auto nothing = [](const Array& x, const Array&, const Array&) { return nu::full_like(x, nu::nan); };
    const auto computed = [&how, &squarings = squarings](const Array&, const Array& numerator, const Array& denominator) {
        const Array r = how.upper_triangular ? solve_triangular(denominator, numerator) : nu::linalg::solve(denominator, numerator);
        const auto undone = [&how](const Array& x, const Array& n) { return squared(x, n, how.max_squarings); };
        return jax::jit(undone, {.name = "_squaring"})(r, squarings);
    };
    return jax::lax::cond(squarings > how.max_squarings, nothing, computed, a, p, q);
}

}  // namespace

Array expm(const Operand& a, const Exponential& how) {
    const detail::InUsersLine line(a.where);
    const auto of = [&](const Array& x) { return expm_of(x, how, a.where); };
    return jax::jit(of, {.name = "expm"}, a.where)(nu::asarray(a));
}

}  // namespace jaxscope::jax::scipy::linalg
