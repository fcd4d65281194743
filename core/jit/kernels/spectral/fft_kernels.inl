// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set by fft_kernels.cpp, inside a namespace of its own: vectors are taken apart where a function is parsed,
// so that it must be parsed for the processor that it is for.

template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> operator+(const Pack<T, kRows>& a, const Pack<T, kRows>& b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> operator-(const Pack<T, kRows>& a, const Pack<T, kRows>& b) {
    return {a.re - b.re, a.im - b.im};
}
/// a * (x + i y), the number the same for all rows.
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> times(const Pack<T, kRows>& a, T x, T y) {
    return {a.re * x - a.im * y, a.re * y + a.im * x};
}
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> scaled(const Pack<T, kRows>& a, T x) {
    return {a.re * x, a.im * x};
}
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> conjugate(const Pack<T, kRows>& a) {
    return {a.re, -a.im};
}
/// By -i, or i for the inverse.
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> quarter_turn(const Pack<T, kRows>& a) {
    if constexpr (kInverse)
        return {-a.im, a.re};
    else
        return {a.im, -a.re};
}
/// By exp(-+2 pi i / 8).
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> eighth_turn(const Pack<T, kRows>& a) {
    constexpr T kHalf = T(0.70710678118654752440);
    if constexpr (kInverse)
        return {(a.re - a.im) * kHalf, (a.re + a.im) * kHalf};
    else
        return {(a.re + a.im) * kHalf, (a.im - a.re) * kHalf};
}
/// By a root of the forward transform, or its conjugate.
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> turned(const Pack<T, kRows>& a, const std::complex<T>& root) {
    const T* parts = reinterpret_cast<const T*>(&root);
    return times(a, parts[0], kInverse ? -parts[1] : parts[1]);
}

template <bool kInverse, class P>
JAXSCOPE_INLINED void four_points(P& a, P& b, P& c, P& d) {
    const P even = a + c, odd = b + d, even_less = a - c, quarter = quarter_turn<kInverse>(b - d);
    a = even + odd, b = even_less + quarter, c = even - odd, d = even_less - quarter;
}
/// Transforms of `kRadix` numbers (3, 5, 7; 0: of `radix`, odd), in place. `roots`: exp(-2 pi i k / radix) every `step` places.
template <bool kInverse, int kRadix, class T, int kRows>
JAXSCOPE_INLINED void odd_points(Pack<T, kRows>* t, std::int64_t radix, const std::complex<T>* roots, std::int64_t step) {
    using P = Pack<T, kRows>;
    const std::int64_t p = kRadix ? kRadix : radix, half = p / 2;
    P sums[kRadix ? kRadix / 2 : kLargestOddRadix / 2], differences[kRadix ? kRadix / 2 : kLargestOddRadix / 2];
    const P first = t[0];
    for (std::int64_t r = 1; r <= half; ++r) {
        sums[r - 1] = t[r] + t[p - r], differences[r - 1] = t[r] - t[p - r];
        t[0] = t[0] + sums[r - 1];
    }
    for (std::int64_t j = 1; j <= half; ++j) {
        P along = first, across = {};
        for (std::int64_t r = 1; r <= half; ++r) {
            const T* root = reinterpret_cast<const T*>(roots + r * j % p * step);
            along = along + scaled(sums[r - 1], root[0]);
            across = across + scaled(differences[r - 1], -root[1]);
        }
        const P turn = quarter_turn<kInverse>(across);
        t[j] = along + turn, t[p - j] = along - turn;
    }
}
/// Reads radix numbers by `stride`, turns them unless the level is the last, transforms them, writes them by m.
template <bool kInverse, int kRadix, bool kLast, class T, int kRows>
JAXSCOPE_INLINED void points(const MixedRadix<T>& plan, const FftLevel<T>& l, const Pack<T, kRows>* from, std::int64_t stride,
                             Pack<T, kRows>* to, std::int64_t k) {
    using P = Pack<T, kRows>;
    const std::int64_t radix = kRadix ? kRadix : l.radix, m = kLast ? 1 : l.m;
    P t[kRadix ? kRadix : kLargestOddRadix];
    const std::complex<T>* w = l.twiddles.data();
    t[0] = from[0];
    for (std::int64_t r = 1; r < radix; ++r)
        if constexpr (kLast)
            t[r] = from[r * stride];
        else
            t[r] = turned<kInverse>(from[r * stride], w[(r - 1) * m + k]);
    if constexpr (kRadix == 2) {
        const P a = t[0] + t[1];
        t[1] = t[0] - t[1], t[0] = a;
    } else if constexpr (kRadix == 4) {
        four_points<kInverse>(t[0], t[1], t[2], t[3]);
    } else if constexpr (kRadix == 8) {
        four_points<kInverse>(t[0], t[2], t[4], t[6]);
        four_points<kInverse>(t[1], t[3], t[5], t[7]);
        const P odd[4] = {t[1], eighth_turn<kInverse>(t[3]), quarter_turn<kInverse>(t[5]),
                          quarter_turn<kInverse>(eighth_turn<kInverse>(t[7]))};
        const P even[4] = {t[0], t[2], t[4], t[6]};
        for (int j = 0; j < 4; ++j) t[j] = even[j] + odd[j], t[j + 4] = even[j] - odd[j];
    } else {
        odd_points<kInverse, kRadix>(t, radix, plan.roots.data(), plan.n / radix);
    }
    for (std::int64_t r = 0; r < radix; ++r) to[r * m] = t[r];
}
template <bool kInverse, int kRadix, class T, int kRows>
void butterflies(const MixedRadix<T>& plan, const FftLevel<T>& l, const Pack<T, kRows>* from, std::int64_t stride, Pack<T, kRows>* to) {
    if (l.m == 1) return points<kInverse, kRadix, true>(plan, l, from, stride, to, 0);
    for (std::int64_t k = 0; k < l.m; ++k) points<kInverse, kRadix, false>(plan, l, to + k, l.m, to + k, k);
}
/// Decimation in time: the transforms of every radix-th element, then the butterflies that join them.
template <bool kInverse, class T, int kRows>
void mixed_radix(const MixedRadix<T>& plan, const Pack<T, kRows>* from, std::int64_t stride, Pack<T, kRows>* to, std::size_t level) {
    const FftLevel<T>& l = plan.levels[level];
    if (l.m > 1)
        for (std::int64_t r = 0; r < l.radix; ++r)
            mixed_radix<kInverse>(plan, from + r * stride, stride * l.radix, to + r * l.m, level + 1);
    switch (l.radix) {
        case 2:
            return butterflies<kInverse, 2>(plan, l, from, stride, to);
        case 3:
            return butterflies<kInverse, 3>(plan, l, from, stride, to);
        case 4:
            return butterflies<kInverse, 4>(plan, l, from, stride, to);
        case 5:
            return butterflies<kInverse, 5>(plan, l, from, stride, to);
        case 7:
            return butterflies<kInverse, 7>(plan, l, from, stride, to);
        case 8:
            return butterflies<kInverse, 8>(plan, l, from, stride, to);
        default:
            return butterflies<kInverse, 0>(plan, l, from, stride, to);
    }
}
template <class T, int kRows>
void transform(const MixedRadix<T>& plan, const Pack<T, kRows>* from, Pack<T, kRows>* to, bool inverse) {
    if (plan.levels.empty())
        for (std::int64_t i = 0; i < plan.n; ++i) to[i] = from[i];
    else if (inverse)
        mixed_radix<true>(plan, from, 1, to, 0);
    else
        mixed_radix<false>(plan, from, 1, to, 0);
}

// A tile is a square of numbers, 32 bytes wide.
template <class T>
constexpr int kTile = 32 / sizeof(T);
template <class T>
using TileRow = typename Lanes<T, kTile<T>>::Type;
// What memory holds of one: __builtin_memcpy would go through the stack, in halves.
template <class T>
struct TileRowAt {
    typedef T Type __attribute__((vector_size(32), aligned(alignof(T)), may_alias));
};
template <class T>
using TileRowIn = typename TileRowAt<T>::Type;

JAXSCOPE_INLINED void transpose(TileRow<float> (&r)[8]) {
    TileRow<float> a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; ++j) {
            b[i + 2 * j] = __builtin_shufflevector(a[i + j], a[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + 2 * j + 1] = __builtin_shufflevector(a[i + j], a[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; ++i) {
        r[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
JAXSCOPE_INLINED void transpose(TileRow<double> (&r)[4]) {
    TileRow<double> a[4];
    for (int i = 0; i < 4; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 2, 6);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 5, 3, 7);
    }
    for (int i = 0; i < 2; ++i) {
        r[i] = __builtin_shufflevector(a[i], a[i + 2], 0, 1, 4, 5);
        r[i + 2] = __builtin_shufflevector(a[i], a[i + 2], 2, 3, 6, 7);
    }
}
// Whole cache lines of each row before the next rows come: rows often lie a power of two apart, where few lines of a cache can hold them.
template <class T, int kRows>
void rows_to_packs(const T* const* rows, std::int64_t width, Pack<T, kRows>* packs) {
    T* const to = reinterpret_cast<T*>(packs);
    constexpr int n = kTile<T>;
    std::int64_t j = 0;
    if constexpr (kRows >= n)
        for (; j + n <= width;) {
            const std::int64_t end = j + 2 * n <= width ? j + 2 * n : j + n;
            for (int h = 0; h < kRows; h += n)
                for (std::int64_t i = j; i < end; i += n) {
                    TileRow<T> r[n];
                    for (int k = 0; k < n; ++k) r[k] = *reinterpret_cast<const TileRowIn<T>*>(rows[h + k] + i);
                    transpose(r);
                    for (int k = 0; k < n; ++k) *reinterpret_cast<TileRowIn<T>*>(to + (i + k) * kRows + h) = r[k];
                }
            j = end;
        }
    for (; j < width; ++j)
        for (int k = 0; k < kRows; ++k) to[j * kRows + k] = rows[k][j];
}
template <class T, int kRows>
void packs_to_rows(const Pack<T, kRows>* packs, std::int64_t width, T* const* rows, std::int64_t count, T scale) {
    const T* const from = reinterpret_cast<const T*>(packs);
    constexpr int n = kTile<T>;
    std::int64_t j = 0;
    if constexpr (kRows >= n)
        for (; j + n <= width;) {
            const std::int64_t end = j + 2 * n <= width ? j + 2 * n : j + n;
            for (std::int64_t h = 0; h < count; h += n)
                for (std::int64_t i = j; i < end; i += n) {
                    TileRow<T> r[n];
                    for (int k = 0; k < n; ++k) r[k] = *reinterpret_cast<const TileRowIn<T>*>(from + (i + k) * kRows + h) * scale;
                    transpose(r);
                    for (int k = 0; k < n; ++k)  // always so many, that they stay in registers
                        if (h + k < count) *reinterpret_cast<TileRowIn<T>*>(rows[h + k] + i) = r[k];
                }
            j = end;
        }
    for (; j < width; ++j)
        for (std::int64_t k = 0; k < count; ++k) rows[k][j] = from[j * kRows + k] * scale;
}
template <class T, int kRows>
void columns_to_packs(const std::complex<T>* from, std::int64_t stride, std::int64_t n, Pack<T, kRows>* packs) {
    T* const to = reinterpret_cast<T*>(packs);
    for (std::int64_t i = 0; i < n; ++i) {
        const T* const given = reinterpret_cast<const T*>(from + i * stride);
        for (int k = 0; k < kRows; ++k) to[2 * i * kRows + k] = given[2 * k], to[(2 * i + 1) * kRows + k] = given[2 * k + 1];
    }
}
template <class T, int kRows>
void packs_to_columns(const Pack<T, kRows>* packs, std::int64_t n, std::complex<T>* to, std::int64_t stride, T scale) {
    const T* const from = reinterpret_cast<const T*>(packs);
    for (std::int64_t i = 0; i < n; ++i) {
        T* const out = reinterpret_cast<T*>(to + i * stride);
        for (int k = 0; k < kRows; ++k)
            out[2 * k] = from[2 * i * kRows + k] * scale, out[2 * k + 1] = from[(2 * i + 1) * kRows + k] * scale;
    }
}

template <class T, int kRows>
void multiply(const Pack<T, kRows>* from, const std::complex<T>* w, std::int64_t n, T scale, bool conjugate_from, bool conjugate_product,
              Pack<T, kRows>* to) {
    const T before = conjugate_from ? T(-1) : T(1), behind = conjugate_product ? T(-1) : T(1);
    for (std::int64_t k = 0; k < n; ++k) {
        const T* const root = reinterpret_cast<const T*>(w + k);
        const Pack<T, kRows> y = times(Pack<T, kRows>{from[k].re, from[k].im * before}, root[0] * scale, root[1] * scale);
        to[k] = {y.re, y.im * behind};
    }
}
template <class T, int kRows>
void turn(Pack<T, kRows>* x, const Pack<T, kRows>* w, std::int64_t n, bool conjugate) {
    const T sign = conjugate ? T(-1) : T(1);
    for (std::int64_t k = 0; k < n; ++k) {
        const Pack<T, kRows> a = x[k], b = {w[k].re, w[k].im * sign};
        x[k] = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
}
template <class T, int kRows>
void split_spectrum(Pack<T, kRows>* x, std::int64_t m, const std::complex<T>* roots) {
    for (std::int64_t q = 0; q <= m / 2; ++q) {
        const Pack<T, kRows> a = x[q], other = conjugate(x[q == 0 ? 0 : m - q]);
        const Pack<T, kRows> turn = quarter_turn<true>(turned<false>(a - other, roots[q])), sum = a + other;
        x[q] = scaled(sum - turn, T(0.5)), x[m - q] = scaled(conjugate(sum + turn), T(0.5));
    }
}
template <class T, int kRows>
void join_spectrum(Pack<T, kRows>* x, std::int64_t m, const std::complex<T>* roots) {
    // What is imaginary in the first and the last place doesn't count.
    x[0].im = typename Lanes<T, kRows>::Type{}, x[m].im = typename Lanes<T, kRows>::Type{};
    for (std::int64_t q = 0; q <= m / 2; ++q) {
        const Pack<T, kRows> low = x[q], other = conjugate(x[m - q]);
        const Pack<T, kRows> turn = quarter_turn<true>(turned<true>(low - other, roots[q])), sum = low + other;
        x[m - q] = conjugate(sum - turn), x[q] = sum + turn;
    }
}

template <class T, int kRows>
const FftKernels<T, kRows>& kernels() {
    static constexpr FftKernels<T, kRows> all = {
        rows_to_packs<T, kRows>, packs_to_rows<T, kRows>, columns_to_packs<T, kRows>, packs_to_columns<T, kRows>, transform<T, kRows>,
        multiply<T, kRows>,      turn<T, kRows>,          split_spectrum<T, kRows>,   join_spectrum<T, kRows>};
    return all;
}
