// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/builder.h"
#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

/// A value beside its tangent. Some of JAX's jvp rules differentiate a small program instead of naming a formula (jax.jvp inside the
/// rule); written with duals, they emit each primal equation followed by those of its tangent, as JAX does.
struct Dual {
    Value primal, tangent;  ///< the tangent may be symbolically zero
};
using Duals = std::vector<Dual>;

inline Dual constant_dual(Value v) { return {v, Value::zero()}; }

/// One application of a primitive with one result and a `jvp` rule, differentiated.
Dual bind_dual(Builder& b, const Primitive& prim, const Duals& in, const ParamsRef& params = {});

/// slice_in_dim: elements start, start + stride, ... below limit of one axis.
Dual slice_dual(Builder& b, const Dual& x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride = 1);

}  // namespace jaxscope
