// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/spectral/fft_kernels.h"

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace any_processor {
#include "jit/kernels/spectral/fft_kernels.inl"
}

#ifdef JAXSCOPE_PARSED_PER_PROCESSOR
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
#ifdef JAXSCOPE_PARSED_PER_PROCESSOR
    if (processor() == Processor::avx512) return with_avx512::kernels<T, kRows>();
    if (processor() == Processor::avx2) return with_avx2::kernels<T, kRows>();
#endif
    return any_processor::kernels<T, kRows>();
}
bool has_full_packs() { return processor() == Processor::avx512; }
template const FftKernels<float, 1>& fft_kernels();
template const FftKernels<float, 8>& fft_kernels();
template const FftKernels<float, 16>& fft_kernels();
template const FftKernels<double, 1>& fft_kernels();
template const FftKernels<double, 4>& fft_kernels();
template const FftKernels<double, 8>& fft_kernels();

}  // namespace jaxscope::exec
