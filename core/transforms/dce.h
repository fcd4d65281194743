// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

struct DceJaxpr {
    JaxprPtr jaxpr;  ///< with the used outputs, and the used inputs only
    std::vector<bool> used_inputs;
};
/// Dead code elimination (JAX's dce_jaxpr), into call-like equations by their dce rules. `instantiate`: inputs kept even when unused.
/// Constvars stay. The jaxpr itself comes back when nothing changes. Cached by identity.
DceJaxpr dce_jaxpr(const JaxprPtr& j, const std::vector<bool>& used_outputs, const std::vector<bool>& instantiate);
DceJaxpr dce_jaxpr(const JaxprPtr& j, const std::vector<bool>& used_outputs, bool instantiate = false);
/// Without equations that nobody needs and that came with the body of a jit(inline=True): JAX differentiates it as a jit, which drops them.
/// Null where there are none.
JaxprPtr without_unused_of_bodies(const Jaxpr& j);

}  // namespace jaxscope
