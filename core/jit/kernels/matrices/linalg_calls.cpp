// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <cblas.h>
#include <lapacke.h>

#include "ir/types/element.h"
#include "jit/kernels/matrices/blocked_solve.h"
#include "jit/kernels/matrices/lapack_lock.h"
#include "jit/kernels/matrices/matrix_call.h"
#include "jit/kernels/matrices/stepwise.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"

// Matrix decompositions and triangular solves through LAPACK and BLAS, batch by batch. Matrices are copied to column order and back;
// copies and workspace stand in the arena. What LAPACK can't do is NaN, as in JAX (lax/linalg.py of 0.10.2).
namespace jaxscope::exec {

namespace {

// One name for the four types of each routine.
// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define JAXSCOPE_LAPACK(T, p)                                                              \
    int getrf(int m, int n, T* a, int* pivots) {                                           \
        const LapackLock lock;                                                             \
        return LAPACKE_##p##getrf_work(LAPACK_COL_MAJOR, m, n, a, std::max(m, 1), pivots); \
    }
JAXSCOPE_LAPACK(float, s)
JAXSCOPE_LAPACK(double, d)
JAXSCOPE_LAPACK(C64, c)
JAXSCOPE_LAPACK(C128, z)
#undef JAXSCOPE_LAPACK
// NOLINTEND(bugprone-macro-parentheses)
/// Operands of syevd and heevd: the matrix, whose eigenvectors come out in it, eigenvalues, workspaces and their sizes.
template <class T>
struct EighArguments {
    char uplo;
    int n;
    T* a;
    Real<T>* w;
    T* work;
    int size;
    Real<T>* real;
    int real_size;
    int* integers;
    int integers_size;
};
int heevd(const EighArguments<float>& x) {
    const LapackLock lock;
    return LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'V', x.uplo, x.n, x.a, x.n, x.w, x.work, x.size, x.integers, x.integers_size);
}
int heevd(const EighArguments<double>& x) {
    const LapackLock lock;
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', x.uplo, x.n, x.a, x.n, x.w, x.work, x.size, x.integers, x.integers_size);
}
int heevd(const EighArguments<C64>& x) {
    const LapackLock lock;
    return LAPACKE_cheevd_work(LAPACK_COL_MAJOR, 'V', x.uplo, x.n, x.a, x.n, x.w, x.work, x.size, x.real, x.real_size, x.integers,
                               x.integers_size);
}
int heevd(const EighArguments<C128>& x) {
    const LapackLock lock;
    return LAPACKE_zheevd_work(LAPACK_COL_MAJOR, 'V', x.uplo, x.n, x.a, x.n, x.w, x.work, x.size, x.real, x.real_size, x.integers,
                               x.integers_size);
}

/// Operands of gesdd: a (destroyed), singular values, u and vt with their leading dimensions, workspaces.
template <class T>
struct SvdArguments {
    char job;
    int m, n;
    T* a;
    Real<T>* s;
    T* u;
    int ldu;
    T* vt;
    int ldvt;
    T* work;
    int size;
    Real<T>* real;
    int* integers;
};
int gesdd(const SvdArguments<float>& x) {
    const LapackLock lock;
    return LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, x.job, x.m, x.n, x.a, std::max(x.m, 1), x.s, x.u, x.ldu, x.vt, x.ldvt, x.work, x.size,
                               x.integers);
}
int gesdd(const SvdArguments<double>& x) {
    const LapackLock lock;
    return LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, x.job, x.m, x.n, x.a, std::max(x.m, 1), x.s, x.u, x.ldu, x.vt, x.ldvt, x.work, x.size,
                               x.integers);
}
int gesdd(const SvdArguments<C64>& x) {
    const LapackLock lock;
    return LAPACKE_cgesdd_work(LAPACK_COL_MAJOR, x.job, x.m, x.n, x.a, std::max(x.m, 1), x.s, x.u, x.ldu, x.vt, x.ldvt, x.work, x.size,
                               x.real, x.integers);
}
int gesdd(const SvdArguments<C128>& x) {
    const LapackLock lock;
    return LAPACKE_zgesdd_work(LAPACK_COL_MAJOR, x.job, x.m, x.n, x.a, std::max(x.m, 1), x.s, x.u, x.ldu, x.vt, x.ldvt, x.work, x.size,
                               x.real, x.integers);
}

void trsm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, const float* a, int lda, float* b) {
    const LapackLock lock;
    cblas_strsm(CblasRowMajor, s, u, t, d, m, n, 1.0f, a, lda, b, n);
}
void trsm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, const double* a, int lda, double* b) {
    const LapackLock lock;
    cblas_dtrsm(CblasRowMajor, s, u, t, d, m, n, 1.0, a, lda, b, n);
}
void trsm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, const C64* a, int lda, C64* b) {
    const C64 one(1);
    const LapackLock lock;
    cblas_ctrsm(CblasRowMajor, s, u, t, d, m, n, &one, a, lda, b, n);
}
void trsm(CBLAS_SIDE s, CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, const C128* a, int lda, C128* b) {
    const C128 one(1);
    const LapackLock lock;
    cblas_ztrsm(CblasRowMajor, s, u, t, d, m, n, &one, a, lda, b, n);
}

template <class T>
class Cholesky final : public MatrixCall<T> {
public:
    explicit Cholesky(const Op& op) : MatrixCall<T>(op) {
        each_ = checked_align(checked_mul(this->size(), static_cast<std::int64_t>(sizeof(T))), 64);
        blocks_ = cholesky_bytes<T>(this->rows_);
    }
    std::int64_t scratch_bytes() const override { return checked_mul(checked_add(each_, blocks_), std::max(1, this->threads)); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_;
        if (n == 0) return;
        auto* blocks = static_cast<char*>(scratch) + each_ * this->threads;
        const double work = static_cast<double>(this->batch_) * n * n * n;
        const bool apart = this->batch_ >= this->threads && work > kParallelWork;  // whole matrices to each thread
        parallel_shares(apart ? this->threads : 1, this->batch_, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            auto* a = reinterpret_cast<T*>(static_cast<char*>(scratch) + thread * each_);
            for (std::int64_t b = begin; b < end; ++b)
                one(this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size()), a,
                    this->template matrix<T>(out[0], b, this->size()), apart ? 1 : this->threads, blocks + (apart ? thread * blocks_ : 0));
        });
    }

private:
    void one(const T* given, T* a, T* result, int workers, void* blocks) const {
        const int n = this->rows_;
        this->to_columns(given, n, n, a);
        const bool good = cholesky_blocked(n, a, workers, blocks);
        if (!good) this->fill_nan(a, this->size());
        this->to_rows(a, n, n, result);
        for (int i = 0; good && i < n; ++i)  // the other triangle stays what it was, as in JAX
            std::copy(given + std::int64_t{i} * n + i + 1, given + std::int64_t{i + 1} * n, result + std::int64_t{i} * n + i + 1);
    }
    std::int64_t each_ = 0, blocks_ = 0;
};

template <class T>
class TriangularSolve final : public MatrixCall<T> {
public:
    explicit TriangularSolve(const Op& op) : MatrixCall<T>(op), p_(op.as<TriangularSolveParams>()) {
        const Dims& s = op.in[1]->shape;
        m_ = small(s[s.size() - 2]), n_ = small(s.back());
    }
    bool in_place(std::size_t in, std::size_t) const override { return in == 1; }
    std::int64_t scratch_bytes() const override {
        return blocked() ? checked_mul(blocked_bytes<T>(this->cols_, sides()), this->threads) : 0;
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const std::int64_t each = std::int64_t{m_} * n_;
        if (in[1] != out[0]) std::memcpy(out[0], in[1], static_cast<std::size_t>(this->op_.in[1]->bytes()));
        if (each == 0) return;
        if (blocked()) return solve_all(in[0], out[0], scratch);
        // conj(a) x = b is a conj(x) = conj(b).
        const bool around = p_.conjugate_a && !p_.transpose_a;
        for (std::int64_t b = 0; b < this->batch_; ++b) {
            const T* a = this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size());
            T* x = this->template matrix<T>(out[0], b, each);
            if (around) conjugate(x, each);
            trsm(p_.left_side ? CblasLeft : CblasRight, p_.lower ? CblasLower : CblasUpper,
                 !p_.transpose_a  ? CblasNoTrans
                 : p_.conjugate_a ? CblasConjTrans
                                  : CblasTrans,
                 p_.unit_diagonal ? CblasUnit : CblasNonUnit, m_, n_, a, this->cols_, x);
            if (around) conjugate(x, each);
        }
    }

private:
    std::int64_t sides() const { return p_.left_side ? n_ : m_; }
    bool blocked() const { return worth_blocks(this->cols_, sides()); }
    void solve_all(const void* matrices, void* solutions, void* scratch) const {
        const std::int64_t n = this->cols_, each = std::int64_t{m_} * n_, room = blocked_bytes<T>(n, sides());
        const bool apart = this->batch_ >= this->threads;  // whole systems to each thread
        const bool by_rows = p_.left_side != p_.transpose_a;
        parallel_shares(apart ? this->threads : 1, this->batch_, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                const TriangularSystem<T> system{this->template matrix<const T>(matrices, b, this->size()),
                                                 n,
                                                 by_rows ? n : 1,
                                                 by_rows ? 1 : n,
                                                 p_.lower == by_rows,
                                                 p_.unit_diagonal,
                                                 p_.conjugate_a};
                T* x = this->template matrix<T>(solutions, b, each);
                const RightSides<T> right{x, sides(), p_.left_side ? n_ : 1, p_.left_side ? 1 : n_};
                solve_blocked(system, right, apart ? 1 : this->threads, static_cast<char*>(scratch) + (apart ? thread * room : 0));
            }
        });
    }
    static void conjugate(T* x, std::int64_t n) {
        if constexpr (!std::is_same_v<T, Real<T>>)
            for (std::int64_t i = 0; i < n; ++i) x[i] = std::conj(x[i]);
        static_cast<void>(x), static_cast<void>(n);
    }
    TriangularSolveParams p_;
    int m_ = 0, n_ = 0;
};

/// Of bf16 and f16 numbers: LAPACK has no such kind, so both matrices are widened and the solution is rounded once.
class NarrowTriangularSolve final : public LibraryCall {
public:
    explicit NarrowTriangularSolve(const Op& op) : dtype_(op.in[0]->dtype) {
        Op wide = op;
        for (AvalRef& a : wide.in) a = AvalRef(DType::F32, a->shape);
        for (AvalRef& a : wide.out) a = AvalRef(DType::F32, a->shape);
        solve_ = std::make_unique<TriangularSolve<float>>(wide);
        matrix_ = op.in[0]->size(), right_ = op.in[1]->size();
        at_right_ = checked_align(checked_mul(matrix_, std::int64_t{sizeof(float)}), 64);
        bytes_ = checked_add(at_right_, checked_align(checked_mul(right_, std::int64_t{sizeof(float)}), 64));
    }
    std::int64_t scratch_bytes() const override {
        solve_->threads = threads;
        return checked_add(std::max<std::int64_t>(bytes_, 1), solve_->scratch_bytes());
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        auto* a = static_cast<float*>(scratch);
        auto* x = reinterpret_cast<float*>(static_cast<char*>(scratch) + at_right_);
        widen(in[0], matrix_, a);
        widen(in[1], right_, x);
        void* const wide_in[] = {a, x};
        void* const wide_out[] = {x};
        solve_->run(wide_in, wide_out, static_cast<char*>(scratch) + bytes_);
        auto* to = static_cast<std::uint16_t*>(out[0]);
        for (std::int64_t i = 0; i < right_; ++i) to[i] = small_float_bits(dtype_, x[i]);
    }

private:
    void widen(const void* from, std::int64_t n, float* to) const {
        const auto* bits = static_cast<const std::uint16_t*>(from);
        for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(small_float_value(dtype_, bits[i]));
    }
    DType dtype_;
    std::unique_ptr<TriangularSolve<float>> solve_;
    std::int64_t matrix_ = 0, right_ = 0, at_right_ = 0, bytes_ = 0;
};

/// Row exchanges, one after the other, as the permutation that they make.
void permutation_of(const std::int32_t* pivots, std::int64_t n, std::int32_t* permutation, std::int64_t size) {
    std::iota(permutation, permutation + size, 0);
    for (std::int64_t i = 0; i < n; ++i)
        if (pivots[i] >= 0 && pivots[i] < size) std::swap(permutation[i], permutation[pivots[i]]);
}

template <class T>
class Lu final : public MatrixCall<T> {
public:
    explicit Lu(const Op& op) : MatrixCall<T>(op) { copy_ = this->reserve_numbers(this->size()); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int m = this->rows_, n = this->cols_, k = std::min(m, n);
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            T* a = this->place(own, copy_);
            auto* pivots = this->template matrix<std::int32_t>(out[1], b, k);
            this->to_columns(this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size()), m, n, a);
            if (!all_finite(a, this->size()))
                lu_stepwise(m, n, a, pivots);
            else if (k > 0)
                getrf(m, n, a, pivots);  // a singular matrix has factors, too
            for (int i = 0; i < k; ++i) --pivots[i];
            permutation_of(pivots, k, this->template matrix<std::int32_t>(out[2], b, m), m);
            this->to_rows(a, m, n, this->template matrix<T>(out[0], b, this->size()));
        });
    }

private:
    std::int64_t copy_ = 0;
};

class PivotsToPermutation final : public LibraryCall {
public:
    explicit PivotsToPermutation(const Op& op) : n_(op.in[0]->shape.back()), size_(op.out[0]->shape.back()) {
        batch_ = n_ ? op.in[0]->size() / n_ : size_ ? op.out[0]->size() / size_ : 0;
    }
    void run(void* const* in, void* const* out, void*) const override {
        for (std::int64_t b = 0; b < batch_; ++b)
            permutation_of(static_cast<const std::int32_t*>(in[0]) + b * n_, n_, static_cast<std::int32_t*>(out[0]) + b * size_, size_);
    }

private:
    std::int64_t n_, size_, batch_ = 0;
};

/// Eigenvectors and ascending eigenvalues of Hermitian matrices.
template <class T>
class Eigh final : public MatrixCall<T> {
public:
    explicit Eigh(const Op& op) : MatrixCall<T>(op) {
        const auto& p = op.as<EighParams>();
        if (p.subset_by_index && *p.subset_by_index != Dims{0, this->rows_})
            throw Error(ErrorCode::NoRule, "expected eigh of all eigenvalues: for subset_by_index there is no kernel yet");
        uplo_ = p.lower ? 'L' : 'U';
        copy_ = this->reserve_numbers(this->size());
        // LAPACK's own bounds, for all n.
        const std::int64_t n = std::max(this->rows_, 1), square = checked_mul(n, n);
        constexpr bool kComplex = !std::is_same_v<T, Real<T>>;
        work_size_ = small(kComplex ? 2 * n + square : 1 + 6 * n + 2 * square);
        real_size_ = small(kComplex ? 1 + 5 * n + 2 * square : 1);
        integers_size_ = small(3 + 5 * n);
        work_ = this->reserve_numbers(work_size_);
        real_ = this->reserve(std::int64_t{real_size_} * static_cast<std::int64_t>(sizeof(Real<T>)));
        integers_ = this->reserve(std::int64_t{integers_size_} * static_cast<std::int64_t>(sizeof(int)));
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int n = this->rows_;
        if (n == 0) return;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            T* a = this->place(own, copy_);
            Real<T>* w = static_cast<Real<T>*>(out[1]) + b * n;
            this->to_columns(this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size()), n, n, a);
            if (heevd(EighArguments<T>{uplo_, n, a, w, this->place(own, work_), work_size_, this->template place<Real<T>>(own, real_),
                                       real_size_, this->template place<int>(own, integers_), integers_size_})) {
                this->fill_nan(a, this->size());
                this->fill_nan(w, n);
            }
            this->to_rows(a, n, n, this->template matrix<T>(out[0], b, this->size()));
        });
    }

private:
    char uplo_ = 'L';
    int work_size_ = 1, real_size_ = 1, integers_size_ = 1;
    std::int64_t copy_ = 0, work_ = 0, real_ = 0, integers_ = 0;
};

/// Singular values, descending, then u and vh when asked for.
template <class T>
class Svd final : public MatrixCall<T> {
public:
    explicit Svd(const Op& op) : MatrixCall<T>(op) {
        const auto& p = op.as<SvdParams>();
        rank_ = std::min(this->rows_, this->cols_);
        if (p.subset_by_index && *p.subset_by_index != Dims{0, rank_})
            throw Error(ErrorCode::NoRule, "expected svd with all singular values: for subset_by_index there is no kernel yet");
        job_ = !p.compute_uv ? 'N' : p.full_matrices ? 'A' : 'S';
        u_cols_ = job_ == 'A' ? this->rows_ : rank_;
        v_rows_ = job_ == 'A' ? this->cols_ : rank_;
        copy_ = this->reserve_numbers(this->size());
        u_ = this->reserve_numbers(job_ == 'N' ? 1 : std::int64_t{this->rows_} * u_cols_);
        v_ = this->reserve_numbers(job_ == 'N' ? 1 : std::int64_t{v_rows_} * this->cols_);
        integers_ = this->reserve(std::int64_t{8} * std::max(rank_, 1) * static_cast<std::int64_t>(sizeof(int)));
        const std::int64_t k = rank_, larger = std::max(this->rows_, this->cols_);
        // What LAPACK's manual asks for of complex matrices.
        real_ = this->reserve(std::max(5 * k * k + 5 * k, 2 * larger * k + 2 * k * k + k) * static_cast<std::int64_t>(sizeof(Real<T>)));
        T best{};
        SvdArguments<T> query = arguments(nullptr);
        query.work = &best, query.size = -1;
        if (rank_ > 0) gesdd(query);
        work_size_ = std::max(1, static_cast<int>(std::real(best) * 1.0001) + 1);
        work_ = this->reserve_numbers(work_size_);
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const int m = this->rows_, n = this->cols_;
        this->each_matrix(scratch, [&](std::int64_t b, void* own) {
            SvdArguments<T> x = arguments(static_cast<char*>(own));
            x.work = this->place(own, work_), x.size = work_size_;
            this->to_columns(this->template matrix<const T>(static_cast<const void*>(in[0]), b, this->size()), m, n, x.a);
            x.s = static_cast<Real<T>*>(out[0]) + b * rank_;
            if (rank_ > 0 && gesdd(x)) {
                this->fill_nan(x.s, rank_);
                if (job_ != 'N') this->fill_nan(x.u, std::int64_t{m} * u_cols_), this->fill_nan(x.vt, std::int64_t{v_rows_} * n);
            }
            if (job_ == 'N') return;
            if (rank_ == 0) identity(x.u, u_cols_), identity(x.vt, v_rows_);
            this->to_rows(x.u, m, u_cols_, static_cast<T*>(out[1]) + b * m * u_cols_);
            this->to_rows(x.vt, v_rows_, n, static_cast<T*>(out[2]) + b * v_rows_ * n);
        });
    }

private:
    SvdArguments<T> arguments(char* scratch) const {
        SvdArguments<T> x{};
        x.job = job_, x.m = this->rows_, x.n = this->cols_;
        x.ldu = std::max(this->rows_, 1), x.ldvt = std::max(v_rows_, 1);
        if (!scratch) return x;
        x.a = this->place(scratch, copy_), x.u = this->place(scratch, u_), x.vt = this->place(scratch, v_);
        x.real = this->template place<Real<T>>(scratch, real_), x.integers = this->template place<int>(scratch, integers_);
        return x;
    }
    static void identity(T* a, int n) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) a[std::int64_t{i} * n + j] = T(i == j ? 1 : 0);
    }
    char job_ = 'N';
    int rank_ = 0, u_cols_ = 0, v_rows_ = 0, work_size_ = 1;
    std::int64_t copy_ = 0, u_ = 0, v_ = 0, work_ = 0, real_ = 0, integers_ = 0;
};

template <class T>
LibraryCallPtr make_for(const Op& op) {
    if (op.prim == &kCholesky) return std::make_shared<Cholesky<T>>(op);
    if (op.prim == &kTriangularSolve) return std::make_shared<TriangularSolve<T>>(op);
    if (op.prim == &kLu) return std::make_shared<Lu<T>>(op);
    if (op.prim == &kEigh) return std::make_shared<Eigh<T>>(op);
    if (op.prim == &kSvd) return std::make_shared<Svd<T>>(op);
    return nullptr;
}

}  // namespace

LibraryCallPtr make_linalg_routine(const Op& op) {
    if (op.prim == &kLuPivotsToPermutation) return std::make_shared<PivotsToPermutation>(op);
    if (op.in.empty() || op.in[0]->shape.size() < 2) return nullptr;
    const bool narrow = op.in[0]->dtype == DType::BF16 || op.in[0]->dtype == DType::F16;
    if (narrow && op.prim == &kTriangularSolve) return std::make_shared<NarrowTriangularSolve>(op);
    return for_lapack_type(op.in[0]->dtype, [&](auto number) { return make_for<decltype(number)>(op); });
}

}  // namespace jaxscope::exec
