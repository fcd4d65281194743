// SPDX-License-Identifier: Apache-2.0
#pragma once
// What products, Einstein's sums and convolutions share: how exactly they are computed, and in which type.
#include <jaxscope/products.h>

#include "lax/params/products.h"
#include "trace/promote.h"

namespace jaxscope::jax::detail {

/// The parameter of dot_general and conv_general_dilated. Throws JAX's error for names that are none.
Attr precision_of(const Precision& p);
/// The type of a product of jax.numpy: what is asked for, or what the operands promote to.
Promoted product_type(const Builder& b, const Values& v, const numpy::ProductOptions& how);
/// Summed in that type. Throws JAX's errors for dimensions that don't fit.
Value bind_product(Builder& b, Value x, Value y, DotDims dims, const Promoted& to, const Precision& precision);

}  // namespace jaxscope::jax::detail
