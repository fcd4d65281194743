// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/builder.h"
#include "ir/primitive.h"

namespace jaxscope {

/// vmap of convolutions: the batch axis joins the batch, the features or the groups of one of the operands.
BatchResult conv_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);

/// Dimension `from` of `x` taken out and merged, as the major part, into dimension `into` of what is left.
Value merge_axis(Builder& b, std::int64_t from, std::int64_t into, Value x);
/// Dimension `axis` split in two, of which the first has size `major`.
Value split_axis(Builder& b, std::int64_t axis, std::int64_t major, Value x);

}  // namespace jaxscope
