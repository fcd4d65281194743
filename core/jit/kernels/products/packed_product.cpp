// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/packed_product.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/checked.h"
#include "jit/kernels/products/number_parts.h"
#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

/// A tile of the result, its imaginary parts behind its rows. The left operand's numbers of a row lie `lhs_k` apart, its rows `lhs_row`
/// (1 in panels, where imaginary parts stand behind the real ones of all rows); the right one has its columns side by side every `rhs_k`.
template <class R>
struct TileWish {
    std::int64_t k;
    const R* lhs;
    std::int64_t lhs_row, lhs_k;
    const R* rhs;
    std::int64_t rhs_k;
    R* out;
    std::int64_t out_row;
    bool add;
};

/// A tile of the result: rows, and columns as vectors of `kBytes`.
template <class R, int kParts, int kRows, int kVectors, int kBytes>
struct Tile {
    static constexpr int kLanes = kBytes / static_cast<int>(sizeof(R)), kColumns = kVectors * kLanes;
    typedef R Vector __attribute__((vector_size(kBytes), aligned(alignof(R)), may_alias));

    JAXSCOPE_INLINED static void store(const Vector (&sums)[kRows][kVectors], R* out, std::int64_t out_row, bool add) {
        for (int i = 0; i < kRows; ++i)
            for (int v = 0; v < kVectors; ++v) {
                auto& to = *reinterpret_cast<Vector*>(out + i * out_row + v * kLanes);
                to = add ? to + sums[i][v] : sums[i][v];
            }
    }
    JAXSCOPE_INLINED static void run(const TileWish<R>& w) {
        Vector re[kRows][kVectors] = {}, im[kRows][kVectors] = {};
        const R *lhs = w.lhs, *rhs = w.rhs;
        for (std::int64_t p = 0; p < w.k; ++p, lhs += w.lhs_k, rhs += w.rhs_k) {
            const auto* b = reinterpret_cast<const Vector*>(rhs);
            for (int i = 0; i < kRows; ++i)
                for (int v = 0; v < kVectors; ++v) {
                    re[i][v] += lhs[i * w.lhs_row] * b[v];
                    if constexpr (kParts == 2) {
                        re[i][v] -= lhs[kRows + i] * b[kVectors + v];
                        im[i][v] += lhs[i] * b[kVectors + v];
                        im[i][v] += lhs[kRows + i] * b[v];
                    }
                }
        }
        store(re, w.out, w.out_row, w.add);
        if constexpr (kParts == 2) store(im, w.out + kRows * w.out_row, w.out_row, w.add);
    }
};

template <class R>
struct TileKernel {
    void (*run)(const TileWish<R>& wish);
    void (*half)(const TileWish<R>& wish);  ///< of half the columns; null where there is none
    int rows, columns;
};
constexpr int kMostTile = 2 * 8 * 64;  ///< numbers of a tile, both parts

template <class T, int kRows, int kVectors, int kBytes>
using TileOf = Tile<RealOf<T>, Parts<T>::kParts, kRows, kVectors, kBytes>;
template <class T>
void plain_tile(const TileWish<RealOf<T>>& wish) {
    TileOf<T, Parts<T>::kParts == 2 ? 2 : 4, 2, 16>::run(wish);
}
template <class T>
TileKernel<RealOf<T>> plain_kernel() {
    using K = TileOf<T, Parts<T>::kParts == 2 ? 2 : 4, 2, 16>;
    static_assert(2 * 8 * K::kColumns <= kMostTile);
    return {plain_tile<T>, nullptr, Parts<T>::kParts == 2 ? 2 : 4, K::kColumns};
}

#if defined(__x86_64__) && defined(__GNUC__)
template <class T>
__attribute__((target("avx2,fma"))) void tile_of_32(const TileWish<RealOf<T>>& wish) {
    TileOf<T, Parts<T>::kParts == 2 ? 3 : 4, Parts<T>::kParts == 2 ? 1 : 2, 32>::run(wish);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) void tile_of_64(const TileWish<RealOf<T>>& wish) {
    TileOf<T, Parts<T>::kParts == 2 ? 5 : 8, 2, 64>::run(wish);
}
template <class T>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))) void half_tile_of_64(const TileWish<RealOf<T>>& wish) {
    TileOf<T, 8, 1, 64>::run(wish);
}
template <class T>
TileKernel<RealOf<T>> best_kernel() {
    constexpr bool complex = Parts<T>::kParts == 2;
    constexpr int lanes = 32 / static_cast<int>(sizeof(RealOf<T>));
    if (processor() == Processor::avx512) return {tile_of_64<T>, complex ? nullptr : half_tile_of_64<T>, complex ? 5 : 8, 4 * lanes};
    if (processor() == Processor::avx2) return {tile_of_32<T>, nullptr, complex ? 3 : 4, (complex ? 1 : 2) * lanes};
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
        if (kParts == 1 && stride == 1 && n == unit && !negate)  // as they lie
            for (std::int64_t p = 0; p < k; ++p)
                std::memcpy(to + p * unit, from + first + p * stride_k, static_cast<std::size_t>(unit) * sizeof(T));
        else if (stride == 1)  // along memory
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
                    const std::int64_t rows = std::min(blocks_.m, c_.m - m), as_it_is = rows_as_they_are(rows);
                    const T* from = lhs + m * c_.lhs_m + k * c_.lhs_k;
                    pack<T>(from + as_it_is * c_.lhs_m, rows - as_it_is, c_.lhs_m, depth, c_.lhs_k, tile_.rows, wish_.negate,
                            wish_.conjugate, lhs_);
                    tiles(from, as_it_is, rows, columns, depth, out + m * c_.out_m + n * c_.out_n, wish_.add || k > 0);
                }
            }
    }

private:
    static constexpr int kParts = Parts<T>::kParts;

    /// Rows that are read in their own place: of a result of few columns, panels take as long as the product.
    std::int64_t rows_as_they_are(std::int64_t rows) const {
        constexpr std::int64_t kFewColumns = 192, kNear = 1024;
        if (kParts == 2 || wish_.negate || c_.n > kFewColumns) return 0;
        if (c_.lhs_k != 1 && c_.lhs_m != 1) return 0;
        return std::max(c_.lhs_k, c_.lhs_m) <= kNear ? rows / tile_.rows * tile_.rows : 0;
    }
    void tiles(const T* lhs, std::int64_t as_it_is, std::int64_t rows, std::int64_t columns, std::int64_t depth, T* out, bool add) const {
        alignas(64) R sums[kMostTile];
        for (std::int64_t n = 0; n < columns; n += tile_.columns) {
            const std::int64_t wide = std::min<std::int64_t>(tile_.columns, columns - n);
            const bool narrow = tile_.half && wide * 2 <= tile_.columns;
            const auto run = narrow ? tile_.half : tile_.run;
            for (std::int64_t m = 0; m < rows; m += tile_.rows) {
                const std::int64_t tall = std::min<std::int64_t>(tile_.rows, rows - m);
                T* const to = out + m * c_.out_m + n * c_.out_n;
                TileWish<R> w{depth,
                              lhs_ + (m - as_it_is) * depth * kParts,
                              1,
                              kParts * tile_.rows,
                              rhs_ + n * depth * kParts,
                              kParts * tile_.columns,
                              sums,
                              tile_.columns,
                              false};
                if constexpr (kParts == 1) {
                    if (m < as_it_is) w.lhs = lhs + m * c_.lhs_m, w.lhs_row = c_.lhs_m, w.lhs_k = c_.lhs_k;
                    if (c_.out_n == 1 && tall == tile_.rows && (wide == tile_.columns || (narrow && wide * 2 == tile_.columns))) {
                        w.out = to, w.out_row = c_.out_m, w.add = add;
                        run(w);
                        continue;
                    }
                }
                run(w);
                store(sums, tall, wide, to, add);
            }
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
