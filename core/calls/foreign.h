// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/primitive.h"

namespace jaxscope {

/// What primitives of libraries do, which jaxscope knows nothing of: their rules are jaxprs that the capture traced (capture format,
/// section 5), found by a parameter of the equation. Names that nobody declared get a copy of it (`set_primitive_families`).
extern const Primitive kForeign;

/// What an equation of such a primitive stops: "grad", "vmap", "run". A rule that JAX never asked for stops nothing.
std::vector<std::string> foreign_stops(const ParamsRef& params);

}  // namespace jaxscope
