// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/primitive.h"

namespace jaxscope {

/// Batch rules of collectives over the name that the batch axis has: psum over it sums along it, ... The others go on as they are.
BatchResult batch_named_reduce(Builder& b, const Op& op, Value x, int dim, std::int64_t size, bool sum);
BatchResult batch_axis_index(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);
BatchResult batch_all_gather(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);
BatchResult batch_reduce_scatter(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);

BatchResult batch_ppermute(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);
BatchResult batch_all_to_all(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);

BatchResult batch_pbroadcast(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);
/// To the one that sent, the sum of all; JAX's rule has it of scalars alone.
void transpose_pbroadcast(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);

/// The permutation the other way round; each part of a cotangent back to where it came from.
void transpose_ppermute(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);
Values jvp_all_to_all(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
void transpose_all_to_all(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);
void transpose_all_gather_invariant(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);

/// Of a gathered value what was scattered, and the other way.
void transpose_all_gather(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);
void transpose_reduce_scatter(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);

/// Axis `at` as chunks by `factor`; axis `at` joined with the one behind it. As JAX's own, which reshape even where nothing moves.
Value split_axis(Builder& b, Value x, std::size_t at, std::int64_t factor);
Value fold_axis(Builder& b, Value x, std::size_t at);

}  // namespace jaxscope
