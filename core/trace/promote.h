// SPDX-License-Identifier: Apache-2.0
#pragma once
// JAX's type promotion, and shapes that broadcast: what every function of numpy.h does to its operands first.
#include <optional>

#include <jaxscope/array.h>

#include "ir/builder.h"

namespace jaxscope::jax::detail {

struct Promoted {
    ::jaxscope::DType type;
    bool weak;
};
/// The least type that all can be converted to, by JAX's lattice (weak types are those of numbers). Throws where there is none.
/// `name`: the function of jax.numpy that says so of keys.
Promoted promoted_type(const Avals& avals, const char* name = nullptr);
/// The floating type that arithmetic with such numbers has.
::jaxscope::DType inexact(::jaxscope::DType type);

/// Operands converted to one type and one rank, as jax.numpy does: scalars and equal ranks are left alone.
Values promoted(Builder& b, const Values& in, bool to_inexact = false, const char* name = nullptr);
/// jax.lax, which doesn't promote: a number beside an array of its dtype isn't weakly typed.
Values alike(Builder& b, Values v);
/// Without its weak type.
Value strong_operand(Builder& b, Value x);
/// Python's number beside `x`, as an operator of jax.numpy takes it.
Value number_beside(Builder& b, Value x, double v);
Value inexact_operand(Builder& b, Value x);
/// Of one type alone, whatever their ranks.
Values of_one_type(Builder& b, Values in, bool to_inexact = false);
Values same_rank(Builder& b, Values in);
/// A value in another type: literals at once.
Value converted(Builder& b, Value x, ::jaxscope::DType type, bool weak);
/// Broadcast result of shapes. Throws JAX's error.
::jaxscope::Dims broadcast_shapes(const std::vector<::jaxscope::Dims>& shapes);
/// Broadcast to a shape, also along unit dimensions (jnp.broadcast_to).
Value broadcast_to(Builder& b, Value x, const ::jaxscope::Dims& shape);
/// jnp.where as it is called inside of other functions: a jit of its own.
Value where_call(Builder& b, Value c, Value x, Value y);
std::int64_t axis_in(std::int64_t axis, std::int64_t rank);

}  // namespace jaxscope::jax::detail
