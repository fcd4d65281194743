// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>

#include "jit/kernels/products/dot_core.h"

// Matrix products of the types that oneDNN has none for: float64, complex numbers, 32-bit integers. Both operands are packed into panels
// that one tile of the result reads in order (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication").
namespace jaxscope::exec {

struct ProductWish {
    bool add = false;        ///< to what stands there
    bool negate = false;     ///< the product's negative
    bool conjugate = false;  ///< the left operand
};

/// Scratch memory of packed_product for a product of this size, or a part of it.
template <class T>
std::int64_t packed_bytes(const DotCore& core);

/// T is float, double, one of their complex numbers, or std::uint32_t. Any strides; `scratch` is aligned to 64 bytes.
template <class T>
void packed_product(const DotCore& core, const T* lhs, const T* rhs, T* out, const ProductWish& wish, void* scratch);

}  // namespace jaxscope::exec
