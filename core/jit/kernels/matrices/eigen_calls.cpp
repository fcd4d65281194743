// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

#include "jit/kernels/matrices/lapack_lock.h"
#include "jit/kernels/matrices/matrix_call.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"

// Eigenvalues and Schur forms of general matrices through LAPACK, batch by batch. What LAPACK can't do is NaN, as in JAX.
namespace jaxscope::exec {

namespace {

/// Operands of geev: a (destroyed), eigenvalues (real and imaginary parts of real matrices), eigenvectors, workspace.
template <class T>
struct EigArguments {
    char left, right;
    int n;
    T *a, *w, *w_imag, *vl, *vr, *work;
    int size;
    Real<T>* real;
};
int geev(const EigArguments<float>& x) {
    const LapackLock lock;
    return LAPACKE_sgeev_work(LAPACK_COL_MAJOR, x.left, x.right, x.n, x.a, x.n, x.w, x.w_imag, x.vl, x.n, x.vr, x.n, x.work, x.size);
}
int geev(const EigArguments<double>& x) {
    const LapackLock lock;
    return LAPACKE_dgeev_work(LAPACK_COL_MAJOR, x.left, x.right, x.n, x.a, x.n, x.w, x.w_imag, x.vl, x.n, x.vr, x.n, x.work, x.size);
}
int geev(const EigArguments<C64>& x) {
    const LapackLock lock;
    return LAPACKE_cgeev_work(LAPACK_COL_MAJOR, x.left, x.right, x.n, x.a, x.n, x.w, x.vl, x.n, x.vr, x.n, x.work, x.size, x.real);
}
int geev(const EigArguments<C128>& x) {
    const LapackLock lock;
    return LAPACKE_zgeev_work(LAPACK_COL_MAJOR, x.left, x.right, x.n, x.a, x.n, x.w, x.vl, x.n, x.vr, x.n, x.work, x.size, x.real);
}

/// Operands of gees: a becomes the Schur form; the eigenvalues are thrown away.
template <class T>
struct SchurArguments {
    char job;
    int n;
    T *a, *w, *w_imag, *vs, *work;
    int size;
    Real<T>* real;
};
int gees(const SchurArguments<float>& x) {
    int found = 0;
    const LapackLock lock;
    return LAPACKE_sgees_work(LAPACK_COL_MAJOR, x.job, 'N', nullptr, x.n, x.a, x.n, &found, x.w, x.w_imag, x.vs, x.n, x.work, x.size,
                              nullptr);
}
int gees(const SchurArguments<double>& x) {
    int found = 0;
    const LapackLock lock;
    return LAPACKE_dgees_work(LAPACK_COL_MAJOR, x.job, 'N', nullptr, x.n, x.a, x.n, &found, x.w, x.w_imag, x.vs, x.n, x.work, x.size,
                              nullptr);
}
int gees(const SchurArguments<C64>& x) {
    int found = 0;
    const LapackLock lock;
    return LAPACKE_cgees_work(LAPACK_COL_MAJOR, x.job, 'N', nullptr, x.n, x.a, x.n, &found, x.w, x.vs, x.n, x.work, x.size, x.real,
                              nullptr);
}
int gees(const SchurArguments<C128>& x) {
    int found = 0;
    const LapackLock lock;
    return LAPACKE_zgees_work(LAPACK_COL_MAJOR, x.job, 'N', nullptr, x.n, x.a, x.n, &found, x.w, x.vs, x.n, x.work, x.size, x.real,
                              nullptr);
}

/// Square matrices with the workspace that LAPACK asks for; T: of the operand.
template <class T>
class SquareCall : public MatrixCall<T> {
protected:
    explicit SquareCall(const Op& op) : MatrixCall<T>(op) {
        const std::int64_t n = std::max(this->rows_, 1);
        copy_ = this->reserve_numbers(n * n);
        values_ = this->reserve_numbers(2 * n);
        real_ = this->reserve(2 * n * static_cast<std::int64_t>(sizeof(Real<T>)));
    }
    /// Asks `routine` for the size of its workspace and reserves it.
    template <class Arguments, class Routine>
    void reserve_work(Arguments query, const Routine& routine) {
        T best{};
        Real<T> spare[2] = {};  // complex routines write to it even when they are only asked
        query.work = &best, query.size = -1, query.real = spare;
        if (query.n > 0) routine(query);
        work_size_ = std::max(1, static_cast<int>(std::real(best) * 1.0001) + 1);
        work_ = this->reserve_numbers(work_size_);
    }
    template <class Arguments>
    void place_work(Arguments& x, void* scratch) const {
        x.a = this->place(scratch, copy_), x.w = this->place(scratch, values_), x.w_imag = x.w + this->rows_;
        x.work = this->place(scratch, work_), x.size = work_size_, x.real = this->template place<Real<T>>(scratch, real_);
    }
    int work_size_ = 1;
    std::int64_t copy_ = 0, values_ = 0, real_ = 0, work_ = 0;
};

template <class T>
class Eig final : public SquareCall<T> {
    using Complex = std::complex<Real<T>>;

public:
    explicit Eig(const Op& op) : SquareCall<T>(op) {
        const auto& p = op.as<EigParams>();
        left_ = p.compute_left_eigenvectors, right_ = p.compute_right_eigenvectors;
        vl_ = this->reserve_numbers(left_ ? this->size() : 1);
        vr_ = this->reserve_numbers(right_ ? this->size() : 1);
        this->reserve_work(arguments(), [](const auto& x) { return geev(x); });
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_;
        if (n == 0) return;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            EigArguments<T> x = arguments();
            this->place_work(x, own);
            x.vl = this->place(own, vl_), x.vr = this->place(own, vr_);
            const T* from = static_cast<const T*>(in[0]) + b * this->size();
            this->to_columns(from, n, n, x.a);
            const bool failed = !all_finite(from, this->size()) || geev(x) != 0;
            auto* w = static_cast<Complex*>(out[0]) + b * n;
            for (int j = 0; j < n; ++j) w[j] = value(x, j);
            if (failed) this->fill_nan(w, n);
            if (left_) store(x, x.vl, failed, static_cast<Complex*>(out[1]) + b * this->size());
            if (right_) store(x, x.vr, failed, static_cast<Complex*>(out[left_ ? 2 : 1]) + b * this->size());
        });
    }

private:
    EigArguments<T> arguments() const {
        EigArguments<T> x{};
        x.left = left_ ? 'V' : 'N', x.right = right_ ? 'V' : 'N', x.n = this->rows_;
        return x;
    }
    static Complex value(const EigArguments<T>& x, int j) {
        if constexpr (std::is_same_v<T, Real<T>>)
            return {x.w[j], x.w_imag[j]};
        else
            return x.w[j];
    }
    /// Real matrices have a conjugate pair's vectors in two columns, real part and imaginary part.
    static Complex component(const EigArguments<T>& x, const T* v, int i, int j) {
        const auto column = [&](int c) { return v[std::int64_t{c} * x.n + i]; };
        if constexpr (std::is_same_v<T, Real<T>>) {
            if (x.w_imag[j] > 0 && j + 1 < x.n) return {column(j), column(j + 1)};
            if (x.w_imag[j] < 0 && j > 0) return {column(j - 1), -column(j)};
        }
        return column(j);
    }
    void store(const EigArguments<T>& x, const T* v, bool failed, Complex* to) const {
        for (int i = 0; i < x.n; ++i)
            for (int j = 0; j < x.n; ++j) to[std::int64_t{i} * x.n + j] = component(x, v, i, j);
        if (failed) this->fill_nan(to, this->size());
    }
    bool left_ = false, right_ = false;
    std::int64_t vl_ = 0, vr_ = 0;
};

template <class T>
class Schur final : public SquareCall<T> {
public:
    explicit Schur(const Op& op) : SquareCall<T>(op), vectors_(op.as<SchurParams>().compute_schur_vectors) {
        vs_ = this->reserve_numbers(vectors_ ? this->size() : 1);
        this->reserve_work(arguments(), [](const auto& x) { return gees(x); });
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_;
        if (n == 0) return;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            SchurArguments<T> x = arguments();
            this->place_work(x, own);
            x.vs = this->place(own, vs_);
            const T* from = static_cast<const T*>(in[0]) + b * this->size();
            this->to_columns(from, n, n, x.a);
            if (!all_finite(from, this->size()) || gees(x) != 0) {
                this->fill_nan(x.a, this->size());
                if (vectors_) this->fill_nan(x.vs, this->size());
            }
            this->to_rows(x.a, n, n, static_cast<T*>(out[0]) + b * this->size());
            if (vectors_) this->to_rows(x.vs, n, n, static_cast<T*>(out[1]) + b * this->size());
        });
    }

private:
    SchurArguments<T> arguments() const {
        SchurArguments<T> x{};
        x.job = vectors_ ? 'V' : 'N', x.n = this->rows_;
        return x;
    }
    bool vectors_ = false;
    std::int64_t vs_ = 0;
};

}  // namespace

LibraryCallPtr make_eigen_routine(const Op& op) {
    if (op.prim != &kEig && op.prim != &kSchur) return nullptr;
    return for_lapack_type(op.in[0]->dtype, [&](auto number) -> LibraryCallPtr {
        using T = decltype(number);
        if (op.prim == &kSchur) return std::make_shared<Schur<T>>(op);
        return std::make_shared<Eig<T>>(op);
    });
}

}  // namespace jaxscope::exec
