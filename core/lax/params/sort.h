// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

/// All operands are permuted together, ordered by the first `num_keys` of them (lax.sort_p).
struct SortParams {
    std::int64_t dimension = 0;
    bool is_stable = true;
    std::int64_t num_keys = 1;
    static constexpr auto kFields = std::tuple(field("dimension", &SortParams::dimension), field("is_stable", &SortParams::is_stable),
                                               field("num_keys", &SortParams::num_keys));
};

/// Results: the `k` largest along `axis`, descending, and their positions (int32).
struct TopKParams {
    std::int64_t axis = -1, k = 0;  ///< JAX before 0.8 has no axis: the last one
    static constexpr auto kFields = std::tuple(optional_field("axis", &TopKParams::axis), field("k", &TopKParams::k));
};

/// Results: the largest (or smallest) along a dimension, and their positions as int32.
struct ApproxTopKParams {
    std::int64_t k = 0, dimension = 0, input_size_override = -1;
    double recall_target = 1;
    bool aggregate = true, is_max_k = true;
    static constexpr auto kFields =
        std::tuple(field("aggregate_to_topk", &ApproxTopKParams::aggregate), field("is_max_k", &ApproxTopKParams::is_max_k),
                   field("k", &ApproxTopKParams::k), field("recall_target", &ApproxTopKParams::recall_target),
                   field("reduction_dimension", &ApproxTopKParams::dimension),
                   field("reduction_input_size_override", &ApproxTopKParams::input_size_override));
};

}  // namespace jaxscope
