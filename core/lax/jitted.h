// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "ir/builder.h"

namespace jaxscope {

/// A call of one of JAX's own jitted functions, which some of its rules make: a jit equation named `name`. As with jit, calls for equal
/// types share their jaxpr; `key`: what else (static arguments) it depends on. `function` traces the body.
Value jitted(Builder& b, const char* name, const std::string& key, const Values& in,
             const std::function<Value(Builder&, const Values&)>& function);

}  // namespace jaxscope
