// SPDX-License-Identifier: Apache-2.0
#include "ir/types/literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/intern.h"

namespace jaxscope {

namespace {

struct LiteralHash {
    std::size_t operator()(const Literal& l) const {
        std::size_t h = hash_mix(l.aval.id(), static_cast<std::size_t>(l.integer));
        h = hash_mix(hash_mix(h, l.text.id()), std::bit_cast<std::uint64_t>(l.real));
        return hash_mix(h, std::bit_cast<std::uint64_t>(l.imag));
    }
};
InternTable<Literal, LiteralHash>& literals() {
    static auto& t = *[] {
        auto* made = new InternTable<Literal, LiteralHash>;
        made->intern(Literal{});
        return made;
    }();
    return t;
}

/// Largest finite number of a float dtype. Kinds without infinities (fn) use one more mantissa step at the top exponent.
double largest(DType d) {
    switch (d) {
        case DType::F4E2M1FN:
            return 6.0;
        case DType::F8E3M4:
            return 15.5;
        case DType::F8E4M3:
            return 240.0;
        case DType::F8E4M3B11FNUZ:
            return 30.0;
        case DType::F8E4M3FN:
            return 448.0;
        case DType::F8E4M3FNUZ:
            return 240.0;
        case DType::F8E5M2:
        case DType::F8E5M2FNUZ:
            return 57344.0;
        case DType::F8E8M0FNU:
            return std::ldexp(1.0, 127);
        case DType::BF16:
            return std::ldexp(255.0, 120);
        case DType::F16:
            return 65504.0;
        default:
            return std::numeric_limits<double>::max();
    }
}
/// Exponent of the smallest normal number.
int min_exponent(DType d) {
    switch (d) {
        case DType::F4E2M1FN:
            return 0;
        case DType::F8E3M4:
            return -2;
        case DType::F8E4M3:
        case DType::F8E4M3FN:
            return -6;
        case DType::F8E4M3B11FNUZ:
            return -10;
        case DType::F8E4M3FNUZ:
            return -7;
        case DType::F8E5M2:
        case DType::F16:
            return -14;
        case DType::F8E5M2FNUZ:
            return -15;
        case DType::F8E8M0FNU:
            return -127;
        default:
            return -126;
    }
}
bool has_infinity(DType d) { return d == DType::F8E3M4 || d == DType::F8E4M3 || d == DType::F8E5M2 || d == DType::BF16 || d == DType::F16; }

std::string float_text(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    // The shortest digits that read back as the same double, in Python's layout.
    char buf[64];
    *std::to_chars(buf, buf + sizeof buf, v, std::chars_format::scientific).ptr = '\0';
    std::string s(buf);
    const std::size_t e = s.find('e');
    const int exponent = std::stoi(s.substr(e + 1));
    std::string sign = s[0] == '-' ? "-" : "";
    std::string digits;
    for (const char c : s.substr(0, e))
        if (c >= '0' && c <= '9') digits += c;
    const int n = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) {
        std::string m = digits.substr(0, 1);
        if (n > 1) m += "." + digits.substr(1);
        std::snprintf(buf, sizeof buf, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
        return sign + m + buf;
    }
    if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    if (n <= exponent + 1) return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - n), '0') + ".0";
    return sign + digits.substr(0, static_cast<std::size_t>(exponent) + 1) + "." + digits.substr(static_cast<std::size_t>(exponent) + 1);
}

Aval scalar_of(AvalRef aval) {
    Aval a = *aval;
    a.shape.clear();
    return a;
}

}  // namespace

bool operator==(const Literal& a, const Literal& b) {
    const auto bits = [](double v) { return std::bit_cast<std::uint64_t>(v); };
    return a.aval == b.aval && a.text == b.text && a.integer == b.integer && bits(a.real) == bits(b.real) && bits(a.imag) == bits(b.imag);
}
LiteralRef::LiteralRef(const Literal& literal) : id_(literals().intern(literal)) {}
const Literal& LiteralRef::operator*() const { return literals().get(id_); }

double round_to(DType dtype, double value) {
    if (dtype == DType::F64 || dtype == DType::C128 || !std::isfinite(value) || value == 0) return value;
    if (dtype == DType::F32 || dtype == DType::C64) return static_cast<double>(static_cast<float>(value));
    if (!is_float(dtype)) return value;
    int exponent = 0;
    std::frexp(value, &exponent);  // value = m * 2^exponent, 0.5 <= |m| < 1
    const int step = std::max(exponent - 1, min_exponent(dtype)) - info(dtype).mantissa_bits;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
    if (std::abs(rounded) <= largest(dtype)) return rounded;
    if (has_infinity(dtype)) return std::copysign(std::numeric_limits<double>::infinity(), value);
    return dtype == DType::F4E2M1FN ? std::copysign(largest(dtype), value) : std::numeric_limits<double>::quiet_NaN();
}

LiteralRef make_literal(AvalRef aval, double value) {
    Literal l;
    l.aval = scalar_of(aval);
    if (is_inexact(aval->dtype))
        l.real = round_to(aval->dtype, value);
    else
        l.integer = static_cast<std::int64_t>(value);
    return l;
}
LiteralRef make_literal(AvalRef aval, std::int64_t value) {
    Literal l;
    l.aval = scalar_of(aval);
    if (is_inexact(aval->dtype))
        l.real = round_to(aval->dtype, static_cast<double>(value));
    else
        l.integer = value;
    return l;
}
LiteralRef make_literal(AvalRef aval, std::complex<double> value) {
    Literal l;
    l.aval = scalar_of(aval);
    l.real = round_to(aval->dtype, value.real());
    l.imag = round_to(aval->dtype, value.imag());
    return l;
}

std::string python_float(double value) { return float_text(value); }

std::string value_text(const Literal& literal) {
    if (!literal.text.empty()) return literal.text.str();
    const DType d = literal.aval->dtype;
    if (d == DType::Float0) return "(b'',)";
    if (d == DType::Bool) return literal.integer ? "True" : "False";
    if (d == DType::U64) return std::to_string(static_cast<std::uint64_t>(literal.integer));
    if (is_integer(d)) return std::to_string(literal.integer);
    if (is_float(d)) return float_text(literal.real);
    if (is_complex(d)) {
        // Python writes (1+2j): integers without ".0", the real part left out only when it is +0.
        const auto part = [&](double v) {
            std::string s = float_text(v);
            if (s.size() > 2 && s.ends_with(".0")) s.resize(s.size() - 2);
            return s;
        };
        const std::string im = part(literal.imag);
        if (literal.real == 0 && !std::signbit(literal.real)) return im + "j";
        return "(" + part(literal.real) + (im[0] == '-' ? "" : "+") + im + "j)";
    }
    return std::to_string(literal.integer);
}

}  // namespace jaxscope
