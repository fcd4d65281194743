// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/products/dot_core.h"

namespace jaxscope::exec {

/// Do rows of the right operand and of the result lie in one piece (or columns of the left one and of the result), so that vectors of them
/// can be read where they are?
bool lies_in_rows(const DotCore& core);

/// Products for which lies_in_rows holds, so small that packing their operands or a library's call costs more than they do. T is float,
/// double, one of their complex numbers, or an unsigned integer.
template <class T>
void small_product(const DotCore& core, const T* lhs, const T* rhs, T* out, bool add);

/// Any type, any strides.
template <class T>
void plain_product(const DotCore& core, const T* lhs, const T* rhs, T* out, bool add);

}  // namespace jaxscope::exec
