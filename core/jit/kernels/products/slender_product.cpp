// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/slender_product.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>

#include "jit/kernels/products/number_parts.h"
#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kFew = 4;  ///< columns

}  // namespace

namespace slender_kernels {
#define JAXSCOPE_KERNELS "jit/kernels/products/slender_kernels.inl"
#include "jit/kernels/per_processor.inc"
}  // namespace slender_kernels

namespace {

template <class T>
void tall(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    JAXSCOPE_ON_THIS_PROCESSOR(slender_kernels, product<T>(c, lhs, rhs, out, add));
}

}  // namespace

bool is_slender(const DotCore& c) {
    constexpr std::int64_t kWorthVectors = 8, kWorthSums = 32;
    return std::min(c.m, c.n) <= kFew && (std::max(c.m, c.n) >= kWorthVectors || c.k >= kWorthSums);
}

template <class T>
void slender_product(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    if (c.n <= kFew) return tall(c, lhs, rhs, out, add);
    tall(c.transposed(), rhs, lhs, out, add);
}

template void slender_product<float>(const DotCore&, const float*, const float*, float*, bool);
template void slender_product<double>(const DotCore&, const double*, const double*, double*, bool);
template void slender_product<std::complex<float>>(const DotCore&, const std::complex<float>*, const std::complex<float>*,
                                                   std::complex<float>*, bool);
template void slender_product<std::complex<double>>(const DotCore&, const std::complex<double>*, const std::complex<double>*,
                                                    std::complex<double>*, bool);
template void slender_product<std::uint32_t>(const DotCore&, const std::uint32_t*, const std::uint32_t*, std::uint32_t*, bool);
template void slender_product<std::uint64_t>(const DotCore&, const std::uint64_t*, const std::uint64_t*, std::uint64_t*, bool);

}  // namespace jaxscope::exec
