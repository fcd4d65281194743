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

}  // namespace jaxscope
