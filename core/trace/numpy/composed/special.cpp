// SPDX-License-Identifier: Apache-2.0
// jax.scipy.special and jax.scipy.stats: written with the front end itself.
#include <jaxscope/scipy.h>

#include <cmath>

#include <jaxscope/custom_rules.h>
#include <jaxscope/lax.h>

#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::scipy {

namespace {

using ::jaxscope::Builder;
using ::jaxscope::Values;

/// The operands promoted to one type with fractions, then `f` of them, in the user's line.
template <class F>
Array of_promoted(std::initializer_list<Operand> in, const F& f) {
    return detail::in_line(in,
                           [&](const Arrays& given) {
                               const std::vector<Operand> operands(given.begin(), given.end());
                               return Arrays{f(detail::apply(operands, in.begin()->where,
                                                             [](Builder& b, const Values& v) { return detail::promoted(b, v, true); }))};
                           })
        .front();
}
template <class F>
Array called(std::initializer_list<Operand> in, const F& f) {
    return detail::in_line(in, [&](const Arrays& given) { return Arrays{f(given)}; }).front();
}
Array of_one(const Operand& x, Array (*f)(const Operand&)) {
    return of_promoted({x}, [&](const Arrays& v) { return f(v[0]); });
}
/// A number of the array's type.
Array beside(const Array& a, double v) {
    return detail::apply1({Operand(a)}, [&](Builder& b, const Values& w) { return detail::number_beside(b, w[0], v); });
}
Array strong(float v) { return lax::convert_element_type(v, dtype::float32); }

/// x times a logarithm of y, and zero where x is, whatever y is (but nan).
template <Array (*Log)(const Operand&), bool Beyond>
struct TimesLog {
    static constexpr const char* kName = Beyond ? "xlog1py" : "xlogy";
    static Array value(const Array& given_x, const Array& given_y) {
        const Operand in[] = {given_x, given_y};
        const std::vector<Array> v =
            detail::apply(in, Where("", 0, ""), [](Builder& b, const Values& w) { return detail::promoted(b, w, true); });
        const Array &x = v[0], &y = v[1];
        Array counts = x != 0.;
        Array known = counts | numpy::isnan(y);
        Array product = lax::mul(x, Log(y));
        return numpy::where(known, product, numpy::zeros_like(Operand(x)));
    }
    struct Rule {
        std::pair<Array, Array> operator()(const Array& x, const Array& y, const Array& dx, const Array& dy) const {
            Array out = function()(x, y);
            Array by_x = dx * Log(y);
            Array along = dy * x;
            if constexpr (Beyond)
                return {out, by_x + along / (1 + y)};
            else
                return {out, by_x + along / y};
        }
    };
    static const auto& function() {
        static const auto f = custom_jvp(value, {.name = kName}).defjvp(Rule(), {.name = Beyond ? "_xlog1py_jvp" : "_xlogy_jvp"});
        return f;
    }
};

Array share_below(const Array& x) {
    const float root = 0.5F * std::sqrt(2.F);
    Array w = x * strong(root);
    Array z = lax::abs(w);
    Array near = lax::lt(z, strong(root));
    Array inner = strong(1) + lax::erf(w);
    Array above = lax::gt(w, strong(0));
    Array upper = strong(2) - lax::erfc(z);
    Array outer = lax::select(above, upper, lax::erfc(z));
    return strong(0.5F) * lax::select(near, inner, outer);
}

}  // namespace

namespace special {

Array gammaln(const Operand& x) { return of_one(x, lax::lgamma); }
Array digamma(const Operand& x) { return of_one(x, lax::digamma); }
Array erf(const Operand& x) { return of_one(x, lax::erf); }
Array erfc(const Operand& x) { return of_one(x, lax::erfc); }
Array erfinv(const Operand& x) { return of_one(x, lax::erf_inv); }
Array expit(const Operand& x) { return of_one(x, lax::logistic); }
Array logit(const Operand& x) {
    static const auto f = custom_jvp(
                              [](Array given) {
                                  const Array a = detail::inexact_of(given);
                                  Array rest = lax::sub(beside(a, 1), a);
                                  return lax::log(lax::div(a, rest));
                              },
                              {.name = "logit"})
                              .defjvps([](Array g, Array, Array a) {
                                  Array rest = lax::sub(beside(a, 1), a);
                                  return lax::div(g, lax::mul(a, rest));
                              });
    return called({x}, [](const Arrays& v) { return f(v[0]); });
}
Array ndtr(const Operand& x) {
    return detail::in_line({x},
                           [&](const Arrays& v) {
                               if (v[0].dtype() != dtype::float32)
                                   detail::refuse("x.dtype=" + v[0].aval().substr(0, v[0].aval().find('[')) +
                                                  " is not supported, see docstring for supported types.");
                               return Arrays{share_below(v[0])};
                           })
        .front();
}
Array xlogy(const Operand& x, const Operand& y) {
    return called({x, y}, [](const Arrays& v) { return TimesLog<lax::log, false>::function()(v[0], v[1]); });
}
Array xlog1py(const Operand& x, const Operand& y) {
    return called({x, y}, [](const Arrays& v) { return TimesLog<lax::log1p, true>::function()(v[0], v[1]); });
}

}  // namespace special

namespace stats::norm {

Array logpdf(const Operand& x, const Operand& loc, const Operand& scale) {
    return of_promoted({x, loc, scale}, [](const Arrays& v) {
        Array variance = lax::square(v[2]);
        Array normaliser = lax::log(lax::mul(beside(v[0], 2 * M_PI), variance));
        Array squared = lax::square(lax::sub(v[0], v[1]));
        Array quadratic = lax::div(squared, variance);
        return lax::div(lax::add(normaliser, quadratic), beside(v[0], -2));
    });
}
Array pdf(const Operand& x, const Operand& loc, const Operand& scale) {
    return detail::in_line({x, loc, scale}, [](const Arrays& v) { return Arrays{lax::exp(logpdf(v[0], v[1], v[2]))}; }).front();
}
Array cdf(const Operand& x, const Operand& loc, const Operand& scale) {
    return of_promoted({x, loc, scale}, [](const Arrays& v) {
        Array centred = lax::sub(v[0], v[1]);
        return special::ndtr(lax::div(centred, v[2]));
    });
}

Array sf(const Operand& x, const Operand& loc, const Operand& scale) {
    return of_promoted({x, loc, scale}, [](const Arrays& v) {
        Array turned = -v[0];
        return cdf(turned, -v[1], v[2]);
    });
}

}  // namespace stats::norm

}  // namespace jaxscope::jax::scipy
