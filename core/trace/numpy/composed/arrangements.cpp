// SPDX-License-Identifier: Apache-2.0
// jax.numpy: dimensions in front, arrays turned and taken apart, numbers at even distances, slopes.
#include <fmt/core.h>

#include <cstdlib>

#include <jaxscope/fft.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace {

Array with_three(const Array& a) {
    const std::vector<std::int64_t> at = a.ndim() == 0   ? std::vector<std::int64_t>{0, 1, 2}
                                         : a.ndim() == 1 ? std::vector<std::int64_t>{0, 2}
                                                         : std::vector<std::int64_t>{2};
    return a.ndim() >= 3 ? a : expand_dims(a, at);
}

}  // namespace

Array atleast_1d(const Operand& x) {
    return composed_one("atleast_1d", "", {x}, [](const Arrays& v) { return detail::with_rank(v[0], 1); });
}
Array atleast_2d(const Operand& x) {
    return composed_one("atleast_2d", "", {x}, [](const Arrays& v) { return detail::with_rank(v[0], 2); });
}
Array atleast_3d(const Operand& x) {
    return composed_one("atleast_3d", "", {x}, [](const Arrays& v) { return with_three(v[0]); });
}
Array dstack(const Arrays& parts, Where where) {
    const detail::InUsersLine line(where);
    Arrays deep;
    for (const Array& a : parts) deep.push_back(atleast_3d(Operand(a, where.file, where.line, where.function)));
    return concatenate(deep, 2, where);
}
Array concat(const Arrays& parts, std::int64_t axis, Where where) { return concatenate(parts, axis, where); }
Array permute_dims(const Operand& x, const Shape& axes) { return transpose(x, axes); }
Array matrix_transpose(const Operand& x) {
    return detail::in_line(
               {x},
               [](const Arrays& v) {
                   if (v[0].ndim() < 2)
                       detail::refuse(fmt::format("x must be at least two-dimensional for matrix_transpose; got ndim={}", v[0].ndim()));
                   return Arrays{swapaxes(v[0], -1, -2)};
               })
        .front();
}
Array rot90(const Operand& x, std::int64_t k, std::pair<std::int64_t, std::int64_t> axes) {
    return composed_one("rot90", fmt::format("{} {} {}", k, axes.first, axes.second), {x}, [&](const Arrays& v) {
        const Array& m = v[0];
        if (m.ndim() < 2)
            detail::refuse(
                fmt::format("rot90 requires its first argument to have ndim at least two, but got first argument of shape {}, which "
                            "has ndim {}",
                            m.shape().str(), m.ndim()));
        const std::int64_t first = detail::axis_in(axes.first, m.ndim()), second = detail::axis_in(axes.second, m.ndim());
        if (first == second) detail::refuse("Axes must be different");
        const std::int64_t turns = ((k % 4) + 4) % 4;
        if (turns == 0) return m;
        if (turns == 2) return flip(flip(m, first), second);
        std::vector<std::int64_t> order;
        for (int d = 0; d < m.ndim(); ++d) order.push_back(d);
        std::swap(order[static_cast<std::size_t>(first)], order[static_cast<std::size_t>(second)]);
        return turns == 1 ? transpose(flip(m, second), order) : flip(transpose(m, order), second);
    });
}
Array rollaxis(const Operand& x, std::int64_t axis, std::int64_t start) {
    return composed_one("rollaxis", fmt::format("{} {}", axis, start), {x}, [&](const Arrays& v) {
        const std::int64_t n = v[0].ndim(), from = detail::axis_in(axis, n);
        if (start < -n || start > n) detail::refuse(fmt::format("start={} must satisfy {}<=start<={}", start, -n, n));
        std::int64_t to = start < 0 ? start + n : start;
        if (to > from) --to;
        return moveaxis(v[0], from, to);
    });
}
Array diagflat(const Operand& x, std::int64_t k) {
    return detail::in_line({x},
                           [&](const Arrays& v) {
                               const Array flat = ravel(v[0]);
                               const std::int64_t n = flat.shape(0) + std::abs(k);
                               const Array empty_matrix = zeros(n * n, flat.dtype());
                               const Array i = arange(0, n - std::abs(k));
                               const Array column = k >= 0 ? i + k : i - k;
                               Array at = k >= 0 ? column + i * n : i + column * n;
                               return Arrays{reshape(empty_matrix.at({at}).set(flat), {n, n})};
                           })
        .front();
}
Arrays ix_(const Arrays& vectors, Where where) {
    const detail::InUsersLine line(where);
    Arrays out;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
        const Array& v = vectors[i];
        if (v.ndim() != 1)
            detail::refuse_at(where, ErrorCode::TypeMismatch,
                              fmt::format("Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {}", v.shape().str()),
                              "jnp::ravel makes a vector");
        if (v.dtype() == bool_)
            detail::refuse_at(where, ErrorCode::TypeMismatch, "Boolean arguments to jax.numpy.ix_ are not implemented",
                              "jnp::flatnonzero(mask, size) gives the positions");
        std::vector<std::int64_t> shape(vectors.size(), 1);
        shape[i] = v.shape(0);
        out.push_back(v.size() == 0 ? jax::lax::full(shape, zeros({}, int32))
                                    : jax::lax::broadcast_in_dim(v, shape, static_cast<std::int64_t>(i)));
    }
    return out;
}
Shape broadcast_shapes(const std::vector<Shape>& shapes, Where where) {
    std::vector<std::vector<std::int64_t>> all;
    for (const Shape& s : shapes) all.push_back(s.vector());
    try {
        return Shape(detail::broadcast_shapes(all));
    } catch (Error& e) {
        e.at({where.file, where.line, 0});
        throw;
    }
}
Arrays unstack(const Operand& x, std::int64_t axis) {
    return detail::apply({&x, 1}, x.where, [&](Builder& b, const Values& v) {
        return b.bind(kUnstack, v, make_params(StackParams{detail::axis_in(axis, b.aval(v[0])->rank())}));
    });
}
Arrays hsplit(const Operand& x, const Sections& sections) {
    return detail::in_line({x}, [&](const Arrays& v) { return split(v[0], sections, v[0].ndim() == 1 ? 0 : 1); });
}
Arrays vsplit(const Operand& x, const Sections& sections) { return split(x, sections, 0); }
Arrays dsplit(const Operand& x, const Sections& sections) { return split(x, sections, 2); }
Array resize(const Operand& x, const Shape& new_shape) {
    return composed_one("resize", new_shape.str(), {x}, [&](const Arrays& v) {
        const Array flat = ravel(v[0]);
        std::int64_t size = 1;
        for (const std::int64_t n : new_shape) size *= n;
        if (flat.size() == 0 || size == 0) return zeros(new_shape, flat.dtype());
        const Array repeated = tile(flat, (size + flat.size() - 1) / flat.size());
        return reshape(repeated[{slice(size)}], new_shape);
    });
}
namespace {
Array cut(const Array& a, std::int64_t axis, std::int64_t from, std::int64_t to) {
    return detail::apply1({Operand(a)}, [&](Builder& b, const Values& v) {
        ::jaxscope::Dims start(b.aval(v[0])->shape.size(), 0), limit = b.aval(v[0])->shape;
        start[static_cast<std::size_t>(axis)] = from, limit[static_cast<std::size_t>(axis)] = to;
        return b.bind1(kSlice, v, make_params(SliceParams{start, limit}));
    });
}
}  // namespace
/// Without the element at `index`; without an axis of the elements in a row.
Array delete_(const Operand& x, std::int64_t index, const Axes& axis) {
    return detail::in_line({x},
                           [&](const Arrays& v) {
                               const Array a = axis.given ? v[0] : ravel(v[0]);
                               const std::int64_t d = axis.given ? detail::axis_in(axis.axes.front(), a.ndim()) : 0, n = a.shape(d);
                               const std::int64_t at = detail::axis_in(index, n);
                               const Array front = cut(a, d, 0, at);
                               return Arrays{concatenate({front, cut(a, d, at + 1, n)}, d)};
                           })
        .front();
}

namespace {
/// What jax.numpy's progressions are made in, and what they are given back as.
dtype progression_type(const Arrays& bounds, const AsType& wanted) {
    const dtype own = result_type(bounds[0], bounds[1]);
    return wanted.given ? wanted.type : static_cast<dtype>(detail::inexact(static_cast<::jaxscope::DType>(own)));
}
dtype with_fractions(dtype type) { return static_cast<dtype>(detail::inexact(static_cast<::jaxscope::DType>(type))); }
std::string progression_key(std::int64_t num, const Spacing& how) {
    return fmt::format("{} {} {} {}", num, how.endpoint, how.dtype.given ? static_cast<int>(how.dtype.type) : -1, how.axis);
}
}  // namespace
Array logspace(const Operand& start, const Operand& stop, std::int64_t num, const Logarithmic& how) {
    const Spacing spacing{how.endpoint, how.dtype, how.axis};
    return composed_one("_logspace", progression_key(num, spacing), {start, stop, Operand(how.base)}, [&](const Arrays& v) {
        const dtype type = progression_type({v[0], v[1]}, how.dtype), inner = with_fractions(type);
        const Array from = v[0].astype(inner), to = v[1].astype(inner);
        const Array lin = linspace(from, to, num, {.endpoint = how.endpoint, .axis = how.axis});
        return jax::lax::convert_element_type(power(v[2], lin), type);
    });
}
Array geomspace(const Operand& start, const Operand& stop, std::int64_t num, const Spacing& how) {
    return composed_one("_geomspace", progression_key(num, how), {start, stop}, [&](const Arrays& v) {
        const dtype type = progression_type(v, how.dtype), inner = with_fractions(type);
        const Array from = v[0].astype(inner), to = v[1].astype(inner);
        const Array sides = sign(from);
        const Array low = log10(from / sides), high = log10(to / sides);
        const Array sizes = logspace(low, high, num, {.endpoint = how.endpoint, .dtype = inner});
        const Array out = sides * sizes;
        const std::int64_t axis = detail::axis_in(how.axis, out.ndim());
        return jax::lax::convert_element_type(axis ? moveaxis(out, 0, axis) : out, type);
    });
}
Array vander(const Operand& x, std::int64_t n, bool increasing) {
    return composed_one("vander", fmt::format("{} {}", n, increasing), {x}, [&](const Arrays& v) {
        if (v[0].ndim() != 1) detail::refuse("x must be a one-dimensional array");
        const std::int64_t columns = n < 0 ? v[0].shape(0) : n;
        Array exponents = jax::lax::iota(v[0].dtype(), columns);
        if (!increasing) {
            const Array last = detail::apply1({Operand(exponents)}, [&](Builder& b, const Values& w) {
                return ::jaxscope::lax::constant(b, w[0], static_cast<double>(columns - 1));
            });
            exponents = jax::lax::sub(last, exponents);
        }
        Array bases = v[0][{ellipsis, none}];
        return power(bases, expand_dims(exponents, 0));
    });
}
namespace {
/// Differences of neighbours at the ends, of second neighbours between.
Array slope_along(const Array& a, const Operand& h, std::int64_t axis) {
    const std::int64_t n = a.shape(axis);
    const auto sliced = [&](std::int64_t from, std::int64_t to) { return jax::lax::slice_in_dim(a, from, to, 1, axis); };
    Array second = sliced(1, 2);
    Array upper = second - sliced(0, 1);
    Array last = sliced(n - 1, n);
    Array lower = last - sliced(n - 2, n - 1);
    Array ahead = sliced(2, n);
    Array inner = (ahead - sliced(0, n - 2)) * 0.5 / h;
    lower = lower / h;
    upper = upper / h;
    return concatenate({upper, inner, lower}, axis);
}
}  // namespace
Arrays gradient(const Operand& f) { return gradient(f, {}, {}); }
Arrays gradient(const Operand& f, const std::vector<Operand>& spacing, const Axes& axis) {
    std::vector<Operand> in{f};
    in.insert(in.end(), spacing.begin(), spacing.end());
    return detail::composed("gradient", fmt::format("{}{}", axis.given, Shape(axis.axes).str()), in, [&](const Arrays& given) {
        const Arrays v = detail::arrays_of_one_type(given, true);
        ::jaxscope::Dims axes = detail::axes_of(axis, v[0].ndim());
        if (axis.given) axes.clear();  // as they are given, not sorted
        for (const std::int64_t a : axis.axes) axes.push_back(detail::axis_in(a, v[0].ndim()));
        if (spacing.size() > 1 && spacing.size() != axes.size())
            detail::refuse(
                fmt::format("Invalid number of spacing arguments {} for axis={}", spacing.size(), axis.given ? Shape(axes).str() : "None"));
        Arrays out;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            if (v[0].shape(axes[i]) < 2)
                detail::refuse("Shape of array too small to calculate a numerical gradient, at least 2 elements are required.");
            const std::size_t h = spacing.size() > 1 ? i + 1 : 1;
            if (!spacing.empty() && v[h].ndim() != 0) detail::refuse("gradient: spacings are numbers or scalars here");
            out.push_back(slope_along(v[0], spacing.empty() ? Operand(1.0) : Operand(v[h]), axes[i]));
        }
        return out;
    });
}
Array ediff1d(const Operand& x) {
    return composed_one("ediff1d", "", {x}, [](const Arrays& v) {
        const Array a = ravel(v[0]);
        Array ahead = a[{slice(1, none)}];
        return jax::lax::sub(ahead, a[{slice(none, -1)}]);
    });
}

}  // namespace jaxscope::jax::numpy

namespace jaxscope::jax::fft {

namespace {
Array shifted(const Operand& x, const Axes& axes, bool back) {
    return detail::in_line({x},
                           [&](const std::vector<Array>& v) {
                               std::vector<std::int64_t> shifts, all;
                               for (const std::int64_t d : detail::axes_of(axes, v[0].ndim())) {
                                   all.push_back(d);
                                   const std::int64_t half = v[0].shape(d) / 2;
                                   shifts.push_back(back ? -half : half);
                               }
                               return std::vector<Array>{numpy::roll(v[0], shifts, all)};
                           })
        .front();
}
}  // namespace

Array fftshift(const Operand& x, const Axes& axes) { return shifted(x, axes, false); }
Array ifftshift(const Operand& x, const Axes& axes) { return shifted(x, axes, true); }
Array fftfreq(std::int64_t n, double d, Where where) {
    const detail::InUsersLine line(where);
    Array i = numpy::arange(n, dtype::float32);
    Array k = (i + n / 2) % n - n / 2;
    const Array scale = numpy::asarray(d * static_cast<double>(n), dtype::float32);
    return k / scale;
}
Array rfftfreq(std::int64_t n, double d, Where where) {
    const detail::InUsersLine line(where);
    Array k = numpy::arange(0, n / 2 + 1, dtype::float32);
    const Array scale = numpy::asarray(d * static_cast<double>(n), dtype::float32);
    return k / scale;
}

}  // namespace jaxscope::jax::fft
