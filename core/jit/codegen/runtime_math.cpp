#include "jit/codegen/runtime_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/element.h"

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

namespace {

float digamma_f32(float x) { return static_cast<float>(digamma(x)); }
float erf_inv_f32(float x) { return static_cast<float>(erf_inv(x)); }
std::uint32_t bits_of(std::uint32_t dtype, float v) { return small_float_bits(static_cast<DType>(dtype), v); }
float value_of(std::uint32_t dtype, std::uint32_t bits) {
    return static_cast<float>(small_float_value(static_cast<DType>(dtype), static_cast<std::uint16_t>(bits)));
}
template <class F>
void* address(F* f) {
    return reinterpret_cast<void*>(f);
}

}  // namespace

std::span<const RuntimeSymbol> runtime_math_symbols() {
    static const RuntimeSymbol all[] = {
        {"jaxscope_digamma", address(&digamma)},          {"jaxscope_digammaf", address(&digamma_f32)},
        {"jaxscope_erf_inv", address(&erf_inv)},          {"jaxscope_erf_invf", address(&erf_inv_f32)},
        {"jaxscope_small_float_bits", address(&bits_of)}, {"jaxscope_small_float_value", address(&value_of)},
    };
    return all;
}

}  // namespace jaxscope::exec
