// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "base/checked.h"
#include "jit/kernels/library.h"
#include "jit/kernels/matrices/lapack_lock.h"
#include "jit/kernels/threads/parallel.h"

// What calls of LAPACK share: matrices are copied to column order and back; copies and workspace stand in the arena.
namespace jaxscope::exec {

using C64 = std::complex<float>;
using C128 = std::complex<double>;
template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
    using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

inline int small(std::int64_t n) {
    if (n > std::numeric_limits<int>::max()) throw Error(ErrorCode::CannotRun, "expected matrices within LAPACK's 32-bit sizes");
    return static_cast<int>(n);
}

/// Rows, columns and batch count of an operand.
template <class T>
class MatrixCall : public LibraryCall {
public:
    explicit MatrixCall(const Op& op, std::size_t operand = 0) : op_(op) {
        const Dims& s = op.in[operand]->shape;
        rows_ = small(s[s.size() - 2]), cols_ = small(s.back());
        for (std::size_t d = 0; d + 2 < s.size(); ++d) batch_ = checked_mul(batch_, s[d]);
    }
    std::int64_t scratch_bytes() const override { return checked_mul(bytes_, sharers()); }

protected:
    /// fn(number of a matrix, scratch memory) for each of the batch; threads share it, each with memory of its own, where matrices are
    /// small: for large ones LAPACK has threads itself.
    template <class Fn>
    void each_matrix(void* scratch, const Fn& fn) const {
        constexpr double kWorkOfNumber = 20;  // for each row or column
        const double work = kWorkOfNumber * static_cast<double>(batch_ * size()) * std::min(rows_, cols_);
        parallel_shares(work < kParallelWork ? 1 : sharers(), batch_, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) fn(b, static_cast<void*>(static_cast<char*>(scratch) + thread * bytes_));
        });
    }
    std::int64_t reserve(std::int64_t bytes) {
        const std::int64_t at = bytes_;
        bytes_ = checked_add(bytes_, checked_align(std::max<std::int64_t>(bytes, 1), 64));
        return at;
    }
    std::int64_t reserve_numbers(std::int64_t n) { return reserve(checked_mul(n, static_cast<std::int64_t>(sizeof(T)))); }
    template <class U = T>
    static U* place(void* scratch, std::int64_t at) {
        return reinterpret_cast<U*>(static_cast<char*>(scratch) + at);
    }
    /// Matrix number `b` of an operand or result.
    template <class U, class P>
    static U* matrix(P* base, std::int64_t b, std::int64_t size) {
        return static_cast<U*>(base) + b * size;
    }
    static void to_columns(const T* from, int m, int n, T* to) {
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) to[static_cast<std::int64_t>(j) * m + i] = from[static_cast<std::int64_t>(i) * n + j];
    }
    static void to_rows(const T* from, int m, int n, T* to) {
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) to[static_cast<std::int64_t>(i) * n + j] = from[static_cast<std::int64_t>(j) * m + i];
    }
    template <class U>
    static void fill_nan(U* p, std::int64_t n) {
        std::fill_n(p, n, U(std::numeric_limits<Real<U>>::quiet_NaN()));
    }
    std::int64_t size() const { return std::int64_t{rows_} * cols_; }
    int sharers() const {
        constexpr std::int64_t kSmall = 128 * 128;
        return size() <= kSmall && batch_ >= threads && !lapack_takes_turns() ? std::max(1, threads) : 1;
    }

    Op op_;
    int rows_ = 0, cols_ = 0;
    std::int64_t batch_ = 1, bytes_ = 0;
};

template <class T>
bool all_finite(const T* a, std::int64_t n) {
    return std::all_of(a, a + n, [](T v) { return std::isfinite(std::real(v)) && std::isfinite(std::imag(v)); });
}

/// The routine made for the dtype of the first operand; null where that is no floating or complex dtype of LAPACK.
template <class Make>
LibraryCallPtr for_lapack_type(DType d, const Make& make) {
    switch (d) {
        case DType::F32:  // NOLINT(bugprone-branch-clone): the types differ
            return make(float());
        case DType::F64:
            return make(double());
        case DType::C64:
            return make(C64());
        case DType::C128:
            return make(C128());
        default:
            return nullptr;
    }
}

}  // namespace jaxscope::exec
