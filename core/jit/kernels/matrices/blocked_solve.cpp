// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/matrices/blocked_solve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"
#include "jit/kernels/products/packed_product.h"
#include "jit/kernels/threads/parallel.h"
#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kBlock = 64;  ///< equations solved one by one, and right sides at a time

/// y -= c x.
template <class R>
JAXSCOPE_INLINED void take_away(R* y, R c, const R* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] -= c * x[i];
}
template <class R>
JAXSCOPE_INLINED void take_away(std::complex<R>* y, std::complex<R> c, const std::complex<R>* x, std::int64_t n) {
    R* to = reinterpret_cast<R*>(y);
    const R* from = reinterpret_cast<const R*>(x);
    const R re = c.real(), im = c.imag();
    for (std::int64_t i = 0; i < n; ++i) {
        to[2 * i] -= re * from[2 * i] - im * from[2 * i + 1];
        to[2 * i + 1] -= re * from[2 * i + 1] + im * from[2 * i];
    }
}
template <class T>
T conjugated(T v) {
    if constexpr (std::is_floating_point_v<T>)
        return v;
    else
        return std::conj(v);
}
template <class T>
JAXSCOPE_INLINED T coefficient(const TriangularSystem<T>& s, std::int64_t j, std::int64_t p) {
    const T v = s.a[j * s.row + p * s.column];
    return s.conjugate ? conjugated(v) : v;
}

/// At most kBlock equations, right sides side by side in `x`, kBlock numbers from one equation to the next.
template <class T>
JAXSCOPE_INLINED void solve_small(const TriangularSystem<T>& s, T* x, std::int64_t count) {
    for (std::int64_t i = 0; i < s.size; ++i) {
        const std::int64_t j = s.lower ? i : s.size - 1 - i;
        T* y = x + j * kBlock;
        for (std::int64_t p = s.lower ? 0 : j + 1; p < (s.lower ? j : s.size); ++p)
            take_away(y, coefficient(s, j, p), x + p * kBlock, count);
        if (s.unit_diagonal) continue;
        const T d = coefficient(s, j, j);
        for (std::int64_t l = 0; l < count; ++l) y[l] /= d;
    }
}
JAXSCOPE_WIDE void solve_few(const TriangularSystem<float>& s, float* x, std::int64_t n) { solve_small(s, x, n); }
JAXSCOPE_WIDE void solve_few(const TriangularSystem<double>& s, double* x, std::int64_t n) { solve_small(s, x, n); }
JAXSCOPE_WIDE void solve_few(const TriangularSystem<std::complex<float>>& s, std::complex<float>* x, std::int64_t n) {
    solve_small(s, x, n);
}
JAXSCOPE_WIDE void solve_few(const TriangularSystem<std::complex<double>>& s, std::complex<double>* x, std::int64_t n) {
    solve_small(s, x, n);
}

/// Solves a block's equations for right sides that stand anywhere, kBlock of them at a time through `room`.
template <class T>
void solve_block(const TriangularSystem<T>& s, const RightSides<T>& sides, T* room) {
    for (std::int64_t first = 0; first < sides.count; first += kBlock) {
        const std::int64_t n = std::min(kBlock, sides.count - first);
        T* x = sides.x + first * sides.column;
        for (std::int64_t j = 0; j < s.size; ++j)
            for (std::int64_t l = 0; l < n; ++l) room[j * kBlock + l] = x[j * sides.row + l * sides.column];
        solve_few(s, room, n);
        for (std::int64_t j = 0; j < s.size; ++j)
            for (std::int64_t l = 0; l < n; ++l) x[j * sides.row + l * sides.column] = room[j * kBlock + l];
    }
}

template <class T>
constexpr std::int64_t room_bytes() {
    return kBlock * kBlock * static_cast<std::int64_t>(sizeof(T));
}
template <class T>
DotCore largest_product(std::int64_t size, std::int64_t count) {
    DotCore c;
    c.m = std::max(size, count), c.n = std::max(size, count), c.k = size;
    return c;
}

/// One thread's right sides: a block's equations, then what they leave of those that follow.
template <class T>
void solve_part(const TriangularSystem<T>& s, const RightSides<T>& sides, void* scratch) {
    T* room = static_cast<T*>(scratch);
    void* packed = static_cast<char*>(scratch) + room_bytes<T>();
    const std::int64_t blocks = (s.size + kBlock - 1) / kBlock;
    for (std::int64_t i = 0; i < blocks; ++i) {
        const std::int64_t begin = (s.lower ? i : blocks - 1 - i) * kBlock, end = std::min(begin + kBlock, s.size);
        TriangularSystem<T> block = s;
        block.a += begin * (s.row + s.column), block.size = end - begin;
        solve_block(block, {sides.x + begin * sides.row, sides.count, sides.row, sides.column}, room);
        const std::int64_t first = s.lower ? end : 0, last = s.lower ? s.size : begin;
        if (first == last) continue;
        const DotCore product{last - first, sides.count, end - begin, s.row, s.column, sides.row, sides.column, sides.row, sides.column};
        packed_product(product, s.a + first * s.row + begin * s.column, static_cast<const T*>(sides.x + begin * sides.row),
                       sides.x + first * sides.row, {.add = true, .negate = true, .conjugate = s.conjugate}, packed);
    }
}

/// a[n, n] by columns, at most kBlock of them: L in its lower triangle.
template <class T>
bool cholesky_small(std::int64_t n, T* a, std::int64_t stride) {
    for (std::int64_t j = 0; j < n; ++j) {
        T* column = a + j * stride;
        for (std::int64_t p = 0; p < j; ++p) take_away(column + j, conjugated(a[p * stride + j]), a + p * stride + j, n - j);
        const auto d = std::real(column[j]);
        if (d <= 0) return false;  // a NaN goes on into what depends on it, as in LAPACK
        const auto root = std::sqrt(d);
        column[j] = root;
        for (std::int64_t i = j + 1; i < n; ++i) column[i] /= root;
    }
    return true;
}

/// In numbers of twice the precision: errors of the block on the diagonal go into all that follows.
template <class T, class Wide>
bool cholesky_wide(std::int64_t n, T* a, std::int64_t stride) {
    std::array<Wide, kBlock * kBlock> room;
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = j; i < n; ++i) room[static_cast<std::size_t>(j * n + i)] = Wide(a[j * stride + i]);
    if (!cholesky_small(n, room.data(), n)) return false;
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = j; i < n; ++i) a[j * stride + i] = T(room[static_cast<std::size_t>(j * n + i)]);
    return true;
}
bool cholesky_block(std::int64_t n, float* a, std::int64_t stride) { return cholesky_wide<float, double>(n, a, stride); }
bool cholesky_block(std::int64_t n, std::complex<float>* a, std::int64_t stride) {
    return cholesky_wide<std::complex<float>, std::complex<double>>(n, a, stride);
}
bool cholesky_block(std::int64_t n, double* a, std::int64_t stride) { return cholesky_small(n, a, stride); }
bool cholesky_block(std::int64_t n, std::complex<double>* a, std::int64_t stride) { return cholesky_small(n, a, stride); }

}  // namespace

bool worth_blocks(std::int64_t size, std::int64_t count) { return size >= 16 && count >= 8 && size * count >= 1024; }

template <class T>
std::int64_t blocked_bytes(std::int64_t size, std::int64_t count) {
    return checked_add(room_bytes<T>(), packed_bytes<T>(largest_product<T>(size, count)));
}

template <class T>
void solve_blocked(const TriangularSystem<T>& s, const RightSides<T>& sides, int threads, void* scratch) {
    const double work = static_cast<double>(s.size) * static_cast<double>(s.size) * static_cast<double>(sides.count);
    const std::int64_t each = blocked_bytes<T>(s.size, sides.count);
    parallel_shares(work < kParallelWork ? 1 : threads, sides.count, kBlock, [&](int thread, std::int64_t begin, std::int64_t end) {
        solve_part(s, {sides.x + begin * sides.column, end - begin, sides.row, sides.column}, static_cast<char*>(scratch) + thread * each);
    });
}

template <class T>
std::int64_t cholesky_bytes(std::int64_t size) {
    return size > kBlock ? blocked_bytes<T>(size, size) : 0;
}

template <class T>
bool cholesky_blocked(int size, T* a, int threads, void* scratch) {
    const std::int64_t n = size, each = cholesky_bytes<T>(n);
    for (std::int64_t k = 0; k < n; k += kBlock) {
        const std::int64_t end = std::min(k + kBlock, n), rest = n - end;
        T* diagonal = a + k * n + k;
        if (!cholesky_block(end - k, diagonal, n)) return false;
        if (rest == 0) break;
        // Rows below: x L^H = a, equation by equation sum_p conj(L(j, p)) x_p = a_j with columns x_p.
        T* below = a + k * n + end;
        const TriangularSystem<T> system{diagonal, end - k, 1, n, true, false, true};
        const bool serial = static_cast<double>(rest * rest) * kBlock < kParallelWork;
        parallel_shares(serial ? 1 : threads, rest, kBlock, [&](int thread, std::int64_t begin, std::int64_t last) {
            solve_part(system, {below + begin, last - begin, n, 1}, static_cast<char*>(scratch) + thread * each);
        });
        // What they leave of the columns to the right, from the diagonal on down.
        run_shares(serial ? 1 : threads, (rest + kBlock - 1) / kBlock, [&](int thread, std::int64_t i) {
            const std::int64_t first = i * kBlock, columns = std::min(kBlock, rest - first);
            const DotCore product{columns, rest - first, end - k, 1, n, n, 1, n, 1};
            packed_product(product, static_cast<const T*>(below + first), static_cast<const T*>(below + first),
                           a + (end + first) * n + end + first, {.add = true, .negate = true, .conjugate = true},
                           static_cast<char*>(scratch) + thread * each + room_bytes<T>());
        });
    }
    return true;
}

#define JAXSCOPE_BLOCKED(T)                                                                       \
    template std::int64_t blocked_bytes<T>(std::int64_t, std::int64_t);                           \
    template std::int64_t cholesky_bytes<T>(std::int64_t);                                        \
    template void solve_blocked<T>(const TriangularSystem<T>&, const RightSides<T>&, int, void*); \
    template bool cholesky_blocked<T>(int, T a[], int, void*);
JAXSCOPE_BLOCKED(float)
JAXSCOPE_BLOCKED(double)
JAXSCOPE_BLOCKED(std::complex<float>)
JAXSCOPE_BLOCKED(std::complex<double>)
#undef JAXSCOPE_BLOCKED

}  // namespace jaxscope::exec
