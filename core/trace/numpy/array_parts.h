// SPDX-License-Identifier: Apache-2.0
#pragma once
// What functions of jax.numpy share beyond one family: axes as they are given, counting numbers, constants of a type.
#include <jaxscope/numpy.h>

#include "trace/trace.h"

namespace jaxscope::jax::detail {

/// All of them where none is given; sorted, each once.
::jaxscope::Dims axes_of(const Axes& a, std::int64_t rank);
/// Of functions that take the axes of a Reduction alone: a mask that nothing looks at would be a wrong number.
void refuse_mask(const char* name, const Operand& x, const Reduction& over, const char* instead);
Value ravel_of(Builder& b, Value x);
Value iota_of(Builder& b, ::jaxscope::DType type, const ::jaxscope::Dims& shape, std::int64_t dimension);
Value number_of(::jaxscope::DType type, double v, bool weak = false);
/// A number that changes nothing: infinities of integers are their bounds.
Value neutral_of(::jaxscope::DType type, double v);
/// What a variance is summed in, and what it is in the end.
std::pair<::jaxscope::DType, ::jaxscope::DType> variance_types(::jaxscope::DType given, const AsType& wanted);
/// As jnp.sum has it of these axes: small integers in 32 bits, numbers of sixteen bits by way of 32.
Value summed_over(Builder& b, Value x, const ::jaxscope::Dims& axes, bool keepdims = false);
/// An array that is made of no other.
Array made(const Where& where, const std::function<Value(Builder&)>& f);

}  // namespace jaxscope::jax::detail
