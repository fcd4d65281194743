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

// Tridiagonal systems through LAPACK's gtsv, batch by batch. A singular system's solution is NaN, as in JAX.
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
        T *l = this->place(scratch, diagonals_[0]), *d = this->place(scratch, diagonals_[1]), *u = this->place(scratch, diagonals_[2]);
        T* x = this->place(scratch, right_);
        if (this->size() == 0) return;
        for (std::int64_t b = 0; b < this->batch_; ++b) {
            const auto diagonal = [&](std::size_t k) { return static_cast<const T*>(in[k]) + b * n; };
            std::copy_n(diagonal(0) + 1, n - 1, l);
            std::copy_n(diagonal(1), n, d);
            std::copy_n(diagonal(2), n - 1, u);
            this->to_columns(static_cast<const T*>(in[3]) + b * this->size(), n, columns, x);
            if (gtsv(n, columns, l, d, u, x) != 0) this->fill_nan(x, this->size());
            this->to_rows(x, n, columns, static_cast<T*>(out[0]) + b * this->size());
        }
    }

private:
    std::int64_t diagonals_[3] = {}, right_ = 0;
};

}  // namespace

LibraryCallPtr make_tridiagonal_routine(const Op& op) {
    if (op.prim != &kTridiagonalSolve) return nullptr;
    return for_lapack_type(op.in[3]->dtype,
                           [&](auto number) -> LibraryCallPtr { return std::make_shared<TridiagonalSolve<decltype(number)>>(op); });
}

}  // namespace jaxscope::exec
