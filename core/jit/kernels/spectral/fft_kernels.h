// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace jaxscope::exec {

template <class T, int kRows>
struct Lanes {
    typedef T Type __attribute__((vector_size(kRows * sizeof(T))));
};
template <class T>
struct Lanes<T, 1> {
    using Type = T;
};
/// The same place of several rows: what is done to one is done to all at a time. Nothing but the kernels below computes with it.
template <class T, int kRows>
struct alignas(kRows * sizeof(T)) Pack {  // what a vector's own alignment is depends on the instruction set
    typename Lanes<T, kRows>::Type re, im;
};
/// How many rows are transformed together where there are so many and the processor has such vectors (has_full_packs; others take half as
/// many): a cache line of real parts. Scratch is for so many on every processor, so that plans are the same.
template <class T>
constexpr int kPackedRows = 64 / sizeof(T);

constexpr std::int64_t kLargestOddRadix = 31;  ///< above it Bluestein's way costs less than a butterfly of p^2 products

/// What joins `radix` transforms of m numbers each.
template <class T>
struct FftLevel {
    std::int64_t m, radix;
    std::vector<std::complex<T>> twiddles;  ///< of each of the radix - 1 turned transforms in turn
};
template <class T>
struct MixedRadix {
    std::int64_t n = 1;
    std::vector<FftLevel<T>> levels;
    std::vector<std::complex<T>> roots;  ///< exp(-2 pi i k / n)
};

/// What is done to packs, compiled for several instruction sets; the widest that the processor knows is taken.
template <class T, int kRows>
struct FftKernels {
    using P = Pack<T, kRows>;
    using Complex = std::complex<T>;
    /// `width` numbers of each of kRows rows, side by side: number j of row k becomes number k of lanes j, where a pack is two lanes.
    void (*rows_to_packs)(const T* const* rows, std::int64_t width, P* to);
    /// Back, times `scale`, for the first `count` rows.
    void (*packs_to_rows)(const P* from, std::int64_t width, T* const* rows, std::int64_t count, T scale);
    /// Pack i of kRows neighbours: from[i * stride + k].
    void (*columns_to_packs)(const Complex* from, std::int64_t stride, std::int64_t n, P* to);
    void (*packs_to_columns)(const P* from, std::int64_t n, Complex* to, std::int64_t stride, T scale);
    /// to[j] = sum_k from[k] exp(-+2 pi i j k / n).
    void (*transform)(const MixedRadix<T>& plan, const P* from, P* to, bool inverse);
    /// to[k] = from[k] * w[k] * scale, with the conjugate of `from` or of the product; in place too.
    void (*multiply)(const P* from, const Complex* w, std::int64_t n, T scale, bool conjugate_from, bool conjugate_product, P* to);
    /// x[k] *= w[k], or the conjugates of w.
    void (*turn)(P* x, const P* w, std::int64_t n, bool conjugate);
    /// x holds the transform of m numbers made of the 2m of a real row (even places real, odd ones imaginary); becomes the m + 1 numbers of
    /// that row's spectrum. `roots`: exp(-2 pi i k / 2m).
    void (*split_spectrum)(P* x, std::int64_t m, const Complex* roots);
    /// What split_spectrum does undone, twice as large.
    void (*join_spectrum)(P* x, std::int64_t m, const Complex* roots);
};
bool has_full_packs();
/// For 1 row, kPackedRows<T> and half as many.
template <class T, int kRows>
const FftKernels<T, kRows>& fft_kernels();

}  // namespace jaxscope::exec
