// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "jit/graph/kernel.h"

namespace jaxscope::exec {

/// How the rows of a kernel become code.
enum class RowForm : std::uint8_t {
    Loop,        ///< a loop over the columns, made vectors
    WrittenOut,  ///< column after column without a loop, so that the one over rows becomes vectors
    Vectors,     ///< a row is a vector or two, under a mask
};

/// `masks`, `all`: see emit_kernel. A Flat kernel is one row.
RowForm row_form(const Kernel& kernel, bool masks, bool all);
/// The last dimension of what makes up a row's number, where that is long and not all of it; else 0.
std::int64_t inner_rows(const Kernel& kernel);

}  // namespace jaxscope::exec
