// SPDX-License-Identifier: Apache-2.0
// jax.scipy.special around the gamma function: its sign, beta functions, incomplete ones, entropies, Bessel functions.
#include <cmath>

#include <jaxscope/custom_rules.h>
#include <jaxscope/lax.h>
#include <jaxscope/scipy.h>

#include "ir/builder.h"
#include "trace/numpy/composed/composed.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::scipy::special {

namespace {

Array of_inexact(std::initializer_list<Operand> in, const char* name, const std::function<Array(const Arrays&)>& f) {
    const auto body = [&](const Arrays& given) {
        const Arrays v = detail::promoted_arrays(given, true);
        if (v[0].dtype() == dtype::complex64) detail::refuse(std::string(name) + " does not support complex-valued inputs.");
        return Arrays{f(v)};
    };
    return detail::in_line(in, body).front();
}
Array number(const Array& like, double v) { return numpy::full({}, v, like.dtype()); }

// ---- log(beta(a, b)) as SciPy has it: by a series where the larger one is large

Array series_of_betaln(const Array& a, const Array& b) {
    const Array h = a / b, above = h / (1. + h), below_by = 1. + h;
    const Array x = h / below_by;
    const Array half = a - .5, c = b + half;
    const Array x2 = x * x;
    Arrays sums;
    Array last = 1. + (x + x2);
    sums.push_back(last);
    for (int k = 0; k < 4; ++k) {
        const Array term = x2 * last;
        last = 1. + (x + term);
        sums.push_back(last);
    }
    const Array inverse = 1. / b, t = numpy::power(inverse, 2);
    static const double factors[] = {-.165322962780713e-2, .837308034031215e-3, -.595202931351870e-3, .793650666825390e-3,
                                     -.277777777760991e-2};
    Array w = factors[0] * sums[4];
    for (std::size_t k = 1; k < 5; ++k) {
        w = w * t;
        w = w + factors[k] * sums[4 - k];
    }
    w = w * t;
    w = w + .833333333333333e-1;
    w = w * (above / b);
    const Array u = c * numpy::log1p(a / b), log_b = numpy::log(b) - 1., v = a * log_b;
    const Array rising = u <= v;
    const Array with_v_first = w - v, first = with_v_first - u;
    const Array with_u_first = w - u;
    return numpy::where(rising, first, with_u_first - v);
}

struct TimesOwnLog {
    Array operator()(const Array& x) const { return xlogy(x, x); }
};
struct TimesOwnLogRule {
    std::pair<Array, Array> operator()(const Array& x, const Array& dx) const;
};
const auto& times_own_log() {
    static const auto f = custom_jvp(TimesOwnLog(), {.name = "_xlogx"}).defjvp(TimesOwnLogRule(), {.name = "_xlogx_jvp"});
    return f;
}
std::pair<Array, Array> TimesOwnLogRule::operator()(const Array& x, const Array& dx) const {
    const Array out = times_own_log()(x), slope = lax::log(x) + 1;
    return {out, dx * slope};
}

Array relative_entropy(const Array& p, const Array& q) {
    const Array zero = number(p, 0);
    const Array p_there = lax::gt(p, zero), both = lax::bitwise_and(p_there, lax::gt(q, zero));
    const Array p_gone = lax::eq(p, zero), one = lax::bitwise_and(p_gone, lax::ge(q, zero));
    const Array safe_p = numpy::where(both, p, 1), safe_q = numpy::where(both, q, 1);
    const Array own = times_own_log()(safe_p), difference = lax::sub(own, xlogy(safe_p, safe_q));
    const Array otherwise = numpy::where(one, zero, numpy::inf);
    return numpy::where(both, difference, otherwise);
}

}  // namespace

Array gammasgn(const Operand& x) {
    return detail::composed_one("gammasgn", "", {x}, [](const Arrays& v) {
        const Array a = detail::inexact_of(v[0]);
        const Array down = lax::floor(a), negative = a < 0, whole = a == down;
        const Array pole = negative & whole, undefined = pole | numpy::isnan(a);
        const Array odd = down % 2 != 0, flipped = negative & odd;
        const Array at_zero = a == 0, below_zero = at_zero & numpy::signbit(a);
        const Array minus = flipped | below_zero;
        return numpy::select({undefined, minus}, {number(a, std::nan("")), number(a, -1)}, number(a, 1));
    });
}
Array gamma(const Operand& x) {
    return of_inexact({x}, "gamma", [](const Arrays& v) {
        const Array sign = gammasgn(v[0]);
        return sign * lax::exp(lax::lgamma(v[0]));
    });
}
Array factorial(const Operand& n) {
    return of_inexact({n}, "factorial", [](const Arrays& v) {
        const Array negative = v[0] < 0;
        return numpy::where(negative, 0, lax::exp(lax::lgamma(v[0] + 1)));
    });
}
Array betaln(const Operand& x, const Operand& y) {
    return of_inexact({x, y}, "betaln", [](const Arrays& given) {
        const Array a = numpy::minimum(given[0], given[1]), b = numpy::maximum(given[0], given[1]);
        const Array of_a = lax::lgamma(a), of_b = lax::lgamma(b), rest = of_b - lax::lgamma(a + b);
        const Array plain = of_a + rest;
        const Array of_a_too = lax::lgamma(a), by_series = of_a_too + series_of_betaln(a, b);
        const Array small = b < 8;
        return numpy::where(small, plain, by_series);
    });
}
Array beta(const Operand& x, const Operand& y) {
    return of_inexact({x, y}, "beta", [](const Arrays& v) {
        const Array of_a = gammasgn(v[0]), both = of_a * gammasgn(v[1]);
        const Array sign = both * gammasgn(v[0] + v[1]);
        return sign * lax::exp(betaln(v[0], v[1]));
    });
}
Array betainc(const Operand& a, const Operand& b, const Operand& x) {
    return of_inexact({a, b, x}, "betainc", [](const Arrays& v) { return lax::betainc(v[0], v[1], v[2]); });
}
Array gammainc(const Operand& a, const Operand& x) {
    return of_inexact({a, x}, "gammainc", [](const Arrays& v) { return lax::igamma(v[0], v[1]); });
}
Array gammaincc(const Operand& a, const Operand& x) {
    return of_inexact({a, x}, "gammaincc", [](const Arrays& v) { return lax::igammac(v[0], v[1]); });
}
Array polygamma(const Operand& n, const Operand& x) {
    return of_inexact({n, x}, "polygamma", [](const Arrays& v) { return lax::polygamma(v[0], v[1]); });
}
Array multigammaln(const Operand& a, std::int64_t d) {
    return of_inexact({a, Operand(d)}, "multigammaln", [&](const Arrays& v) {
        const Array quarter = lax::mul(number(v[0], .25), v[1]), less = lax::sub(v[1], number(v[0], 1));
        const Array sizes = lax::mul(quarter, less);
        const Array constant = lax::mul(sizes, lax::log(number(v[0], M_PI)));
        const Array steps = lax::div(numpy::arange(d, v[0].dtype()), number(v[0], 2));
        const Array wide = numpy::expand_dims(v[0], -1);
        std::vector<std::int64_t> lead;
        for (int k = 0; k < v[0].ndim(); ++k) lead.push_back(k);
        const Array terms = wide - numpy::expand_dims(steps, lead);
        return numpy::sum(gammaln(terms), -1) + constant;
    });
}

Array entr(const Operand& x) {
    return of_inexact({x}, "entr", [](const Arrays& v) {
        const Array negative = lax::lt(v[0], number(v[0], 0)), least = numpy::full_like(v[0], -numpy::inf);
        return lax::select(negative, least, lax::neg(times_own_log()(v[0])));
    });
}
Array rel_entr(const Operand& p, const Operand& q) {
    return of_inexact({p, q}, "rel_entr", [](const Arrays& v) { return relative_entropy(v[0], v[1]); });
}
Array kl_div(const Operand& p, const Operand& q) {
    return of_inexact({p, q}, "kl_div", [](const Arrays& v) {
        const Array less = relative_entropy(v[0], v[1]) - v[0];
        return less + v[1];
    });
}
Array i0e(const Operand& x) {
    return of_inexact({x}, "i0e", [](const Arrays& v) { return lax::bessel_i0e(v[0]); });
}
Array i1e(const Operand& x) {
    return of_inexact({x}, "i1e", [](const Arrays& v) { return lax::bessel_i1e(v[0]); });
}
Array i0(const Operand& x) {
    return of_inexact({x}, "i0", [](const Arrays& v) {
        const Array size = lax::exp(lax::abs(v[0]));
        return lax::mul(size, lax::bessel_i0e(v[0]));
    });
}
Array i1(const Operand& x) {
    return of_inexact({x}, "i1", [](const Arrays& v) {
        const Array size = lax::exp(lax::abs(v[0]));
        return lax::mul(size, lax::bessel_i1e(v[0]));
    });
}

}  // namespace jaxscope::jax::scipy::special
