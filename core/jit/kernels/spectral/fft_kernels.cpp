// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/spectral/fft_kernels.h"

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace any_processor {
#include "jit/kernels/spectral/fft_kernels.inl"
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define JAXSCOPE_HAS_WIDER_FFT 1
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace with_avx2 {
#include "jit/kernels/spectral/fft_kernels.inl"
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
namespace with_avx512 {
#include "jit/kernels/spectral/fft_kernels.inl"
}
#pragma GCC pop_options
#endif

template <class T, int kRows>
const FftKernels<T, kRows>& fft_kernels() {
#ifdef JAXSCOPE_HAS_WIDER_FFT
    if (__builtin_cpu_supports("x86-64-v4")) return with_avx512::kernels<T, kRows>();
    if (__builtin_cpu_supports("x86-64-v3")) return with_avx2::kernels<T, kRows>();
#endif
    return any_processor::kernels<T, kRows>();
}
template const FftKernels<float, 1>& fft_kernels();
template const FftKernels<float, 8>& fft_kernels();
template const FftKernels<float, 16>& fft_kernels();
template const FftKernels<double, 1>& fft_kernels();
template const FftKernels<double, 4>& fft_kernels();
template const FftKernels<double, 8>& fft_kernels();

}  // namespace jaxscope::exec
