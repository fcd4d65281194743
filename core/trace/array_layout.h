// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ir/types/attr.h"

namespace jaxscope::jax::detail {

/// An array as numpy.array2string writes it: columns, lines of 75, more than 1000 elements abridged. `prefix`, `suffix`: columns that the
/// text around it takes on the first and the last line.
std::string array_layout(const ArrayConst& a, const std::string& separator, std::size_t prefix, std::size_t suffix);
/// A single element as str() of NumPy's scalar writes it.
std::string scalar_text(const ArrayConst& a);

}  // namespace jaxscope::jax::detail
