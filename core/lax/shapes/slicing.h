// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/lax/shapes: primitives that move elements and compute nothing but what several of them come to in one place: broadcasts, reshapes,
// slices, joins, gathers, scatters, and what places arrays on devices. In come arrays and positions, out go the same elements elsewhere.
// Never here: reductions over axes and arithmetic, which stand above and below.
#include "ir/builder.h"
#include "ir/primitive.h"
#include "lax/params/slicing.h"

namespace jaxscope {

/// The gather that reads the windows which a scatter with `dims` writes.
GatherDims inverse_gather(const ScatterDims& dims);
/// The scatter that writes the windows which a gather with `dims` reads.
ScatterDims inverse_scatter(const GatherDims& dims);
/// Sizes of the windows in the operand that updates of shape `updates` fill: 1 in inserted and batching dimensions.
Dims scatter_window_sizes(const ScatterDims& dims, int operand_rank, const Dims& updates);

namespace lax {
/// lax.scatter and its kin: adds the combining jaxpr that JAX keeps in the parameters.
Value scatter(Builder& b, const Primitive& prim, Value operand, Value indices, Value updates, ScatterParams params);
}  // namespace lax

/// The parameters of a scatter of the user's Python where JAX runs that while it evaluates a jaxpr (EvaluatingScope): there the combining
/// jaxprs are those of JAX's own rules, not the ones that the program's Python made.
ParamsRef scatter_anew(const Primitive& prim, const ParamsRef& params);

/// Batch rules, which those of dynamic_slice and dynamic_update_slice delegate to. At least one input is mapped.
BatchResult gather_batch(Builder& b, Value operand, int operand_dim, Value indices, int indices_dim, GatherParams params);
BatchResult scatter_batch(Builder& b, const Primitive& prim, const Values& x, const std::vector<int>& dims, ScatterParams params,
                          std::int64_t size);

}  // namespace jaxscope
