#include "io/number_range.h"

#include <limits>

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

std::optional<double> float_from_digits(std::string_view s) {
    if (s == "nan" || s == "-nan") return std::numeric_limits<double>::quiet_NaN();
    if (s == "inf") return std::numeric_limits<double>::infinity();
    if (s == "-inf") return -std::numeric_limits<double>::infinity();
    double v = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (s.empty() || end != s.data() + s.size() || ec != std::errc()) return std::nullopt;
    return v;
}

}  // namespace jaxscope
