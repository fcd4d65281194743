#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace jaxscope::exec {

/// Discrete Fourier transforms of one length: mixed radices where the length has small prime factors only, Bluestein's convolution where
/// it has large ones. Made once, used from many threads.
template <class T>
class FftPlan {
public:
    using Complex = std::complex<T>;
    explicit FftPlan(std::int64_t length);
    ~FftPlan();
    /// How many numbers `scratch` must hold.
    std::int64_t scratch_size() const;
    /// `x` becomes sum_k x[k] exp(-+2 pi i j k / n), in place; nothing is scaled.
    void run(Complex* x, Complex* scratch, bool inverse) const;

private:
    struct Convolution;
    void mixed_radix(const Complex* from, std::int64_t stride, Complex* to, std::int64_t n, std::size_t level, bool inverse) const;
    /// Butterflies that join `radix` transforms of m numbers each, turned by the roots `w`.
    template <bool kInverse>
    static void two(Complex* to, std::int64_t m, const Complex* w);
    template <bool kInverse>
    static void four(Complex* to, std::int64_t m, const Complex* w);
    template <bool kInverse>
    void any(Complex* to, std::int64_t m, std::int64_t radix, const Complex* w) const;

    std::int64_t n_;
    std::vector<std::int64_t> radices_;
    std::vector<Complex> roots_;                  ///< exp(-2 pi i k / n)
    std::vector<std::vector<Complex>> twiddles_;  ///< per level those of its butterflies, in the order in which they are read
    std::unique_ptr<Convolution> convolution_;
};

}  // namespace jaxscope::exec
