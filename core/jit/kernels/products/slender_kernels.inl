// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set by slender_product.cpp, inside a namespace of its own that says kVectorBytes.

constexpr int kVectors = 128 / kVectorBytes;  // as many numbers at once everywhere: sums are the same

/// Numbers side by side, real and imaginary parts apart.
template <class T>
struct Lanes {
    using R = RealOf<T>;
    static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(R)), kCount = kVectors * kWidth, kParts = Parts<T>::kParts;
    typedef R Vector __attribute__((vector_size(kVectorBytes)));
    typedef R VectorAt __attribute__((vector_size(kVectorBytes), aligned(alignof(R)), may_alias));  ///< memcpy would go through the stack
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
        if (kParts == 1 && stride == 1) {
            const auto* at = reinterpret_cast<const R*>(from);
            if (count == kCount)
                for (int i = 0; i < kVectors; ++i) out.v[0][i] = *reinterpret_cast<const VectorAt*>(at + i * kWidth);
            else
                for (int i = 0; i < kVectors; ++i, count -= kWidth, at += kWidth)
                    out.v[0][i] = count >= kWidth ? *reinterpret_cast<const VectorAt*>(at) : count > 0 ? first_of(at, count) : Vector{};
            return out;
        }
        alignas(64) R parts[kParts][kCount] = {};
        if (count == kCount)
            for (int i = 0; i < kCount; ++i) put(parts, i, from[i * stride]);
        else
            for (int i = 0; i < static_cast<int>(count); ++i) put(parts, i, from[i * stride]);
        for (int p = 0; p < kParts; ++p)
            for (int i = 0; i < kVectors; ++i) out.v[p][i] = *reinterpret_cast<const VectorAt*>(parts[p] + i * kWidth);
        return out;
    }
    /// Fewer numbers than a vector has, 16 bytes at a time.
    JAXSCOPE_INLINED static Vector first_of(const R* from, std::int64_t count) {
        constexpr int kAtOnce = 16 / static_cast<int>(sizeof(R));
        alignas(64) R part[kWidth] = {};
        std::int64_t i = 0;
        for (; i + kAtOnce <= count; i += kAtOnce) __builtin_memcpy(part + i, from + i, 16);
        for (; i < count; ++i) part[i] = from[i];
        return *reinterpret_cast<const VectorAt*>(part);
    }
    JAXSCOPE_INLINED static void put(R (&parts)[kParts][kCount], int i, T v) {
        if constexpr (kParts == 2)
            parts[0][i] = v.real(), parts[1][i] = v.imag();
        else
            parts[0][i] = v;
    }
    JAXSCOPE_INLINED void store(T* to, std::int64_t stride, std::int64_t count, bool add) const {
        alignas(64) R parts[kParts][kCount];
        __builtin_memcpy(parts, &v, sizeof(v));
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
        if constexpr (kParts == 2) {  // halves of vectors would be slower by half: both parts don't stay in registers
            alignas(64) R parts[kParts][kCount];
            __builtin_memcpy(parts, &v, sizeof(v));
            for (int half = kCount / 2; half > 0; half /= 2)
                for (int p = 0; p < kParts; ++p)
                    for (int i = 0; i < half; ++i) parts[p][i] += parts[p][i + half];
            return number(parts, 0);
        } else {
            Vector all[kVectors];
            for (int i = 0; i < kVectors; ++i) all[i] = v[0][i];
            for (int half = kVectors / 2; half > 0; half /= 2)
                for (int i = 0; i < half; ++i) all[i] += all[i + half];
            return sum_of(all[0]);
        }
    }
    /// Halves of what is left are added to each other.
    template <class V>
    JAXSCOPE_INLINED static R sum_of(const V& v) {
        constexpr int kLeft = static_cast<int>(sizeof(V) / sizeof(R));
        if constexpr (kLeft == 1) {
            return v[0];
        } else {
            typedef R Half __attribute__((vector_size(sizeof(V) / 2)));
            Half low, high;
            __builtin_memcpy(&low, &v, sizeof(Half));
            __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(Half), sizeof(Half));
            return sum_of(Half(low + high));
        }
    }
};

/// `rows` rows of the left operand side by side: each number of the right one is multiplied by a column of them.
template <class T, int kColumns>
JAXSCOPE_INLINED void side_by_side(const DotCore& c, const T* lhs, std::int64_t lhs_m, std::int64_t rows, const T* rhs, T* out, bool add) {
    using L = Lanes<T>;
    L sums[kColumns];
    for (L& s : sums) s = L::zero();
    for (std::int64_t k = 0; k < c.k; ++k) {
        const L a = L::load(lhs + k * c.lhs_k, lhs_m, rows);
        for (int n = 0; n < kColumns; ++n) sums[n].add_product(a, rhs[k * c.rhs_k + n * c.rhs_n]);
    }
    for (int n = 0; n < kColumns; ++n) sums[n].store(out + n * c.out_n, c.out_m, rows, add);
}
template <class T, int kColumns>
JAXSCOPE_INLINED void by_columns(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    constexpr std::int64_t kCount = Lanes<T>::kCount;
    std::int64_t m = 0;
    if (c.lhs_m == 1)
        for (; m + kCount <= c.m; m += kCount) side_by_side<T, kColumns>(c, lhs + m, 1, kCount, rhs, out + m * c.out_m, add);
    for (; m < c.m; m += kCount)
        side_by_side<T, kColumns>(c, lhs + m * c.lhs_m, c.lhs_m, std::min(kCount, c.m - m), rhs, out + m * c.out_m, add);
}
/// Along the summed dimension, row by row.
template <class T, int kColumns>
JAXSCOPE_INLINED void along_rows(const DotCore& c, const T* lhs, const T* rhs, std::int64_t rhs_k, std::int64_t rhs_n, T* out, bool add) {
    using L = Lanes<T>;
    for (std::int64_t m = 0; m < c.m; ++m) {
        L sums[kColumns];
        for (L& s : sums) s = L::zero();
        for (std::int64_t k = 0; k < c.k; k += L::kCount) {
            const std::int64_t count = std::min<std::int64_t>(L::kCount, c.k - k);
            const L a = L::load(lhs + m * c.lhs_m + k * c.lhs_k, c.lhs_k, count);
            for (int n = 0; n < kColumns; ++n) sums[n].add_product(a, L::load(rhs + k * rhs_k + n * rhs_n, rhs_k, count));
        }
        for (int n = 0; n < kColumns; ++n) {
            T& to = out[m * c.out_m + n * c.out_n];
            to = add ? static_cast<T>(to + sums[n].sum()) : sums[n].sum();
        }
    }
}
/// Columns that don't lie along the summed dimension are copied once, where rows are many and they are short.
template <class T, int kColumns>
JAXSCOPE_INLINED void by_rows(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    constexpr std::int64_t kManyRows = 8, kShort = 256;
    if (Lanes<T>::kParts == 2 || c.rhs_k == 1 || c.m < kManyRows || c.k > kShort)
        return along_rows<T, kColumns>(c, lhs, rhs, c.rhs_k, c.rhs_n, out, add);
    alignas(64) char room[kColumns * kShort * sizeof(T)];
    T* const copied = reinterpret_cast<T*>(room);
    for (std::int64_t k = 0; k < c.k; ++k)
        for (int n = 0; n < kColumns; ++n) copied[n * kShort + k] = rhs[k * c.rhs_k + n * c.rhs_n];
    along_rows<T, kColumns>(c, lhs, copied, 1, kShort, out, add);
}
template <class T, int kColumns>
JAXSCOPE_INLINED void columns(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
    const bool along = c.k >= Lanes<T>::kCount && (c.lhs_m != 1 || c.m < Lanes<T>::kCount);
    along ? by_rows<T, kColumns>(c, lhs, rhs, out, add) : by_columns<T, kColumns>(c, lhs, rhs, out, add);
}
template <class T>
void product(const DotCore& c, const T* lhs, const T* rhs, T* out, bool add) {
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
