// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/builder.h"

namespace jaxscope::lax {

/// Says of a value that it varies over axes of a mesh (pvary). No axes: the value.
Value vary(Builder& b, Value x, const std::vector<Sym>& axes);

}  // namespace jaxscope::lax
