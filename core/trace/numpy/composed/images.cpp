// SPDX-License-Identifier: Apache-2.0
// jax.image.resize: each dimension by a matrix of weights.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <string_view>

#include <jaxscope/image.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/indexer.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::image {

namespace {

enum class Filter : unsigned char { nearest, linear, cubic, lanczos3, lanczos5, unknown };
Filter filter_of(std::string_view name) {
    if (name == "nearest") return Filter::nearest;
    if (name == "linear" || name == "bilinear" || name == "trilinear" || name == "triangle") return Filter::linear;
    if (name == "cubic" || name == "bicubic" || name == "tricubic") return Filter::cubic;
    return name == "lanczos3" ? Filter::lanczos3 : name == "lanczos5" ? Filter::lanczos5 : Filter::unknown;
}

Array lanczos(const Array& x, double radius) {
    const Array wave = radius * numpy::sin(numpy::pi * x);
    const Array y = wave * numpy::sin(numpy::pi * x / radius);
    const Array beside = x > 1e-3, there = x != 0;
    const Array below = numpy::where(there, numpy::pi * numpy::pi * numpy::power(x, 2), 1);
    const Array out = numpy::where(beside, numpy::divide(y, below), 1);
    const Array outside = x > radius;
    return numpy::where(outside, 0., out);
}
Array keys_cubic(const Array& x) {
    const Array near = ((1.5 * x - 2.5) * x) * x + 1.;
    const Array beyond_one = x >= 1.;
    const Array out = numpy::where(beyond_one, ((-0.5 * x + 2.5) * x - 4.) * x + 2., near);
    const Array beyond_two = x >= 2.;
    return numpy::where(beyond_two, 0., out);
}
Array weighted(const Array& x, Filter filter) {
    if (filter == Filter::linear) return numpy::maximum(0, 1 - numpy::abs(x));
    if (filter == Filter::cubic) return keys_cubic(x);
    return lanczos(x, filter == Filter::lanczos3 ? 3. : 5.);
}
/// Of `from` numbers what each of `to` is made of.
Array weights_of(std::int64_t from, std::int64_t to, Filter filter, bool antialias) {
    const double scale = to == 0 ? 1. : static_cast<double>(to) / static_cast<double>(from), inverse = 1. / scale;
    const Array width = antialias ? numpy::maximum(Array(inverse), 1.) : Array(1.);
    const Array centred = (lax::iota(dtype::float32, to) + 0.5) * inverse;
    const Array at = centred - 0. * inverse - 0.5;
    const Array own = lax::iota(dtype::float32, from);
    const Array row = at[{none, all}];
    const Array distance = numpy::abs(row - own[{all, none}]);
    const Array weights = weighted(distance / width, filter);
    const Array total = numpy::sum(weights, {.axis = 0, .keepdims = true});
    const Array counts = numpy::abs(total) > 1000. * static_cast<double>(std::numeric_limits<float>::epsilon());
    const Array there = total != 0;
    const Array shares = numpy::divide(weights, numpy::where(there, total, 1));
    const Array known = numpy::where(counts, shares, 0);
    const Array not_before = at >= -0.5, inside = numpy::logical_and(not_before, at <= static_cast<double>(from) - 0.5);
    return numpy::where(inside[{none, all}], known, 0);
}

Array nearest(const Array& given, const Shape& shape) {
    Array x = given;
    for (int d = 0; d < x.ndim(); ++d) {
        const std::int64_t from = x.shape(d), to = shape[static_cast<std::size_t>(d)];
        if (from == to) continue;
        const Array places = (lax::iota(dtype::float32, to) + 0.5) * static_cast<double>(from) / static_cast<double>(to);
        std::vector<Index> at(static_cast<std::size_t>(x.ndim()), Index(all));
        at[static_cast<std::size_t>(d)] = Index(numpy::floor(places).astype(dtype::int32));
        x = detail::at_indices(x, at);
    }
    return x;
}
Array filtered(const Array& given, const Shape& shape, Filter filter, const Resizing& how) {
    Array x = detail::inexact_of(given);
    Arrays operands{x};
    std::string names, out;
    for (int d = 0; d < x.ndim(); ++d) names += static_cast<char>('a' + d);
    out = names;
    std::string subscripts = names;
    for (int d = 0; d < x.ndim(); ++d) {
        const std::int64_t to = shape[static_cast<std::size_t>(d)];
        if (x.shape(d) == to) continue;
        const char made = static_cast<char>('a' + x.ndim() + static_cast<int>(operands.size()) - 1);
        operands.push_back(weights_of(x.shape(d), to, filter, how.antialias).astype(x.dtype()));
        subscripts += fmt::format(",{}{}", names[static_cast<std::size_t>(d)], made);
        out[static_cast<std::size_t>(d)] = made;
    }
    if (operands.size() == 1) return x;
    return numpy::einsum((subscripts + "->" + out).c_str(), operands, {.precision = how.precision});
}

}  // namespace

Array resize(const Operand& image, const Shape& shape, const char* method, const Resizing& how) {
    const Filter filter = filter_of(method);
    if (filter == Filter::unknown)
        detail::refuse_at(image.where, ErrorCode::BadUsage, fmt::format("Unknown resize method \"{}\"", method),
                          "\"nearest\", \"linear\", \"cubic\", \"lanczos3\" or \"lanczos5\"");
    const std::string key =
        fmt::format("{} {} {} {}", shape.str(), method, static_cast<bool>(how.antialias), how.precision.lhs ? how.precision.lhs : "");
    return detail::composed_one("_resize", key, {image}, [&](const Arrays& v) {
        if (static_cast<int>(shape.size()) != v[0].ndim())
            detail::refuse(
                fmt::format("shape must have length equal to the number of dimensions of x;  {} vs {}", shape.str(), v[0].shape().str()));
        return filter == Filter::nearest ? nearest(v[0], shape) : filtered(v[0], shape, filter, how);
    });
}

}  // namespace jaxscope::jax::image
