// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/checked.h"
#include "jit/kernels/library.h"
#include "jit/kernels/spectral/fft_plan.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"

// fft over the last dimensions, one after the other. A real transform of even length is a complex one of half of it: even places are the
// real parts, odd ones the imaginary parts, and both spectra are told apart behind it. Of odd length it is a complex one of the same.
namespace jaxscope::exec {

namespace {

template <class T>
class Fft final : public LibraryCall {
public:
    using Complex = std::complex<T>;
    static constexpr int kMany = kPackedRows<T>, kSome = kMany / 2;
    using Many = Pack<T, kMany>;
    explicit Fft(const Op& op) : type_(op.as<FftParams>().fft_type), lengths_(op.as<FftParams>().fft_lengths) {
        in_last_ = op.in[0]->shape.back(), out_last_ = op.out[0]->shape.back();
        // What is transformed stands in an array whose last dimension is that of the spectrum where one is real.
        shape_ = type_ == FftType::Irfft ? op.in[0]->shape : op.out[0]->shape;
        total_ = op.out[0]->size() == 0 || op.in[0]->size() == 0 ? 0 : AvalRef(op.out[0]->dtype, shape_)->size();
        empty_ = op.out[0]->size() == 0;
        out_bytes_ = op.out[0]->bytes();
        for (const std::int64_t n : lengths_) scale_ *= static_cast<T>(n);
        const bool real = type_ == FftType::Rfft || type_ == FftType::Irfft;
        const std::int64_t last = lengths_.empty() ? 0 : lengths_.back();
        halves_ = real && last > 0 && last % 2 == 0;
        for (std::size_t d = 0; d < lengths_.size(); ++d) add_plan(halves_ && d + 1 == lengths_.size() ? last / 2 : lengths_[d]);
        if (halves_) roots_ = unit_roots<T>(last, last / 4 + 1);
        for (const auto& [n, plan] : plans_) {
            // A spectrum, which has one more than its transform where a row is real, before and behind.
            const std::int64_t own = own_packs(n), alone = checked_add(own, std::max(own, plan->template work_size<1>()));
            row_ =
                std::max({row_, checked_add(own, std::max(own, plan->template work_size<kMany>())), checked_align(alone, kMany) / kMany});
        }
        if (type_ == FftType::Irfft && lengths_.size() > 1) copied_ = checked_align(total_, 8);  // packs behind them are aligned
    }
    std::int64_t scratch_bytes() const override {
        const std::int64_t own = checked_mul(row_, static_cast<std::int64_t>(sizeof(Many)));
        return checked_add(checked_mul(copied_, static_cast<std::int64_t>(sizeof(Complex))), checked_mul(own, threads));
    }
    void run(void* const* in, void* const* out, void* scratch) const override {
        if (empty_) return;
        auto* room = reinterpret_cast<Many*>(static_cast<Complex*>(scratch) + copied_);
        const std::size_t rank = shape_.size(), first = rank - lengths_.size();
        if (total_ == 0) return std::fill_n(static_cast<char*>(out[0]), out_bytes_, char{0}), void();
        const auto* given = static_cast<const Complex*>(in[0]);
        if (type_ == FftType::Irfft) {
            auto* spectrum = static_cast<Complex*>(scratch);
            for (std::size_t d = first; d + 1 < rank; ++d, given = spectrum) along(given, spectrum, d, true, false, room);
            return to_real(given, static_cast<T*>(out[0]), room);
        }
        auto* x = static_cast<Complex*>(out[0]);
        const bool inverse = type_ == FftType::Ifft;
        if (type_ == FftType::Rfft) from_real(static_cast<const T*>(in[0]), x, room), given = x;
        for (std::size_t d = rank - (type_ == FftType::Rfft ? 1 : 0); d-- > first; given = x)
            along(given, x, d, inverse, inverse && d == first, room);
        if (given != x) std::copy_n(given, total_, x);
    }

private:
    static std::int64_t own_packs(std::int64_t n) { return checked_align(checked_add(n, 1), 8); }
    void add_plan(std::int64_t n) {
        if (n > 0 && !plans_.contains(n)) plans_.emplace(n, FftPlan<T>::of(n));
    }
    const FftPlan<T>& plan(std::int64_t n) const { return *plans_.at(n); }

    /// Rows in packs: fn(pack of a few rows, first row, how many). Small packs where large ones would leave threads idle or the cache,
    /// single rows where they are as fast.
    template <class Fn>
    void packs(std::int64_t rows, std::int64_t n, Many* room, const Fn& fn) const {
        constexpr std::int64_t kLong = 16384 / static_cast<std::int64_t>(sizeof(T)) * 4;
        const bool small = rows < std::int64_t{kMany} * threads || n >= kLong, alone = small && plan(n).fast_alone();
        const bool halved = small || !has_full_packs();
        const double work = 20.0 * static_cast<double>(rows) * static_cast<double>(n);
        const auto share = [&](int thread, std::int64_t begin, std::int64_t end) {
            Many* own = room + thread * row_;
            for (std::int64_t r = begin; r < end;) {
                const std::int64_t left = end - r;
                if (alone || left == 1)
                    fn(reinterpret_cast<Pack<T, 1>*>(own), r++, 1);
                else if (halved || left <= kSome)
                    fn(reinterpret_cast<Pack<T, kSome>*>(own), r, std::min<std::int64_t>(left, kSome)), r += kSome;
                else
                    fn(own, r, std::min<std::int64_t>(left, kMany)), r += kMany;
            }
        };
        parallel_shares(work < kParallelWork ? 1 : threads, rows, alone ? 1 : halved ? kSome : kMany, share);
    }

    /// The first numbers of a pack's rows, which lie `width` numbers apart; the last row again where there are fewer.
    template <int kRows, class U>
    struct Rows {
        Rows(U* first, std::int64_t width, std::int64_t count) {
            for (std::int64_t k = 0; k < kRows; ++k) at[k] = first + std::min(k, count - 1) * width;
        }
        U* at[kRows];
    };
    static const T* numbers(const Complex* c) { return reinterpret_cast<const T*>(c); }
    static T* numbers(Complex* c) { return reinterpret_cast<T*>(c); }

    /// Dimension `d` of complex numbers; `from` and `to` may be the same.
    void along(const Complex* from, Complex* to, std::size_t d, bool inverse, bool scaled, Many* room) const {
        const std::int64_t n = shape_[d];
        const T scale = scaled ? T(1) / scale_ : T(1);
        std::int64_t stride = 1;
        for (std::size_t k = d + 1; k < shape_.size(); ++k) stride *= shape_[k];
        packs(total_ / n, n, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
            const FftKernels<T, kRows>& kernels = fft_kernels<T, kRows>();
            Pack<T, kRows>* work = x + own_packs(n);
            if (stride == 1) {
                kernels.rows_to_packs(Rows<kRows, const T>(numbers(from + r * n), 2 * n, count).at, 2 * n, work);
                plan(n).run(x, work, inverse);
                return kernels.packs_to_rows(x, 2 * n, Rows<kRows, T>(numbers(to + r * n), 2 * n, count).at, count, scale);
            }
            const std::int64_t first = r / stride * stride * n + r % stride;
            if (count == kRows && r % stride + kRows <= stride) {
                kernels.columns_to_packs(from + first, stride, n, work);
                plan(n).run(x, work, inverse);
                return kernels.packs_to_columns(x, n, to + first, stride, scale);
            }
            scattered<kRows>(from, to, n, stride, r, count, inverse, scale, x);
        });
    }
    /// Rows of which not all are neighbours.
    template <int kRows>
    void scattered(const Complex* from, Complex* to, std::int64_t n, std::int64_t stride, std::int64_t r, std::int64_t count, bool inverse,
                   T scale, Pack<T, kRows>* x) const {
        T *work = reinterpret_cast<T*>(x + own_packs(n)), *done = reinterpret_cast<T*>(x);
        std::int64_t at[kRows];
        for (std::int64_t k = 0; k < kRows; ++k) {
            const std::int64_t row = r + std::min(k, count - 1);
            at[k] = row / stride * stride * n + row % stride;
        }
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t k = 0; k < kRows; ++k) {
                const T* c = numbers(from + at[k] + i * stride);
                work[2 * i * kRows + k] = c[0], work[(2 * i + 1) * kRows + k] = c[1];
            }
        plan(n).run(x, x + own_packs(n), inverse);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t k = 0; k < count; ++k) {
                T* c = numbers(to + at[k] + i * stride);
                c[0] = done[2 * i * kRows + k] * scale, c[1] = done[(2 * i + 1) * kRows + k] * scale;
            }
    }

    void from_real(const T* from, Complex* to, Many* room) const {
        const std::int64_t n = in_last_, kept = out_last_, m = halves_ ? n / 2 : n;
        packs(total_ / kept, m, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
            const FftKernels<T, kRows>& kernels = fft_kernels<T, kRows>();
            const Rows<kRows, const T> given(from + r * n, n, count);
            Pack<T, kRows>* work = x + own_packs(m);
            if (halves_)
                kernels.rows_to_packs(given.at, n, work);
            else
                real_parts<kRows>(given.at, n, work);
            plan(m).run(x, work, false);
            if (halves_) kernels.split_spectrum(x, m, roots_.data());
            kernels.packs_to_rows(x, 2 * kept, Rows<kRows, T>(numbers(to + r * kept), 2 * kept, count).at, count, T(1));
        });
    }
    template <int kRows>
    static void real_parts(const T* const* rows, std::int64_t n, Pack<T, kRows>* packs) {
        T* to = reinterpret_cast<T*>(packs);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t k = 0; k < kRows; ++k) to[2 * i * kRows + k] = rows[k][i], to[(2 * i + 1) * kRows + k] = 0;
    }
    /// The other half of the spectrum mirrors the one that is given; what is real in it counts as real.
    void to_real(const Complex* from, T* to, Many* room) const {
        const std::int64_t n = out_last_, given = in_last_, m = halves_ ? n / 2 : n;
        const T scale = T(1) / scale_;
        packs(total_ / given, m, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
            const FftKernels<T, kRows>& kernels = fft_kernels<T, kRows>();
            const Rows<kRows, const T> spectrum(numbers(from + r * given), 2 * given, count);
            Pack<T, kRows>* work = x + own_packs(m);
            kernels.rows_to_packs(spectrum.at, 2 * (n / 2 + 1), work);
            if (halves_)
                kernels.join_spectrum(work, m, roots_.data());
            else
                mirror<kRows>(work, n);
            plan(m).run(x, work, true);
            if (halves_) return kernels.packs_to_rows(x, n, Rows<kRows, T>(to + r * n, n, count).at, count, scale);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t k = 0; k < count; ++k) to[(r + k) * n + i] = reinterpret_cast<const T*>(x)[2 * i * kRows + k] * scale;
        });
    }
    template <int kRows>
    static void mirror(Pack<T, kRows>* packs, std::int64_t n) {
        T* x = reinterpret_cast<T*>(packs);
        std::fill_n(x + kRows, kRows, T(0));
        for (std::int64_t i = n / 2 + 1; i < n; ++i)
            for (std::int64_t k = 0; k < kRows; ++k) {
                x[2 * i * kRows + k] = x[2 * (n - i) * kRows + k];
                x[(2 * i + 1) * kRows + k] = -x[(2 * (n - i) + 1) * kRows + k];
            }
    }
    FftType type_;
    Dims lengths_, shape_;
    std::int64_t in_last_ = 0, out_last_ = 0, total_ = 0, copied_ = 0, out_bytes_ = 0;
    std::int64_t row_ = 0;  ///< packs that one thread works in
    bool empty_ = false, halves_ = false;
    T scale_ = 1;
    std::vector<Complex> roots_;  ///< of a real transform of even length
    std::map<std::int64_t, std::shared_ptr<const FftPlan<T>>> plans_;
};

}  // namespace

LibraryCallPtr make_fft_routine(const Op& op) {
    if (op.prim != &kFft) return nullptr;
    const DType d = op.in[0]->dtype;
    if (d == DType::F64 || d == DType::C128) return std::make_shared<Fft<double>>(op);
    return std::make_shared<Fft<float>>(op);
}

}  // namespace jaxscope::exec
