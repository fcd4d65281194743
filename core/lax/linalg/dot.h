// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/lax/linalg: products, convolutions, Fourier transforms, triangular solves and decompositions. In come matrices with batch
// dimensions, out go descriptions that the runtime gives to a library. Never here: calls of such a library (core/jit/kernels), and solves
// with functions of the user's own (core/calls/linear_solve.cpp).
#include "ir/primitive.h"
#include "lax/params/products.h"

namespace jaxscope {

/// What a product's elements are (_dot_general_dtype_rule); refuses dtypes that don't combine.
DType product_dtype(const Op& op, const DotGeneralParams& p);

}  // namespace jaxscope
