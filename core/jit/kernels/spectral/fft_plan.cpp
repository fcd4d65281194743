// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/spectral/fft_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kLargestRadix = 31;  ///< above it Bluestein's way costs less than a butterfly of p^2 products
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

/// 4 first: fewer products than two by two.
std::vector<std::int64_t> factors(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (; n % 4 == 0; n /= 4) out.push_back(4);
    for (std::int64_t p = 2; p * p <= n; ++p)
        for (; n % p == 0; n /= p) out.push_back(p);
    if (n > 1) out.push_back(n);
    return out;
}

/// What joins `radix` transforms of m numbers each.
template <class T>
struct Level {
    std::int64_t m, radix;
    bool inverse;
    const std::complex<T>* twiddles;
    const std::complex<T>* roots;  ///< exp(-2 pi i k / length)
    std::int64_t length;
};

template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED void two(const Level<T>& l, Pack<T, kRows>* to) {
    for (std::int64_t k = 0; k < l.m; ++k) {
        const Pack<T, kRows> a = to[k], b = turned<kInverse>(to[k + l.m], l.twiddles[k]);
        to[k] = a + b, to[k + l.m] = a - b;
    }
}
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED void four(const Level<T>& l, Pack<T, kRows>* to) {
    const std::int64_t m = l.m;
    const std::complex<T>* w = l.twiddles;
    for (std::int64_t k = 0; k < m; ++k) {
        const Pack<T, kRows> a = to[k], b = turned<kInverse>(to[k + m], w[k]), c = turned<kInverse>(to[k + 2 * m], w[m + k]),
                             d = turned<kInverse>(to[k + 3 * m], w[2 * m + k]);
        const Pack<T, kRows> even = a + c, odd = b + d, even_less = a - c, quarter = quarter_turn<kInverse>(b - d);
        to[k] = even + odd, to[k + m] = even_less + quarter, to[k + 2 * m] = even - odd, to[k + 3 * m] = even_less - quarter;
    }
}
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED void any(const Level<T>& l, Pack<T, kRows>* to) {
    std::array<Pack<T, kRows>, kLargestRadix> t;
    const std::int64_t m = l.m, step = l.length / l.radix;
    for (std::int64_t k = 0; k < m; ++k) {
        t[0] = to[k];
        for (std::int64_t r = 1; r < l.radix; ++r)
            t[static_cast<std::size_t>(r)] = turned<kInverse>(to[k + r * m], l.twiddles[(r - 1) * m + k]);
        for (std::int64_t j = 0; j < l.radix; ++j) {
            Pack<T, kRows> sum = t[0];
            for (std::int64_t r = 1; r < l.radix; ++r)
                sum = sum + turned<kInverse>(t[static_cast<std::size_t>(r)], l.roots[r * j % l.radix * step]);
            to[k + j * m] = sum;
        }
    }
}
template <class T, int kRows>
JAXSCOPE_INLINED void join(const Level<T>& l, Pack<T, kRows>* to) {
    if (l.radix == 4)
        l.inverse ? four<true>(l, to) : four<false>(l, to);
    else if (l.radix == 2)
        l.inverse ? two<true>(l, to) : two<false>(l, to);
    else
        l.inverse ? any<true>(l, to) : any<false>(l, to);
}
JAXSCOPE_WIDE void butterflies(const Level<float>& l, Pack<float, 1>* to) { join(l, to); }
JAXSCOPE_WIDE void butterflies(const Level<float>& l, Pack<float, 8>* to) { join(l, to); }
JAXSCOPE_WIDE void butterflies(const Level<float>& l, Pack<float, 16>* to) { join(l, to); }
JAXSCOPE_WIDE void butterflies(const Level<double>& l, Pack<double, 1>* to) { join(l, to); }
JAXSCOPE_WIDE void butterflies(const Level<double>& l, Pack<double, 4>* to) { join(l, to); }
JAXSCOPE_WIDE void butterflies(const Level<double>& l, Pack<double, 8>* to) { join(l, to); }

}  // namespace

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
        std::vector<Pack<T, 1>> x(static_cast<std::size_t>(size)), scratch(static_cast<std::size_t>(plan->scratch_size()));
        for (std::size_t k = 0; k < x.size(); ++k) x[k] = {{spectrum[k].real()}, {spectrum[k].imag()}};
        plan->run(x.data(), scratch.data(), false);
        for (std::size_t k = 0; k < x.size(); ++k) spectrum[k] = {x[k].re[0], x[k].im[0]};
    }
    template <int kRows>
    void run(Pack<T, kRows>* x, std::int64_t n, Pack<T, kRows>* scratch, bool inverse) const {
        Pack<T, kRows>* work = scratch;
        const auto given = [&](std::int64_t k) { return inverse ? conjugate(x[k]) : x[k]; };
        for (std::int64_t k = 0; k < n; ++k) work[k] = times(given(k), chirp[static_cast<std::size_t>(k)]);
        std::fill(work + n, work + size, Pack<T, kRows>{});
        plan->run(work, scratch + size, false);
        for (std::int64_t k = 0; k < size; ++k) work[k] = times(work[k], spectrum[static_cast<std::size_t>(k)]);
        plan->run(work, scratch + size, true);
        const T scale = T(1) / static_cast<T>(size);
        for (std::int64_t k = 0; k < n; ++k) {
            const Pack<T, kRows> y = times(work[k], chirp[static_cast<std::size_t>(k)] * scale);
            x[k] = inverse ? conjugate(y) : y;
        }
    }
    std::int64_t size;
    std::unique_ptr<FftPlan<T>> plan;
    std::vector<Complex> chirp, spectrum;
};

template <class T>
FftPlan<T>::FftPlan(std::int64_t length) : n_(length), radices_(factors(length)) {
    if (!radices_.empty() && *std::max_element(radices_.begin(), radices_.end()) > kLargestRadix) {
        convolution_ = std::make_unique<Convolution>(n_);
        return;
    }
    for (std::int64_t k = 0; k < n_; ++k) {
        const std::complex<double> w = unit_root(k, n_);
        roots_.emplace_back(static_cast<T>(w.real()), static_cast<T>(w.imag()));
    }
    for (std::int64_t n = n_; const std::int64_t radix : radices_) {
        const std::int64_t m = n / radix, step = n_ / n;
        std::vector<Complex>& of_level = twiddles_.emplace_back();
        for (std::int64_t r = 1; r < radix; ++r)
            for (std::int64_t k = 0; k < m; ++k) of_level.push_back(roots_[static_cast<std::size_t>(r * k * step)]);
        n = m;
    }
}

template <class T>
FftPlan<T>::~FftPlan() = default;

template <class T>
std::int64_t FftPlan<T>::scratch_size() const {
    return convolution_ ? checked_add(convolution_->size, convolution_->plan->scratch_size()) : n_;
}

template <class T>
template <int kRows>
void FftPlan<T>::run(Pack<T, kRows>* x, Pack<T, kRows>* scratch, bool inverse) const {
    if (n_ <= 1) return;
    if (convolution_) return convolution_->run(x, n_, scratch, inverse);
    std::copy_n(x, n_, scratch);
    mixed_radix(scratch, 1, x, n_, 0, inverse);
}

/// Decimation in time: the transforms of every radix-th element, then the butterflies that join them.
template <class T>
template <int kRows>
void FftPlan<T>::mixed_radix(const Pack<T, kRows>* from, std::int64_t stride, Pack<T, kRows>* to, std::int64_t n, std::size_t level,
                             bool inverse) const {
    if (n == 1) {
        to[0] = from[0];
        return;
    }
    const std::int64_t radix = radices_[level], m = n / radix;
    for (std::int64_t r = 0; r < radix; ++r) mixed_radix(from + r * stride, stride * radix, to + r * m, m, level + 1, inverse);
    butterflies({m, radix, inverse, twiddles_[level].data(), roots_.data(), n_}, to);
}

template class FftPlan<float>;
template class FftPlan<double>;
template void FftPlan<float>::run(Pack<float, 1>*, Pack<float, 1>*, bool) const;
template void FftPlan<float>::run(Pack<float, 8>*, Pack<float, 8>*, bool) const;
template void FftPlan<float>::run(Pack<float, 16>*, Pack<float, 16>*, bool) const;
template void FftPlan<double>::run(Pack<double, 1>*, Pack<double, 1>*, bool) const;
template void FftPlan<double>::run(Pack<double, 4>*, Pack<double, 4>*, bool) const;
template void FftPlan<double>::run(Pack<double, 8>*, Pack<double, 8>*, bool) const;

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

}  // namespace jaxscope::exec
