// SPDX-License-Identifier: Apache-2.0
// jax.nn's functions that JAX traces in line, softmax and its kin among them.
#include <fmt/core.h>

#include <cmath>

#include <jaxscope/lax.h>
#include <jaxscope/nn.h>

#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::promoted;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace nn {

namespace {

template <class F>
Array of_floats(const Operand& x, F f) {
    return apply1({x}, [&](Builder& b, const Values& v) { return f(b, detail::inexact_operand(b, v[0])); });
}
Value like(Builder& b, Value x, double v) { return cl::constant(b, x, v); }

}  // namespace

Array sigmoid(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return cl::logistic(b, v[0]); });
}
Array tanh(const Operand& x) { return numpy::tanh(x); }
Array silu(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) {
        return jitted(b, "silu", "", v, [](Builder& i, const Values& w) { return cl::mul(i, w[0], cl::logistic(i, w[0])); });
    });
}
Array swish(const Operand& x) { return silu(x); }
Array gelu(const Operand& x, bool approximate) {
    return of_floats(x, [&](Builder& b, Value v) {
        // JAX's constants are NumPy's, which aren't weak: what meets them isn't either from there on.
        const D type = b.aval(v)->dtype;
        const auto strong = [&](Value w) { return cl::convert_element_type(b, w, type); };
        if (!approximate) {
            const Value half = cl::mul(b, detail::kept_factor(b, like(b, v, 0.5)), v);
            const Value down = strong(cl::neg(b, v));
            const Value tail = b.bind1(kErfc, {cl::mul(b, down, like(b, down, std::sqrt(0.5)))});
            return b.bind1(kCopy, {cl::mul(b, strong(half), tail)});
        }
        const Value cubed = cl::integer_pow(b, v, 3);
        const Value inner = strong(cl::add(b, v, cl::mul(b, detail::kept_factor(b, detail::number_beside(b, cubed, 0.044715)), cubed)));
        const Value curve = cl::tanh(b, cl::mul(b, like(b, inner, std::sqrt(2 / M_PI)), inner));
        const Value cdf = cl::mul(b, detail::kept_factor(b, like(b, curve, 0.5)), cl::add(b, like(b, curve, 1), curve));
        return cl::mul(b, strong(v), cdf);
    });
}
namespace {

/// The array, and what of masks and factors there is beside it.
std::vector<Operand> with_options(const Operand& x, std::initializer_list<Array> options) {
    std::vector<Operand> in{x};
    for (const Array& a : options)
        if (a.has_value()) in.emplace_back(a, x.where.file, x.where.line, x.where.function);
    return in;
}
struct Shifted {
    Array numbers, exponentials, sum;
};
/// Less the largest, which is a constant of them.
Shifted shifted_exponentials(const Array& x, const Axes& axis, const Array& mask) {
    // What comes before the first is -inf as the type holds it: for whole numbers of fewer bits, and without a sign, that is zero.
    const D type = static_cast<D>(x.dtype());
    const bool zero = is_integer(type) && (is_unsigned_int(type) || ::jaxscope::byte_size(type) < 4);
    const auto neutral = [&](Builder&) { return detail::neutral_of(type, zero ? 0 : -INFINITY); };
    const Array least = is_integer(type) ? detail::made(Where("", 0, ""), neutral) : Array(-numpy::inf);
    const Array top = numpy::max(x, {.axis = axis, .keepdims = true, .initial = least, .where = mask});
    const Array safe = mask.has_value() ? numpy::where(mask, x, -numpy::inf) : x;
    const Array plain = lax::stop_gradient(top);
    const Array numbers = safe - plain, e = numpy::exp(numbers);
    return {numbers, e, numpy::sum(e, {.axis = axis, .keepdims = true, .where = mask})};
}

}  // namespace

Array softmax(const Operand& x, const Axes& axis, const Array& where) {
    const auto shares = [&](const Arrays& v) {
        const Array mask = v.size() > 1 ? v[1] : Array();
        const Shifted s = shifted_exponentials(v[0], axis, mask);
        const Array out = s.exponentials / s.sum;
        return Arrays{mask.has_value() ? numpy::where(mask, out, 0) : out};
    };
    return detail::in_line(with_options(x, {where}), shares).front();
}
Array log_softmax(const Operand& x, const Axes& axis, const Array& where) {
    const std::string key = Shape(axis.axes).str() + (where.has_value() ? " where" : "");
    return detail::composed_one("log_softmax", key, with_options(x, {where}), [&](const Arrays& v) {
        const Array mask = v.size() > 1 ? v[1] : Array();
        const Shifted s = shifted_exponentials(v[0], axis, mask);
        const Array out = s.numbers - numpy::log(s.sum);
        return mask.has_value() ? numpy::where(mask, out, -numpy::inf) : out;
    });
}
namespace {

Array log_of_sum(const Array& given, const Array& factors, const Array& mask, const ExponentialSum& over) {
    Array a = mask.has_value() ? numpy::where(mask, given, 0) : given, b;
    if (factors.has_value()) {
        const Arrays p = detail::promoted_arrays({a, factors}, true);
        b = p[1];
        a = numpy::where(b != 0, p[0], -numpy::inf);
    } else {
        a = detail::inexact_of(a);
    }
    const bool complex = is_complex(static_cast<D>(a.dtype()));
    const Axes axes = detail::axes_of(over.axis, a.ndim());
    const Array re = complex ? lax::real(a) : a;
    Array top = numpy::max(re, {.axis = axes, .keepdims = over.keepdims, .initial = -numpy::inf, .where = mask});
    const Array finite = numpy::isfinite(top);
    top = lax::stop_gradient(lax::select(finite, top, numpy::full_like(top, 0)));
    const Array shift = over.keepdims ? top : lax::expand_dims(top, axes.axes);
    Array e = lax::exp(lax::sub(a, shift.astype(a.dtype())));
    if (b.has_value()) e = lax::mul(e, b);
    Array sum = numpy::sum(e, {.axis = axes, .keepdims = over.keepdims, .where = mask});
    const Array sign = lax::sign(sum);
    if (!complex) sum = lax::abs(sum);
    Array out = lax::add(lax::log(sum), top.astype(sum.dtype()));
    if (!b.has_value() || complex) return out;
    const Array negative = sign < 0;
    return numpy::where(negative, numpy::full({}, numpy::nan, out.dtype()), out);
}

}  // namespace

Array logsumexp(const Operand& x, const ExponentialSum& over) {
    const bool factors = over.b.has_value(), mask = over.where.has_value();
    const auto body = [&](const Arrays& v) { return Arrays{log_of_sum(v[0], factors ? v[1] : Array(), mask ? v.back() : Array(), over)}; };
    return detail::in_line(with_options(x, {over.b, over.where}), body).front();
}
Array logmeanexp(const Operand& x, const Reduction& over) {
    const std::string key = fmt::format("{}{} {}", over.axis.given, Shape(over.axis.axes).str(), static_cast<bool>(over.keepdims));
    return detail::composed_one("logmeanexp", key, with_options(x, {over.where}), [&](const Arrays& v) {
        const Array mask = v.size() > 1 ? v[1] : Array();
        const Array total = logsumexp(v[0], {.axis = over.axis, .keepdims = over.keepdims, .where = mask});
        if (mask.has_value()) {
            const Array used = numpy::broadcast_to(mask, v[0].shape());
            const Array count = numpy::sum(used, {.axis = over.axis, .dtype = total.dtype(), .keepdims = over.keepdims});
            return total - numpy::log(count);
        }
        std::int64_t count = 1;
        for (const std::int64_t d : detail::axes_of(over.axis, v[0].ndim())) count *= v[0].shape(d);
        return total - lax::log(numpy::full({}, static_cast<double>(count), total.dtype()));
    });
}
Array one_hot(const Operand& x, std::int64_t n, const OneHot& how) {
    const D type = how.dtype.given ? static_cast<D>(how.dtype.type) : D::F32;
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank(), axis = detail::axis_in(how.axis, rank + 1);
        const std::string key = fmt::format("{} {} {}", n, static_cast<int>(type), axis);
        return jitted(b, "_one_hot", key, v, [&](Builder& i, const Values& w) {
            Dims shape(static_cast<std::size_t>(rank), 1);
            shape.insert(shape.begin() + axis, n);
            const Value column = cl::expand_dims(i, w[0], {axis});
            const Value classes = i.bind1(kIota, {}, make_params(IotaParams{i.aval(w[0])->dtype, shape, axis}));
            return cl::convert_element_type(i, cl::eq(i, column, classes), type);
        });
    });
}
Array one_hot(const Operand& x, std::int64_t n, dtype type) { return one_hot(x, n, {.dtype = type}); }

}  // namespace nn
}  // namespace jaxscope::jax
