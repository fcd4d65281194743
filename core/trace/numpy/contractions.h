// SPDX-License-Identifier: Apache-2.0
#pragma once
// What products, Einstein's sums and convolutions share: how exactly they are computed, and in which type.
#include <optional>

#include <jaxscope/products.h>

#include "lax/params/products.h"
#include "trace/promote.h"

namespace jaxscope::jax::detail {

/// The parameter of dot_general and conv_general_dilated. Throws JAX's error for names that are none.
Attr precision_of(const Precision& p);
/// The type of a product of jax.numpy: what is asked for, or what the operands promote to.
Promoted product_type(const Builder& b, const Values& v, const numpy::ProductOptions& how);
/// As it is asked for, or none.
std::optional<::jaxscope::DType> type_asked(const AsType& type);

}  // namespace jaxscope::jax::detail
