// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy.fft: transforms along the last axis, and what goes with them.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::fft {

/// `n`: the length; 0: the axis' own (irfft: an even one).
Array fft(const Operand& x, std::int64_t n = 0);
Array ifft(const Operand& x, std::int64_t n = 0);
Array rfft(const Operand& x, std::int64_t n = 0);
Array irfft(const Operand& x, std::int64_t n = 0);
/// The zero frequency in the middle, and back.
Array fftshift(const Operand& x, const Axes& axes = {});
Array ifftshift(const Operand& x, const Axes& axes = {});
/// Frequencies of a transform of `n` numbers at distances `d`.
Array fftfreq(std::int64_t n, double d = 1, Where where = {});
Array rfftfreq(std::int64_t n, double d = 1, Where where = {});

}  // namespace jaxscope::jax::fft
namespace jaxscope::jax::numpy::fft {
using namespace jaxscope::jax::fft;
}
