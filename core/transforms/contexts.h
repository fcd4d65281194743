// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/jaxpr.h"

namespace jaxscope {

/// The same jaxpr, and those that it holds, as JAX would have traced them under `outer`: an equation has the outer compute type, mesh and
/// metadata where it says none itself, and the outer PRNG partitionability. `j` itself when `outer` says nothing. Cached by identity.
JaxprPtr in_context(const JaxprPtr& j, ContextRef outer);

}  // namespace jaxscope
