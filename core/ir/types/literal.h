// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>
#include <string>

#include "ir/types/aval.h"

namespace jaxscope {

/// A scalar constant standing in an equation (`2.0:f32[]`). The number is kept as wide as its kind allows.
struct Literal {
    AvalRef aval;
    std::int64_t integer = 0;   ///< bool, signed and unsigned (two's complement) values
    double real = 0, imag = 0;  ///< floats (already rounded to the dtype) and complex
    Sym text = {};              ///< how it was written where that isn't its value's text: JAX keeps Python's floats (`1e-05:f32[]`)
    friend bool operator==(const Literal& a, const Literal& b);  ///< by bits: NaN equals NaN, 0.0 differs from -0.0
};

/// An interned literal, 4 bytes.
class LiteralRef {
public:
    LiteralRef() = default;
    LiteralRef(const Literal& literal);  // NOLINT(google-explicit-constructor)
    const Literal& operator*() const;
    const Literal* operator->() const { return &**this; }
    std::uint32_t id() const { return id_; }
    static LiteralRef from_id(std::uint32_t id) {
        LiteralRef r;
        r.id_ = id;
        return r;
    }
    friend bool operator==(LiteralRef a, LiteralRef b) { return a.id_ == b.id_; }

private:
    std::uint32_t id_ = 0;
};

/// A literal of scalar aval `aval` (its shape is dropped) with `value` rounded to its dtype.
LiteralRef make_literal(AvalRef aval, double value);
LiteralRef make_literal(AvalRef aval, std::int64_t value);
LiteralRef make_literal(AvalRef aval, std::complex<double> value);
/// `2.0`, `9.999999974752427e-07` (1e-6 as an f32), `True`, `-inf`, `(1+2j)`: the number as JAX's printer shows it, which makes it a
/// Python number first; without the aval.
std::string value_text(const Literal& literal);
/// Python's repr of a float: the shortest digits that read back as the same double.
std::string python_float(double value);

/// `value` rounded to the nearest representable number of a float dtype (ties to even); infinity and NaN pass.
double round_to(DType dtype, double value);

}  // namespace jaxscope
