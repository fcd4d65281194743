// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "ir/jaxpr.h"

namespace jaxscope {

/// `numpy.printoptions` that change how an array is written.
struct NumpyOptions {
    std::int64_t precision = 8, threshold = 1000, edgeitems = 3, linewidth = 75;
    bool suppress = false;
};

/// `str` of the array as NumPy writes it (arrayprint.py of NumPy 2), which is `str` of a jax.Array too. Nothing for dtypes that are written
/// by other packages' rules: 8 and 16-bit floats other than float16, complex numbers, keys.
std::optional<std::string> numpy_text(const ArrayConst& array, const NumpyOptions& options = {});

/// One element as a number: of the dtypes of which numpy_text knows the text.
struct NumpyScalar {
    enum class Kind { Bool, Int, Unsigned, Float } kind;
    std::int64_t i = 0;
    std::uint64_t u = 0;
    double f = 0;
    bool single = false;  ///< its shortest text is that of a float32
};
std::optional<NumpyScalar> numpy_scalar(const ArrayConst& array, std::int64_t index);
/// `str` of it: the shortest text that is read back as the same number, in full up to 16 digits before the point.
std::string scalar_text(const NumpyScalar& s);

}  // namespace jaxscope
