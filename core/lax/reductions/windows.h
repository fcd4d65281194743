// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/lax/reductions: primitives that combine the elements of an axis, of a window or of everything before a position, and those that
// order them. In comes an array, out goes a smaller one, or one as large. Never here: reductions with a function of the user's own, which
// hold a jaxpr (core/calls/reductions/general_reduce.cpp and general_window.cpp).
#include "ir/primitive.h"
#include "lax/params/windows.h"

namespace jaxscope {

/// The shape of what windows over an operand of `shape` give; refuses parameters that don't fit it.
Dims window_shape(const Op& op, const Dims& shape, const ReduceWindowParams& p);

/// True for `ge`, false for `le`. Throws Error{BadInput} for anything else.
bool selects_largest(const Attr& select_prim);

/// The scalar that loses against all others: -inf, the smallest integer, False; with `largest` false the opposite.
LiteralRef extremum_identity(DType dtype, bool largest);

/// Of windows over a plain operation (sum, extremum, choice), which compilers of accelerators have routines for.
bool is_window_op(const Primitive& prim);

/// What they compute in terms of slices, comparisons and a scatter, dimension by dimension.
JaxprPtr reduce_window_expand(const Op& op);
JaxprPtr select_and_gather_expand(const Op& op);
JaxprPtr select_and_scatter_expand(const Op& op);

}  // namespace jaxscope
