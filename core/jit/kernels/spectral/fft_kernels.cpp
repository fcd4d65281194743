// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/spectral/fft_kernels.h"

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace fft {
#define JAXSCOPE_KERNELS "jit/kernels/spectral/fft_kernels.inl"
#include "jit/kernels/per_processor.inc"
}  // namespace fft

template <class T, int kRows>
const FftKernels<T, kRows>& fft_kernels() {
    return JAXSCOPE_ON_THIS_PROCESSOR(fft, kernels<T, kRows>());
}
bool has_full_packs() { return JAXSCOPE_ON_THIS_PROCESSOR(fft, kVectorBytes) == 64; }
template const FftKernels<float, 1>& fft_kernels();
template const FftKernels<float, 8>& fft_kernels();
template const FftKernels<float, 16>& fft_kernels();
template const FftKernels<double, 1>& fft_kernels();
template const FftKernels<double, 4>& fft_kernels();
template const FftKernels<double, 8>& fft_kernels();

}  // namespace jaxscope::exec
