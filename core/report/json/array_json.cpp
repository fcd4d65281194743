// SPDX-License-Identifier: Apache-2.0
#include "report/json/array_json.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

template <class T>
T read(const ArrayConst& a, std::int64_t i) {
    T v;
    std::memcpy(&v, a.data.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return v;
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
    const DType d = a.aval->dtype;
    if (d == DType::Float0) return 0;
    // A key's elements are its words.
    const DType stored = is_key(d) ? DType::U32 : d;
    const Element e = load_element(stored, a.data.data() + i * byte_size(stored));
    return is_inexact(stored) ? e.number : std::complex<double>(static_cast<double>(e.integer));
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
