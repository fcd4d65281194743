#include "report/array_json.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace jaxscope {

namespace {

template <class T>
T read(const ArrayConst& a, std::int64_t i) {
    T v;
    std::memcpy(&v, a.data.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return v;
}

/// A small float kind from its bits: sign, exponent, mantissa, with the special values each kind has.
double small_float(DType d, unsigned bits) {
    const int m = info(d).mantissa_bits, e = info(d).exponent_bits;
    if (d == DType::F8E8M0FNU) return bits == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
    const unsigned sign = (bits >> (m + e)) & 1, exponent = (bits >> m) & ((1u << e) - 1), mantissa = bits & ((1u << m) - 1);
    const bool fnuz = d == DType::F8E4M3FNUZ || d == DType::F8E5M2FNUZ || d == DType::F8E4M3B11FNUZ;
    const bool ieee = d == DType::F16 || d == DType::BF16 || d == DType::F8E5M2 || d == DType::F8E3M4 || d == DType::F8E4M3;
    if (fnuz && sign && exponent == 0 && mantissa == 0) return std::nan("");
    if (ieee && exponent == (1u << e) - 1) return mantissa ? std::nan("") : (sign ? -INFINITY : INFINITY);
    if (d == DType::F8E4M3FN && exponent == 15 && mantissa == 7) return std::nan("");
    const int bias = d == DType::F8E4M3B11FNUZ ? 11 : (1 << (e - 1)) - 1 + (fnuz ? 1 : 0);
    const double value =
        exponent == 0 ? std::ldexp(mantissa, 1 - bias - m) : std::ldexp((1u << m) + mantissa, static_cast<int>(exponent) - bias - m);
    return sign ? -value : value;
}

/// Shape and dtype as they are shown: keys are their uint32 words along a last axis.
Dims shown_shape(const ArrayConst& a) {
    Dims shape = a.aval->shape;
    if (is_key(a.aval->dtype)) shape.push_back(byte_size(a.aval->dtype) / 4);
    return shape;
}

void write_number(JsonWriter& w, const ArrayConst& a, std::int64_t i) {
    const DType d = a.aval->dtype;
    const std::complex<double> v = element(a, i);
    if (is_complex(d)) {
        w.begin_array();
        w.value(v.real());
        w.value(v.imag());
        w.end_array();
    } else if (d == DType::Bool) {
        w.value(v.real() != 0);
    } else if (d == DType::U64) {
        w.value(static_cast<double>(read<std::uint64_t>(a, i)));
    } else if (d == DType::S64) {
        w.value(read<std::int64_t>(a, i));
    } else if (is_integer(d) || is_key(d)) {
        w.value(static_cast<std::int64_t>(v.real()));
    } else {
        w.value(v.real());
    }
}

void write_nested(JsonWriter& w, const ArrayConst& a, const Dims& shape, std::size_t axis, std::int64_t& next) {
    if (axis == shape.size()) return write_number(w, a, next++);
    w.begin_array();
    for (std::int64_t i = 0; i < shape[axis]; ++i) write_nested(w, a, shape, axis + 1, next);
    w.end_array();
}

void write_complex(JsonWriter& w, const char* key, std::complex<double> v, bool complex) {
    w.key(key);
    if (!complex) return w.value(v.real());
    w.begin_array();
    w.value(v.real());
    w.value(v.imag());
    w.end_array();
}

}  // namespace

std::complex<double> element(const ArrayConst& a, std::int64_t i) {
    switch (a.aval->dtype) {
        case DType::Bool:
        case DType::U2:
        case DType::U4:
        case DType::U8:
            return read<std::uint8_t>(a, i);
        case DType::S2:
        case DType::S4:
        case DType::S8:
            return read<std::int8_t>(a, i);
        case DType::S16:
            return read<std::int16_t>(a, i);
        case DType::U16:
            return read<std::uint16_t>(a, i);
        case DType::S32:
            return read<std::int32_t>(a, i);
        case DType::U32:
        case DType::KeyFry:
        case DType::KeyRbg:
        case DType::KeyUnsafeRbg:
            return read<std::uint32_t>(a, i);
        case DType::S64:
            return static_cast<double>(read<std::int64_t>(a, i));
        case DType::U64:
            return static_cast<double>(read<std::uint64_t>(a, i));
        case DType::F32:
            return read<float>(a, i);
        case DType::F64:
            return read<double>(a, i);
        case DType::C64:
            return {read<float>(a, 2 * i), read<float>(a, 2 * i + 1)};
        case DType::C128:
            return {read<double>(a, 2 * i), read<double>(a, 2 * i + 1)};
        case DType::F16:
        case DType::BF16:
            return small_float(a.aval->dtype, read<std::uint16_t>(a, i));
        case DType::Float0:
            return 0;
        default:
            return small_float(a.aval->dtype, read<std::uint8_t>(a, i));
    }
}

void write_array_fields(JsonWriter& w, const ArrayConst& a) {
    if (!a.known() || a.aval->dtype == DType::Float0) return;
    const Dims shape = shown_shape(a);
    const std::int64_t n = element_count(shape);
    const bool complex = is_complex(a.aval->dtype);
    if (n <= 128) {
        w.key("values");
        std::int64_t next = 0;
        return write_nested(w, a, shape, 0, next);
    }
    std::complex<double> sum = 0, wsum = 0;
    double abs_sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const std::complex<double> v = element(a, i);
        sum += v;
        abs_sum += std::abs(v);
        wsum += v * (static_cast<double>((i * 7919) % 1009) / 1009);
    }
    write_complex(w, "sum", sum, complex);
    w.key("abs_sum");
    w.value(abs_sum);
    write_complex(w, "wsum", wsum, complex);
    w.key("first16");
    w.begin_array();
    for (std::int64_t i = 0; i < 16; ++i) write_number(w, a, i);
    w.end_array();
}

}  // namespace jaxscope
