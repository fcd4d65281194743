// SPDX-License-Identifier: Apache-2.0
// jax.numpy: parts and kinds of numbers, extremes and running sums without what is no number, windows of signals, orders by several keys.
#include <fmt/core.h>

#include <jaxscope/filter.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;

namespace {

bool is_complex(const Array& a) { return a.dtype() == complex64 || a.dtype() == dtype::complex128; }
bool is_real(const Array& a) { return detail::is_inexact(a) && !is_complex(a); }
Array one_in_line(const Operand& x, const std::function<Array(const Array&)>& f) {
    return detail::in_line({x}, [&](const Arrays& v) { return Arrays{f(v[0])}; }).front();
}
/// Of real numbers zeros of their type.
Array imaginary_part(const Array& a) { return is_complex(a) ? jax::lax::imag(a) : zeros(a.shape(), a.dtype()); }
Array zero_for(const Array& a) { return zeros({}, a.dtype()); }
Array infinite_in(const Operand& x, double infinity) {
    return one_in_line(x, [&](const Array& a) {
        if (is_complex(a))
            detail::refuse(fmt::format("{} is not well-defined for complex inputs.", infinity > 0 ? "isposinf" : "isneginf"));
        return is_real(a) ? jax::lax::eq(a, full({}, infinity, a.dtype())) : full(a.shape(), false);
    });
}

}  // namespace

Array conjugate(const Operand& x) { return conj(x); }
Array angle(const Operand& z, bool deg) {
    return composed_one("angle", deg ? "deg" : "", {z}, [&](const Arrays& v) {
        const Array& a = v[0];
        const Array re = is_complex(a) ? jax::lax::real(a) : a, im = imaginary_part(a);
        const Array x = detail::inexact_of(re), y = detail::inexact_of(im);
        const Array out = jax::lax::atan2(y, x);
        return deg ? out * (180 / pi) : out;
    });
}
Array isreal(const Operand& x) {
    return composed_one("isreal", "", {x}, [](const Arrays& v) {
        const Array part = imaginary_part(v[0]);
        return jax::lax::eq(part, zero_for(part));
    });
}
Array iscomplex(const Operand& x) {
    return composed_one("iscomplex", "", {x}, [](const Arrays& v) {
        const Array part = imaginary_part(v[0]);
        return jax::lax::ne(part, zero_for(part));
    });
}
bool isrealobj(const Array& x, Where where) { return !iscomplexobj(x, where); }
bool iscomplexobj(const Array& x, Where where) {
    const dtype type = x.dtype(where);
    return type == complex64 || type == dtype::complex128;
}
Array sort_complex(const Operand& x) {
    return composed_one("sort_complex", "", {x}, [](const Arrays& v) {
        const Array sorted = jax::lax::sort(v[0]);
        return is_complex(sorted) ? sorted : jax::lax::convert_element_type(sorted, complex64);
    });
}
Array isposinf(const Operand& x) { return infinite_in(x, inf); }
Array isneginf(const Operand& x) { return infinite_in(x, -inf); }
Array fabs(const Operand& x) {
    return one_in_line(x, [](const Array& a) {
        if (is_complex(a)) detail::refuse("ufunc 'fabs' does not support complex dtypes");
        return jax::lax::abs(detail::inexact_of(a));
    });
}
Array bitwise_invert(const Operand& x) { return invert(x); }
Array bitwise_left_shift(const Operand& x, const Operand& y) { return left_shift(x, y); }
Array bitwise_right_shift(const Operand& x, const Operand& y) { return right_shift(x, y); }
Array bitwise_count(const Operand& x) {
    return composed_one("bitwise_count", "", {x}, [](const Arrays& v) {
        const Array a = v[0].dtype() == bool_ ? v[0].astype(int32) : v[0];
        const bool is_signed = a.dtype() == int8 || a.dtype() == int16 || a.dtype() == int32 || a.dtype() == dtype::int64;
        return jax::lax::population_count(is_signed ? jax::lax::abs(a) : a).astype(uint8);
    });
}
std::pair<Array, Array> modf(const Operand& x) {
    const Arrays parts = detail::composed("modf", "", {x}, [](const Arrays& v) {
        const Array a = detail::inexact_of(v[0]);
        const Array positive = jax::lax::ge(a, 0.), down = jax::lax::floor(a), up = jax::lax::ceil(a);
        const Array whole = numpy::where(positive, down, up);
        return Arrays{jax::lax::sub(a, whole), whole};
    });
    return {parts[0], parts[1]};
}

// ---- Without what is no number

namespace {

Array nan_extreme(const Operand& x, bool largest, const Axes& axis, bool keepdims) {
    const std::string key = fmt::format("{} {}", axis.given ? Shape(axis.axes).str() : "all", keepdims);
    return composed_one(largest ? "_nanargmax" : "_nanargmin", key, {x}, [&](const Arrays& v) {
        const Array& a = v[0];
        if (!detail::is_inexact(a)) return largest ? argmax(a, axis, keepdims) : argmin(a, axis, keepdims);
        const Array missing = jax::lax::ne(a, a), filled = numpy::where(missing, largest ? -inf : inf, a);
        const std::int64_t along = axis.given ? detail::axis_in(axis.axes.front(), a.ndim()) : 0;
        const auto find = [&](const Array& in) { return largest ? jax::lax::argmax(in, along) : jax::lax::argmin(in, along); };
        std::vector<std::int64_t> axes{along}, kept;
        if (!axis.given) axes.clear();
        for (int d = 0; d < a.ndim(); ++d) {
            if (!axis.given) axes.push_back(d);
            if (keepdims && (!axis.given || d == along)) kept.push_back(d);
        }
        const auto with_ones = [&](const Array& r) { return keepdims ? expand_dims(r, kept) : r; };
        const Array found = with_ones(find(axis.given ? filled : reshape(filled, {a.size()})));
        const Array none_left = with_ones(jax::lax::reduce_and(missing, axes));
        return numpy::where(none_left, -1, found);
    });
}
Array nan_running(const Operand& x, bool product, const Axes& axis) {
    const std::string key = axis.given ? Shape(axis.axes).str() : "all";
    return composed_one(product ? "nancumprod" : "nancumsum", key, {x}, [&](const Arrays& v) {
        const Array a = axis.given ? v[0] : reshape(v[0], {v[0].size()});
        const Array neutral = detail::apply1({Operand(a)}, [&](::jaxscope::Builder& b, const ::jaxscope::Values& w) {
            return ::jaxscope::lax::constant(b, w[0], product ? 1 : 0);
        });
        const Array missing = jax::lax::ne(a, a), filled = numpy::where(missing, neutral, a);
        const std::int64_t along = axis.given ? detail::axis_in(axis.axes.front(), a.ndim()) : 0;
        return product ? jax::lax::cumprod(filled, along) : jax::lax::cumsum(filled, along);
    });
}

}  // namespace

Array nanargmax(const Operand& x, const Axes& axis, bool keepdims) { return nan_extreme(x, true, axis, keepdims); }
Array nanargmin(const Operand& x, const Axes& axis, bool keepdims) { return nan_extreme(x, false, axis, keepdims); }
Array nancumsum(const Operand& x, const Axes& axis) { return nan_running(x, false, axis); }
Array nancumprod(const Operand& x, const Axes& axis) { return nan_running(x, true, axis); }

// ---- Windows

namespace {

Array numbered(std::int64_t n) { return jax::lax::iota(float32, n); }
/// cos(2 pi k / (n - 1)), `times` as fast.
Array swing(const Array& k, double times) { return cos(times * 2 * pi * k / static_cast<double>(k.size() - 1)); }

}  // namespace

Array bartlett(std::int64_t n, Where where) {
    const detail::InUsersLine line(where);
    if (n <= 1) return ones(n, float32, where);
    return 1 - abs(2 * numbered(n) + 1 - static_cast<double>(n)) / static_cast<double>(n - 1);
}
Array hanning(std::int64_t n, Where where) {
    const detail::InUsersLine line(where);
    if (n <= 1) return ones(n, float32, where);
    return 0.5 * (1 - swing(numbered(n), 1));
}
Array hamming(std::int64_t n, Where where) {
    const detail::InUsersLine line(where);
    if (n <= 1) return ones(n, float32, where);
    return 0.54 - 0.46 * swing(numbered(n), 1);
}
Array blackman(std::int64_t n, Where where) {
    const detail::InUsersLine line(where);
    if (n <= 1) return ones(n, float32, where);
    const Array k = numbered(n), slow = 0.42 - 0.5 * swing(k, 1);
    return slow + 0.08 * swing(k, 2);
}

namespace {
Array order_by(const Arrays& keys, std::int64_t axis) {
    for (const Array& k : keys)
        if (!(k.shape() == keys[0].shape())) detail::refuse("all keys need to be the same shape");
    if (keys[0].ndim() == 0) return zeros({}, int32);
    const std::int64_t along = detail::axis_in(axis, keys[0].ndim());
    Arrays all{keys.rbegin(), keys.rend()};
    all.push_back(jax::lax::broadcasted_iota(int32, keys[0].shape(), along));
    return jax::lax::sort(all, along, static_cast<std::int64_t>(keys.size())).back();
}
}  // namespace
Array lexsort(const Arrays& keys, std::int64_t axis, Where where) {
    if (keys.empty()) detail::refuse("need sequence of keys with len > 0 in lexsort");
    std::vector<Operand> in;
    for (const Array& k : keys) in.emplace_back(k, where.file, where.line, where.function);
    return composed_one("lexsort", std::to_string(axis), in, [&](const Arrays& v) { return order_by(v, axis); });
}
}  // namespace jaxscope::jax::numpy

namespace jaxscope::jax {

Array detail::lexsort_rows(const Array& keys) {
    return detail::composed_one("lexsort", "rows", {Operand(keys)}, [](const Arrays& v) {
        return numpy::order_by(detail::unpacked(v[0], static_cast<std::size_t>(v[0].shape(0))), -1);
    });
}

}  // namespace jaxscope::jax

namespace jaxscope::jax::lax {

Arrays sort(const Arrays& operands, std::int64_t dimension, std::int64_t num_keys, Flag is_stable, Where where) {
    if (operands.empty())
        detail::refuse_at(where, ErrorCode::BadUsage, "Sort requires at least one operand",
                          "give the arrays in braces: lax::sort({keys, values})");
    if (num_keys < 1 || num_keys > static_cast<std::int64_t>(operands.size()))
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("num_keys={} must be between 1 and len(operand)={}", num_keys, operands.size()),
                          "num_keys counts the arrays, from the first on, that the order goes by");
    std::vector<Operand> in;
    for (const Array& a : operands) in.emplace_back(a, where.file, where.line, where.function);
    return detail::apply(in, where, [&](::jaxscope::Builder& b, const ::jaxscope::Values& v) {
        const std::int64_t along = detail::axis_in(dimension, b.aval(v[0])->rank());
        return b.bind(kSort, v, make_params(SortParams{.dimension = along, .is_stable = is_stable, .num_keys = num_keys}));
    });
}

Array reduce_precision(const Operand& x, int exponent_bits, int mantissa_bits) {
    return detail::apply1({x}, [&](::jaxscope::Builder& b, const ::jaxscope::Values& v) {
        return b.bind1(kReducePrecision, v, make_params(ReducePrecisionParams{exponent_bits, mantissa_bits}));
    });
}

}  // namespace jaxscope::jax::lax
