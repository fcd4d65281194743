// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "ir/builder.h"
#include "lax/params/slicing.h"

namespace jaxscope {

/// A call of one of JAX's own jitted functions, which some of its rules make: a jit equation named `name`. As with jit, calls for equal
/// types share their jaxpr; `key`: what else (static arguments) it depends on. `function` traces the body.
Value jitted(Builder& b, const char* name, const std::string& key, const Values& in,
             const std::function<Value(Builder&, const Values&)>& function);

/// The same of functions that trace their bodies by themselves, and may have several results. `trace`: of operands of these types.
Values jitted(Builder& b, const char* name, const std::string& key, const Values& in, const std::function<JaxprPtr(const Avals&)>& trace);

/// x[at] along one axis, for an array of positions, as jax.numpy indexes; from the end only where `mode` is FillOrDrop. `through_where`: by
/// its jitted `_where`, else a select.
Value indexed_along(Builder& b, Value x, Value at, std::int64_t axis, OutOfBounds mode, bool through_where, bool unique = false);
/// jnp.take: the call of its jitted function. No axis: of the flattened array. `mode`: FillOrDrop or Clip; PromiseInBounds where `inside`
/// first brings the positions into an axis of so many elements. `unique`: it says of them that they differ.
Value take(Builder& b, Value x, Value at, std::optional<std::int64_t> axis, OutOfBounds mode = OutOfBounds::FillOrDrop,
           Value (*inside)(Builder& b, Value at, std::int64_t size) = nullptr, bool unique = false);

}  // namespace jaxscope
