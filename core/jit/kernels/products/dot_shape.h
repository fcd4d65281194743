// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/library.h"
#include "jit/kernels/products/dot_routine.h"

namespace jaxscope::exec {

/// The loops around the product of an equation, and its core: of the two orders of what is summed the one that costs less.
DotShape dot_shape(const Op& op, const DotKernel& spec, const Layouts& layouts);

/// A product of integers of one byte or bfloat16 by the library's primitives, which widen nothing; null for others, and for what the
/// library does slowly.
LibraryCallPtr make_narrow_product(const Op& op, const DotShape& shape);

/// A product of operands, or with a result, that are stored in other types than they are computed in. Both come block by block, and no
/// operand is ever wide as a whole.
LibraryCallPtr make_widened_product(const Op& op, const DotShape& shape, Arithmetic arithmetic, int threads);

}  // namespace jaxscope::exec
