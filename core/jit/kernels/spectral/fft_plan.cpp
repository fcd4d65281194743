// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/spectral/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "base/checked.h"

namespace jaxscope::exec {

namespace {

constexpr double kPi = 3.14159265358979323846;

/// exp(-2 pi i k / n) from the angle's octant, so that every root has full precision whatever k is.
std::complex<double> unit_root(std::int64_t k, std::int64_t n) {
    const std::int64_t eighths = 8 * k / n;
    const auto angle = [n](std::int64_t part) { return 2 * kPi * static_cast<double>(part) / static_cast<double>(n); };
    // The distance to the nearest multiple of a quarter turn, in units of 1/(4n): exact.
    const std::int64_t quarter = (eighths + 1) / 2, rest = 4 * k - quarter * n;
    const double a = angle(rest) / 4, c = std::cos(a), s = std::sin(a);
    switch (quarter % 4) {
        case 0:
            return {c, -s};
        case 1:
            return {-s, -c};
        case 2:
            return {-c, s};
        default:
            return {s, c};
    }
}

/// Odd ones first, then as few of two as there can be: 8, and 4 or twice 4 for what is left.
std::vector<std::int64_t> factors(std::int64_t n) {
    std::int64_t odd = n, twos = 0;
    for (; odd % 2 == 0; odd /= 2) ++twos;
    std::vector<std::int64_t> out;
    for (std::int64_t p = 3; p * p <= odd; p += 2)
        for (; odd % p == 0; odd /= p) out.push_back(p);
    if (odd > 1) out.push_back(odd);
    const std::int64_t fours = twos % 3 == 0 ? 0 : twos == 1 ? 0 : twos % 3 == 1 ? 2 : 1;
    if (twos == 1) out.push_back(2), twos = 0;
    out.insert(out.end(), static_cast<std::size_t>(fours), 4);
    out.insert(out.end(), static_cast<std::size_t>((twos - 2 * fours) / 3), 8);
    return out;
}

}  // namespace

template <class T>
std::vector<std::complex<T>> unit_roots(std::int64_t n, std::int64_t count) {
    std::vector<std::complex<T>> out;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::complex<double> w = unit_root(k, n);
        out.emplace_back(static_cast<T>(w.real()), static_cast<T>(w.imag()));
    }
    return out;
}
template std::vector<std::complex<float>> unit_roots(std::int64_t, std::int64_t);
template std::vector<std::complex<double>> unit_roots(std::int64_t, std::int64_t);

/// x_j w_j convolved with the chirp 1/w, times w again: a transform of any length by three of a power of two.
template <class T>
struct FftPlan<T>::Convolution {
    explicit Convolution(std::int64_t n) : size(2 * n - 1), chirp(static_cast<std::size_t>(n)) {
        std::int64_t power = 1;
        while (power < size) power = checked_mul(power, 2);
        size = power;
        plan = std::make_unique<FftPlan<T>>(size);
        spectrum.assign(static_cast<std::size_t>(size), Complex());
        std::int64_t square = 0;  // k^2 mod 2n, so that the angle stays exact
        for (std::int64_t k = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
            const std::complex<double> w = unit_root(square, 2 * n);
            chirp[static_cast<std::size_t>(k)] = Complex(static_cast<T>(w.real()), static_cast<T>(w.imag()));
            const Complex other = std::conj(chirp[static_cast<std::size_t>(k)]);
            spectrum[static_cast<std::size_t>(k)] = other;
            if (k > 0) spectrum[static_cast<std::size_t>(size - k)] = other;
        }
        // The first row of a few.
        using Some = Pack<T, kPackedRows<T> / 2>;
        std::vector<Some> x(static_cast<std::size_t>(size)), work(static_cast<std::size_t>(size), Some{});
        for (std::size_t k = 0; k < x.size(); ++k) work[k].re[0] = spectrum[k].real(), work[k].im[0] = spectrum[k].imag();
        plan->run(x.data(), work.data(), false);
        for (std::size_t k = 0; k < x.size(); ++k) spectrum[k] = {x[k].re[0], x[k].im[0]};
    }
    template <int kRows>
    void run(Pack<T, kRows>* x, std::int64_t n, Pack<T, kRows>* work, bool inverse) const {
        const FftKernels<T, kRows>& kernels = fft_kernels<T, kRows>();
        // Each of the two is followed by the room that its transform wants.
        Pack<T, kRows>* other = work + plan->template work_size<kRows>();
        kernels.multiply(work, chirp.data(), n, T(1), inverse, false, work);
        std::fill(work + n, work + size, Pack<T, kRows>{});
        plan->run(other, work, false);
        kernels.multiply(other, spectrum.data(), size, T(1), false, false, other);
        plan->run(work, other, true);
        kernels.multiply(work, chirp.data(), n, T(1) / static_cast<T>(size), false, inverse, x);
    }
    std::int64_t size;
    std::unique_ptr<FftPlan<T>> plan;
    std::vector<Complex> chirp, spectrum;
};

/// One row as a square of `height` rows: transforms of its columns, many at a time, each number turned, transforms of its rows.
template <class T>
struct FftPlan<T>::Square {
    static constexpr int kMany = kPackedRows<T>, kSome = kMany / 2;
    /// Of the divisors of n the one next to its root; 0 where none leaves packs full on both sides.
    static std::int64_t height_of(std::int64_t n) {
        std::int64_t best = 0;
        for (std::int64_t d = kMany; d * d <= n; ++d)
            if (n % d == 0) best = d;
        return best;
    }
    Square(const std::vector<Complex>& roots, std::int64_t rows)
        : height(rows), width(std::ssize(roots) / rows), columns(rows, false), lines(width, false) {
        full = has_full_packs();
        full ? make_turns<kMany>(roots) : make_turns<kSome>(roots);
    }
    template <int kRows>
    void make_turns(const std::vector<Complex>& roots) {
        const std::int64_t count = packs<kRows>(width) * height;
        turns.resize(static_cast<std::size_t>((count * kRows + kMany - 1) / kMany));
        auto* m = reinterpret_cast<Pack<T, kRows>*>(turns.data());
        for (std::int64_t p = 0; p < packs<kRows>(width); ++p)
            for (std::int64_t i = 0; i < height; ++i, ++m)
                for (std::int64_t k = 0; k < kRows; ++k) {
                    const Complex w = roots[static_cast<std::size_t>(i * (first<kRows>(p, width) + k))];
                    m->re[k] = w.real(), m->im[k] = w.imag();
                }
    }
    template <int kRows>
    static std::int64_t packs(std::int64_t n) {
        return (n + kRows - 1) / kRows;
    }
    /// The last pack takes some of the one before it again, where there are too few.
    template <int kRows>
    static std::int64_t first(std::int64_t pack, std::int64_t n) {
        return std::min(pack * kRows, n - kRows);
    }
    std::int64_t room() const { return height * width + 2 * width * kMany; }  ///< numbers, beside those that are given
    void run(Complex* x, const Complex* given, Complex* room, bool inverse) const {
        full ? run_packs<kMany>(x, given, room, inverse) : run_packs<kSome>(x, given, room, inverse);
    }
    template <int kRows>
    void run_packs(Complex* x, const Complex* given, Complex* room, bool inverse) const {
        using P = Pack<T, kRows>;
        const FftKernels<T, kRows>& kernels = fft_kernels<T, kRows>();
        P *a = reinterpret_cast<P*>(room), *b = a + width;
        const P* turn = reinterpret_cast<const P*>(turns.data());
        Complex* between = room + 2 * width * kMany;
        for (std::int64_t p = 0; p < packs<kRows>(width); ++p, turn += height) {
            kernels.columns_to_packs(given + first<kRows>(p, width), width, height, b);
            columns.run(a, b, inverse);
            kernels.turn(a, turn, height, inverse);
            kernels.packs_to_columns(a, height, between + first<kRows>(p, width), width, T(1));
        }
        for (std::int64_t p = 0; p < packs<kRows>(height); ++p) {
            const T* rows[kRows];
            for (std::int64_t k = 0; k < kRows; ++k) rows[k] = reinterpret_cast<const T*>(between + (first<kRows>(p, height) + k) * width);
            kernels.rows_to_packs(rows, 2 * width, b);
            lines.run(a, b, inverse);
            kernels.packs_to_columns(a, width, x + first<kRows>(p, height), height, T(1));
        }
    }
    bool full;                   ///< packs of kMany
    std::int64_t height, width;  ///< the width is the larger one
    FftPlan<T> columns, lines;
    std::vector<Pack<T, kMany>> turns;  ///< exp(-2 pi i row column / n), pack by pack
};

template <class T>
FftPlan<T>::FftPlan(std::int64_t length, bool single_rows) {
    const std::vector<std::int64_t> radices = factors(length);
    direct_.n = length;
    if (!radices.empty() && *std::max_element(radices.begin(), radices.end()) > kLargestOddRadix) {
        convolution_ = std::make_unique<Convolution>(length);
        return;
    }
    direct_.roots = unit_roots<T>(length, length);
    for (std::int64_t n = length; const std::int64_t radix : radices) {
        const std::int64_t m = n / radix, step = length / n;
        FftLevel<T>& level = direct_.levels.emplace_back(FftLevel<T>{m, radix, {}});
        for (std::int64_t r = 1; r < radix; ++r)
            for (std::int64_t k = 0; k < m; ++k) level.twiddles.push_back(direct_.roots[static_cast<std::size_t>(r * k * step)]);
        n = m;
    }
    if (const std::int64_t height = single_rows ? Square::height_of(length) : 0) square_ = std::make_unique<Square>(direct_.roots, height);
}

template <class T>
FftPlan<T>::~FftPlan() = default;

template <class T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::of(std::int64_t length) {
    static std::mutex mutex;
    static std::map<std::int64_t, std::weak_ptr<const FftPlan>> alive;
    {
        const std::lock_guard lock(mutex);
        std::erase_if(alive, [](const auto& plan) { return plan.second.expired(); });
        if (const auto found = alive.find(length); found != alive.end())
            if (auto plan = found->second.lock()) return plan;
    }
    auto made = std::make_shared<const FftPlan>(length);  // long ones take a while: others needn't wait
    const std::lock_guard lock(mutex);
    alive[length] = made;
    return made;
}

template <class T>
template <int kRows>
std::int64_t FftPlan<T>::work_size() const {
    const std::int64_t own = convolution_ ? checked_mul(convolution_->plan->template work_size<kRows>(), 2) : direct_.n;
    return checked_align(kRows == 1 && square_ ? checked_add(checked_align(own, 8), square_->room()) : own, 8);
}

template <class T>
template <int kRows>
void FftPlan<T>::run(Pack<T, kRows>* x, Pack<T, kRows>* work, bool inverse) const {
    if (convolution_) return convolution_->run(x, direct_.n, work, inverse);
    if constexpr (kRows == 1)
        if (square_) {
            auto* given = reinterpret_cast<Complex*>(work);
            return square_->run(reinterpret_cast<Complex*>(x), given, given + checked_align(direct_.n, 8), inverse);
        }
    fft_kernels<T, kRows>().transform(direct_, work, x, inverse);
}

template class FftPlan<float>;
template class FftPlan<double>;
template void FftPlan<float>::run(Pack<float, 1>*, Pack<float, 1>*, bool) const;
template std::int64_t FftPlan<float>::work_size<1>() const;
template void FftPlan<float>::run(Pack<float, 8>*, Pack<float, 8>*, bool) const;
template std::int64_t FftPlan<float>::work_size<8>() const;
template void FftPlan<float>::run(Pack<float, 16>*, Pack<float, 16>*, bool) const;
template std::int64_t FftPlan<float>::work_size<16>() const;
template void FftPlan<double>::run(Pack<double, 1>*, Pack<double, 1>*, bool) const;
template std::int64_t FftPlan<double>::work_size<1>() const;
template void FftPlan<double>::run(Pack<double, 4>*, Pack<double, 4>*, bool) const;
template std::int64_t FftPlan<double>::work_size<4>() const;
template void FftPlan<double>::run(Pack<double, 8>*, Pack<double, 8>*, bool) const;
template std::int64_t FftPlan<double>::work_size<8>() const;

}  // namespace jaxscope::exec
