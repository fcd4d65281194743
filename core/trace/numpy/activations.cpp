// SPDX-License-Identifier: Apache-2.0
// jax.nn's activations that are jitted functions, some with derivatives of their own: written with the front end itself.
#include <jaxscope/custom_rules.h>
#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/nn.h>

#include <cmath>

#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace {

Array array_of(const Operand& x) { return numpy::asarray(x); }

/// f(x...), all of it in the line of `x`.
template <class F, class... More>
Array called(const F& f, const Operand& x, const More&... more) {
    const detail::InUsersLine line(x.where);
    const Array out = f(array_of(x), array_of(more)...);
    for (const Operand* o : {&x, &more...}) detail::belongs_to(out, *o);
    return out;
}
template <class F>
auto jitted_as(const char* name, F f) {
    return jit(f, {.name = name});
}
template <class F>
auto masked(const char* name, F f) {
    return custom_jvp(jitted_as(name, f), {.name = name});
}

}  // namespace

namespace numpy {

namespace {

bool is_complex(const Array& x) { return ::jaxscope::is_complex(static_cast<::jaxscope::DType>(x.dtype())); }
/// Infinities as zeros, whose differences are not nan.
Array finite(const Array& x) {
    Array infinite = (is_complex(x) ? lax::real(x) : x) == inf;
    return lax::select(infinite, zeros_like(Operand(x)), x);
}
/// An angle between -half and half.
Array wrapped_angle(const Array& x, float half) {
    Array shifted = x + half;
    Array rest = lax::rem(shifted, Array(2 * half).astype(x.dtype()));
    Array below = rest < 0.0;
    Array above = rest + 2 * half;
    return lax::select(below, above, rest) - half;
}
/// log(e^x + e^y); `Two`: with two for e.
template <bool Two>
Array log_of_sum(const Array& x, const Array& y) {
    const auto power = [](const Array& a) { return Two ? lax::exp2(a) : lax::exp(a); };
    const auto logarithm = [](const Array& a) { return Two ? 1 / M_LN2 * lax::log1p(a) : lax::log1p(a); };
    Array top = lax::max(x, y);
    if (is_complex(x)) {
        Array sum = lax::add(x, y);
        Array delta = lax::sub(sum, top * 2);
        Array out = lax::add(top, logarithm(power(delta)));
        Array re = lax::real(out);
        return lax::complex(re, wrapped_angle(lax::imag(out), static_cast<float>(Two ? M_PI / M_LN2 : M_PI)));
    }
    Array delta = lax::sub(x, y);
    Array undefined = lax::ne(delta, delta), sum = lax::add(x, y);
    Array small = logarithm(power(lax::neg(lax::abs(delta))));
    return lax::select(undefined, sum, lax::add(top, small));
}
template <bool Two>
struct LogOfSumRule {
    std::pair<Array, Array> operator()(const Array& x, const Array& y, const Array& dx, const Array& dy) const;
};
template <bool Two>
const auto& log_of_sum_exp() {
    static const auto f = custom_jvp(log_of_sum<Two>, {.name = Two ? "logaddexp2" : "logaddexp"})
                              .defjvp(LogOfSumRule<Two>(), {.name = Two ? "_logaddexp2_jvp" : "_logaddexp_jvp"});
    return f;
}
template <bool Two>
std::pair<Array, Array> LogOfSumRule<Two>::operator()(const Array& x, const Array& y, const Array& dx, const Array& dy) const {
    Array out = log_of_sum_exp<Two>()(x, y);
    const auto part = [&](const Array& t, const Array& v) {
        Array a = finite(v), b = finite(out);
        const Array apart = lax::sub(a, b);
        return lax::mul(t, Two ? lax::exp2(apart) : lax::exp(apart));
    };
    Array left = part(dx, x), right = part(dy, y);
    return {out, lax::add(left, right)};
}
template <bool Two>
Array log_of_promoted(const Operand& x, const Operand& y) {
    const Operand in[] = {x, y};
    const detail::InUsersLine line(x.where);
    const std::vector<Array> v =
        detail::apply(in, x.where, [](::jaxscope::Builder& b, const ::jaxscope::Values& w) { return detail::promoted(b, w, true); });
    return log_of_sum_exp<Two>()(v[0], v[1]);
}

// ---- sinc, whose derivatives at zero are those of its series

/// Rules are traced where a function is called: those of further derivatives, which call the next one, have to end somewhere.
constexpr int kLastOrder = 6;
/// The derivative of sin(x) / x of this order at zero.
template <int Order>
struct SeriesOfSinc {
    Array operator()(const Array& x) const {
        if constexpr (Order % 2) return x * 0;
        Array zero = x * 0;
        const double at_zero = (Order / 2 % 2 ? -1. : 1.) / (Order + 1);
        return zero + full({}, at_zero, x.dtype());
    }
};
template <int Order>
struct SeriesRule {
    std::pair<Array, Array> operator()(const Array& x, const Array& dx) const;
};
template <int Order>
Array series_of_sinc(const Array& x) {
    if constexpr (Order == kLastOrder) {
        return SeriesOfSinc<Order>()(x);
    } else {
        static const auto f =
            custom_jvp(SeriesOfSinc<Order>(), {.name = "_sinc_maclaurin"}).defjvp(SeriesRule<Order>(), {.name = "_sinc_maclaurin_jvp"});
        return f(x);
    }
}
template <int Order>
std::pair<Array, Array> SeriesRule<Order>::operator()(const Array& x, const Array& dx) const {
    Array value = series_of_sinc<Order>(x);
    return {value, series_of_sinc<Order + 1>(x) * dx};
}

}  // namespace

Array logaddexp(const Operand& x, const Operand& y) { return log_of_promoted<false>(x, y); }
Array logaddexp2(const Operand& x, const Operand& y) { return log_of_promoted<true>(x, y); }
Array sinc(const Operand& x) {
    return detail::composed_one("sinc", "", {x}, [](const Arrays& v) {
        const Array a = detail::inexact_of(v[0]);
        Array zero = a == 0., scaled = lax::mul(full({}, M_PI, a.dtype()), a);
        Array safe = numpy::where(zero, ones({}, a.dtype()), scaled);
        Array series = series_of_sinc<0>(scaled);
        return numpy::where(zero, series, lax::div(lax::sin(safe), safe));
    });
}

}  // namespace numpy

namespace nn {

namespace {

Array one_of_two(const Array& x, const Array& g) {
    Array above = x > 0;
    return lax::select(above, g, numpy::zeros_like(Operand(g)));
}
Array scaled_exponential(const Array& x, const Operand& alpha) {
    Array above = x > 0, inner = x > 0;
    Array low = numpy::expm1(numpy::where(inner, 0., x));
    return numpy::where(above, x, alpha * low);
}

}  // namespace

Array relu(const Operand& x) {
    static const auto f =
        masked("relu", [](Array a) { return numpy::maximum(a, 0); }).defjvps([](Array g, Array, Array a) { return one_of_two(a, g); });
    return called(f, x);
}
Array relu6(const Operand& x) {
    static const auto f =
        masked("relu6", [](Array a) { return numpy::minimum(numpy::maximum(a, 0), 6.); }).defjvps([](Array g, Array, Array a) {
            Array above = a > 0, below = a < 6;
            Array inside = above & below;
            return lax::select(inside, g, numpy::zeros_like(Operand(g)));
        });
    return called(f, x);
}
Array elu(const Operand& x) {
    static const auto f = jitted_as("elu", [](Array a) { return scaled_exponential(a, 1.); });
    return called(f, x);
}
Array elu(const Operand& x, const Operand& alpha) {
    static const auto f = jitted_as("elu", [](Array a, Array s) { return scaled_exponential(a, s); });
    return called(f, x, alpha);
}
Array selu(const Operand& x) {
    static const auto f =
        jitted_as("selu", [](Array a) { return 1.0507009873554804934193349852946 * elu(a, 1.6732632423543772848170429916717); });
    return called(f, x);
}
namespace {
Array continued(const Array& x, const Operand& alpha) {
    Array high = numpy::maximum(x, 0.), low = numpy::expm1(numpy::minimum(x, 0.) / alpha);
    Array scaled = alpha * low;
    return high + scaled;
}
Array leaking(const Array& x, const Operand& slope) {
    Array above = x >= 0;
    return numpy::where(above, x, slope * x);
}
}  // namespace
Array celu(const Operand& x) {
    static const auto f = jitted_as("celu", [](Array a) { return continued(a, 1.); });
    return called(f, x);
}
Array celu(const Operand& x, const Operand& alpha) {
    static const auto f = jitted_as("celu", [](Array a, Array s) { return continued(a, s); });
    return called(f, x, alpha);
}
Array leaky_relu(const Operand& x) {
    static const auto f = jitted_as("leaky_relu", [](Array a) { return leaking(a, 0.01); });
    return called(f, x);
}
Array leaky_relu(const Operand& x, const Operand& negative_slope) {
    static const auto f = jitted_as("leaky_relu", [](Array a, Array s) { return leaking(a, s); });
    return called(f, x, negative_slope);
}
Array identity(const Operand& x) {
    static const auto f = jitted_as("identity", [](Array a) { return a; });
    return called(f, x);
}
Array glu(const Operand& x, std::int64_t axis) {
    const auto f = [axis](Array a) {
        const Arrays halves = numpy::split(a, 2, axis);
        Array gate = sigmoid(halves[1]);
        return halves[0] * gate;
    };
    return called(jitted_as("glu", f), x);
}
Array hard_tanh(const Operand& x) {
    static const auto f = jitted_as("hard_tanh", [](Array a) {
        Array above = a > 1, below = a < -1;
        return numpy::where(above, 1, numpy::where(below, -1, a));
    });
    return called(f, x);
}
Array soft_sign(const Operand& x) {
    static const auto f = jitted_as("soft_sign", [](Array a) { return a / (numpy::abs(a) + 1); });
    return called(f, x);
}
Array hard_sigmoid(const Operand& x) {
    static const auto f = jitted_as("hard_sigmoid", [](Array a) { return relu6(a + 3.) / 6.; });
    return called(f, x);
}
Array hard_silu(const Operand& x) {
    static const auto f = jitted_as("hard_silu", [](Array a) { return a * hard_sigmoid(a); });
    return called(f, x);
}
Array hard_swish(const Operand& x) { return hard_silu(x); }
Array softplus(const Operand& x) {
    static const auto f = jitted_as("softplus", [](Array a) { return numpy::logaddexp(a, 0); });
    return called(f, x);
}
Array mish(const Operand& x) {
    static const auto f = jitted_as("mish", [](Array a) { return a * numpy::tanh(softplus(a)); });
    return called(f, x);
}
Array squareplus(const Operand& x) {
    static const auto f = jitted_as("squareplus", [](Array a) { return (a + numpy::sqrt(numpy::square(a) + 4)) / 2; });
    return called(f, x);
}
Array log_sigmoid(const Operand& x) {
    static const auto f = jitted_as("log_sigmoid", [](Array a) { return -softplus(-a); });
    return called(f, x);
}
Array sparse_plus(const Operand& x) {
    static const auto f = jitted_as("sparse_plus", [](Array a) {
        Array low = a <= -1., high = a >= 1.;
        Array middle = numpy::power(a + 1., 2) / 4;
        return numpy::where(low, 0., numpy::where(high, a, middle));
    });
    return called(f, x);
}
Array sparse_sigmoid(const Operand& x) {
    static const auto f = jitted_as("sparse_sigmoid", [](Array a) { return 0.5 * numpy::clip(a + 1., 0., 2.); });
    return called(f, x);
}

}  // namespace nn
}  // namespace jaxscope::jax
