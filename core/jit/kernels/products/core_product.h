// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "jit/kernels/products/dot_routine.h"

namespace jaxscope::exec {

/// Scratch memory of core_product for a product of this size, or a part of it.
std::int64_t core_product_bytes(DotRoutine routine, Arithmetic arithmetic, const DotCore& core);

/// A core, or a part of it, by the routine that was chosen for all of it: a part may be too short for it, but no more than that. T is the
/// arithmetic's number; `add`: to what stands in `out`. `scratch` is aligned to 64 bytes.
template <class T>
void core_product(DotRoutine routine, const DotCore& core, const T* lhs, const T* rhs, T* out, bool add, void* scratch);

}  // namespace jaxscope::exec
