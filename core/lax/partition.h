// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/partition_rule.h"

namespace jaxscope {

// Partition rules that families share, and what their own are made of. A primitive without one whose `expand` is known is cut as what it
// expands to; one without either is computed as a whole by every device.

/// Operands and results of one shape, or scalars, or unit dimensions that stretch: every dimension may be cut.
PartitionRule partition_elementwise(const Op& op);
/// Operands and results have the same dimensions; those in `whole` (where sizes differ as well) aren't cut.
PartitionRule partition_all_but(const Op& op, const Dims& whole);
/// Each operand is a result, cut as that one.
PartitionRule partition_one_to_one(const Op& op);
/// Dimensions of operand 0 that `axes` doesn't list are the result's, in order; `combine` puts parts along the others together.
PartitionRule partition_reduction(const Op& op, const Dims& axes, Combine combine);
/// A factor for each of `n` dimensions.
std::vector<int> new_factors(PartitionRule& rule, std::size_t n);
std::vector<int> whole_dims(const Op& op, std::size_t input);

/// `params` with the first result's shape under `name` ("shape", "new_sizes").
ParamsRef with_result_shape(const Op& op, const char* name, const std::vector<Dims>& out);

}  // namespace jaxscope
