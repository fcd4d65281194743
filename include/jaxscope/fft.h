// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy.fft along the last axis.
#include <jaxscope/array.h>

namespace jaxscope::jax::fft {

/// `n`: the length; 0: the axis' own (irfft: an even one).
Array fft(const Operand& x, std::int64_t n = 0);
Array ifft(const Operand& x, std::int64_t n = 0);
Array rfft(const Operand& x, std::int64_t n = 0);
Array irfft(const Operand& x, std::int64_t n = 0);

}  // namespace jaxscope::jax::fft
namespace jaxscope::jax::numpy::fft {
using namespace jaxscope::jax::fft;
}
