// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/axes/along_axis.h"

#include <algorithm>
#include <type_traits>

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

template <class T>
constexpr bool kNarrowFloat = std::is_same_v<T, Bf16> || std::is_same_v<T, F16>;
/// What running sums are kept in. Of integers in one that is never overflown: what doesn't fit is cut off where it is stored.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, double>;
template <class T, class S>
JAXSCOPE_INLINED T stored(S sum) {
    if constexpr (kNarrowFloat<T>)
        return T(static_cast<float>(sum));
    else
        return static_cast<T>(sum);
}
template <class T>
JAXSCOPE_INLINED Sum<T> summand(T x) {
    if constexpr (kNarrowFloat<T>)
        return static_cast<float>(x);
    else
        return static_cast<Sum<T>>(x);
}
/// What elements are compared in.
template <class T>
using Compared = std::conditional_t<kNarrowFloat<T>, float, std::conditional_t<(sizeof(T) < 4), std::int32_t, T>>;
template <class T>
JAXSCOPE_INLINED Compared<T> compared(T x) {
    return static_cast<Compared<T>>(x);
}
template <class T>
using Row = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;  // as wide as T, so that both are compared in one vector

template <class T, class Join>
JAXSCOPE_INLINED void cumulate_one(const AxisBlock& b, const T* in, T* out, const Join& join) {
    Sum<T> sum = summand(*in);
    *out = *in;
    for (std::int64_t i = 1; i < b.length; ++i) {
        sum = join(sum, summand(in[i * b.stride]));
        out[i * b.stride] = stored<T>(sum);
    }
}
template <class T, class Join>
JAXSCOPE_INLINED void cumulate_all(const AxisBlock& b, const T* in, T* out, const Join& join) {
    if (b.length == 0) return;
    if (b.width == 1) return cumulate_one(b, in, out, join);
    Sum<T> sums[kColumns];
    for (std::int64_t c = 0; c < b.width; ++c) sums[c] = summand(in[c]), out[c] = in[c];
    for (std::int64_t i = 1; i < b.length; ++i) {
        const T* from = in + i * b.stride;
        T* to = out + i * b.stride;
        for (std::int64_t c = 0; c < b.width; ++c) {
            sums[c] = join(sums[c], summand(from[c]));
            to[c] = stored<T>(sums[c]);
        }
    }
}
template <class T>
JAXSCOPE_INLINED void cumulate_by(ReduceKind kind, const AxisBlock& b, const T* in, T* out) {
    using S = Sum<T>;
    switch (kind) {
        case ReduceKind::Prod:
            return cumulate_all(b, in, out, [](S x, S y) { return x * y; });
        case ReduceKind::Max:
            return cumulate_all(b, in, out, [](S x, S y) {
                if constexpr (std::is_integral_v<T>)
                    return static_cast<S>(std::max(static_cast<T>(x), static_cast<T>(y)));
                else
                    return x != x || x > y ? x : y;
            });
        case ReduceKind::Min:
            return cumulate_all(b, in, out, [](S x, S y) {
                if constexpr (std::is_integral_v<T>)
                    return static_cast<S>(std::min(static_cast<T>(x), static_cast<T>(y)));
                else
                    return x != x || x < y ? x : y;
            });
        default:
            return cumulate_all(b, in, out, [](S x, S y) { return x + y; });
    }
}

template <bool kLargest, class T>
JAXSCOPE_INLINED bool ahead(T v, T best) {
    return (kLargest ? v > best : v < best) | ((v != v) & (best == best));
}
template <bool kLargest, class T>
JAXSCOPE_INLINED void extreme_rows(const AxisBlock& b, const T* in, Compared<T>* best, Row<Compared<T>>* row) {
    for (std::int64_t c = 0; c < b.width; ++c) best[c] = compared(in[c]), row[c] = 0;
    for (std::int64_t i = 1; i < b.length; ++i) {
        const T* from = in + i * b.stride;
        for (std::int64_t c = 0; c < b.width; ++c) {
            const bool take = ahead<kLargest, Compared<T>>(from[c], best[c]);
            best[c] = take ? compared(from[c]) : best[c];
            row[c] = take ? static_cast<Row<Compared<T>>>(i) : row[c];
        }
    }
}
/// The value first, then where it is, in numbers that the cache still holds. At least kLanes of them: loops over fewer lanes are unrolled
/// before they are made vectors of (5 times slower).
template <class T>
constexpr std::int64_t kLanes = sizeof(T) == 8 ? 32 : 64;
template <bool kLargest, class T>
JAXSCOPE_INLINED std::int64_t extreme_of_part(std::int64_t length, const T* in) {
    Compared<T> best[kLanes<T>];
    Row<Compared<T>> bad[kLanes<T>] = {};
    const std::int64_t whole = length / kLanes<T> * kLanes<T>;
    for (std::int64_t l = 0; l < kLanes<T>; ++l) best[l] = compared(in[l]);
    for (std::int64_t i = 0; i < whole; i += kLanes<T>)
        for (std::int64_t l = 0; l < kLanes<T>; ++l) {
            const Compared<T> v = compared(in[i + l]);
            bad[l] |= v != v;
            best[l] = (kLargest ? v > best[l] : v < best[l]) ? v : best[l];
        }
    for (std::int64_t half = kLanes<T> / 2; half > 0; half /= 2)
        for (std::int64_t l = 0; l < half; ++l) {
            bad[l] |= bad[l + half];
            best[l] = (kLargest ? best[l + half] > best[l] : best[l + half] < best[l]) ? best[l + half] : best[l];
        }
    for (std::int64_t i = whole; i < length; ++i) {
        bad[0] |= in[i] != in[i];
        best[0] = (kLargest ? in[i] > best[0] : in[i] < best[0]) ? compared(in[i]) : best[0];
    }
    std::int64_t at = 0;
    if (bad[0]) {
        while (in[at] == in[at]) ++at;
        return at;
    }
    for (; at < whole; at += kLanes<T>) {
        Row<Compared<T>> found = 0;
        for (std::int64_t l = 0; l < kLanes<T>; ++l) found |= in[at + l] == best[0];
        if (found) break;
    }
    while (in[at] != best[0]) ++at;
    return at;
}

/// One dense column, part after part.
template <bool kLargest, class T>
JAXSCOPE_INLINED std::int64_t extreme_of_line(std::int64_t length, const T* in) {
    constexpr std::int64_t kPart = 4096;
    std::int64_t at = 0, first = 1;
    for (std::int64_t begin = 0; length - begin >= kLanes<T>; begin = first) {
        first = std::min(begin + kPart, length);
        const std::int64_t here = begin + extreme_of_part<kLargest>(first - begin, in + begin);
        if (begin == 0 || ahead<kLargest, Compared<T>>(in[here], in[at])) at = here;
    }
    for (std::int64_t i = first; i < length; ++i)
        if (ahead<kLargest, Compared<T>>(in[i], in[at])) at = i;
    return at;
}
template <class T>
JAXSCOPE_INLINED void extremes(bool largest, const AxisBlock& b, const T* in, std::int64_t* out) {
    if (b.width == 1 && b.stride == 1) {
        *out = largest ? extreme_of_line<true>(b.length, in) : extreme_of_line<false>(b.length, in);
        return;
    }
    Compared<T> best[kExtremeColumns];
    Row<Compared<T>> row[kExtremeColumns];
    largest ? extreme_rows<true>(b, in, best, row) : extreme_rows<false>(b, in, best, row);
    for (std::int64_t c = 0; c < b.width; ++c) out[c] = row[c];
}

}  // namespace

#define JAXSCOPE_ALONG_AXIS(T)                                                                                                 \
    JAXSCOPE_WIDE void cumulate(ReduceKind kind, const AxisBlock& b, const T in[], T out[]) { cumulate_by(kind, b, in, out); } \
    JAXSCOPE_WIDE void find_extreme(bool largest, const AxisBlock& b, const T in[], std::int64_t row[]) { extremes(largest, b, in, row); }
JAXSCOPE_EACH_STORED_TYPE(JAXSCOPE_ALONG_AXIS)
#undef JAXSCOPE_ALONG_AXIS

}  // namespace jaxscope::exec
