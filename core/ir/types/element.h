// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "ir/types/dtype.h"

namespace jaxscope {

/// One element of a host buffer as a C++ number. Unsigned 64-bit values come as their two's complement, keys and float0 as integers.
struct Element {
    std::int64_t integer = 0;     ///< of bool, integers, keys (one word)
    std::complex<double> number;  ///< of floats (real part) and complex
};

/// Reads the element of `dtype` that starts at `p` (layout: ArrayConst).
Element load_element(DType dtype, const std::byte* p);
/// Writes an element at `p`. Floats round to nearest even, integers keep their low bits, as NumPy's `astype` does.
void store_element(DType dtype, std::byte* p, const Element& e);

/// Bits that an element has in XLA; of a complex one, those of a part.
int bit_width(DType dtype);

/// Bits of a float of at most 16 bits (BF16, F16, the F8 kinds, F4) for a number, and back.
std::uint16_t small_float_bits(DType dtype, double value);
double small_float_value(DType dtype, std::uint16_t bits);

}  // namespace jaxscope
