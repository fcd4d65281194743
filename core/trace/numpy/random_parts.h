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
Value bits_of(Builder& b, Value key, const ::jaxscope::Dims& shape);
/// jax.random.uniform: random bits become the mantissa of numbers from 1 to 2.
/// `by_name`: the bounds were given by keyword, which sorts them: maxval, minval.
Value uniform_of(Builder& b, Value key, Value low, Value high, const ::jaxscope::Dims& shape, bool by_name = false);
/// Key number `at` of a split.
Value one_of(Builder& b, Value keys, std::int64_t at);
Value split_in(Builder& b, Value key, std::int64_t n);
Value normal_of(Builder& b, Value key, const ::jaxscope::Dims& shape);
Value exponential_of(Builder& b, Value key, const ::jaxscope::Dims& shape);
Value gamma_of(Builder& b, Value key, Value a, const ::jaxscope::Dims& shape, bool log_space);
Value gumbel_of(Builder& b, Value key, const ::jaxscope::Dims& shape);
/// A sampler's shape: as given, else that of its parameters.
::jaxscope::Dims shape_for(Builder& b, const Shape& given, const Values& parameters);

/// The first operand is a key, checked; `name`: whose it is.
Array keyed(const char* name, std::initializer_list<Operand> in, const std::function<Value(Builder&, const Values&)>& emit);
/// A jitted sampler of `shape` without other operands; `name` begins with an underscore.
Array sampled(const Operand& k, const char* name, const Shape& shape, const std::function<Value(Builder&, Value)>& f);

constexpr double kTiny = std::numeric_limits<float>::min();

}  // namespace jaxscope::jax::random
