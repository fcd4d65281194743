#include <algorithm>
#include <map>

#include "base/checked.h"
#include "jit/kernels/library.h"
#include "jit/kernels/spectral/fft_plan.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"

// fft over the last dimensions, one after the other. Real transforms are complex ones of the same length: half of what goes in or comes
// out is known from the other half.
namespace jaxscope::exec {

namespace {

template <class T>
class Fft final : public LibraryCall {
public:
    using Complex = std::complex<T>;
    explicit Fft(const Op& op) : type_(op.as<FftParams>().fft_type), lengths_(op.as<FftParams>().fft_lengths) {
        in_last_ = op.in[0]->shape.back(), out_last_ = op.out[0]->shape.back();
        // What is transformed stands in an array whose last dimension is that of the spectrum where one is real.
        shape_ = type_ == FftType::Irfft ? op.in[0]->shape : op.out[0]->shape;
        total_ = op.out[0]->size() == 0 || op.in[0]->size() == 0 ? 0 : AvalRef(op.out[0]->dtype, shape_)->size();
        empty_ = op.out[0]->size() == 0;
        out_bytes_ = op.out[0]->bytes();
        for (const std::int64_t n : lengths_) {
            scale_ *= static_cast<T>(n);
            if (n > 0 && !plans_.contains(n)) plans_.emplace(n, std::make_unique<FftPlan<T>>(n));
        }
        for (const auto& [n, plan] : plans_) row_ = std::max(row_, checked_add(n, plan->scratch_size()));
        if (type_ == FftType::Irfft) copied_ = total_;
    }
    std::int64_t scratch_bytes() const override {
        return checked_mul(checked_add(copied_, checked_mul(row_, threads)), static_cast<std::int64_t>(sizeof(Complex)));
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        if (empty_) return;
        auto* rows = static_cast<Complex*>(scratch) + copied_;
        const std::size_t rank = shape_.size(), first = rank - lengths_.size();
        if (total_ == 0) return std::fill_n(static_cast<char*>(out[0]), out_bytes_, char{0}), void();
        if (type_ == FftType::Irfft) {
            auto* spectrum = static_cast<Complex*>(scratch);
            std::copy_n(static_cast<const Complex*>(in[0]), total_, spectrum);
            for (std::size_t d = first; d + 1 < rank; ++d) along(spectrum, d, true, rows);
            to_real(spectrum, static_cast<T*>(out[0]), rows);
            return;
        }
        auto* x = static_cast<Complex*>(out[0]);
        const bool inverse = type_ == FftType::Ifft;
        if (type_ == FftType::Rfft)
            from_real(static_cast<const T*>(in[0]), x, rows);
        else
            std::copy_n(static_cast<const Complex*>(in[0]), total_, x);
        for (std::size_t d = rank; d-- > first;)
            if (d + 1 < rank || type_ != FftType::Rfft) along(x, d, inverse, rows);
        if (inverse)
            for (std::int64_t i = 0; i < total_; ++i) x[i] /= scale_;
    }

private:
    const FftPlan<T>& plan(std::int64_t n) const { return *plans_.at(n); }
    template <class F>
    void each_row(std::int64_t rows, std::int64_t n, Complex* scratch, const F& f) const {
        const double work = 20.0 * static_cast<double>(rows) * static_cast<double>(n);
        parallel_shares(work < kParallelWork ? 1 : threads, rows, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            Complex* own = scratch + thread * row_;
            for (std::int64_t r = begin; r < end; ++r) f(r, own, own + n);
        });
    }
    void along(Complex* x, std::size_t d, bool inverse, Complex* scratch) const {
        const std::int64_t n = shape_[d];
        std::int64_t stride = 1;
        for (std::size_t k = d + 1; k < shape_.size(); ++k) stride *= shape_[k];
        each_row(total_ / n, n, scratch, [&](std::int64_t r, Complex* row, Complex* rest) {
            Complex* at = x + r / stride * stride * n + r % stride;
            for (std::int64_t i = 0; i < n; ++i) row[i] = at[i * stride];
            plan(n).run(row, rest, inverse);
            for (std::int64_t i = 0; i < n; ++i) at[i * stride] = row[i];
        });
    }
    void from_real(const T* from, Complex* to, Complex* scratch) const {
        const std::int64_t n = in_last_;
        each_row(total_ / out_last_, n, scratch, [&](std::int64_t r, Complex* row, Complex* rest) {
            for (std::int64_t i = 0; i < n; ++i) row[i] = from[r * n + i];
            plan(n).run(row, rest, false);
            std::copy_n(row, out_last_, to + r * out_last_);
        });
    }
    void to_real(const Complex* from, T* to, Complex* scratch) const {
        const std::int64_t n = out_last_;
        each_row(total_ / in_last_, n, scratch, [&](std::int64_t r, Complex* row, Complex* rest) {
            const Complex* half = from + r * in_last_;
            row[0] = half[0].real();
            for (std::int64_t i = 1; i <= n / 2; ++i) row[i] = half[i], row[n - i] = std::conj(half[i]);
            if (n % 2 == 0) row[n / 2] = half[n / 2].real();
            plan(n).run(row, rest, true);
            for (std::int64_t i = 0; i < n; ++i) to[r * n + i] = row[i].real() / scale_;
        });
    }
    FftType type_;
    Dims lengths_, shape_;
    std::int64_t in_last_ = 0, out_last_ = 0, total_ = 0, row_ = 0, copied_ = 0, out_bytes_ = 0;
    bool empty_ = false;
    T scale_ = 1;
    std::map<std::int64_t, std::unique_ptr<FftPlan<T>>> plans_;
};

}  // namespace

LibraryCallPtr make_fft_routine(const Op& op) {
    if (op.prim != &kFft) return nullptr;
    const DType d = op.in[0]->dtype;
    if (d == DType::F64 || d == DType::C128) return std::make_shared<Fft<double>>(op);
    return std::make_shared<Fft<float>>(op);
}

}  // namespace jaxscope::exec
