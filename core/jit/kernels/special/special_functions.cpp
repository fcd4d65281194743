// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/special/special_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace jaxscope::exec {

/// Recurrence up to x >= 10, then the asymptotic series; reflection below 0. Poles are NaN, as XLA has them; 0 gives NaN too.
double digamma(double x) {
    constexpr double pi = 3.14159265358979323846;
    if (std::isnan(x) || x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
    if (x <= 0) {
        if (std::floor(x) == x) return std::numeric_limits<double>::quiet_NaN();
        return digamma(1 - x) - pi / std::tan(pi * x);
    }
    double r = 0;
    for (; x < 10; ++x) r -= 1 / x;
    const double f = 1 / (x * x);
    const double series =
        f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f * (1.0 / 132 - f * (691.0 / 32760 - f / 12))))));
    return r + std::log(x) - 0.5 / x - series;
}

/// A rational start, then Halley steps on erf to full precision.
double erf_inv(double x) {
    if (std::isnan(x) || x < -1 || x > 1) return std::numeric_limits<double>::quiet_NaN();
    if (x == 1 || x == -1) return x * std::numeric_limits<double>::infinity();
    if (x == 0) return x;
    const double w = std::log1p(-x * x);
    const double a = 0.147, t = 2 / (3.14159265358979323846 * a) + w / 2;
    double y = std::copysign(std::sqrt(std::sqrt(t * t - w / a) - t), x);
    for (int i = 0; i < 4; ++i) {
        const double error = std::fabs(y) > 1 ? (y > 0 ? (1 - x) - std::erfc(y) : std::erfc(-y) - (1 + x)) : std::erf(y) - x;
        const double step = error / (1.1283791670955126 * std::exp(-y * y));
        y -= step / (1 + y * step);
    }
    return y;
}

namespace special {

namespace {

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kEps = std::numeric_limits<T>::epsilon();

float log_gamma(float x) {
    int sign = 0;
    return lgammaf_r(x, &sign);
}
double log_gamma(double x) {
    int sign = 0;
    return lgamma_r(x, &sign);
}
template <class T>
T psi(T x) {
    return static_cast<T>(digamma(static_cast<double>(x)));
}

/// x^a e^-x / Gamma(a), and whether that is too small to be told from 0. The exponent is a small difference of large numbers: floats, whose
/// rounding would be all that is left of it where a is a million, are doubles here.
template <class T>
struct Density {
    T value;
    bool underflow;
    Density(T a, T x) {
        const bool large =
            std::is_same_v<T, float> && a > T(0x1p23);  // nothing is left of the difference, in XLA neither: the same nothing
        const double wide_a = a, wide_x = x;
        const double exponent = large ? a * std::log(x) - x - log_gamma(a) : wide_a * std::log(wide_x) - wide_x - log_gamma(wide_a);
        underflow = exponent < -std::log(static_cast<double>(std::numeric_limits<T>::max()));
        value = static_cast<T>(std::exp(exponent));
    }
};

/// sum of x^k / ((a+1) ... (a+k)) and its derivative by a: converges fast where x is at most about a.
template <class T>
T lower_series(T density, T x, T a, bool enabled, GammaPart part) {
    T r = a, term = 1, sum = 1, d_term = 0, d_sum = 0;
    while (enabled) {
        r += 1;
        d_term = d_term * (x / r) - (term * x) / (r * r);
        d_sum += d_term;
        term *= x / r;
        sum += term;
        enabled = part == GammaPart::Value ? term / sum > kEps<T> : std::fabs(d_term / d_sum) > kEps<T>;
    }
    if (part == GammaPart::Value) return sum * density / a;
    const T d_log = std::log(x) - psi(a + 1);
    if (part == GammaPart::Derivative) return density * (sum * d_log + d_sum) / a;
    return -(d_sum + sum * d_log) * x / a;
}

/// Numerator, denominator and their derivatives by a, at two steps of the recurrence.
template <class T>
struct Convergent {
    T p, q, dp, dq;
    void scale(T by) { p *= by, q *= by, dp *= by, dq *= by; }
};

/// The continued fraction of Gamma(a, x), evaluated forward; at most 2000 steps.
template <class T>
T upper_fraction(T density, T x, T a, bool enabled, GammaPart part) {
    T y = 1 - a, z = x + y + 1;
    Convergent<T> before{1, x, 0, 0}, last{x + 1, z * x, 0, -x};
    T value = last.p / last.q, d_value = (last.dp - value * last.dq) / last.q;
    for (int step = 1; enabled && step <= 2000; ++step) {
        const T c = static_cast<T>(step);
        y += 1, z += 2;
        const T yc = y * c;
        Convergent<T> next{last.p * z - before.p * yc, last.q * z - before.q * yc, 0, 0};
        next.dp = last.dp * z - last.p - before.dp * yc + before.p * c;
        next.dq = last.dq * z - last.q - before.dq * yc + before.q * c;
        T change = 1, d_change = 1;
        if (next.q != 0) {
            const T r = next.p / next.q;
            change = std::fabs((value - r) / r);
            value = r;
            const T d = (next.dp - value * next.dq) / next.q;
            d_change = std::fabs(d - d_value);
            d_value = d;
        }
        before = last, last = next;
        if (std::fabs(next.p) > 1 / kEps<T>) before.scale(kEps<T>), last.scale(kEps<T>);
        enabled = (part == GammaPart::Value ? change : d_change) > kEps<T>;
    }
    if (part == GammaPart::Value) return value * density;
    const T d_log = std::log(x) - psi(a);
    if (part == GammaPart::Derivative) return density * (value * d_log + d_value);
    return -(d_value + value * d_log) * x;
}

template <class T>
bool outside(T a, T x) {
    return x < 0 || a < 0 || (a == 0 && x == 0) || std::isnan(a) || std::isnan(x);
}

template <class T>
T gamma_derivative(T a, T x, GammaPart part) {
    if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan<T>;
    if (x == 0) return 0;
    const Density<T> density(a, x);
    if (!(x > 1 && x > a)) return lower_series(density.value, x, a, !density.underflow, part);
    const T upper = upper_fraction(density.value, x, a, !density.underflow, part);
    return -upper;
}

}  // namespace

template <class T>
T igamma(T a, T x) {
    if (outside(a, x)) return kNan<T>;
    if (x == kInf<T>) return 1;
    if (x == 0) return 0;
    const Density<T> density(a, x);
    if (x >= 1 && x > a) return 1 - upper_fraction(density.value, x, a, !density.underflow, GammaPart::Value);
    return lower_series(density.value, x, a, !density.underflow, GammaPart::Value);
}

template <class T>
T igammac(T a, T x) {
    if (outside(a, x)) return kNan<T>;
    if (x == kInf<T> || a == 0) return 0;
    const Density<T> density(a, x);
    if (x < 1 || x < a) return 1 - lower_series(density.value, x, a, !density.underflow, GammaPart::Value);
    return upper_fraction(density.value, x, a, !density.underflow, GammaPart::Value);
}

template <class T>
T igamma_grad_a(T a, T x) {
    return gamma_derivative(a, x, GammaPart::Derivative);
}
template <class T>
T random_gamma_grad(T a, T x) {
    return gamma_derivative(a, x, GammaPart::SampleDerivative);
}

/// Hurwitz: ten terms, then Euler and Maclaurin's correction with (2k)! over Bernoulli's numbers.
template <class T>
T zeta(T x, T q) {
    static constexpr std::array<double, 12> over_bernoulli{12.0,
                                                           -720.0,
                                                           30240.0,
                                                           -1209600.0,
                                                           47900160.0,
                                                           -1307674368000.0 / 691,
                                                           74724249600.0,
                                                           -10670622842880000.0 / 3617,
                                                           5109094217170944000.0 / 43867,
                                                           -802857662698291200000.0 / 174611,
                                                           14101100039391805440000.0 / 77683,
                                                           -1693824136731743669452800000.0 / 236364091};
    if (x == 1) return kInf<T>;
    if (std::isnan(x) || std::isnan(q) || x == kInf<T>) return kNan<T>;
    const bool whole_x = x == std::floor(x);
    if (q <= 0 && q == std::floor(q)) return whole_x && std::fmod(x, T(2)) == 0 ? kInf<T> : kNan<T>;
    if (q <= 0 && !whole_x) return kNan<T>;
    if (x < 1) return kNan<T>;
    T at = q, power = std::pow(q, -x), sum = power;
    for (int i = 0; i < 9; ++i) {
        at += 1;
        power = std::pow(at, -x);
        sum += power;
    }
    at += 1;
    power = std::pow(at, -x);
    if (std::fabs(power) < std::fabs(sum) * kEps<T>) return sum;
    sum += power * at / (x - 1) + power / 2;
    T term = power / at * x, k = 1;  // power x (x+1) ... over a power of `at`, which neither overflows by itself
    for (const double coefficient : over_bernoulli) {
        sum += term / static_cast<T>(coefficient);
        term *= (x + k) / at * ((x + k + 1) / at);
        k += 2;
    }
    return sum;
}

template <class T>
T polygamma(T n, T x) {
    if (n != std::floor(n) || n < 0) return kNan<T>;
    if (n == 0) return psi(x);
    const T sign = 2 * std::fmod(n, T(2)) - 1;
    return sign * std::exp(log_gamma(n + 1)) * zeta(n + 1, x);
}

namespace {

/// The continued fraction of DLMF 8.17.22 by Lentz' method.
template <class T>
T beta_fraction(T a, T b, T x) {
    const T small = kEps<T> / 2;
    const int limit = sizeof(T) == 4 ? 200 : 600;
    T h = small, c = small, d = 0;
    for (int i = 1; i < limit; ++i) {
        const int pair = (i - 1) / 2;
        const T m = static_cast<T>(pair);
        T numerator = 1;
        if (i == 1)
            numerator = 1;
        else if (i % 2 == 0)
            numerator = m == 0 ? -(a + b) * x / (a + 1) : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        else
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        c = 1 + numerator / c;
        if (std::fabs(c) < small) c = small;
        d = 1 + numerator * d;
        if (std::fabs(d) < small) d = small;
        d = 1 / d;
        h *= c * d;
        if (!(std::fabs(c * d - 1) >= small)) break;
    }
    return h;
}

}  // namespace

template <class T>
T betainc(T a, T b, T x) {
    const bool a_gone = a == 0 || b == kInf<T>, b_gone = b == 0 || a == kInf<T>;
    if (std::isnan(a) || std::isnan(b) || std::isnan(x) || a < 0 || b < 0 || x < 0 || x > 1 || (a_gone && b_gone)) return kNan<T>;
    if ((a_gone && x != 0) || (b_gone && x == 1)) return 1;
    if ((b_gone && x != 1) || (a_gone && x == 0)) return 0;
    const bool direct = x < (a + 1) / (a + b + 2);
    if (!direct) std::swap(a, b), x = 1 - x;
    const T small_beta = log_gamma(b) - log_gamma(a + b), beta = log_gamma(a) + small_beta;
    const T factor = a < 2 * std::numeric_limits<T>::min() ? std::exp(std::log1p(-x) * b - small_beta)
                                                           : std::exp(std::log(x) * a + std::log1p(-x) * b - beta) / a;
    const T result = beta_fraction(a, b, x) * factor;
    return direct ? result : 1 - result;
}

#define JAXSCOPE_SPECIAL(T)             \
    template T igamma(T, T);            \
    template T igammac(T, T);           \
    template T igamma_grad_a(T, T);     \
    template T random_gamma_grad(T, T); \
    template T zeta(T, T);              \
    template T polygamma(T, T);         \
    template T betainc(T, T, T);
JAXSCOPE_SPECIAL(float)
JAXSCOPE_SPECIAL(double)
#undef JAXSCOPE_SPECIAL

}  // namespace special

}  // namespace jaxscope::exec
