// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/lax: the primitives whose rules need no transformation of a jaxpr. In come applications (`Op`) with the values, tangents, cotangents
// or batch axes of their inputs; out go equations, written to a Builder, and descriptions of what a run computes. Its floors, each of which
// includes only those before it: params/ (what a primitive's parameters are), this folder (what all rules share: ops.h, rule_support.h,
// primitives.h), then the families elementwise/, shapes/, reductions/, linalg/, random/, collectives/, sparse/. Never here: a rule that
// differentiates, batches or evaluates a jaxpr (core/calls), a choice that depends on the machine (core/jit), text for people.
//
// This header lists the families.
#include <span>

namespace jaxscope {
struct Primitive;

// One file each, for registry.cpp of core/calls: nothing else asks for them.

// elementwise/
std::span<const Primitive* const> unary_primitives();
std::span<const Primitive* const> inverse_trig_primitives();
std::span<const Primitive* const> special_primitives();
std::span<const Primitive* const> gamma_primitives();
std::span<const Primitive* const> binary_primitives();
std::span<const Primitive* const> compare_primitives();
std::span<const Primitive* const> convert_primitives();
// shapes/
std::span<const Primitive* const> shape_primitives();      ///< broadcast_in_dim, reshape, squeeze, transpose, rev, pad, iota, tile
std::span<const Primitive* const> joining_primitives();    ///< concatenate, split, stack, unstack
std::span<const Primitive* const> slicing_primitives();    ///< slice, dynamic_slice, dynamic_update_slice
std::span<const Primitive* const> gather_primitives();     ///< gather
std::span<const Primitive* const> scatter_primitives();    ///< scatter, scatter-add, -sub, -mul, -min, -max
std::span<const Primitive* const> placement_primitives();  ///< device_put, sharding_constraint, empty, rng_bit_generator, platform_index
// reductions/
std::span<const Primitive* const> reduce_primitives();
std::span<const Primitive* const> cumulative_primitives();
std::span<const Primitive* const> window_primitives();  ///< reduce_window_sum, _max, _min, select_and_gather_add, select_and_scatter_add
std::span<const Primitive* const> sort_primitives();    ///< sort, top_k
std::span<const Primitive* const> approx_top_k_primitives();
// linalg/
std::span<const Primitive* const> dot_primitives();         ///< dot_general
std::span<const Primitive* const> ragged_dot_primitives();  ///< ragged_dot_general
std::span<const Primitive* const> scaled_dot_primitives();  ///< scaled_dot
std::span<const Primitive* const> conv_primitives();        ///< conv_general_dilated
std::span<const Primitive* const> linalg_primitives();      ///< triangular_solve and decompositions
std::span<const Primitive* const> tridiagonal_primitives();
std::span<const Primitive* const> fft_primitives();
// random/, collectives/, sparse/
std::span<const Primitive* const> random_primitives();
std::span<const Primitive* const> collective_primitives();  ///< psum, pmax, pmin, ppermute, axis_index
// shown.cpp
std::span<const Primitive* const> shown_primitives();  ///< of which jaxscope knows how they look alone

}  // namespace jaxscope
