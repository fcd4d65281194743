// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/small_product.h"

#include <complex>
#include <cstdint>

#include "jit/kernels/products/number_parts.h"
#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

/// Rows of the result, and `kVectors` vectors of its columns, which stay in registers while the summed dimension is gone through. Complex
/// numbers lie there as in memory, multiplied by the real and by the imaginary parts of the left operand apart: only the sums change
/// places.
template <class T, int kBytes, int kVectors, int kRows>
struct SmallTile {
    using R = RealOf<T>;
    static constexpr int kParts = Parts<T>::kParts, kLanes = kBytes / static_cast<int>(sizeof(R)), kColumns = kVectors * kLanes / kParts;
    typedef R Vector __attribute__((vector_size(kBytes), aligned(alignof(R)), may_alias));

    JAXSCOPE_INLINED static void run(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
        Vector sums[kParts][kRows][kVectors] = {};
        for (std::int64_t k = 0; k < c.k; ++k) {
            const auto* b = reinterpret_cast<const Vector*>(rhs + k * c.rhs_k);
            for (int i = 0; i < kRows; ++i) {
                const auto* a = reinterpret_cast<const R*>(lhs + i * c.lhs_m + k * c.lhs_k);
                for (int p = 0; p < kParts; ++p)
                    for (int v = 0; v < kVectors; ++v) sums[p][i][v] += a[p] * b[v];
            }
        }
        for (int i = 0; i < kRows; ++i) store(sums, i, out + i * c.out_m, add);
    }
    JAXSCOPE_INLINED static void store(const Vector (&sums)[kParts][kRows][kVectors], int row, T* out, bool add) {
        auto* to = reinterpret_cast<Vector*>(out);
        for (int v = 0; v < kVectors; ++v) {
            Vector sum = sums[0][row][v];
            if constexpr (kParts == 2) {
                const Vector& turned = sums[1][row][v];
                for (int l = 0; l < kLanes; l += 2) sum[l] -= turned[l + 1], sum[l + 1] += turned[l];
            }
            to[v] = add ? to[v] + sum : sum;
        }
    }
};
/// All rows of some columns.
template <class T, int kBytes, int kVectors>
JAXSCOPE_INLINED void rows(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    constexpr int kRows = 4 / Parts<T>::kParts;
    std::int64_t m = 0;
    for (; m + kRows <= c.m; m += kRows) SmallTile<T, kBytes, kVectors, kRows>::run(c, lhs + m * c.lhs_m, rhs, out + m * c.out_m, add);
    // Side by side, as sums of their own: alone each would wait for the one before.
    lhs += m * c.lhs_m, out += m * c.out_m;
    if constexpr (kRows > 3)
        if (c.m - m == 3) return SmallTile<T, kBytes, kVectors, 3>::run(c, lhs, rhs, out, add);
    if constexpr (kRows > 2)
        if (c.m - m == 2) return SmallTile<T, kBytes, kVectors, 2>::run(c, lhs, rhs, out, add);
    if (c.m - m == 1) SmallTile<T, kBytes, kVectors, 1>::run(c, lhs, rhs, out, add);
}
/// The widest vectors first, then what is left.
template <class T>
JAXSCOPE_INLINED void in_rows(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    constexpr int kBytes = 32, kLanes = kBytes / static_cast<int>(sizeof(T));
    std::int64_t n = 0;
    for (; n + 2 * kLanes <= c.n; n += 2 * kLanes) rows<T, kBytes, 2>(c, lhs, rhs + n, out + n, add);
    if (n + kLanes <= c.n) rows<T, kBytes, 1>(c, lhs, rhs + n, out + n, add), n += kLanes;
    if (n + kLanes / 2 <= c.n) rows<T, kBytes / 2, 1>(c, lhs, rhs + n, out + n, add), n += kLanes / 2;
    constexpr int kOne = static_cast<int>(sizeof(T));
    if (c.n - n == 3) return rows<T, kOne, 3>(c, lhs, rhs + n, out + n, add);
    if (c.n - n == 2) return rows<T, kOne, 2>(c, lhs, rhs + n, out + n, add);
    for (; n < c.n; ++n) rows<T, kOne, 1>(c, lhs, rhs + n, out + n, add);
}

template <class T>
JAXSCOPE_INLINED T joined(T sum, T a, T b) {
    return sum + a * b;
}
/// Without the second look at NaNs that the language wants: as XLA multiplies.
template <class R>
JAXSCOPE_INLINED std::complex<R> joined(std::complex<R> sum, std::complex<R> a, std::complex<R> b) {
    return {sum.real() + (a.real() * b.real() - a.imag() * b.imag()), sum.imag() + (a.real() * b.imag() + a.imag() * b.real())};
}
/// Rows of the right operand are added up, so that the inner loop runs along the result.
template <class T>
JAXSCOPE_INLINED void any_strides(const DotCore c, const T* a, const T* b, T* out, bool add) {
    for (std::int64_t m = 0; m < c.m; ++m) {
        T* row = out + m * c.out_m;
        if (!add)
            for (std::int64_t n = 0; n < c.n; ++n) row[n * c.out_n] = T(0);
        for (std::int64_t k = 0; k < c.k; ++k) {
            const T x = a[m * c.lhs_m + k * c.lhs_k];
            const T* right = b + k * c.rhs_k;
            if (c.out_n == 1 && c.rhs_n == 1)
                for (std::int64_t n = 0; n < c.n; ++n) row[n] = joined(row[n], x, right[n]);
            else
                for (std::int64_t n = 0; n < c.n; ++n) row[n * c.out_n] = joined(row[n * c.out_n], x, right[n * c.rhs_n]);
        }
    }
}

// Every type that products are computed in.
#define JAXSCOPE_NUMBERS(F) F(float) F(double) F(std::complex<float>) F(std::complex<double>) F(std::uint32_t) F(std::uint64_t)

#define JAXSCOPE_WIDE_PRODUCTS(T)                                                                                                    \
    JAXSCOPE_WIDE void small(const DotCore& c, const T* lhs, const T* rhs, T out[], bool add) { in_rows<T>(c, lhs, rhs, out, add); } \
    JAXSCOPE_WIDE void plain(const DotCore& c, const T* lhs, const T* rhs, T out[], bool add) { any_strides<T>(c, lhs, rhs, out, add); }
JAXSCOPE_NUMBERS(JAXSCOPE_WIDE_PRODUCTS)
#undef JAXSCOPE_WIDE_PRODUCTS

}  // namespace

bool lies_in_rows(const DotCore& c) { return (c.rhs_n == 1 && c.out_n == 1) || (c.lhs_m == 1 && c.out_m == 1); }

template <class T>
void small_product(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    if (c.rhs_n == 1 && c.out_n == 1) return small(c, lhs, rhs, out, add);
    small(c.transposed(), rhs, lhs, out, add);
}
template <class T>
void plain_product(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    if (c.out_n == 1 || c.out_m != 1) return plain(c, lhs, rhs, out, add);
    plain(c.transposed(), rhs, lhs, out, add);
}

#define JAXSCOPE_PRODUCTS(T)                                                           \
    template void small_product<T>(const DotCore&, const T*, const T*, T out[], bool); \
    template void plain_product<T>(const DotCore&, const T*, const T*, T out[], bool);
JAXSCOPE_NUMBERS(JAXSCOPE_PRODUCTS)
#undef JAXSCOPE_PRODUCTS
#undef JAXSCOPE_NUMBERS

}  // namespace jaxscope::exec
