// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <memory>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "base/checked.h"
#include "jit/kernels/matrices/lapack_lock.h"
#include "jit/kernels/matrices/matrix_call.h"
#include "jit/kernels/matrices/stepwise.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"

// Decompositions by Householder's reflectors: those below the diagonal, their factors beside them, and the orthogonal matrix that they
// make.
namespace jaxscope::exec {

namespace {

// One name for the four types of each routine. LAPACK's of complex numbers take a further operand where they pivot, and have another name
// where they make the matrix.
// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define JAXSCOPE_REFLECTORS(T, p, making, ...)                                                                           \
    int geqrf(int m, int n, T* a, T* tau, T* work, int size) {                                                           \
        const LapackLock lock;                                                                                           \
        return LAPACKE_##p##geqrf_work(LAPACK_COL_MAJOR, m, n, a, std::max(m, 1), tau, work, size);                      \
    }                                                                                                                    \
    int gehrd(int n, T* a, T* tau, T* work, int size) {                                                                  \
        const LapackLock lock;                                                                                           \
        return LAPACKE_##p##gehrd_work(LAPACK_COL_MAJOR, n, 1, n, a, n, tau, work, size);                                \
    }                                                                                                                    \
    int geqp3(int m, int n, T* a, int* order, T* tau, T* work, int size, [[maybe_unused]] Real<T>* real) {               \
        const LapackLock lock;                                                                                           \
        return LAPACKE_##p##geqp3_work(LAPACK_COL_MAJOR, m, n, a, m, order, tau, work, size __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                                                    \
    int ungqr(int m, int n, int k, T* a, T* tau, T* work, int size) {                                                    \
        const LapackLock lock;                                                                                           \
        return LAPACKE_##making##_work(LAPACK_COL_MAJOR, m, n, k, a, std::max(m, 1), tau, work, size);                   \
    }
JAXSCOPE_REFLECTORS(float, s, sorgqr)
JAXSCOPE_REFLECTORS(double, d, dorgqr)
JAXSCOPE_REFLECTORS(C64, c, cungqr, real)
JAXSCOPE_REFLECTORS(C128, z, zungqr, real)
#undef JAXSCOPE_REFLECTORS
// NOLINTEND(bugprone-macro-parentheses)

/// qr: geqrf (geqp3 where columns are pivoted), then q of its reflectors. Also geqrf, hessenberg and householder_product by themselves.
template <class T>
class Orthogonal final : public MatrixCall<T> {
public:
    enum class Part : std::uint8_t { Qr, Reflectors, Hessenberg, Product };
    Orthogonal(const Op& op, Part part) : MatrixCall<T>(op), part_(part) {
        const int m = this->rows_;
        k_ = std::min(m, this->cols_);
        q_cols_ = this->cols_;
        if (part == Part::Qr) {
            pivoting_ = op.as<QrParams>().pivoting;
            q_cols_ = op.as<QrParams>().full_matrices ? m : k_;
        }
        if (part == Part::Product) k_ = small(op.in[1]->shape.back());
        if (part == Part::Hessenberg) k_ = std::max(m - 1, 0);
        const int widest = std::max(this->cols_, q_cols_);
        copy_ = this->reserve_numbers(std::int64_t{m} * widest);
        upper_ = this->reserve_numbers(this->size());
        tau_ = this->reserve_numbers(std::max(k_, 1));
        work_size_ = small(std::max<std::int64_t>(1, std::int64_t{widest} * 64));  // 64: LAPACK's largest block
        work_ = this->reserve_numbers(work_size_);
        if (pivoting_) real_ = this->reserve(checked_mul(2 * static_cast<std::int64_t>(sizeof(Real<T>)), this->cols_));
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int m = this->rows_, n = this->cols_;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            T *a = this->place(own, copy_), *tau = this->place(own, tau_), *work = this->place(own, work_);
            this->to_columns(this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size()), m, n, a);
            const bool finite = all_finite(a, this->size());
            if (part_ == Part::Product)
                std::copy_n(static_cast<const T*>(in[1]) + b * k_, k_, tau);
            else if (pivoting_)
                pivoted(a, tau, work, own, static_cast<std::int32_t*>(out[2]) + b * n);
            else if (part_ == Part::Hessenberg)
                reduce(this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size()), a, tau, work);
            else if (!finite)
                reflectors_stepwise(m, n, a, tau);
            else if (k_ > 0)
                geqrf(m, n, a, tau, work, work_size_);
            if (part_ == Part::Reflectors || part_ == Part::Hessenberg) {
                this->to_rows(a, m, n, this->template matrix<T>(out[0], b, this->size()));
                std::copy_n(tau, k_, static_cast<T*>(out[1]) + b * k_);
                return;
            }
            if (part_ == Part::Qr) store_r(a, static_cast<T*>(out[1]) + b * q_cols_ * n);
            if (!finite)
                product_stepwise(m, q_cols_, k_, a, tau);
            else if (m > 0 && q_cols_ > 0)
                ungqr(m, q_cols_, k_, a, tau, work, work_size_);
            this->to_rows(a, m, q_cols_, this->template matrix<T>(out[0], b, std::int64_t{m} * q_cols_));
        });
    }

private:
    /// `order`: the column of the matrix that each column of r comes from; of a matrix without elements 0, as JAX has it.
    void pivoted(T* a, T* tau, T* work, void* scratch, std::int32_t* order) const {
        const int n = this->cols_;
        std::fill_n(order, n, 0);  // every column may move
        if (k_ == 0) return;
        geqp3(this->rows_, n, a, order, tau, work, work_size_, reinterpret_cast<Real<T>*>(static_cast<char*>(scratch) + real_));
        for (int j = 0; j < n; ++j) --order[j];
    }
    void reduce(const T* from, T* a, T* tau, T* work) const {
        if (all_finite(from, this->size())) {
            if (k_ > 0) gehrd(this->rows_, a, tau, work, work_size_);
        } else {
            this->fill_nan(a, this->size());
            this->fill_nan(tau, k_);
        }
    }
    void store_r(const T* a, T* r) const {
        for (int i = 0; i < q_cols_; ++i)
            for (int j = 0; j < this->cols_; ++j)
                r[std::int64_t{i} * this->cols_ + j] = i <= j ? a[std::int64_t{j} * this->rows_ + i] : T(0);
    }
    Part part_;
    bool pivoting_ = false;
    int k_ = 0, q_cols_ = 0, work_size_ = 1;
    std::int64_t copy_ = 0, upper_ = 0, tau_ = 0, work_ = 0, real_ = 0;
};

template <class T>
LibraryCallPtr reflectors_for(const Op& op) {
    using Part = typename Orthogonal<T>::Part;
    if (op.prim == &kQr) return std::make_shared<Orthogonal<T>>(op, Part::Qr);
    if (op.prim == &kGeqrf) return std::make_shared<Orthogonal<T>>(op, Part::Reflectors);
    if (op.prim == &kHessenberg) return std::make_shared<Orthogonal<T>>(op, Part::Hessenberg);
    if (op.prim == &kHouseholderProduct) return std::make_shared<Orthogonal<T>>(op, Part::Product);
    return nullptr;
}

}  // namespace

LibraryCallPtr make_reflector_routine(const Op& op) {
    if (op.in.empty() || op.in[0]->shape.size() < 2) return nullptr;
    return for_lapack_type(op.in[0]->dtype, [&](auto number) { return reflectors_for<decltype(number)>(op); });
}

}  // namespace jaxscope::exec
