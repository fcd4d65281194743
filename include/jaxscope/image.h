// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.image
#include <jaxscope/numpy.h>

namespace jaxscope::jax::image {

struct Resizing {
    Flag antialias = true;  ///< as wide a filter as the image shrinks
    Precision precision = "highest";
};
/// `method`: "nearest"; "linear" ("bilinear", "trilinear", "triangle"); "cubic" ("bicubic", "tricubic"); "lanczos3"; "lanczos5".
Array resize(const Operand& image, const Shape& shape, const char* method, const Resizing& how = {});

}  // namespace jaxscope::jax::image
