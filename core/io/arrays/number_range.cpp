// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/number_range.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "ir/types/element.h"

namespace jaxscope {

bool fits(DType d, std::int64_t value, bool beyond_int64) {
    if (d == DType::Bool) return value == 0 || value == 1;
    if (d == DType::U64) return beyond_int64 || value >= 0;
    if (beyond_int64) return false;
    if (d == DType::S64) return true;
    int bits = 8 * static_cast<int>(byte_size(d));
    if (d == DType::S2 || d == DType::U2) bits = 2;
    if (d == DType::S4 || d == DType::U4) bits = 4;
    if (is_key(d)) bits = 32;
    if (is_signed_int(d)) return value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1);
    return value >= 0 && value < std::int64_t{1} << bits;
}

namespace {

DType part_of(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }

}  // namespace

std::string nan_text(DType dtype, double nan) {
    const DType d = part_of(dtype);
    std::uint64_t bits = 0, usual = 0;
    store_element(d, reinterpret_cast<std::byte*>(&bits), {0, nan});
    store_element(d, reinterpret_cast<std::byte*>(&usual), {0, std::numeric_limits<double>::quiet_NaN()});
    if (bits == usual) return "nan";
    char digits[20];
    const auto [end, ec] = std::to_chars(std::begin(digits), std::end(digits), bits, 16);
    return "nan:" + std::string(std::begin(digits), end);
}

std::optional<double> nan_from_text(DType dtype, std::string_view text) {
    const DType d = part_of(dtype);
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (!text.starts_with("nan:") || !is_float(d)) return std::nullopt;
    text.remove_prefix(4);
    std::uint64_t bits = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    const auto width = static_cast<unsigned>(8 * byte_size(d));
    if (ec != std::errc() || end != text.data() + text.size() || (width < 64 && bits >> width != 0)) return std::nullopt;
    const double v = load_element(d, reinterpret_cast<const std::byte*>(&bits)).number.real();
    return std::isnan(v) ? std::optional(v) : std::nullopt;
}

std::optional<double> float_from_digits(std::string_view s) {
    if (s == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (s == "-nan") return -std::numeric_limits<double>::quiet_NaN();
    if (s == "inf") return std::numeric_limits<double>::infinity();
    if (s == "-inf") return -std::numeric_limits<double>::infinity();
    double v = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (s.empty() || end != s.data() + s.size() || ec != std::errc()) return std::nullopt;
    return v;
}

}  // namespace jaxscope
