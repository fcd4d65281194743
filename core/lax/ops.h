// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>
#include <optional>

#include "ir/builder.h"
#include "lax/params/shapes.h"

namespace jaxscope {
struct GatherParams;
}

namespace jaxscope::lax {

// What jax.lax's functions emit, shortcuts included: rules written with these emit the equations that JAX's rules emit.

/// A scalar literal of `like`'s dtype (JAX's _const; weakly typed beside a weakly typed scalar).
Value constant(Builder& b, Value like, double value);
/// The same, weakly typed whenever `like` is (JAX's _one and _zero).
Value scalar_like(Builder& b, Value like, double value);

// Element-wise; both operands of one shape, or one of them a scalar.
Value neg(Builder& b, Value x);
Value sign(Builder& b, Value x);
Value floor(Builder& b, Value x);
Value abs(Builder& b, Value x);
Value exp(Builder& b, Value x);
Value log(Builder& b, Value x);
Value sin(Builder& b, Value x, Attr accuracy = {});
Value cos(Builder& b, Value x, Attr accuracy = {});
Value sinh(Builder& b, Value x);
Value cosh(Builder& b, Value x);
Value tanh(Builder& b, Value x);
Value logistic(Builder& b, Value x);
Value sqrt(Builder& b, Value x);
Value rsqrt(Builder& b, Value x);
Value square(Builder& b, Value x);
Value integer_pow(Builder& b, Value x, std::int64_t y);
Value real(Builder& b, Value x);
Value imag(Builder& b, Value x);
Value conj(Builder& b, Value x);
Value complex(Builder& b, Value re, Value im);
Value logical_not(Builder& b, Value x);
Value add(Builder& b, Value x, Value y);
Value sub(Builder& b, Value x, Value y);
Value mul(Builder& b, Value x, Value y);
Value div(Builder& b, Value x, Value y);
Value pow(Builder& b, Value x, Value y);
Value max(Builder& b, Value x, Value y);
Value min(Builder& b, Value x, Value y);
Value add_any(Builder& b, Value x, Value y);  ///< sums cotangents
Value eq(Builder& b, Value x, Value y);
Value ne(Builder& b, Value x, Value y);
Value lt(Builder& b, Value x, Value y);
Value le(Builder& b, Value x, Value y);
Value gt(Builder& b, Value x, Value y);
Value ge(Builder& b, Value x, Value y);
/// `cases[which]`; with a boolean `which`: cases[0] where false.
Value select_n(Builder& b, Value which, const Values& cases);
/// lax.select(pred, on_true, on_false).
Value select(Builder& b, Value pred, Value on_true, Value on_false);

/// No equation when dtype and weak type stay; literals are converted at once.
Value convert_element_type(Builder& b, Value x, DType dtype, bool weak = false);
Value reduce_precision(Builder& b, Value x, int exponent_bits, int mantissa_bits);

/// An array of `aval` filled with a scalar: the scalar itself for rank 0, else a broadcast (JAX's full, zeros_like_aval).
Value full(Builder& b, AvalRef aval, LiteralRef value);
Value full(Builder& b, AvalRef aval, double value);
Value zeros_like(Builder& b, AvalRef aval);  ///< never weakly typed
Value ones_like(Builder& b, AvalRef aval);   ///< weakly typed when `aval` is

/// A number where types have a mesh (TypeMeshScope): JAX puts it there. Else the number.
Value on_mesh(Builder& b, Value number);

// Shapes. No equation where nothing changes. `sharding`: the result's own, or None (explicit_sharding).
Value broadcast_in_dim(Builder& b, Value x, Dims shape, Dims broadcast_dimensions, Attr sharding = {});
/// A scalar (or an array with unit dimensions) to a shape (JAX's _maybe_broadcast).
Value maybe_broadcast(Builder& b, Value x, const Dims& shape);
Value reshape(Builder& b, Value x, Dims sizes, std::optional<Dims> dimensions = {}, Attr sharding = {});
Value squeeze(Builder& b, Value x, Dims dimensions);
Value expand_dims(Builder& b, Value x, Dims dimensions);
Value transpose(Builder& b, Value x, Dims permutation);
Value pad(Builder& b, Value x, Value padding_value, PadConfig config);
Value slice(Builder& b, Value x, Dims start, Dims limit, std::optional<Dims> strides = {});
Value concatenate(Builder& b, const Values& parts, std::int64_t dimension);
/// lax.gather: the mode decides whether `fill_value` is kept; None stands for JAX's default of the dtype (NaN, ...).
Value gather(Builder& b, Value operand, Value indices, GatherParams params);
Value reduce_sum(Builder& b, Value x, Dims axes, Attr sharding = {});
/// Sums away what an implicit broadcast from `aval` added (JAX's _unbroadcast).
Value unbroadcast(Builder& b, AvalRef aval, Value x);

}  // namespace jaxscope::lax
