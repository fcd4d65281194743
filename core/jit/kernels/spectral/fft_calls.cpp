// SPDX-License-Identifier: Apache-2.0
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
    using Many = Pack<T, kPackedRows<T>>;
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
        if (type_ == FftType::Irfft) copied_ = checked_align(total_, 8);  // packs behind them are aligned
    }
    std::int64_t scratch_bytes() const override {
        const std::int64_t own = checked_mul(row_, static_cast<std::int64_t>(sizeof(Many)));
        return checked_add(checked_mul(copied_, static_cast<std::int64_t>(sizeof(Complex))), checked_mul(own, threads));
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        if (empty_) return;
        auto* rows = reinterpret_cast<Many*>(static_cast<Complex*>(scratch) + copied_);
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
    /// Rows of length n, some at a time: `read(r, i)` gives place i of row r, `write(r, i, re, im)` takes its transform.
    template <class Read, class Write>
    void transform(std::int64_t rows, std::int64_t n, std::int64_t written, bool inverse, Many* scratch, const Read& read,
                   const Write& write) const {
        const double work = 20.0 * static_cast<double>(rows) * static_cast<double>(n);
        parallel_shares(work < kParallelWork ? 1 : threads, rows, kPackedRows<T>, [&](int thread, std::int64_t begin, std::int64_t end) {
            Many* own = scratch + thread * row_;
            std::int64_t r = begin;
            for (; r + 1 < end; r += kPackedRows<T>)
                some<kPackedRows<T>>(r, std::min<std::int64_t>(end - r, kPackedRows<T>), n, written, inverse, own, read, write);
            for (; r < end; ++r) some<1>(r, 1, n, written, inverse, reinterpret_cast<Pack<T, 1>*>(own), read, write);
        });
    }
    template <int kRows, class Read, class Write>
    void some(std::int64_t r, std::int64_t count, std::int64_t n, std::int64_t written, bool inverse, Pack<T, kRows>* x, const Read& read,
              const Write& write) const {
        for (std::int64_t i = 0; i < n; ++i)
            for (int k = 0; k < kRows; ++k) {
                const Complex c = k < count ? read(r + k, i) : Complex();
                x[i].re[k] = c.real(), x[i].im[k] = c.imag();
            }
        plan(n).run(x, x + n, inverse);
        for (std::int64_t i = 0; i < written; ++i)
            for (int k = 0; k < count; ++k) write(r + k, i, x[i].re[k], x[i].im[k]);
    }
    void along(Complex* x, std::size_t d, bool inverse, Many* scratch) const {
        const std::int64_t n = shape_[d];
        std::int64_t stride = 1;
        for (std::size_t k = d + 1; k < shape_.size(); ++k) stride *= shape_[k];
        const auto at = [=](std::int64_t r, std::int64_t i) {
            return x + (stride == 1 ? r * n + i : r / stride * stride * n + r % stride + i * stride);
        };
        transform(
            total_ / n, n, n, inverse, scratch, [&](std::int64_t r, std::int64_t i) { return *at(r, i); },
            [&](std::int64_t r, std::int64_t i, T re, T im) { *at(r, i) = Complex(re, im); });
    }
    void from_real(const T* from, Complex* to, Many* scratch) const {
        const std::int64_t n = in_last_, kept = out_last_;
        transform(
            total_ / kept, n, kept, false, scratch, [=](std::int64_t r, std::int64_t i) { return Complex(from[r * n + i]); },
            [=](std::int64_t r, std::int64_t i, T re, T im) { to[r * kept + i] = Complex(re, im); });
    }
    /// The other half of the spectrum mirrors the one that is given; what is real in it counts as real.
    void to_real(const Complex* from, T* to, Many* scratch) const {
        const std::int64_t n = out_last_, given = in_last_;
        transform(
            total_ / given, n, n, true, scratch,
            [=](std::int64_t r, std::int64_t i) {
                const Complex* half = from + r * given;
                if (i == 0 || 2 * i == n) return Complex(half[i].real());
                return 2 * i < n ? half[i] : std::conj(half[n - i]);
            },
            [=, this](std::int64_t r, std::int64_t i, T re, T) { to[r * n + i] = re / scale_; });
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
