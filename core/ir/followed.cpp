// SPDX-License-Identifier: Apache-2.0
#include "ir/followed.h"

#include <limits>

#include "base/error.h"
#include "base/limits.h"

namespace jaxscope {

void refuse_runaway(const Jaxpr& j) {
    const std::int64_t followed = count_equations(j);
    if (followed <= static_cast<std::int64_t>(kMaxFollowedEqns.value)) return;
    std::int64_t there = 0;
    for (const Jaxpr* below : all_jaxprs(j)) there += static_cast<std::int64_t>(below->eqns.size());
    if (followed / 8 <= there) return;
    const bool saturated = followed == std::numeric_limits<std::int64_t>::max();
    throw Error(ErrorCode::CannotRun, "expected at most " + std::to_string(kMaxFollowedEqns.value) +
                                          " equations when every call of a jaxpr counts, found " +
                                          (saturated ? "2^63 or more" : std::to_string(followed)) + " out of " + std::to_string(there));
}

}  // namespace jaxscope
