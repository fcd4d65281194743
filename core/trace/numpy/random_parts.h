// SPDX-License-Identifier: Apache-2.0
#pragma once
// What jax.random's samplers are made of: the jitted functions that they call, as equations.
#include <functional>
#include <limits>

#include <jaxscope/random.h>

#include "ir/builder.h"

namespace jaxscope::jax::random {

Value word(std::int64_t v);
Value f32(double v);
Value weak_f32(double v);
/// The least number above -1 of a type.
Value above_minus_one(::jaxscope::DType type);
/// The type that a sampler is asked for: one of floating point that the front end draws. Throws Error{BadUsage}.
::jaxscope::DType sampler_type(const char* name, const Operand& k, dtype type);
Value bits_of(Builder& b, Value key, const ::jaxscope::Dims& shape, std::int64_t width = 32);
/// jax.random.uniform: random bits become the mantissa of numbers from 1 to 2.
/// `by_name`: the bounds were given by keyword, which sorts them: maxval, minval.
Value uniform_of(Builder& b, Value key, Value low, Value high, const ::jaxscope::Dims& shape, bool by_name = false,
                 ::jaxscope::DType type = ::jaxscope::DType::F32);
/// With dimensions of one in front, up to this many.
Value with_rank(Builder& b, Value x, std::size_t rank);
/// Key number `at` of a split.
Value one_of(Builder& b, Value keys, std::int64_t at);
Value split_in(Builder& b, Value key, std::int64_t n);
Value normal_of(Builder& b, Value key, const ::jaxscope::Dims& shape, ::jaxscope::DType type = ::jaxscope::DType::F32);
Value exponential_of(Builder& b, Value key, const ::jaxscope::Dims& shape, ::jaxscope::DType type = ::jaxscope::DType::F32);
Value gamma_of(Builder& b, Value key, Value a, const ::jaxscope::Dims& shape, bool log_space);
Value gumbel_of(Builder& b, Value key, const ::jaxscope::Dims& shape, ::jaxscope::DType type = ::jaxscope::DType::F32);
/// A sampler's shape: as given, else that of its parameters.
::jaxscope::Dims shape_for(Builder& b, const Shape& given, const Values& parameters);

/// Throws JAX's sentence where parameters don't broadcast to a shape that was asked for.
void check_shape(const char* name, const Shape& shape, std::vector<::jaxscope::Dims> parameters);

/// The first operand is a key, checked; `name`: whose it is.
Array keyed(const char* name, std::initializer_list<Operand> in, const std::function<Value(Builder&, const Values&)>& emit);
/// A jitted sampler of `shape` without other operands; `name` begins with an underscore.
Array sampled(const Operand& k, const char* name, const Shape& shape, ::jaxscope::DType type,
              const std::function<Value(Builder&, Value)>& f);

}  // namespace jaxscope::jax::random
