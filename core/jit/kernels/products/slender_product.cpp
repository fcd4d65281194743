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

constexpr std::int64_t kFew = 4;
constexpr int kVectors = 2;

/// Numbers side by side, real and imaginary parts apart.
template <class T>
struct Lanes {
    using R = RealOf<T>;
    static constexpr int kWidth = 64 / static_cast<int>(sizeof(R)), kCount = kVectors * kWidth, kParts = Parts<T>::kParts;
    typedef R Vector __attribute__((vector_size(64)));
    Vector v[kParts][kVectors];

    JAXSCOPE_INLINED static Lanes zero() {
        Lanes out;
        for (int p = 0; p < kParts; ++p)
            for (int i = 0; i < kVectors; ++i) out.v[p][i] = Vector{};
        return out;
    }
    /// The first `count` of kCount numbers, zeros behind them.
    JAXSCOPE_INLINED static Lanes load(const T* from, std::int64_t stride, std::int64_t count) {
        Lanes out;
        if (kParts == 1 && stride == 1 && count == kCount) {
            std::memcpy(&out.v, from, sizeof(out.v));
            return out;
        }
        alignas(64) R parts[kParts][kCount] = {};
        if (count == kCount)
            for (int i = 0; i < kCount; ++i) put(parts, i, from[i * stride]);
        else
            for (int i = 0; i < static_cast<int>(count); ++i) put(parts, i, from[i * stride]);
        std::memcpy(&out.v, parts, sizeof(out.v));
        return out;
    }
    JAXSCOPE_INLINED static void put(R (&parts)[kParts][kCount], int i, T v) {
        if constexpr (kParts == 2)
            parts[0][i] = v.real(), parts[1][i] = v.imag();
        else
            parts[0][i] = v;
    }
    JAXSCOPE_INLINED void store(T* to, std::int64_t stride, std::int64_t count, bool add) const {
        alignas(64) R parts[kParts][kCount];
        std::memcpy(parts, &v, sizeof(v));
        for (int i = 0; i < static_cast<int>(count); ++i) {
            const T value = number(parts, i);
            to[i * stride] = add ? static_cast<T>(to[i * stride] + value) : value;
        }
    }
    JAXSCOPE_INLINED static T number(const R (&parts)[kParts][kCount], int i) {
        if constexpr (kParts == 2)
            return {parts[0][i], parts[1][i]};
        else
            return parts[0][i];
    }
    JAXSCOPE_INLINED void add_product(const Lanes& a, const Lanes& b) {
        for (int i = 0; i < kVectors; ++i) {
            v[0][i] += a.v[0][i] * b.v[0][i];
            if constexpr (kParts == 2) {
                v[0][i] -= a.v[1][i] * b.v[1][i];
                v[1][i] += a.v[0][i] * b.v[1][i];
                v[1][i] += a.v[1][i] * b.v[0][i];
            }
        }
    }
    JAXSCOPE_INLINED void add_product(const Lanes& a, T b) {
        for (int i = 0; i < kVectors; ++i) {
            if constexpr (kParts == 2) {
                v[0][i] += a.v[0][i] * b.real();
                v[0][i] -= a.v[1][i] * b.imag();
                v[1][i] += a.v[0][i] * b.imag();
                v[1][i] += a.v[1][i] * b.real();
            } else {
                v[0][i] += a.v[0][i] * b;
            }
        }
    }
    JAXSCOPE_INLINED T sum() const {
        alignas(64) R parts[kParts][kCount];
        std::memcpy(parts, &v, sizeof(v));
        for (int half = kCount / 2; half > 0; half /= 2)
            for (int p = 0; p < kParts; ++p)
                for (int i = 0; i < half; ++i) parts[p][i] += parts[p][i + half];
        return number(parts, 0);
    }
};

/// Rows of the left operand side by side: each number of the right one is multiplied by a column of them.
template <class T, int kColumns>
JAXSCOPE_INLINED void by_columns(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    using L = Lanes<T>;
    for (std::int64_t m = 0; m < c.m; m += L::kCount) {
        const std::int64_t rows = std::min<std::int64_t>(L::kCount, c.m - m);
        L sums[kColumns];
        for (L& s : sums) s = L::zero();
        for (std::int64_t k = 0; k < c.k; ++k) {
            const L a = L::load(lhs + m * c.lhs_m + k * c.lhs_k, c.lhs_m, rows);
            for (int n = 0; n < kColumns; ++n) sums[n].add_product(a, rhs[k * c.rhs_k + n * c.rhs_n]);
        }
        for (int n = 0; n < kColumns; ++n) sums[n].store(out + m * c.out_m + n * c.out_n, c.out_m, rows, add);
    }
}
/// Along the summed dimension, row by row.
template <class T, int kColumns>
JAXSCOPE_INLINED void by_rows(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    using L = Lanes<T>;
    for (std::int64_t m = 0; m < c.m; ++m) {
        L sums[kColumns];
        for (L& s : sums) s = L::zero();
        for (std::int64_t k = 0; k < c.k; k += L::kCount) {
            const std::int64_t count = std::min<std::int64_t>(L::kCount, c.k - k);
            const L a = L::load(lhs + m * c.lhs_m + k * c.lhs_k, c.lhs_k, count);
            for (int n = 0; n < kColumns; ++n) sums[n].add_product(a, L::load(rhs + k * c.rhs_k + n * c.rhs_n, c.rhs_k, count));
        }
        for (int n = 0; n < kColumns; ++n) {
            T& to = out[m * c.out_m + n * c.out_n];
            to = add ? static_cast<T>(to + sums[n].sum()) : sums[n].sum();
        }
    }
}
template <class T, int kColumns>
JAXSCOPE_INLINED void columns(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    const bool along = c.k >= Lanes<T>::kCount && (c.lhs_m != 1 || c.m < Lanes<T>::kCount);
    along ? by_rows<T, kColumns>(c, lhs, rhs, out, add) : by_columns<T, kColumns>(c, lhs, rhs, out, add);
}
template <class T>
JAXSCOPE_INLINED void product(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    switch (c.n) {
        case 1:
            return columns<T, 1>(c, lhs, rhs, out, add);
        case 2:
            return columns<T, 2>(c, lhs, rhs, out, add);
        case 3:
            return columns<T, 3>(c, lhs, rhs, out, add);
        case kFew:
            return columns<T, kFew>(c, lhs, rhs, out, add);
        default:
            return;
    }
}

#define JAXSCOPE_SLENDER(T) \
    JAXSCOPE_WIDE void tall(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) { product<T>(c, lhs, rhs, out, add); }
JAXSCOPE_SLENDER(float)
JAXSCOPE_SLENDER(double)
JAXSCOPE_SLENDER(std::complex<float>)
JAXSCOPE_SLENDER(std::complex<double>)
JAXSCOPE_SLENDER(std::uint32_t)
JAXSCOPE_SLENDER(std::uint64_t)
#undef JAXSCOPE_SLENDER

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
