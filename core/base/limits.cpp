// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

namespace jaxscope {

std::string limits_text() {
    std::string out;
    for (const Limit& l : {kMaxNesting, kMaxRank, kMaxExpansion, kMaxFileBytes, kMaxJsonDepth, kMaxFollowedEqns, kMaxEmbeddedText})
        out += std::string(l.name) + " " + std::to_string(l.value) + "  " + l.what + "\n";
    return out;
}

}  // namespace jaxscope
