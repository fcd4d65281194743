// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/kernels/spectral/fft_kernels.h"

namespace jaxscope::exec {

/// Discrete Fourier transforms of one length: mixed radices where the length has small prime factors only, Bluestein's convolution where
/// it has large ones. Made once, used from many threads.
template <class T>
class FftPlan {
public:
    using Complex = std::complex<T>;
    /// Of a part of a larger transform nobody asks for a single row.
    explicit FftPlan(std::int64_t length, bool single_rows = true);
    /// The one that others of this process already have, where there is one.
    static std::shared_ptr<const FftPlan> of(std::int64_t length);
    ~FftPlan();
    /// How many packs of kRows rows `work` must hold, a multiple of a cache line.
    template <int kRows>
    std::int64_t work_size() const;
    /// x[j] becomes sum_k work[k] exp(-+2 pi i j k / n), row by row; nothing is scaled, `work` is lost. For 1 row, kPackedRows<T> and half
    /// as many. `work`: 64-byte aligned.
    template <int kRows>
    void run(Pack<T, kRows>* x, Pack<T, kRows>* work, bool inverse) const;
    /// One row is no slower than its share of a pack.
    bool fast_alone() const { return square_ != nullptr; }

private:
    struct Convolution;
    struct Square;
    MixedRadix<T> direct_;
    std::unique_ptr<Convolution> convolution_;
    std::unique_ptr<Square> square_;
};

/// exp(-2 pi i k / n) for k below `count`.
template <class T>
std::vector<std::complex<T>> unit_roots(std::int64_t n, std::int64_t count);

}  // namespace jaxscope::exec
