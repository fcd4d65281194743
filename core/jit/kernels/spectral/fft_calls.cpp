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

/// One real row of 2m numbers as m complex ones, before or behind their transform.
template <class T, int kRows>
struct HalfSpectrum {
    using P = Pack<T, kRows>;
    /// Of a transform x of m numbers: places q and m - q of the real row's spectrum.
    static JAXSCOPE_INLINED void forward(const P& x, const P& mirror, std::complex<T> root, P& low, P& high) {
        const P other = conjugate(mirror), turn = quarter_turn<true>(times(x - other, root)), sum = x + other;
        low = scaled(sum - turn), high = scaled(conjugate(sum + turn));
    }
    /// What forward undoes, twice as large.
    static JAXSCOPE_INLINED void inverse(const P& low, const P& high, std::complex<T> root, P& x, P& mirror) {
        const P other = conjugate(high), turn = quarter_turn<true>(times(low - other, std::conj(root))), sum = low + other;
        x = sum + turn, mirror = conjugate(sum - turn);
    }

private:
    static JAXSCOPE_INLINED P scaled(P p) {
        for (int k = 0; k < kRows; ++k) p.re[k] *= T(0.5), p.im[k] *= T(0.5);
        return p;
    }
};

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
        for (const auto& [n, plan] : plans_) row_ = std::max(row_, checked_add(n, plan->scratch_size()));
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
    void add_plan(std::int64_t n) {
        if (n > 0 && !plans_.contains(n)) plans_.emplace(n, std::make_unique<FftPlan<T>>(n));
    }
    const FftPlan<T>& plan(std::int64_t n) const { return *plans_.at(n); }

    /// Rows in packs: fn(pack of a few rows, first row, how many). Small packs where large ones would leave threads idle or the cache.
    template <class Fn>
    void packs(std::int64_t rows, std::int64_t n, Many* room, const Fn& fn) const {
        constexpr std::int64_t kLong = 16384 / static_cast<std::int64_t>(sizeof(T)) * 4;
        const bool small = rows < std::int64_t{kMany} * threads || n >= kLong;
        const double work = 20.0 * static_cast<double>(rows) * static_cast<double>(n);
        const auto share = [&](int thread, std::int64_t begin, std::int64_t end) {
            Many* own = room + thread * row_;
            for (std::int64_t r = begin; r < end;) {
                const std::int64_t left = end - r;
                if (left == 1)
                    fn(reinterpret_cast<Pack<T, 1>*>(own), r, left);
                else if (small || left <= kSome)
                    fn(reinterpret_cast<Pack<T, kSome>*>(own), r, std::min<std::int64_t>(left, kSome));
                else
                    fn(own, r, std::min<std::int64_t>(left, kMany));
                r += left == 1 ? 1 : small || left <= kSome ? kSome : kMany;
            }
        };
        parallel_shares(work < kParallelWork ? 1 : threads, rows, small ? kSome : kMany, share);
    }

    /// Dimension `d` of complex numbers; `from` and `to` may be the same.
    void along(const Complex* from, Complex* to, std::size_t d, bool inverse, bool scaled, Many* room) const {
        const std::int64_t n = shape_[d];
        std::int64_t stride = 1;
        for (std::size_t k = d + 1; k < shape_.size(); ++k) stride *= shape_[k];
        packs(total_ / n, n, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
            std::int64_t at[kRows];
            for (std::int64_t k = 0; k < kRows; ++k) {
                const std::int64_t row = r + std::min(k, count - 1);
                at[k] = stride == 1 ? row * n : row / stride * stride * n + row % stride;
            }
            for (std::int64_t i = 0; i < n; ++i)
                for (int k = 0; k < kRows; ++k) {
                    const Complex c = from[at[k] + i * stride];
                    x[i].re[k] = c.real(), x[i].im[k] = c.imag();
                }
            plan(n).run(x, x + n, inverse);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t k = 0; k < count; ++k) {
                    const Complex c(x[i].re[k], x[i].im[k]);
                    to[at[k] + i * stride] = scaled ? c / scale_ : c;
                }
        });
    }
    template <int kRows>
    static void write(const Pack<T, kRows>& p, Complex* to, std::int64_t stride, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) to[k * stride] = Complex(p.re[k], p.im[k]);
    }
    template <int kRows>
    static Pack<T, kRows> read(const Complex* from, std::int64_t stride, std::int64_t count) {
        Pack<T, kRows> p;
        for (std::int64_t k = 0; k < kRows; ++k) {
            const Complex c = from[std::min(k, count - 1) * stride];
            p.re[k] = c.real(), p.im[k] = c.imag();
        }
        return p;
    }

    void from_real(const T* from, Complex* to, Many* room) const {
        const std::int64_t n = in_last_, kept = out_last_;
        if (!halves_) {
            return packs(total_ / kept, n, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
                for (std::int64_t i = 0; i < n; ++i)
                    for (std::int64_t k = 0; k < kRows; ++k) x[i].re[k] = from[(r + std::min(k, count - 1)) * n + i], x[i].im[k] = 0;
                plan(n).run(x, x + n, false);
                for (std::int64_t i = 0; i < kept; ++i) write(x[i], to + r * kept + i, kept, count);
            });
        }
        const std::int64_t m = n / 2;
        packs(total_ / kept, m, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t k = 0; k < kRows; ++k) {
                    const T* pair = from + (r + std::min(k, count - 1)) * n + 2 * i;
                    x[i].re[k] = pair[0], x[i].im[k] = pair[1];
                }
            plan(m).run(x, x + m, false);
            for (std::int64_t q = 0; q <= m / 2; ++q) {
                Pack<T, kRows> low, high;
                HalfSpectrum<T, kRows>::forward(x[q], x[q == 0 ? 0 : m - q], roots_[static_cast<std::size_t>(q)], low, high);
                write(low, to + r * kept + q, kept, count), write(high, to + r * kept + m - q, kept, count);
            }
        });
    }
    /// The other half of the spectrum mirrors the one that is given; what is real in it counts as real.
    void to_real(const Complex* from, T* to, Many* room) const {
        const std::int64_t n = out_last_, given = in_last_;
        if (!halves_) {
            return packs(total_ / given, n, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
                for (std::int64_t i = 0; i < n; ++i) {
                    const bool mirrored = 2 * i > n;
                    x[i] = read<kRows>(from + r * given + (mirrored ? n - i : i), given, count);
                    if (mirrored) x[i] = conjugate(x[i]);
                    if (i == 0) std::fill_n(x[i].im, kRows, T(0));
                }
                plan(n).run(x, x + n, true);
                for (std::int64_t i = 0; i < n; ++i)
                    for (std::int64_t k = 0; k < count; ++k) to[(r + k) * n + i] = x[i].re[k] / scale_;
            });
        }
        const std::int64_t m = n / 2;
        packs(total_ / given, m, room, [&]<int kRows>(Pack<T, kRows>* x, std::int64_t r, std::int64_t count) {
            for (std::int64_t q = 0; q <= m / 2; ++q) {
                Pack<T, kRows> low = read<kRows>(from + r * given + q, given, count),
                               high = read<kRows>(from + r * given + m - q, given, count);
                if (q == 0) std::fill_n(low.im, kRows, T(0)), std::fill_n(high.im, kRows, T(0));
                Pack<T, kRows> first, mirror;
                HalfSpectrum<T, kRows>::inverse(low, high, roots_[static_cast<std::size_t>(q)], first, mirror);
                if (q > 0) x[m - q] = mirror;
                x[q] = first;
            }
            plan(m).run(x, x + m, true);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t k = 0; k < count; ++k) {
                    T* pair = to + (r + k) * n + 2 * i;
                    pair[0] = x[i].re[k] / scale_, pair[1] = x[i].im[k] / scale_;
                }
        });
    }
    FftType type_;
    Dims lengths_, shape_;
    std::int64_t in_last_ = 0, out_last_ = 0, total_ = 0, row_ = 0, copied_ = 0, out_bytes_ = 0;
    bool empty_ = false, halves_ = false;
    T scale_ = 1;
    std::vector<Complex> roots_;  ///< of a real transform of even length
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
