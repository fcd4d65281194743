#pragma once
#include "ir/primitive.h"
#include "lax/params/windows.h"

namespace jaxscope {

/// The shape of what windows over an operand of `shape` give; refuses parameters that don't fit it.
Dims window_shape(const Op& op, const Dims& shape, const ReduceWindowParams& p);

/// True for `ge`, false for `le`. Throws Error{BadInput} for anything else.
bool selects_largest(const Attr& select_prim);

/// The scalar that loses against all others: -inf, the smallest integer, False; with `largest` false the opposite.
LiteralRef extremum_identity(DType dtype, bool largest);

/// What they compute in terms of slices, comparisons and a scatter, dimension by dimension.
JaxprPtr reduce_window_expand(const Op& op);
JaxprPtr select_and_gather_expand(const Op& op);
JaxprPtr select_and_scatter_expand(const Op& op);

}  // namespace jaxscope
