// SPDX-License-Identifier: Apache-2.0
// Parsed once per instruction set (per_processor.inc): squares of elements transposed in registers.

/// As many elements as a vector holds, at most 16: the square's rows stay in registers.
template <class T>
constexpr int kSide = kVectorBytes / static_cast<int>(sizeof(T)) < 16 ? kVectorBytes / static_cast<int>(sizeof(T)) : 16;

template <class T>
struct Square {
    static constexpr int N = kSide<T>;
    typedef T Vector __attribute__((vector_size(N * sizeof(T))));

    template <int... I>
    JAXSCOPE_INLINED static Vector low(Vector a, Vector b, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (I / 2 + I % 2 * N)...);
    }
    template <int... I>
    JAXSCOPE_INLINED static Vector high(Vector a, Vector b, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (N / 2 + I / 2 + I % 2 * N)...);
    }
    /// Each step moves the highest bit of a row's number to the column's lowest: after log2 N of them they have changed places.
    JAXSCOPE_INLINED static void transpose(const T* from, std::int64_t stride, T* to, std::int64_t width) {
        constexpr std::make_integer_sequence<int, N> kAll{};
        Vector a[N], b[N];
        for (int i = 0; i < N; ++i) std::memcpy(&a[i], from + i * stride, sizeof(Vector));
#pragma GCC unroll 4
        for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 16
            for (int i = 0; i < N / 2; ++i) {
                b[2 * i] = low(a[i], a[i + N / 2], kAll);
                b[2 * i + 1] = high(a[i], a[i + N / 2], kAll);
            }
#pragma GCC unroll 16
            for (int i = 0; i < N; ++i) a[i] = b[i];
        }
        for (int i = 0; i < N; ++i) std::memcpy(to + i * width, &a[i], sizeof(Vector));
    }
};

template <class T>
void stage(T* tile, const T* from, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t width) {
    constexpr std::int64_t N = kSide<T>;
    const std::int64_t whole_rows = rows / N * N, whole_cols = cols / N * N;
    for (std::int64_t c = 0; c < whole_cols; c += N)
        for (std::int64_t r = 0; r < whole_rows; r += N) Square<T>::transpose(from + c * stride + r, stride, tile + r * width + c, width);
    for (std::int64_t c = 0; c < cols; ++c)
        for (std::int64_t r = c < whole_cols ? whole_rows : 0; r < rows; ++r) tile[r * width + c] = from[c * stride + r];
}
