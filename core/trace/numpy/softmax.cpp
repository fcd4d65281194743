// SPDX-License-Identifier: Apache-2.0
// jax.nn's functions that JAX traces in line, softmax and its kin among them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <jaxscope/nn.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
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
Value last_axis(Builder& b, Value x, std::int64_t axis, Dims& axes) {
    axes = {detail::axis_in(axis, b.aval(x)->rank())};
    const Value top = b.bind1(kReduceMax, {detail::strong_operand(b, x)}, make_params(ReduceParams{axes}));
    // What comes before the first is -inf as the type holds it: for whole numbers of fewer bits, and without a sign, that is zero.
    const D type = b.aval(top)->dtype;
    const bool zero = is_integer(type) && (is_unsigned_int(type) || ::jaxscope::byte_size(type) < 4);
    return b.bind1(kMax, {detail::neutral_of(type, zero ? 0 : -INFINITY), top});
}
/// What the largest number is taken off of: it is plain, so the result is.
Value less_top(Builder& b, Value x, Value top, const Dims& axes) {
    const Values p = promoted(b, {x, b.bind1(kStopGradient, {cl::expand_dims(b, top, axes)})});
    return cl::sub(b, p[0], p[1]);
}
Value times(Builder& b, Value x, Value y) {
    const Values p = promoted(b, {x, y});
    return cl::mul(b, p[0], p[1]);
}

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
Array leaky_relu(const Operand& x, double slope) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "leaky_relu", fmt::format("{}", slope), v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            const Value above = cl::ge(i, a, like(i, a, 0)), below = cl::mul(i, detail::number_beside(i, a, slope), a);
            return jitted(i, "_where", "", {above, a, below}, [](Builder& c, const Values& u) { return cl::select(c, u[0], u[1], u[2]); });
        });
    });
}
Array gelu(const Operand& x, bool approximate) {
    return of_floats(x, [&](Builder& b, Value v) {
        if (!approximate) {
            const Value half = cl::mul(b, like(b, v, 0.5), v);
            const Value scaled = times(b, cl::neg(b, v), like(b, v, std::sqrt(0.5)));
            return b.bind1(kCopy, {times(b, half, b.bind1(kErfc, {scaled}))});
        }
        const Value cubed = cl::integer_pow(b, v, 3);
        const Value inner = cl::add(b, v, cl::mul(b, detail::number_beside(b, cubed, 0.044715), cubed));
        const Value cdf = cl::add(b, like(b, v, 1), cl::tanh(b, times(b, like(b, v, std::sqrt(2 / M_PI)), inner)));
        return times(b, v, cl::mul(b, like(b, v, 0.5), cdf));
    });
}
Array softmax(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims axes;
        const Value top = last_axis(b, v[0], axis, axes);
        const Value shifted = less_top(b, v[0], top, axes);
        const Value e = cl::exp(b, detail::inexact_operand(b, shifted));
        return cl::div(b, e, detail::summed_over(b, e, axes, true));
    });
}
Array log_softmax(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "log_softmax", fmt::format("{}", axis), v, [&](Builder& i, const Values& w) {
            Dims axes;
            const Value top = last_axis(i, w[0], axis, axes);
            const Value shifted = less_top(i, w[0], top, axes);
            const Value e = cl::exp(i, detail::inexact_operand(i, shifted));
            const Value logs = cl::log(i, detail::summed_over(i, e, axes, true));
            return cl::sub(i, detail::inexact_operand(i, shifted), logs);
        });
    });
}
Array logsumexp(const Operand& x, const Reduction& over) {
    detail::refuse_mask("logsumexp", x, over, "put the least number there: jnp::where(mask, x, -jnp::inf)");
    return of_floats(x, [&](Builder& b, Value v) {
        Dims axes;
        for (std::int64_t i = 0; i < b.aval(v)->rank() && !over.axis.given; ++i) axes.push_back(i);
        for (const std::int64_t a : over.axis.axes) axes.push_back(detail::axis_in(a, b.aval(v)->rank()));
        Value top = b.bind1(kReduceMax, {detail::strong_operand(b, v)}, make_params(ReduceParams{axes}));
        top = b.bind1(kMax, {like(b, top, -INFINITY), top});
        const Value finite = b.bind1(kIsFinite, {top});
        top = b.bind1(kStopGradient, {cl::select(b, finite, top, cl::full(b, b.aval(top), 0.0))});
        const Value e = cl::exp(b, cl::sub(b, v, cl::expand_dims(b, top, axes)));
        const Value sum = detail::summed_over(b, e, axes);
        cl::sign(b, sum);
        const Value out = cl::add(b, cl::log(b, cl::abs(b, sum)), top);
        return over.keepdims ? cl::expand_dims(b, out, axes) : out;
    });
}
Array one_hot(const Operand& x, std::int64_t n, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "_one_hot", fmt::format("{} {}", n, static_cast<int>(type)), v, [&](Builder& i, const Values& w) {
            const std::int64_t rank = i.aval(w[0])->rank();
            Dims shape(static_cast<std::size_t>(rank), 1);
            shape.push_back(n);
            const Value column = cl::expand_dims(i, w[0], {rank});
            const Value classes = i.bind1(kIota, {}, make_params(IotaParams{i.aval(w[0])->dtype, shape, rank}));
            return cl::convert_element_type(i, cl::eq(i, column, classes), static_cast<D>(type));
        });
    });
}

}  // namespace nn
}  // namespace jaxscope::jax
