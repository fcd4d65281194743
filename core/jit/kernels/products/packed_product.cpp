// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/packed_product.h"

#include <algorithm>
#include <complex>

#include "base/checked.h"
#include "jit/kernels/products/number_parts.h"
#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

/// A tile of the result: rows, and columns as vectors of `kBytes`.
template <class R, int kParts, int kRows, int kVectors, int kBytes>
struct Tile {
    static constexpr int kLanes = kBytes / static_cast<int>(sizeof(R)), kColumns = kVectors * kLanes;
    typedef R Vector __attribute__((vector_size(kBytes), aligned(alignof(R)), may_alias));

    JAXSCOPE_INLINED static void store(const Vector (&sums)[kRows][kVectors], R* out) {
        for (int i = 0; i < kRows; ++i)
            for (int v = 0; v < kVectors; ++v) *reinterpret_cast<Vector*>(out + i * kColumns + v * kLanes) = sums[i][v];
    }
    /// Per k `lhs` has kRows numbers of each part, `rhs` kColumns of each; `out` gets kRows x kColumns of each part.
    JAXSCOPE_INLINED static void run(std::int64_t k, const R* lhs, const R* rhs, R* out) {
        Vector re[kRows][kVectors] = {}, im[kRows][kVectors] = {};
        for (std::int64_t p = 0; p < k; ++p, lhs += kParts * kRows, rhs += kParts * kColumns) {
            const auto* b = reinterpret_cast<const Vector*>(rhs);
            for (int i = 0; i < kRows; ++i)
                for (int v = 0; v < kVectors; ++v) {
                    re[i][v] += lhs[i] * b[v];
                    if constexpr (kParts == 2) {
                        re[i][v] -= lhs[kRows + i] * b[kVectors + v];
                        im[i][v] += lhs[i] * b[kVectors + v];
                        im[i][v] += lhs[kRows + i] * b[v];
                    }
                }
        }
        store(re, out);
        if constexpr (kParts == 2) store(im, out + kRows * kColumns);
    }
};

template <class R>
struct TileKernel {
    void (*run)(std::int64_t k, const R* lhs, const R* rhs, R* out);
    int rows, columns;
};
constexpr int kMostTile = 2 * 8 * 64;  ///< numbers of a tile, both parts

template <class T, int kRows, int kVectors, int kBytes>
using TileOf = Tile<RealOf<T>, Parts<T>::kParts, kRows, kVectors, kBytes>;
template <class T>
void plain_tile(std::int64_t k, const RealOf<T>* lhs, const RealOf<T>* rhs, RealOf<T>* out) {
    TileOf<T, Parts<T>::kParts == 2 ? 2 : 4, 2, 16>::run(k, lhs, rhs, out);
}
template <class T>
TileKernel<RealOf<T>> plain_kernel() {
    using K = TileOf<T, Parts<T>::kParts == 2 ? 2 : 4, 2, 16>;
    static_assert(2 * 8 * K::kColumns <= kMostTile);
    return {plain_tile<T>, Parts<T>::kParts == 2 ? 2 : 4, K::kColumns};
}

#if defined(__x86_64__) && defined(__GNUC__)
template <class T>
__attribute__((target("avx2,fma"))) void tile_of_32(std::int64_t k, const RealOf<T>* lhs, const RealOf<T>* rhs, RealOf<T>* out) {
    TileOf<T, Parts<T>::kParts == 2 ? 3 : 4, Parts<T>::kParts == 2 ? 1 : 2, 32>::run(k, lhs, rhs, out);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) void tile_of_64(std::int64_t k, const RealOf<T>* lhs,
                                                                                  const RealOf<T>* rhs, RealOf<T>* out) {
    TileOf<T, Parts<T>::kParts == 2 ? 5 : 8, 2, 64>::run(k, lhs, rhs, out);
}
template <class T>
TileKernel<RealOf<T>> best_kernel() {
    constexpr bool complex = Parts<T>::kParts == 2;
    constexpr int lanes = 32 / static_cast<int>(sizeof(RealOf<T>));
    if (processor() == Processor::avx512) return {tile_of_64<T>, complex ? 5 : 8, 4 * lanes};
    if (processor() == Processor::avx2) return {tile_of_32<T>, complex ? 3 : 4, (complex ? 1 : 2) * lanes};
    return plain_kernel<T>();
}
#else
template <class T>
TileKernel<RealOf<T>> best_kernel() {
    return plain_kernel<T>();
}
#endif
template <class T>
const TileKernel<RealOf<T>>& kernel() {
    static const TileKernel<RealOf<T>> k = best_kernel<T>();
    return k;
}

std::int64_t up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

/// How much of a product is packed at a time: panels that stay in the second-level cache.
template <class T>
struct Blocks {
    std::int64_t m, n, k, lhs_bytes, rhs_bytes;
    explicit Blocks(const DotCore& c) {
        const auto width = static_cast<std::int64_t>(sizeof(T));
        k = std::min<std::int64_t>(c.k, 2048 / width);
        m = std::min<std::int64_t>(up(c.m, kernel<T>().rows), up(120, kernel<T>().rows));
        n = std::min<std::int64_t>(up(c.n, kernel<T>().columns), 512);
        lhs_bytes = checked_align(checked_mul(m * k, width), 64), rhs_bytes = checked_align(checked_mul(n * k, width), 64);
    }
};

template <class T>
JAXSCOPE_INLINED void put(RealOf<T>* to, std::int64_t unit, T v) {
    if constexpr (Parts<T>::kParts == 2)
        to[0] = v.real(), to[unit] = v.imag();
    else
        to[0] = v, static_cast<void>(unit);
}
/// [length, k] as panels of `unit` by `unit`: per k the numbers side by side, zeros behind the last.
template <class T>
void pack(const T* from, std::int64_t length, std::int64_t stride, std::int64_t k, std::int64_t stride_k, int unit, bool negate,
          bool conjugate, RealOf<T>* to) {
    constexpr int kParts = Parts<T>::kParts;
    for (std::int64_t first = 0; first < length; first += unit, to += kParts * unit * k) {
        const std::int64_t n = std::min<std::int64_t>(unit, length - first);
        const auto value = [&](std::int64_t i, std::int64_t p) {
            T v = from[(first + i) * stride + p * stride_k];
            if constexpr (kParts == 2)
                if (conjugate) v = std::conj(v);
            return negate ? static_cast<T>(-v) : v;
        };
        if (stride == 1)  // along memory
            for (std::int64_t p = 0; p < k; ++p)
                for (std::int64_t i = 0; i < n; ++i) put<T>(to + p * kParts * unit + i, unit, value(i, p));
        else
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t p = 0; p < k; ++p) put<T>(to + p * kParts * unit + i, unit, value(i, p));
        for (std::int64_t i = n; i < unit; ++i)
            for (std::int64_t p = 0; p < k; ++p) put<T>(to + p * kParts * unit + i, unit, T(0));
    }
}

template <class T>
class PackedProduct {
public:
    using R = RealOf<T>;
    PackedProduct(const DotCore& core, const ProductWish& wish, void* scratch)
        : c_(core),
          wish_(wish),
          blocks_(core),
          lhs_(static_cast<R*>(scratch)),
          rhs_(reinterpret_cast<R*>(static_cast<char*>(scratch) + blocks_.lhs_bytes)) {}

    void run(const T* lhs, const T* rhs, T* out) {
        for (std::int64_t n = 0; n < c_.n; n += blocks_.n)
            for (std::int64_t k = 0; k < c_.k; k += blocks_.k) {
                const std::int64_t columns = std::min(blocks_.n, c_.n - n), depth = std::min(blocks_.k, c_.k - k);
                pack<T>(rhs + n * c_.rhs_n + k * c_.rhs_k, columns, c_.rhs_n, depth, c_.rhs_k, tile_.columns, false, false, rhs_);
                for (std::int64_t m = 0; m < c_.m; m += blocks_.m) {
                    const std::int64_t rows = std::min(blocks_.m, c_.m - m);
                    pack<T>(lhs + m * c_.lhs_m + k * c_.lhs_k, rows, c_.lhs_m, depth, c_.lhs_k, tile_.rows, wish_.negate, wish_.conjugate,
                            lhs_);
                    tiles(rows, columns, depth, out + m * c_.out_m + n * c_.out_n, wish_.add || k > 0);
                }
            }
    }

private:
    void tiles(std::int64_t rows, std::int64_t columns, std::int64_t depth, T* out, bool add) const {
        constexpr int kParts = Parts<T>::kParts;
        alignas(64) R sums[kMostTile];
        for (std::int64_t n = 0; n < columns; n += tile_.columns)
            for (std::int64_t m = 0; m < rows; m += tile_.rows) {
                tile_.run(depth, lhs_ + m * depth * kParts, rhs_ + n * depth * kParts, sums);
                store(sums, std::min<std::int64_t>(tile_.rows, rows - m), std::min<std::int64_t>(tile_.columns, columns - n),
                      out + m * c_.out_m + n * c_.out_n, add);
            }
    }
    void store(const R* sums, std::int64_t rows, std::int64_t columns, T* out, bool add) const {
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
                const std::int64_t at = i * tile_.columns + j;
                T& to = out[i * c_.out_m + j * c_.out_n];
                T v;
                if constexpr (Parts<T>::kParts == 2)
                    v = T(sums[at], sums[tile_.rows * tile_.columns + at]);
                else
                    v = sums[at];
                to = add ? static_cast<T>(to + v) : v;
            }
    }
    const DotCore& c_;
    const ProductWish& wish_;
    const TileKernel<R>& tile_ = kernel<T>();
    Blocks<T> blocks_;
    R *lhs_, *rhs_;
};

}  // namespace

template <class T>
std::int64_t packed_bytes(const DotCore& core) {
    const Blocks<T> b(core);
    return checked_add(b.lhs_bytes, b.rhs_bytes);
}
template <class T>
void packed_product(const DotCore& core, const T* lhs, const T* rhs, T* out, const ProductWish& wish, void* scratch) {
    PackedProduct<T>(core, wish, scratch).run(lhs, rhs, out);
}

#define JAXSCOPE_PRODUCT(T)                                \
    template std::int64_t packed_bytes<T>(const DotCore&); \
    template void packed_product<T>(const DotCore&, const T*, const T*, T out[], const ProductWish&, void*);
JAXSCOPE_PRODUCT(float)
JAXSCOPE_PRODUCT(double)
JAXSCOPE_PRODUCT(std::complex<float>)
JAXSCOPE_PRODUCT(std::complex<double>)
JAXSCOPE_PRODUCT(std::uint32_t)
#undef JAXSCOPE_PRODUCT

}  // namespace jaxscope::exec
