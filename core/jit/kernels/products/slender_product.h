// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/products/dot_core.h"

namespace jaxscope::exec {

/// Has one side of the result so few numbers that panels of it would be mostly empty? A matrix times a vector, a gate on a quantum state.
bool is_slender(const DotCore& core);

/// Products for which is_slender holds, of any strides. T is float, double, one of their complex numbers, or an unsigned integer.
template <class T>
void slender_product(const DotCore& core, const T* lhs, const T* rhs, T* out, bool add);

}  // namespace jaxscope::exec
