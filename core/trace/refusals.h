// SPDX-License-Identifier: Apache-2.0
#pragma once
// What jax.lax refuses, in JAX's sentences: asked before an equation is made. The type checker's own sentences (core/lax) are for programs
// that nobody traced here. Never here: rules of single functions of jax.numpy.
#include <jaxscope/shape.h>

#include "base/error.h"
#include "ir/builder.h"
#include "lax/params/linalg.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"

namespace jaxscope::jax::detail {

/// Throws Error{TypeMismatch}; the place is that of the operation which asks.
[[noreturn]] void refuse(const std::string& text);
/// Throws with the user's line. `advice`: what to do, where there is something to say.
[[noreturn]] void refuse_at(const Where& where, ErrorCode code, const std::string& text, const std::string& advice = {});
/// JAX's repr of a type: "ShapedArray(float32[], weak_type=True)"
std::string shaped_array_text(AvalRef a);
/// "(3, 4), (4, 5)"
std::string shape_list(const std::vector<::jaxscope::Dims>& shapes);
/// Python's list: "[1, 2]"
std::string list_text(const ::jaxscope::Dims& numbers);
std::vector<::jaxscope::Dims> shapes_of(const Builder& b, const Values& v);

void check_dot(const Builder& b, Value x, Value y, const DotDims& d);
void check_concatenate(const Builder& b, const Values& v, std::int64_t dimension);
/// `name`: of the function that asks; "SAME" and lists of pairs are known by then.
void check_window(const char* name, const ::jaxscope::Dims& shape, const ::jaxscope::Dims& window, const ::jaxscope::Dims& strides);
void check_slice(const ::jaxscope::Dims& shape, const ::jaxscope::Dims& start, const ::jaxscope::Dims& limit,
                 const ::jaxscope::Dims& strides);
/// `v`: which, cases.
void check_select(const Builder& b, const Values& v);
/// `v`: least, operand, most.
void check_clamp(const Builder& b, const Values& v);
void check_rev(const ::jaxscope::Dims& shape, const ::jaxscope::Dims& dimensions);
/// `v`: operand, value to pad with.
void check_pad(const Builder& b, const Values& v, const ::jaxscope::PadConfig& config);
/// Complex numbers, for a function that compares by the primitive `name`.
void refuse_without_order(const char* name, ::jaxscope::DType type);
void check_transpose(const ::jaxscope::Dims& shape, const ::jaxscope::Dims& permutation);
/// Distinct dimensions of size one, which may be counted from the back; as they are counted from the front.
::jaxscope::Dims squeezed_dims(const ::jaxscope::Dims& shape, const ::jaxscope::Dims& dimensions);
/// Dimensions of the result that are new.
::jaxscope::Dims expanded_dims(std::int64_t rank, const ::jaxscope::Dims& dimensions);
void check_broadcast_in_dim(const ::jaxscope::Dims& from, const ::jaxscope::Dims& shape, const ::jaxscope::Dims& dims);
void check_nonnegative(const char* what, const ::jaxscope::Dims& shape);
/// jnp.broadcast_to
void check_broadcast_to(AvalRef from, const ::jaxscope::Dims& shape);
/// `starts`: of dynamic_slice and dynamic_update_slice, which say what they got in two ways.
void check_starts(const Builder& b, const char* name, const char* got, const Values& starts);
void check_slice_sizes(const ::jaxscope::Dims& shape, const ::jaxscope::Dims& sizes);
void check_update(AvalRef operand, AvalRef update);
/// The sizes that a reshape asks for, -1 being what is left.
::jaxscope::Dims reshaped(const ::jaxscope::Dims& from, const ::jaxscope::Dims& sizes);
void check_distinct_axes(const ::jaxscope::Dims& axes, const char* what);

/// A key as jax.random's functions take it: typed, or raw words, which are wrapped. `batched`: may it be several?
Value key_operand(Builder& b, const char* name, Value key, bool batched = false);

}  // namespace jaxscope::jax::detail
