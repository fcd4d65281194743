// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/kernels/spectral/fft_pack.h"

namespace jaxscope::exec {

/// How many rows are transformed together where there are so many: a cache line of real parts.
template <class T>
constexpr int kPackedRows = 64 / sizeof(T);

/// Discrete Fourier transforms of one length: mixed radices where the length has small prime factors only, Bluestein's convolution where
/// it has large ones. Made once, used from many threads.
template <class T>
class FftPlan {
public:
    using Complex = std::complex<T>;
    explicit FftPlan(std::int64_t length);
    ~FftPlan();
    /// How many packs `scratch` must hold.
    std::int64_t scratch_size() const;
    /// `x` becomes sum_k x[k] exp(-+2 pi i j k / n), in place and row by row; nothing is scaled. For 1 row, kPackedRows<T> and half as
    /// many.
    template <int kRows>
    void run(Pack<T, kRows>* x, Pack<T, kRows>* scratch, bool inverse) const;

private:
    struct Convolution;
    template <int kRows>
    void mixed_radix(const Pack<T, kRows>* from, std::int64_t stride, Pack<T, kRows>* to, std::int64_t n, std::size_t level,
                     bool inverse) const;

    std::int64_t n_;
    std::vector<std::int64_t> radices_;
    std::vector<Complex> roots_;                  ///< exp(-2 pi i k / n)
    std::vector<std::vector<Complex>> twiddles_;  ///< per level those of its butterflies, in the order in which they are read
    std::unique_ptr<Convolution> convolution_;
};

/// exp(-2 pi i k / n) for k below `count`.
template <class T>
std::vector<std::complex<T>> unit_roots(std::int64_t n, std::int64_t count);

}  // namespace jaxscope::exec
