// SPDX-License-Identifier: Apache-2.0
// jax.scipy: the normal distribution's quantiles and logarithms of its shares; powers that become logarithms, combinations.
#include <cmath>

#include <jaxscope/curves.h>
#include <jaxscope/custom_rules.h>
#include <jaxscope/lax.h>
#include <jaxscope/scipy.h>

#include "lax/ops.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::scipy {

namespace nu = jax::numpy;

namespace {

Array strong(float v) { return lax::convert_element_type(v, dtype::float32); }
/// 1 of the array's type.
Array one_beside(const Array& a) {
    return detail::apply1({Operand(a)},
                          [](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return ::jaxscope::lax::constant(b, v[0], 1); });
}
Array coefficients(const std::vector<float>& list) { return Array(list, Shape(list.size())); }
void check_float32(const Array& x) {
    if (x.dtype() != dtype::float32)
        detail::refuse("x.dtype=" + x.aval().substr(0, x.aval().find('[')) + " is not supported, see docstring for supported types.");
}

// ---- ndtri: by rational functions, as Cephes has them

const std::vector<float> kP0{-59.9633501014107895267F, 98.0010754185999661536F, -56.6762857469070293439F, 13.9312609387279679503F,
                             -1.23916583867381258016F};
const std::vector<float> kQ0{1.F,
                             1.95448858338141759834F,
                             4.67627912898881538453F,
                             86.3602421390890590575F,
                             -225.462687854119370527F,
                             200.260212380060660359F,
                             -82.0372256168333339912F,
                             15.9056225126211695515F,
                             -1.18331621121330003142F};
const std::vector<float> kP1{4.05544892305962419923F,     31.5251094599893866154F,     57.1628192246421288162F,
                             44.0805073893200834700F,     14.6849561928858024014F,     2.18663306850790267539F,
                             -1.40256079171354495875E-1F, -3.50424626827848203418E-2F, -8.57456785154685413611E-4F};
const std::vector<float> kQ1{1.F,
                             15.7799883256466749731F,
                             45.3907635128879210584F,
                             41.3172038254672030440F,
                             15.0425385692907503408F,
                             2.50464946208309415979F,
                             -1.42182922854787788574E-1F,
                             -3.80806407691578277194E-2F,
                             -9.33259480895457427372E-4F};
const std::vector<float> kP2{3.23774891776946035970F,    6.91522889068984211695F,    3.93881025292474443415F,
                             1.33303460815807542389F,    2.01485389549179081538E-1F, 1.23716634817820021358E-2F,
                             3.01581553508235416007E-4F, 2.65806974686737550832E-6F, 6.23974539184983293730E-9F};
const std::vector<float> kQ2{1.F,
                             6.02427039364742014255F,
                             3.67983563856160859403F,
                             1.37702099489081330271F,
                             2.16236993594496635890E-1F,
                             1.34204006088543189037E-2F,
                             3.28014464682127739104E-4F,
                             2.89247864745380683936E-6F,
                             6.79019408009981274425E-9F};

Array ratio(const std::vector<float>& p, const std::vector<float>& q, const Array& x, const Array& y) {
    const Array above = nu::polyval(coefficients(p), x);
    return above / nu::polyval(coefficients(q), y);
}
Array quantile_of(const Array& p) {
    const float edge = static_cast<float>(-std::expm1(-2.)), small = static_cast<float>(std::exp(-2.));
    const Array upper = p > strong(edge);
    const Array less = nu::where(upper, strong(1) - p, p);
    const Array nothing = less == strong(0);
    const Array half = nu::full(p.shape(), strong(.5F));
    const Array share = nu::where(nothing, half, less);

    const Array w = share - strong(.5F), ww = lax::square(w), cube = w * ww;
    Array middle = w + cube * ratio(kP0, kQ0, ww, ww);
    middle = middle * strong(-static_cast<float>(std::sqrt(2. * M_PI)));

    const Array z = lax::sqrt(strong(-2) * lax::log(share));
    const Array logarithm = lax::log(z) / z;
    const Array first = z - logarithm;
    const auto correction = [&](const std::vector<float>& a, const std::vector<float>& b) {
        const Array x = 1 / z;
        const Array above = nu::polyval(coefficients(a), x);
        const Array y = 1 / z;
        return above / nu::polyval(coefficients(b), y) / z;
    };
    const Array tiny = correction(kP2, kQ2), otherwise = correction(kP1, kQ1);
    const Array far = first - tiny, near = first - otherwise;

    const Array central = share > strong(small), extreme = z >= strong(8);
    Array x = nu::where(central, middle, nu::where(extreme, far, near));
    const Array as_it_is = p > strong(static_cast<float>(1. - std::exp(-2.)));
    x = nu::where(as_it_is, x, -x);
    const Array infinity = nu::full(p.shape(), strong(INFINITY)), none = p == strong(0);
    const Array least = -infinity, whole = p == strong(1);
    return nu::where(none, least, nu::where(whole, infinity, x));
}

// ---- log_ndtr: by an asymptotic series far below

Array share_below(const Array& x) {
    const float root = 0.5F * std::sqrt(2.F);
    const Array w = x * strong(root), z = lax::abs(w), near = lax::lt(z, strong(root));
    const Array inner = strong(1) + lax::erf(w), above = lax::gt(w, strong(0)), upper = strong(2) - lax::erfc(z);
    const Array outer = lax::select(above, upper, lax::erfc(z));
    return strong(0.5F) * lax::select(near, inner, outer);
}
Array logarithm_far_below(const Array& x) {
    const Array x2 = lax::square(x);
    const Array scaled = strong(-.5F) * x2, own = lax::log(-x);
    const Array scale = scaled - own - strong(static_cast<float>(.5 * std::log(2. * M_PI)));
    const Array squared = lax::square(x);
    Array even = nu::zeros_like(Operand(x)), odd = nu::zeros_like(Operand(x)), power = squared;
    float factorial = 1;
    for (int n = 1; n <= 3; ++n) {
        factorial *= static_cast<float>(2 * n - 1);
        const Array term = strong(factorial) / power;
        (n % 2 ? odd : even) = (n % 2 ? odd : even) + term;
        power = power * squared;
    }
    const Array sums = strong(1) + even;
    return scale + lax::log(sums - odd);
}
Array log_share_below(const Array& x) {
    if (x.dtype() != dtype::float32) detail::refuse("x.dtype=" + x.aval().substr(0, x.aval().find('[')) + " is not supported.");
    const Array above = lax::gt(x, strong(5)), turned = -x;
    const Array share = share_below(nu::where(above, turned, lax::max(x, strong(-10))));
    const Array rest = -share, near = lax::gt(x, strong(-10)), logarithm = lax::log(share);
    return nu::where(above, rest, nu::where(near, logarithm, logarithm_far_below(lax::min(x, strong(-10)))));
}
struct LogShareRule {
    std::pair<Array, Array> operator()(const Array& x, const Array& dx) const;
};
const auto& log_share() {
    static const auto f = custom_jvp(log_share_below, {.name = "log_ndtr"}).defjvp(LogShareRule(), {.name = "_log_ndtr_jvp"});
    return f;
}
std::pair<Array, Array> LogShareRule::operator()(const Array& x, const Array& dx) const {
    const Array out = log_share()(x);
    const Array squared = lax::mul(-.5, lax::square(x));
    const Array density = lax::sub(squared, std::log(std::sqrt(2 * M_PI)));
    return {out, lax::mul(dx, lax::exp(lax::sub(density, out)))};
}

// ---- poch

Array rising(const Array& given_z, const Array& given_m) {
    const Arrays v = detail::promoted_arrays({given_z, given_m}, true);
    const Array none = v[1] == 0., above = special::gamma(v[0] + v[1]);
    return nu::where(none, nu::ones({}, v[0].dtype()), above / special::gamma(v[0]));
}
struct ByStart;
struct ByNumber;
const auto& poch_function();
struct ByStart {
    Array operator()(const Array& g, const Array&, const Array& z, const Array& m) const;
};
struct ByNumber {
    Array operator()(const Array& g, const Array&, const Array& z, const Array& m) const;
};
const auto& poch_function() {
    static const auto f = custom_jvp(rising, {.name = "poch"}).defjvps(ByStart(), ByNumber());
    return f;
}
Array ByStart::operator()(const Array& g, const Array&, const Array& z, const Array& m) const {
    const Array above = special::digamma(z + m), slope = above - special::digamma(z);
    return slope * poch_function()(z, m) * g;
}
Array ByNumber::operator()(const Array& g, const Array&, const Array& z, const Array& m) const {
    const Array slope = special::digamma(z + m);
    return slope * poch_function()(z, m) * g;
}

Array power_or_logarithm(const Operand& x, const Operand& lmbda, Array (*logarithm)(const Operand&)) {
    const auto body = [&](const Arrays& given) {
        const Arrays v = detail::promoted_arrays(given, true);
        const Array none = v[1] == 0;
        const Array safe = nu::where(none, nu::ones_like(Operand(v[1])), v[1]);
        const Array log_x = logarithm(v[0]);
        const Array grown = nu::expm1(safe * log_x);
        return Arrays{nu::where(none, log_x, grown / safe)};
    };
    return detail::in_line({x, lmbda}, body).front();
}

}  // namespace

namespace special {

Array ndtri(const Operand& p) {
    const auto body = [](const Arrays& v) {
        check_float32(v[0]);
        return Arrays{quantile_of(v[0])};
    };
    return detail::in_line({p}, body).front();
}
Array log_ndtr(const Operand& x) {
    return detail::in_line({x}, [](const Arrays& v) { return Arrays{log_share()(v[0])}; }).front();
}
Array boxcox(const Operand& x, const Operand& lmbda) { return power_or_logarithm(x, lmbda, nu::log); }
Array boxcox1p(const Operand& x, const Operand& lmbda) { return power_or_logarithm(x, lmbda, nu::log1p); }
Array comb(const Operand& N, const Operand& k) {
    const auto body = [](const Arrays& given) {
        const Arrays v = detail::promoted_arrays(given, true);
        const Array &n = v[0], &of = v[1];
        const Array enough = of <= n, both = enough & (n >= 0), there = both & (of >= 0);
        const Array safe_n = nu::where(there, n, 0.), safe_k = nu::where(there, of, 0.);
        const Array all_orders = gammaln(safe_n + 1), less = all_orders - gammaln(safe_k + 1);
        const Array rest = safe_n + 1, last = rest - safe_k;
        return Arrays{nu::where(there, lax::exp(less - gammaln(last)), 0.)};
    };
    return detail::in_line({N, k}, body).front();
}
Array poch(const Operand& z, const Operand& m) {
    return detail::in_line({z, m}, [](const Arrays& v) { return Arrays{poch_function()(v[0], v[1])}; }).front();
}

}  // namespace special

namespace stats::norm {

Array ppf(const Operand& q, const Operand& loc, const Operand& scale) {
    const auto body = [](const Arrays& v) {
        const Array x = special::ndtri(v[0]) * v[2];
        return Arrays{nu::asarray(x + v[1], dtype::float32)};
    };
    return detail::in_line({q, loc, scale}, body).front();
}
Array isf(const Operand& q, const Operand& loc, const Operand& scale) {
    return detail::in_line({q, loc, scale}, [](const Arrays& v) { return Arrays{ppf(lax::sub(one_beside(v[0]), v[0]), v[1], v[2])}; })
        .front();
}
namespace {
Array log_share_at(const Arrays& v) { return special::log_ndtr(lax::div(lax::sub(v[0], v[1]), v[2])); }
}  // namespace
Array logcdf(const Operand& x, const Operand& loc, const Operand& scale) {
    return detail::in_line({x, loc, scale}, [](const Arrays& v) { return Arrays{log_share_at(detail::promoted_arrays(v, true))}; }).front();
}
Array logsf(const Operand& x, const Operand& loc, const Operand& scale) {
    const auto body = [](const Arrays& given) {
        const Arrays v = detail::promoted_arrays(given, true);
        const Array turned = -v[0], centre = -v[1];
        return Arrays{log_share_at({turned, centre, v[2]})};
    };
    return detail::in_line({x, loc, scale}, body).front();
}

}  // namespace stats::norm

}  // namespace jaxscope::jax::scipy

namespace jaxscope::jax::nn {

Array log1mexp(const Operand& x) {
    struct Rule {
        Array operator()(const Array& g, const Array&, const Array& v) const { return g / numpy::expm1(v); }
    };
    const auto value = [](const Array& given) {
        return detail::composed_one("log1mexp", "", {given}, [](const Arrays& v) {
            const Array edge = numpy::log(2.), small = v[0] < edge;
            const Array inner = numpy::log(-numpy::expm1(-v[0])), outer = numpy::log1p(-numpy::exp(-v[0]));
            return numpy::where(small, inner, outer);
        });
    };
    static const auto f = custom_jvp(value, {.name = "log1mexp"}).defjvps(Rule());
    return detail::in_line({x}, [](const Arrays& v) { return Arrays{f(v[0])}; }).front();
}

}  // namespace jaxscope::jax::nn
