// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace jaxscope {
namespace {

/// Three digits in all: 1.23, 12.3, 123.
std::string three_digits(double value) {
    char buffer[64];
    const int decimals = std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0;
    std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
    return buffer;
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
    static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (std::abs(value) >= 1023.5 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return (unit == 0 ? std::to_string(bytes) : three_digits(value)) + ' ' + kUnits[unit];
}

std::string flops_text(double flops) {
    static constexpr std::array kUnits{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
    std::size_t unit = 0;
    while (std::abs(flops) >= 999.5 && unit + 1 < kUnits.size()) {
        flops /= 1000;
        ++unit;
    }
    if (unit == 0) return std::to_string(std::llround(flops)) + " FLOP";
    return three_digits(flops) + ' ' + kUnits[unit];
}

std::string count_text(std::int64_t count) {
    const std::string digits = std::to_string(count);
    std::string out;
    const std::size_t sign = count < 0 ? 1 : 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > sign && (digits.size() - i) % 3 == 0) out += "\u2009";
        out += digits[i];
    }
    return out;
}

std::string seconds_text(double seconds) {
    if (seconds < 1e-3) return three_digits(seconds * 1e6) + " µs";
    if (seconds < 1) return three_digits(seconds * 1e3) + " ms";
    return three_digits(seconds) + " s";
}

}  // namespace jaxscope
