// SPDX-License-Identifier: Apache-2.0
#include "ir/types/element.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ir/types/literal.h"

namespace jaxscope {

namespace {

/// How a small float kind encodes what is no plain number.
enum class Special : std::uint8_t {
    Ieee,        ///< top exponent: infinities and NaN
    NanAllOnes,  ///< "fn": all ones is NaN, no infinities
    NanMinus0,   ///< "fnuz": only -0's pattern is NaN
    None,        ///< f4: every pattern is a number
};
struct Layout {
    int exponent, mantissa, bias;
    Special special;
};
Layout layout(DType d) {
    switch (d) {
        case DType::BF16:
            return {8, 7, 127, Special::Ieee};
        case DType::F16:
            return {5, 10, 15, Special::Ieee};
        case DType::F8E3M4:
            return {3, 4, 3, Special::Ieee};
        case DType::F8E4M3:
            return {4, 3, 7, Special::Ieee};
        case DType::F8E5M2:
            return {5, 2, 15, Special::Ieee};
        case DType::F8E4M3FN:
            return {4, 3, 7, Special::NanAllOnes};
        case DType::F8E4M3B11FNUZ:
            return {4, 3, 11, Special::NanMinus0};
        case DType::F8E4M3FNUZ:
            return {4, 3, 8, Special::NanMinus0};
        case DType::F8E5M2FNUZ:
            return {5, 2, 16, Special::NanMinus0};
        case DType::F4E2M1FN:
            return {2, 1, 1, Special::None};
        default:
            JAXSCOPE_ASSERT(!"a small float");
    }
}

template <class T>
T read(const std::byte* p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
void write(std::byte* p, T v) {
    std::memcpy(p, &v, sizeof v);
}
/// NaNs keep their sign and their payload, signalling ones too: conversions of the machine's would quieten those.
double nan_of(bool negative, std::uint64_t payload, int payload_bits) {
    return std::bit_cast<double>((std::uint64_t{negative} << 63) | (std::uint64_t{0x7FF} << 52) | (payload << (52 - payload_bits)));
}
/// The first bits of a NaN's payload; those of the usual NaN where they are all zero, which would be an infinity.
std::uint64_t payload_of(double nan, int payload_bits) {
    const std::uint64_t payload = (std::bit_cast<std::uint64_t>(nan) & ((std::uint64_t{1} << 52) - 1)) >> (52 - payload_bits);
    return payload != 0 ? payload : std::uint64_t{1} << (payload_bits - 1);
}
double read_float(const std::byte* p) {
    const auto bits = read<std::uint32_t>(p);
    const auto v = std::bit_cast<float>(bits);
    return std::isnan(v) ? nan_of(bits >> 31 != 0, bits & 0x7FFFFF, 23) : static_cast<double>(v);
}
void write_float(std::byte* p, double v) {
    if (!std::isnan(v)) return write(p, static_cast<float>(v));
    write(p, static_cast<std::uint32_t>((std::signbit(v) ? 0xFF800000U : 0x7F800000U) | payload_of(v, 23)));
}
/// float0 takes no bytes and a key is read word by word.
std::int64_t load_integer(DType d, const std::byte* p) {
    switch (d) {
        case DType::Bool:
        case DType::U2:
        case DType::U4:
        case DType::U8:
            return read<std::uint8_t>(p);
        case DType::S2:
        case DType::S4:
        case DType::S8:
            return read<std::int8_t>(p);
        case DType::S16:
            return read<std::int16_t>(p);
        case DType::U16:
            return read<std::uint16_t>(p);
        case DType::S32:
            return read<std::int32_t>(p);
        case DType::U32:
        case DType::KeyFry:
        case DType::KeyRbg:
        case DType::KeyUnsafeRbg:
            return read<std::uint32_t>(p);
        case DType::S64:
        case DType::U64:
            return read<std::int64_t>(p);
        default:
            return 0;
    }
}
void store_integer(DType d, std::byte* p, std::int64_t v) {
    const auto low = static_cast<std::uint64_t>(v);
    switch (d) {
        case DType::Bool:
            return write<std::uint8_t>(p, v != 0);
        case DType::S2:  // sign-extended from the low bits, as ml_dtypes keeps it
            return write<std::int8_t>(p, static_cast<std::int8_t>(static_cast<std::int8_t>(low << 6) >> 6));
        case DType::S4:
            return write<std::int8_t>(p, static_cast<std::int8_t>(static_cast<std::int8_t>(low << 4) >> 4));
        case DType::U2:
            return write<std::uint8_t>(p, low & 3);
        case DType::U4:
            return write<std::uint8_t>(p, low & 15);
        case DType::S8:
        case DType::U8:
            return write(p, static_cast<std::uint8_t>(low));
        case DType::S16:
        case DType::U16:
            return write(p, static_cast<std::uint16_t>(low));
        case DType::S32:
        case DType::U32:
        case DType::KeyFry:
        case DType::KeyRbg:
        case DType::KeyUnsafeRbg:
            return write(p, static_cast<std::uint32_t>(low));
        case DType::S64:
        case DType::U64:
            return write(p, low);
        default:
            return;
    }
}

}  // namespace

double small_float_value(DType d, std::uint16_t bits) {
    if (d == DType::F8E8M0FNU) return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
    const Layout l = layout(d);
    const int mantissa_mask = (1 << l.mantissa) - 1, top = (1 << l.exponent) - 1;
    const int mantissa = bits & mantissa_mask, exponent = (bits >> l.mantissa) & top;
    const double sign = (bits >> (l.mantissa + l.exponent)) & 1 ? -1.0 : 1.0;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (l.special == Special::NanMinus0 && sign < 0 && exponent == 0 && mantissa == 0) return nan;
    if (l.special == Special::NanAllOnes && exponent == top && mantissa == mantissa_mask) return std::copysign(nan, sign);
    if (l.special == Special::Ieee && exponent == top)
        return mantissa ? nan_of(sign < 0, static_cast<std::uint64_t>(mantissa), l.mantissa)
                        : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - l.bias - l.mantissa);
    return sign * std::ldexp(mantissa + (1 << l.mantissa), exponent - l.bias - l.mantissa);
}

std::uint16_t small_float_bits(DType d, double value) {
    const double v = round_to(d, value);
    if (d == DType::F8E8M0FNU) return std::isfinite(v) && v > 0 ? static_cast<std::uint16_t>(std::ilogb(v) + 127) : 0xFF;
    const Layout l = layout(d);
    const int top = (1 << l.exponent) - 1;
    const int sign = std::signbit(v) ? 1 << (l.exponent + l.mantissa) : 0;
    const bool no_infinity = l.special != Special::Ieee;
    if (std::isnan(v) || (std::isinf(v) && no_infinity)) {
        if (l.special == Special::NanMinus0) return static_cast<std::uint16_t>(1 << (l.exponent + l.mantissa));
        if (l.special == Special::NanAllOnes) return static_cast<std::uint16_t>(sign | ((1 << (l.exponent + l.mantissa)) - 1));
        if (l.special == Special::None) {  // no NaN: -0 stands for it, the largest number for an infinity
            return static_cast<std::uint16_t>(std::isnan(v) ? 1 << (l.exponent + l.mantissa)
                                                            : sign | ((1 << (l.exponent + l.mantissa)) - 1));
        }
        return static_cast<std::uint16_t>(sign | (top << l.mantissa) |
                                          static_cast<int>(payload_of(std::isnan(v) ? v : nan_of(false, 0, 1), l.mantissa)));
    }
    if (std::isinf(v)) return static_cast<std::uint16_t>(sign | (top << l.mantissa));
    if (v == 0) return static_cast<std::uint16_t>(l.special == Special::NanMinus0 ? 0 : sign);
    const double a = std::abs(v);
    const int exponent = std::max(std::ilogb(a), 1 - l.bias);
    const int scaled = static_cast<int>(std::ldexp(a, l.mantissa - exponent));  // exact: v is rounded already
    const int biased = scaled >> l.mantissa ? exponent + l.bias : 0;
    return static_cast<std::uint16_t>(sign | (biased << l.mantissa) | (scaled & ((1 << l.mantissa) - 1)));
}

Element load_element(DType d, const std::byte* p) {
    Element e;
    if (d == DType::F32) {
        e.number = read_float(p);
    } else if (d == DType::F64) {
        e.number = read<double>(p);
    } else if (d == DType::C64) {
        e.number = {read_float(p), read_float(p + 4)};
    } else if (d == DType::C128) {
        e.number = {read<double>(p), read<double>(p + 8)};
    } else if (is_float(d)) {
        e.number = small_float_value(d, byte_size(d) == 2 ? read<std::uint16_t>(p) : read<std::uint8_t>(p));
    } else {
        e.integer = load_integer(d, p);
    }
    return e;
}

void store_element(DType d, std::byte* p, const Element& e) {
    if (d == DType::F32) return write_float(p, e.number.real());
    if (d == DType::F64) return write(p, e.number.real());
    if (d == DType::C64) {
        write_float(p, e.number.real());
        return write_float(p + 4, e.number.imag());
    }
    if (d == DType::C128) {
        write(p, e.number.real());
        return write(p + 8, e.number.imag());
    }
    if (!is_float(d)) return store_integer(d, p, e.integer);
    const std::uint16_t bits = small_float_bits(d, e.number.real());
    if (byte_size(d) == 2) return write(p, bits);
    write(p, static_cast<std::uint8_t>(bits));
}

int bit_width(DType dtype) {
    switch (dtype) {
        case DType::Bool:
            return 1;
        case DType::S2:
        case DType::U2:
            return 2;
        case DType::S4:
        case DType::U4:
            return 4;
        default:
            return 8 * info(dtype).bytes / (is_complex(dtype) ? 2 : 1);
    }
}

}  // namespace jaxscope
