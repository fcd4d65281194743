// SPDX-License-Identifier: Apache-2.0
// jax.numpy: pad in other modes than with a constant, repeat by counts.
#include <fmt/core.h>

#include <numeric>
#include <string_view>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "ir/types/aval.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace {

using Width = std::pair<std::int64_t, std::int64_t>;

Array part_of(const Array& x, std::int64_t from, std::int64_t to, std::int64_t axis) {
    return jax::lax::slice_in_dim(x, from, to, 1, axis);
}
Array last_of(const Array& x, std::int64_t count, std::int64_t axis) { return part_of(x, x.shape(axis) - count, x.shape(axis), axis); }

/// The first and the last element again and again.
Array with_edges(const Array& x, const Width& width, std::int64_t axis) {
    const Array front = repeat(part_of(x, 0, 1, axis), width.first, axis);
    const Array back = repeat(last_of(x, 1, axis), width.second, axis);
    return jax::lax::concatenate({front, x, back}, axis);
}
/// The whole array again and again.
Array wrapped(const Array& x, const Width& width, std::int64_t axis) {
    const std::int64_t size = x.shape(axis);
    Arrays parts;
    if (const std::int64_t rest = width.first % size) parts.push_back(last_of(x, rest, axis));
    for (std::int64_t n = width.first / size + width.second / size + 1; n > 0; --n) parts.push_back(x);
    if (const std::int64_t rest = width.second % size) parts.push_back(part_of(x, 0, rest, axis));
    return jax::lax::concatenate(parts, axis);
}
/// On one side, in parts that are at most as long as the array. `offset`: is the edge itself left out? `odd`: turned round at the edge.
Array mirrored(const Array& given, std::int64_t padding, bool before, std::int64_t axis, std::int64_t offset, bool odd) {
    Array x = given;
    const std::int64_t size = given.shape(axis);
    Array edge = before ? part_of(x, 0, 1, axis) : last_of(x, 1, axis);
    while (padding > 0) {
        const std::int64_t now = std::min(padding, size - offset), end = x.shape(axis) - offset;
        padding -= now;
        Array part = flip(before ? part_of(x, offset, offset + now, axis) : part_of(x, end - now, end, axis), axis);
        if (odd) {
            part = 2 * edge - part;
            if (size > 1) edge = before ? part_of(part, 0, 1, axis) : last_of(part, 1, axis);
        }
        x = jax::lax::concatenate(before ? Arrays{part, x} : Arrays{x, part}, axis);
    }
    return x;
}
Array of_type(const Array& x, const Array& like) {
    return detail::apply1({Operand(x)}, [&](::jaxscope::Builder& b, const ::jaxscope::Values& v) {
        return detail::converted(b, v[0], static_cast<::jaxscope::DType>(like.dtype()), like.weak_type());
    });
}
/// Straight lines from the edges to zero.
Array with_ramps(const Array& x, const Width& width, std::int64_t axis) {
    const Array front = part_of(x, 0, 1, axis), back = last_of(x, 1, axis);
    const auto ramp = [&](const Array& edge, std::int64_t count) {
        const Array end = squeeze(edge, axis);
        return of_type(linspace(0, end, count, {.endpoint = false, .dtype = x.dtype(), .axis = axis}), x);
    };
    const Array rise = ramp(front, width.first);
    const Array fall = flip(ramp(back, width.second), axis);
    return jax::lax::concatenate({rise, x, fall}, axis);
}
/// One number of each row again and again. `length`: of how many elements at each edge; negative: of all.
Array with_statistics(const Array& x, const Width& width, std::int64_t axis, std::string_view mode, std::int64_t length) {
    const auto of = [&](const Array& a) {
        if (mode == "maximum") return amax(a, {.axis = axis, .keepdims = true});
        if (mode == "minimum") return amin(a, {.axis = axis, .keepdims = true});
        return mode == "mean" ? mean(a, {.axis = axis, .keepdims = true}) : median(a, {.axis = axis, .keepdims = true});
    };
    if (length == 0) detail::refuse("stat_length of 0 yields no value for padding");
    Array front, back;
    if (length < 0) {
        front = back = of(x);
    } else {
        const std::int64_t count = std::min(length, x.shape(axis));
        const Array first = part_of(x, 0, count, axis), last = last_of(x, count, axis);
        front = of(first), back = of(last);
    }
    if (is_integer(static_cast<::jaxscope::DType>(x.dtype()))) front = round(front), back = round(back);
    front = of_type(front, x), back = of_type(back, x);
    const Array before = repeat(front, width.first, axis), after = repeat(back, width.second, axis);
    return jax::lax::concatenate({before, x, after}, axis);
}
Array with_nothing(const Array& x, const Width& width, std::int64_t axis) {
    const auto part = [&](std::int64_t size) {
        std::vector<std::int64_t> shape = x.shape().vector();
        shape[static_cast<std::size_t>(axis)] = size;
        return full(shape, full({}, 0, x.dtype()));
    };
    const Array front = part(width.first), back = part(width.second);
    return jax::lax::concatenate({front, x, back}, axis);
}

Array padded_along(const Array& x, const Width& width, std::int64_t axis, std::string_view mode, const PadOptions& how) {
    if (mode == "empty") return with_nothing(x, width, axis);
    if (x.shape(axis) == 0 && mode != "linear_ramp") {
        if (width != Width{0, 0}) detail::refuse(fmt::format("can't extend empty axis with mode='{}'", mode));
        return x;
    }
    if (mode == "edge") return with_edges(x, width, axis);
    if (mode == "wrap") return wrapped(x, width, axis);
    if (mode == "linear_ramp") return with_ramps(x, width, axis);
    if (mode != "reflect" && mode != "symmetric") return with_statistics(x, width, axis, mode, how.stat_length);
    if (width == Width{0, 0}) return x;
    const std::int64_t offset = mode == "reflect" && x.shape(axis) > 1 ? 1 : 0;
    const bool odd = std::string_view(how.reflect_type) == "odd";
    const Array front = mirrored(x, width.first, true, axis, offset, odd);
    return mirrored(front, width.second, false, axis, offset, odd);
}
bool is_mode(std::string_view name) {
    for (const char* known : {"edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "minimum", "mean", "median", "empty"})
        if (name == known) return true;
    return false;
}

}  // namespace

Array pad(const Operand& x, const std::vector<Width>& widths, const PadMode& mode, const PadOptions& how) {
    const std::string_view name = mode.name;
    if (name == "constant") return pad(x, widths);
    if (!is_mode(name))
        detail::refuse_at(x.where, ErrorCode::BadUsage, fmt::format("Unimplemented padding mode '{}' for np.pad.", name),
                          "\"constant\", \"edge\", \"reflect\", \"symmetric\", \"wrap\" and NumPy's others but functions");
    std::string key = fmt::format("{} {} {}", name, how.reflect_type, how.stat_length);
    for (const Width& w : widths) {
        if (w.first < 0 || w.second < 0)
            detail::refuse_at(x.where, ErrorCode::BadUsage, "index can't contain negative values",
                              "slice x to make it smaller: x[{slice(1, -1)}]");
        key += fmt::format(" {} {}", w.first, w.second);
    }
    // JAX's function is given the number of another mode, too.
    return detail::composed_one("_pad", key, {x, Operand(0)}, [&](const Arrays& v) {
        if (widths.size() != 1 && static_cast<int>(widths.size()) != v[0].ndim())
            detail::refuse(fmt::format("pad: expected a pair of widths for each of {} dimensions, found {}", v[0].ndim(), widths.size()));
        Array out = v[0];
        for (int d = 0; d < v[0].ndim(); ++d)
            out = padded_along(out, widths[widths.size() == 1 ? 0 : static_cast<std::size_t>(d)], d, name, how);
        return out;
    });
}
Array pad(const Operand& x, std::int64_t width, const PadMode& mode, const PadOptions& how) {
    return pad(x, std::vector{Width{width, width}}, mode, how);
}

// ---- repeat

namespace {
/// Where each part begins is marked; summed up, the marks number the parts.
Array repeated(const Array& x, const Array& counts, std::int64_t total, std::int64_t axis) {
    if (total == 0) {
        std::vector<std::int64_t> shape = x.shape().vector();
        shape[static_cast<std::size_t>(axis)] = 0;
        return zeros(shape, x.dtype());
    }
    if (x.shape(axis) == 0) return x;
    const Array before = roll(counts, 1).at({0}).set(0);
    const Array starts = cumsum(before);
    const Array marks = zeros(total, int32).at({starts}).add(1);
    return take(x, cumsum(marks) - 1, axis);
}
}  // namespace
Array repeat(const Operand& x, const Array& repeats, const Repeating& how) {
    const Operand counts(repeats, x.where.file, x.where.line, x.where.function);
    const auto body = [&](const Arrays& v) {
        const Array a = how.axis.given ? v[0] : ravel(v[0]);
        const std::int64_t axis = how.axis.given ? detail::axis_in(how.axis.axes.front(), a.ndim()) : 0;
        const Array each = broadcast_to(ravel(v[1]), a.shape(axis));
        std::int64_t total = how.total_repeat_length;
        if (total < 0) {
            const std::vector<double> known = each.to_vector(x.where);
            total = static_cast<std::int64_t>(std::accumulate(known.begin(), known.end(), 0.));
        }
        return Arrays{repeated(a, each, total, axis)};
    };
    return detail::in_line({x, counts}, body).front();
}
Array repeat(const Operand& x, const Array& repeats, std::int64_t axis) { return repeat(x, repeats, {.axis = axis}); }

}  // namespace jaxscope::jax::numpy
