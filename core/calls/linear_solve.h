// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "ir/builder.h"

namespace jaxscope {

/// jax.lax.custom_linear_solve: `functions` are matvec, vecmat, solve and transpose_solve, open jaxprs of their constants and of vectors
/// like `rhs`. Null: vecmat and transpose_solve that nobody gave.
Values linear_solve(Builder& b, const std::array<JaxprPtr, 4>& functions, const std::array<Values, 4>& consts, const Values& rhs);

}  // namespace jaxscope
