// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "jit/kernels/matrices/lapack_lock.h"
#include "jit/kernels/matrices/matrix_call.h"
#include "lax/params/linalg.h"
#include "lax/routine_primitives.h"

// Tridiagonal systems through LAPACK's gtsv, batch by batch. A singular system's solution is NaN, as in JAX. Reductions to tridiagonal
// form, and rank-one updates of Cholesky's factors.
namespace jaxscope::exec {

namespace {

int gtsv(int n, int k, float* l, float* d, float* u, float* b) {
    const LapackLock lock;
    return LAPACKE_sgtsv_work(LAPACK_COL_MAJOR, n, k, l, d, u, b, n);
}
int gtsv(int n, int k, double* l, double* d, double* u, double* b) {
    const LapackLock lock;
    return LAPACKE_dgtsv_work(LAPACK_COL_MAJOR, n, k, l, d, u, b, n);
}
int gtsv(int n, int k, C64* l, C64* d, C64* u, C64* b) {
    const LapackLock lock;
    return LAPACKE_cgtsv_work(LAPACK_COL_MAJOR, n, k, l, d, u, b, n);
}
int gtsv(int n, int k, C128* l, C128* d, C128* u, C128* b) {
    const LapackLock lock;
    return LAPACKE_zgtsv_work(LAPACK_COL_MAJOR, n, k, l, d, u, b, n);
}

/// Operands: the lower diagonal (its first element is not read), the diagonal, the upper one (its last is not read), right-hand sides.
template <class T>
class TridiagonalSolve final : public MatrixCall<T> {
public:
    explicit TridiagonalSolve(const Op& op) : MatrixCall<T>(op, 3) {
        if (op.as<TridiagonalSolveParams>().perturb_singular)
            throw Error(ErrorCode::NoRule, "expected tridiagonal_solve with perturb_singular=False: with True there is no kernel yet");
        for (std::int64_t& at : diagonals_) at = this->reserve_numbers(this->rows_);
        right_ = this->reserve_numbers(this->size());
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_, columns = this->cols_;
        if (this->size() == 0) return;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            T *l = this->place(own, diagonals_[0]), *d = this->place(own, diagonals_[1]), *u = this->place(own, diagonals_[2]);
            T* x = this->place(own, right_);
            const auto diagonal = [&](std::size_t k) { return static_cast<const T*>(in[k]) + b * n; };
            std::copy_n(diagonal(0) + 1, n - 1, l);
            std::copy_n(diagonal(1), n, d);
            std::copy_n(diagonal(2), n - 1, u);
            this->to_columns(static_cast<const T*>(in[3]) + b * this->size(), n, columns, x);
            if (gtsv(n, columns, l, d, u, x) != 0) this->fill_nan(x, this->size());
            this->to_rows(x, n, columns, static_cast<T*>(out[0]) + b * this->size());
        });
    }

private:
    std::int64_t diagonals_[3] = {}, right_ = 0;
};

/// Where the reduction's results go: the matrix, both diagonals and the reflectors' factors.
template <class T>
struct Reduction {
    char uplo;
    int n;
    T* a;
    Real<T>*d, *e;
    T *tau, *work;
    int size;
};
int sytrd(const Reduction<float>& x) {
    const LapackLock lock;
    return LAPACKE_ssytrd_work(LAPACK_COL_MAJOR, x.uplo, x.n, x.a, x.n, x.d, x.e, x.tau, x.work, x.size);
}
int sytrd(const Reduction<double>& x) {
    const LapackLock lock;
    return LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, x.uplo, x.n, x.a, x.n, x.d, x.e, x.tau, x.work, x.size);
}
int sytrd(const Reduction<C64>& x) {
    const LapackLock lock;
    return LAPACKE_chetrd_work(LAPACK_COL_MAJOR, x.uplo, x.n, x.a, x.n, x.d, x.e, x.tau, x.work, x.size);
}
int sytrd(const Reduction<C128>& x) {
    const LapackLock lock;
    return LAPACKE_zhetrd_work(LAPACK_COL_MAJOR, x.uplo, x.n, x.a, x.n, x.d, x.e, x.tau, x.work, x.size);
}

template <class T>
class Tridiagonal final : public MatrixCall<T> {
public:
    explicit Tridiagonal(const Op& op) : MatrixCall<T>(op), uplo_(op.as<TridiagonalParams>().lower ? 'L' : 'U') {
        constexpr std::int64_t kLargestBlock = 64;
        size_ = small(kLargestBlock * this->rows_);
        copy_ = this->reserve_numbers(this->size());
        work_ = this->reserve_numbers(size_);
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            T* a = this->place(own, copy_);
            this->to_columns(static_cast<const T*>(in[0]) + b * this->size(), n, n, a);
            const Reduction<T> x{uplo_,
                                 n,
                                 a,
                                 static_cast<Real<T>*>(out[1]) + b * n,
                                 static_cast<Real<T>*>(out[2]) + b * (n - 1),
                                 static_cast<T*>(out[3]) + b * (n - 1),
                                 this->place(own, work_),
                                 size_};
            sytrd(x);
            this->to_rows(a, n, n, static_cast<T*>(out[0]) + b * this->size());
        });
    }

private:
    char uplo_;
    int size_ = 0;
    std::int64_t copy_ = 0, work_ = 0;
};

/// R of r^T r + w w^T: a rotation for each row takes w's element into the diagonal.
template <class T>
class CholeskyUpdate final : public MatrixCall<T> {
public:
    explicit CholeskyUpdate(const Op& op) : MatrixCall<T>(op) { w_ = this->reserve_numbers(this->rows_); }
    bool in_place(std::size_t in, std::size_t) const override { return in == 0; }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_;
        T *r = static_cast<T*>(out[0]), *w = this->place(scratch, w_);
        if (in[0] != out[0]) std::copy_n(static_cast<const T*>(in[0]), this->size(), r);
        std::copy_n(static_cast<const T*>(in[1]), n, w);
        for (int k = 0; k < n; ++k) {
            T* row = r + std::int64_t{k} * n;
            if (w[k] == 0) continue;
            const T largest = std::max(std::abs(w[k]), std::abs(row[k]));
            const T x = row[k] / largest, y = w[k] / largest, by = 1 / std::sqrt(x * x + y * y), c = x * by, s = -y * by;
            for (int j = 0; j < n; ++j) {
                const T above = row[j];
                row[j] = c * above - s * w[j];
                w[j] = c * w[j] + s * above;
            }
        }
    }

private:
    std::int64_t w_ = 0;
};

}  // namespace

LibraryCallPtr make_tridiagonal_routine(const Op& op) {
    if (op.prim == &kTridiagonal)
        return for_lapack_type(op.in[0]->dtype,
                               [&](auto number) -> LibraryCallPtr { return std::make_shared<Tridiagonal<decltype(number)>>(op); });
    if (op.prim == &kCholeskyUpdate) {
        if (op.in[0]->dtype == DType::F32) return std::make_shared<CholeskyUpdate<float>>(op);
        return op.in[0]->dtype == DType::F64 ? std::make_shared<CholeskyUpdate<double>>(op) : nullptr;
    }
    if (op.prim != &kTridiagonalSolve) return nullptr;
    return for_lapack_type(op.in[3]->dtype,
                           [&](auto number) -> LibraryCallPtr { return std::make_shared<TridiagonalSolve<decltype(number)>>(op); });
}

}  // namespace jaxscope::exec
