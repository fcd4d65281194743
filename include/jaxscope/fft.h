// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy.fft: transforms along one axis or several, and what goes with them.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::fft {

struct Transform {
    std::int64_t n = 0;  ///< the length; 0: the axis' own (irfft: an even one)
    std::int64_t axis = -1;
    const char* norm =
        nullptr;  ///< what is divided by the length: "backward" the inverse (as without), "forward", "ortho" both by its root
};
Array fft(const Operand& x, const Transform& how);
Array ifft(const Operand& x, const Transform& how);
Array rfft(const Operand& x, const Transform& how);
Array irfft(const Operand& x, const Transform& how);
Array fft(const Operand& x, std::int64_t n = 0);
Array ifft(const Operand& x, std::int64_t n = 0);
Array rfft(const Operand& x, std::int64_t n = 0);
Array irfft(const Operand& x, std::int64_t n = 0);
/// Of a signal whose transform is real, and its inverse.
Array hfft(const Operand& x, const Transform& how = {});
Array ihfft(const Operand& x, const Transform& how = {});
struct Transforms {
    Shape s = {};    ///< lengths; none: the axes' own
    Axes axes = {};  ///< none: the last two of fft2 and its kin, all of fftn's
    const char* norm = nullptr;
};
Array fft2(const Operand& x, const Transforms& how = {});
Array ifft2(const Operand& x, const Transforms& how = {});
Array rfft2(const Operand& x, const Transforms& how = {});
Array irfft2(const Operand& x, const Transforms& how = {});
Array fftn(const Operand& x, const Transforms& how = {});
Array ifftn(const Operand& x, const Transforms& how = {});
Array rfftn(const Operand& x, const Transforms& how = {});
Array irfftn(const Operand& x, const Transforms& how = {});
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
