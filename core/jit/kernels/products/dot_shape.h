// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/library.h"
#include "jit/kernels/products/dot_core.h"

namespace jaxscope::exec {

/// The loops around the product of an equation, and its core: of the two orders of what is summed the one that costs less.
DotShape dot_shape(const Op& op, const DotKernel& spec, const Layouts& layouts);

/// A product of integers of one byte or bfloat16 by the library's primitives, which widen nothing; null for others, and for what the
/// library does slowly.
LibraryCallPtr make_narrow_product(const Op& op, const DotShape& shape);

}  // namespace jaxscope::exec
