// SPDX-License-Identifier: Apache-2.0
// jax.numpy.linalg: what singular values tell: pseudo-inverses, ranks, conditions, least squares; products of several matrices.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <jaxscope/custom_rules.h>
#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/linalg.h>

#include "base/error.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace linalg {

using matrices::inexact_of;

namespace {

const ProductOptions kExact{.precision = "highest"};

Array conjugate_transpose(const Array& a) { return conj(matrix_transpose(a)); }
double spacing_of(const Array& a) { return finfo(a.dtype()).eps; }
std::vector<Operand> beside(const Operand& a, std::initializer_list<Array> more) {
    std::vector<Operand> in{a};
    for (const Array& m : more)
        if (m.has_value()) in.emplace_back(m, a.where.file, a.where.line, a.where.function);
    return in;
}
/// The singular values alone, as svd(a, full_matrices=False, compute_uv=False).
Array thin_values(const Array& a) {
    return detail::composed_one("svd", "thin values", {Operand(a)}, [](const Arrays& v) {
        return detail::bind_primitive(kSvd, {v[0]}, make_params(SvdParams{.compute_uv = false, .full_matrices = false}),
                                      Where("", 0, ""))[0];
    });
}

// ---- pinv

Array inverted(const Array& given, const Array& rtol) {
    const Array a = conj(inexact_of(given));
    const std::int64_t rows = a.shape(-2), columns = a.shape(-1);
    if (rows == 0 || columns == 0) {
        std::vector<std::int64_t> shape = a.shape().vector();
        std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
        return zeros(shape, a.dtype());
    }
    const double most = 10. * static_cast<double>(std::max(rows, columns));
    const Array relative = rtol.has_value() ? rtol : most * full({}, spacing_of(a), dtype::float32);
    const Svd d = svd(a, false);
    std::vector<std::int64_t> lead;
    for (int k = 0; k < d.S.ndim() - relative.ndim() - 1; ++k) lead.push_back(k);
    const Array wide = lax::expand_dims(relative[{ellipsis, none}], lead);
    const Array cutoff = wide * d.S[{ellipsis, slice(0, 1)}];
    const Array large = d.S > cutoff;
    const Array s = where(large, d.S, inf).astype(d.U.dtype());
    const Array right = matrix_transpose(d.Vh), left = matrix_transpose(d.U);
    const Array scaled = divide(left, s[{ellipsis, none}]);
    return lax::convert_element_type(matmul(right, scaled, kExact), a.dtype());
}
/// With `p`, the pseudo-inverse of `a`: what a change of `a` makes of it.
Array changed_pinv(const Array& p, const Array& a, const Array& da) {
    const auto h = [](const Array& x) { return conjugate_transpose(x); };
    if (a.shape(-2) >= a.shape(-1)) {
        const Array square = matmul(p, h(p)), s = matmul(square, h(da));
        const Array dh = h(da), left = matmul(dh, h(p)), t = matmul(left, p);
        const Array first = matmul(-matmul(p, da), p) + s;
        const Array second = first - matmul(matmul(s, a), p) + t;
        return second - matmul(matmul(p, a), t);
    }
    const Array ph = h(p), inner = matmul(ph, h(da)), s = matmul(p, inner);
    const Array dh = h(da), square = matmul(h(p), p), t = matmul(dh, square);
    const Array minus = -p, first = matmul(minus, matmul(da, p)) + s;
    const Array second = first - matmul(s, matmul(a, p)) + t;
    return second - matmul(p, matmul(a, t));
}
struct Pinv {
    Array rtol;
    Array operator()(const Array& a) const {
        return detail::composed_one("_pinv", rtol.has_value() ? "rtol" : "", beside(a, {rtol}),
                                    [](const Arrays& v) { return inverted(v[0], v.size() > 1 ? v[1] : Array()); });
    }
};
struct PlainPinv {
    Array operator()(const Array& a) const { return Pinv()(a); }
};
struct PlainRule {
    std::pair<Array, Array> operator()(const Array& a, const Array& da) const;
};
const auto& plain_pinv() {
    static const auto f = custom_jvp(PlainPinv(), {.name = "_pinv"}).defjvp(PlainRule(), {.name = "_pinv_jvp"});
    return f;
}
std::pair<Array, Array> PlainRule::operator()(const Array& a, const Array& da) const {
    const default_matmul_precision scope("float32");
    const Array p = plain_pinv()(a);
    return {p, changed_pinv(p, a, da)};
}

}  // namespace

Array pinv(const Operand& a, const Array& rtol) {
    matrices::expect_matrix(asarray(a), "pinv", a.where);
    const auto rule = [&](const Array& x, const Array& dx) {
        const default_matmul_precision scope("float32");
        const Array p = Pinv{rtol}(x);
        return std::pair{p, changed_pinv(p, x, dx)};
    };
    const auto inverse = [&](const Array& x) {
        if (!rtol.has_value()) return plain_pinv()(x);
        return custom_jvp(Pinv{rtol}, {.name = "_pinv"}).defjvp(rule, {.name = "_pinv_jvp"})(x);
    };
    return detail::in_line({a}, [&](const Arrays& v) { return Arrays{inverse(v[0])}; }).front();
}
Array matrix_rank(const Operand& a, const Array& rtol) {
    return detail::composed_one("matrix_rank", rtol.has_value() ? "rtol" : "", beside(a, {rtol}), [](const Arrays& v) {
        const Array m = inexact_of(v[0]);
        if (m.ndim() < 2) return any(m != 0).astype(int32);
        const Array s = thin_values(m);
        const auto size = static_cast<double>(std::max(m.shape(-2), m.shape(-1)));
        const Array least = v.size() > 1 ? v[1] : max(s, -1) * size * spacing_of(s);
        const Array wide = expand_dims(least, least.ndim());
        return sum(s > wide, -1);
    });
}
Array cond(const Operand& a, const Order& p) {
    const std::string key = p.given ? fmt::format("{} {}", p.name ? p.name : "", p.value) : "";
    return detail::composed_one("cond", key, {a}, [&](const Arrays& v) {
        const Array& x = v[0];
        if (x.ndim() < 2)
            detail::refuse(fmt::format("jnp.linalg.cond: input array must be at least 2D; got arr.shape={}", x.shape().str()));
        if (x.shape(-1) == 0 || x.shape(-2) == 0)
            detail::refuse(fmt::format("jnp.linalg.cond: input array must not be empty; got arr.shape={}", x.shape().str()));
        Array ratio;
        if (!p.name && std::abs(p.value) == 2) {
            const Array s = svdvals(x);
            const Array over = s[{ellipsis, p.value > 0 ? 0 : -1}];
            ratio = over / s[{ellipsis, p.value > 0 ? -1 : 0}];
            if (p.value > 0) return ratio;
        } else {
            const Array own = norm(x, p, {.axis = {-2, -1}});
            ratio = own * norm(inv(x), p, {.axis = {-2, -1}});
        }
        const Array undefined = isnan(ratio), known = ~any(isnan(x), {.axis = {-2, -1}});
        return where(undefined & known, inf, ratio);
    });
}

// ---- Least squares

namespace {
Arrays least_squares(const Array& given_a, const Array& given_b, const Array& rcond) {
    const Arrays p = detail::arrays_of_one_type({given_a, given_b}, true);
    const Array& a = p[0];
    if (a.shape(0) != p[1].shape(0)) detail::refuse("Leading dimensions of input arrays must match");
    const bool vector = p[1].ndim() == 1;
    const Array b = vector ? p[1][{jax::all, none}] : p[1];
    if (a.ndim() != 2) detail::refuse(fmt::format("{}-dimensional array given. Array must be two-dimensional", a.ndim()));
    if (b.ndim() != 2) detail::refuse(fmt::format("{}-dimensional array given. Array must be one or two-dimensional", b.ndim()));
    const double spacing = spacing_of(a), own = spacing * static_cast<double>(std::max(a.shape(0), a.shape(1)));
    Array least = full({}, own, dtype::float32);
    if (rcond.has_value()) {
        const Array negative = rcond < 0;
        least = where(negative, full({}, spacing, dtype::float32), rcond);
    }
    const Svd d = svd(a, false);
    const Array positive = d.S > 0, bound = rcond.has_value() ? array(least) : least;
    const Array large = d.S >= bound * d.S[0], kept = positive & large;
    const Array rank = sum(kept);
    const Array safe = where(kept, d.S, 1).astype(a.dtype());
    const Array inverse = where(kept, 1 / safe, 0)[{jax::all, none}];
    const Array projected = matmul(conj(d.U).T(), b, kExact);
    const Array rows = conj(d.Vh).T();
    const Array x = matmul(rows, inverse * projected, kExact);
    const Array estimate = matmul(a, x, kExact);
    const Array distance = norm(b - estimate, {.axis = 0});
    const Array resid = power(distance, 2);
    return {vector ? ravel(x) : x, resid, rank, d.S};
}
}  // namespace
Lstsq lstsq(const Operand& a, const Operand& b, const Array& rcond) {
    std::vector<Operand> in{a, b};
    if (rcond.has_value()) in.emplace_back(rcond, a.where.file, a.where.line, a.where.function);
    const Arrays out = detail::composed("_lstsq", rcond.has_value() ? "rcond" : "", in,
                                        [](const Arrays& v) { return least_squares(v[0], v[1], v.size() > 2 ? v[2] : Array()); });
    return {out[0], out[1], out[2], out[3]};
}

// ---- By other names, and of matrices in the last two dimensions

namespace {
std::string shapes_of(const Arrays& arrays) {
    std::string out;
    for (const Array& a : arrays) out += (out.empty() ? "" : ", ") + a.shape().str();
    return out;
}
}  // namespace
Array multi_dot(const Arrays& arrays, const ProductOptions& how, Where where) {
    const detail::InUsersLine line(where);
    if (arrays.size() < 2)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("multi_dot requires at least two arrays; got len(arrays)={}", arrays.size()),
                          "of two arrays jnp::matmul does the same");
    std::string names, result;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        const bool edge = k == 0 || k + 1 == arrays.size();
        if (arrays[k].ndim() != 2 && !(edge && arrays[k].ndim() == 1))
            detail::refuse_at(
                where, ErrorCode::BadUsage,
                "multi_dot: input arrays must all be two-dimensional, except for the first and last array which may be 1 or 2 "
                "dimensional. Got array shapes [" +
                    shapes_of(arrays) + "]");
        const char row = static_cast<char>('a' + k), column = static_cast<char>(row + 1);
        if (k) names += ',';
        if (k || arrays[k].ndim() == 2) names += row;
        if (k + 1 < arrays.size() || arrays[k].ndim() == 2) names += column;
        if (!k && arrays[k].ndim() == 2) result += row;
        if (k + 1 == arrays.size() && arrays[k].ndim() == 2) result += column;
    }
    return einsum((names + "->" + result).c_str(), arrays, how, where);
}
Array vector_norm(const Operand& given, const VectorNorm& how) {
    const auto over = [&](const Array& x) {
        const double p = how.ord.value;
        if (how.ord.name) detail::refuse(fmt::format("Invalid order '{}' for vector norm.", how.ord.name));
        if (p == 2) return sqrt(sum(real(x * conj(x)), {.axis = how.axis, .keepdims = how.keepdims}));
        if (p == 0) return sum(x != 0, {.axis = how.axis, .dtype = real(x).dtype(), .keepdims = how.keepdims});
        const Array size = abs(x);
        if (p == inf) return amax(size, {.axis = how.axis, .keepdims = how.keepdims, .initial = 0});
        if (p == -inf) return amin(size, {.axis = how.axis, .keepdims = how.keepdims});
        if (p == 1) return sum(size, {.axis = how.axis, .keepdims = how.keepdims});
        const Array powers = power(size, full({}, p, size.dtype()));
        return power(sum(powers, {.axis = how.axis, .keepdims = how.keepdims}), full({}, 1 / p, size.dtype()));
    };
    return detail::in_line({given}, [&](const Arrays& v) { return Arrays{over(v[0])}; }).front();
}
Array matrix_norm(const Operand& x, const Order& ord, bool keepdims) {
    return norm(x, ord.given ? ord : Order("fro"), {.axis = {-2, -1}, .keepdims = keepdims});
}
Array outer(const Operand& x, const Operand& y) {
    return detail::in_line({x, y},
                           [](const Arrays& v) {
                               if (v[0].ndim() != 1 || v[1].ndim() != 1)
                                   detail::refuse(fmt::format("Input arrays must be one-dimensional, but they are x1.ndim={} x2.ndim={}",
                                                              v[0].ndim(), v[1].ndim()));
                               const Array column = v[0][{jax::all, none}];
                               return Arrays{column * v[1][{none, jax::all}]};
                           })
        .front();
}
Array diagonal(const Operand& x, std::int64_t offset) { return numpy::diagonal(x, {offset, -2, -1}); }
Array trace(const Operand& x, std::int64_t offset) { return matrices::trace_of(x, {offset, -2, -1}, true); }

}  // namespace linalg

Array polyfit(const Operand& x, const Operand& y, std::int64_t deg) {
    return detail::composed_one("polyfit", fmt::format("{}", deg), {x, y}, [&](const Arrays& v) {
        if (deg < 0) detail::refuse("expected deg >= 0");
        if (v[0].ndim() != 1) detail::refuse("expected 1D vector for x");
        if (v[0].size() == 0) detail::refuse("expected non-empty vector for x");
        if (v[1].ndim() < 1 || v[1].ndim() > 2) detail::refuse("expected 1D or 2D array for y");
        if (v[0].shape(0) != v[1].shape(0)) detail::refuse("expected x and y to have same length");
        const double rcond = static_cast<double>(v[0].shape(0)) * finfo(v[0].dtype()).eps;
        Array powers = vander(v[0], deg + 1);
        const Array scale = sqrt(sum(powers * powers, 0));
        powers = powers / scale[{none, jax::all}];
        const Array c = linalg::lstsq(powers, v[1], rcond).x;
        if (c.ndim() == 1) return c / scale;
        const Array rows = c.T();
        return (rows / scale[{none, jax::all}]).T();
    });
}

}  // namespace jaxscope::jax::numpy
