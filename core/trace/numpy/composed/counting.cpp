// SPDX-License-Identifier: Apache-2.0
// jax.numpy: how often, where, and in which bin.
#include <fmt/core.h>

#include <algorithm>
#include <complex>

#include <jaxscope/lax.h>

#include "ir/types/element.h"
#include "lax/ops.h"
#include "trace/known_values.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/indexer.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

bool is_whole(const Array& a) { return is_integer(static_cast<D>(a.dtype())); }
/// Counts below `length`; other numbers count nowhere, negative ones as zero.
Array counted(const Array& given, std::int64_t length, const Array& weights) {
    const Array x = given.dtype() == bool_ ? given.astype(int32) : given;
    if (!is_whole(x))
        detail::refuse("x argument to bincount must have an integer type; got " + std::string(info(static_cast<D>(x.dtype())).name));
    if (x.ndim() != 1) detail::refuse("only 1-dimensional input supported.");
    if (weights.has_value() && weights.shape() != x.shape())
        detail::refuse(
            fmt::format("type of weights must match type of x. Got typeof(x)={} and typeof(weights)={}", x.aval(), weights.aval()));
    const Array one = detail::made(Where("", 0, ""), [](Builder&) { return detail::number_of(D::S32, 1); });
    const Array empty = zeros(length, weights.has_value() ? weights.dtype() : int32);
    return empty.at({clip(x, 0)}).add(weights.has_value() ? weights : one);
}
/// The positions of what isn't zero, dimension by dimension; too few of them are followed by `fill`, by zeros where there is none.
Arrays positions(const Array& a, std::int64_t size, const Array& fill = {}) {
    if (a.ndim() == 0) detail::refuse("Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead.");
    Arrays out;
    if (a.size() == 0 || size == 0) {
        for (int d = 0; d < a.ndim(); ++d) out.push_back(zeros(size, int32));
        return out;
    }
    Array mask = a.dtype() == bool_ ? a : a != 0;
    const Array before = cumsum(counted(cumsum(mask), size, {}));
    std::int64_t stride = a.size();
    for (int d = 0; d < a.ndim(); ++d) {
        stride /= a.shape(d);
        const Array strong =
            detail::made(Where("", 0, ""), [&](Builder&) { return detail::number_of(D::S32, static_cast<double>(stride)); });
        Array rows = floor_divide(before, strong);
        out.push_back(rows % a.shape(d));
    }
    if (!fill.has_value()) return out;
    if (fill.ndim() != 0) detail::refuse(fmt::format("fill_value must be a scalar or a tuple of length {}; got {}", a.ndim(), fill.str()));
    const Array numbers = jax::lax::iota(int32, size), missing = numbers >= sum(mask);
    for (Array& at : out) at = where(missing, fill, at);
    return out;
}
std::vector<Operand> with_fill_value(const Operand& x, const Array& option) {
    std::vector<Operand> in{x};
    if (option.has_value()) in.emplace_back(option, x.where.file, x.where.line, x.where.function);
    return in;
}
std::int64_t upper_part(std::int64_t n, std::int64_t m, std::int64_t k) {
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < n; ++row) count += std::clamp<std::int64_t>(m - (row + k), 0, m);
    return count;
}
/// How many elements aren't zero, where that is known here and now.
std::int64_t known_count(const Array& a, const Where& where) {
    const ArrayPtr known = detail::known_elements(*a.node());
    if (!known)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within JAX "
                          "transformations.",
                          "say how many there are at most: jnp::nonzero(x, 8)");
    const D type = known->aval->dtype;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < known->aval->size(); ++i) {
        const Element e = load_element(type, known->data.data() + i * byte_size(type));
        count += (is_inexact(type) ? e.number != std::complex<double>() : e.integer != 0) ? 1 : 0;
    }
    return count;
}
Arrays positions_of(const Operand& x, std::int64_t size, const Array& fill) {
    return detail::in_line(with_fill_value(x, fill), [&](const Arrays& v) {
        return positions(v[0], size < 0 ? known_count(v[0], x.where) : size, v.size() > 1 ? v[1] : Array());
    });
}

}  // namespace

Array bincount(const Operand& x, const Counting& how) {
    std::vector<Operand> in{x};
    if (how.weights.has_value()) in.emplace_back(how.weights, x.where.file, x.where.line, x.where.function);
    return detail::in_line(in,
                           [&](const Arrays& v) {
                               std::int64_t length = how.length;
                               if (length < 0) {
                                   const std::vector<double> known = v[0].to_vector();
                                   const double most = known.empty() ? -1 : std::max(0., *std::max_element(known.begin(), known.end()));
                                   length = std::max(how.minlength, static_cast<std::int64_t>(most) + 1);
                               }
                               return Arrays{counted(v[0], length, v.size() > 1 ? v[1] : Array())};
                           })
        .front();
}
Array digitize(const Operand& x, const Operand& bins, bool right) {
    return composed_one("digitize", right ? "right" : "", {x, bins}, [&](const Arrays& v) {
        if (v[1].ndim() != 1) detail::refuse("digitize: bins must be a 1-dimensional array; got bins=" + v[1].aval());
        if (v[1].size() == 0) return zeros_like(Operand(v[0]), int32);
        const char* side = right ? "left" : "right";
        Array last = v[1][-1];
        Array rising = last >= v[1][0];
        Array up = searchsorted(v[1], v[0], side);
        Array turned = v[1][{slice(none, none, -1)}];
        Array down = v[1].shape(0) - searchsorted(turned, v[0], side);
        return where(rising, up, down);
    });
}
Arrays nonzero(const Operand& x, std::int64_t size, const Array& fill_value) { return positions_of(x, size, fill_value); }
Arrays where(const Operand& condition, const Sized& how) { return positions_of(condition, how.size, how.fill_value); }
Array flatnonzero(const Operand& x, std::int64_t size, const Array& fill_value) {
    return detail::in_line({x}, [&](const Arrays& v) { return positions_of(ravel(v[0]), size, fill_value); }).front();
}
Array argwhere(const Operand& x, std::int64_t size, const Array& fill_value) {
    return detail::in_line({x},
                           [&](const Arrays& v) {
                               const Arrays at = positions_of(atleast_1d(v[0]), size, fill_value);
                               const Array rows = transpose(vstack(at));
                               return Arrays{reshape(rows, {rows.shape(0), v[0].ndim()})};
                           })
        .front();
}
std::pair<Array, Array> tril_indices(std::int64_t n, std::int64_t k, std::int64_t m) {
    const std::int64_t columns = m < 0 ? n : m;
    const Arrays at = positions(tril(ones({n, columns}), k), upper_part(columns, n, -k));
    return {at[0], at[1]};
}
std::pair<Array, Array> triu_indices(std::int64_t n, std::int64_t k, std::int64_t m) {
    const std::int64_t columns = m < 0 ? n : m;
    const Arrays at = positions(triu(ones({n, columns}), k), upper_part(n, columns, k));
    return {at[0], at[1]};
}
Arrays diag_indices(std::int64_t n, std::int64_t ndim) { return Arrays(static_cast<std::size_t>(ndim), jax::lax::iota(int32, n)); }
namespace {
Shape shape_of_matrix(const Operand& x) {
    Shape shape = detail::in_line({x}, [](const Arrays& v) { return v; }).front().shape();
    if (shape.size() != 2) detail::refuse_at(x.where, ErrorCode::TypeMismatch, "Only 2-D inputs are accepted");
    return shape;
}
/// Of matrices and cubes, as many as all dimensions have.
std::int64_t diagonal_of(const Operand& x, const char* too_few) {
    Shape shape = detail::in_line({x}, [](const Arrays& v) { return v; }).front().shape();
    if (shape.size() < 2) detail::refuse_at(x.where, ErrorCode::TypeMismatch, too_few);
    for (const std::int64_t n : shape)
        if (n != shape[0]) return -1;
    return shape[0];
}
}  // namespace
std::pair<Array, Array> tril_indices_from(const Operand& x, std::int64_t k) {
    const Shape s = shape_of_matrix(x);
    return tril_indices(s[0], k, s[1]);
}
std::pair<Array, Array> triu_indices_from(const Operand& x, std::int64_t k) {
    const Shape s = shape_of_matrix(x);
    return triu_indices(s[0], k, s[1]);
}
Arrays diag_indices_from(const Operand& x) {
    const std::int64_t n = diagonal_of(x, "input array must be at least 2-d");
    if (n < 0) detail::refuse_at(x.where, ErrorCode::TypeMismatch, "All dimensions of input must be of equal length");
    return diag_indices(n, Array::of(x.node).ndim());
}
Array fill_diagonal(const Operand& x, const Operand& value) {
    const std::int64_t n = diagonal_of(x, "array must be at least 2-d");
    return detail::in_line({x, value},
                           [&](const Arrays& v) {
                               const Shape shape = v[0].shape();
                               if (n < 0 && shape.size() > 2) detail::refuse("All dimensions of input must be of equal length");
                               const std::int64_t size = *std::min_element(shape.begin(), shape.end());
                               const Arrays at = diag_indices(size, v[0].ndim());
                               const Array flat = v[1].ndim() == 0 ? v[1] : ravel(v[1]);
                               const Array row = flat.ndim() == 0 ? flat : flat.shape(0) >= size ? flat[{slice(size)}] : resize(flat, size);
                               return Arrays{detail::set_at(v[0], std::vector<Index>(at.begin(), at.end()), x.where, row)};
                           })
        .front();
}
Array isin(const Operand& element, const Operand& test_elements, const Membership& how) {
    const bool invert = how.invert;
    const auto compared = [&](const Arrays& given) {
        const Arrays v = detail::arrays_of_one_type(given);
        const Array all_of = ravel(v[0]), tests = ravel(v[1]);
        if (all_of.size() == 0 || tests.size() == 0) return full(all_of.shape(), invert);
        Array rows = all_of[{jax::all, none}];
        const Array columns = tests[{none, jax::all}];
        return invert ? all(rows != columns, -1) : any(rows == columns, -1);
    };
    const auto shaped = [&](const Arrays& v) {
        return Arrays{reshape(composed_one("_in1d", invert ? "invert" : "", {v[0], v[1]}, compared), v[0].shape())};
    };
    return detail::in_line({element, test_elements}, shaped).front();
}
namespace {
Array ends(const Array& a) {
    Array least = min(a), most = max(a);
    Array first = expand_dims(least, 0);
    return concatenate({first, expand_dims(most, 0)});
}
Array edges_of(const Array& a, std::int64_t bins, const Limits& limits, dtype type) {
    const Array range = (limits.given ? Array(std::vector<double>{limits.first, limits.second}, {2}) : ends(a)).astype(type);
    Array alone = ptp(range) == 0;
    Array below = range[0] - 0.5;
    Array from = where(alone, below, range[0]);
    Array alone_too = ptp(range) == 0;
    Array above = range[1] + 0.5;
    Array to = where(alone_too, above, range[1]);
    return linspace(from, to, bins + 1, {.dtype = type});
}
}  // namespace
Array histogram_bin_edges(const Operand& given, std::int64_t bins, const Limits& range) {
    const auto body = [&](const Arrays& v) {
        return Arrays{edges_of(v[0], bins, range, static_cast<dtype>(detail::inexact(static_cast<::jaxscope::DType>(v[0].dtype()))))};
    };
    return detail::in_line({given}, body).front();
}
std::pair<Array, Array> histogram(const Operand& given, std::int64_t bins, const Binning& how) {
    std::vector<Operand> in{given};
    if (how.weights.has_value()) in.emplace_back(how.weights, given.where.file, given.where.line, given.where.function);
    const Arrays out = detail::in_line(in, [&](const Arrays& v) {
        const Arrays p = detail::arrays_of_one_type(v, true);
        const Array& a = p[0];
        const Array weights = p.size() > 1 ? p[1] : ones_like(Operand(a));
        if (weights.shape() != a.shape()) detail::refuse("weights should have the same shape as a.");
        const Array edges = edges_of(a, bins, how.range, a.dtype());
        Array bin = searchsorted(edges, a, "right");
        Array last = a == edges[-1];
        bin = where(last, bins, bin);
        Array counts = zeros(bins + 1, weights.dtype()).at({bin}).add(weights)[{slice(1, none)}];
        if (how.density) {
            Array widths = diff(edges);
            Array rate = counts / widths;
            counts = rate / sum(counts);
        }
        return Arrays{counts, edges};
    });
    return {out[0], out[1]};
}

}  // namespace jaxscope::jax::numpy
