// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <unistd.h>

namespace jaxscope {

std::string limits_text() {
    std::string out;
    for (const Limit& l : {kMaxNesting, kMaxRank, kMaxExpansion, kMaxFileBytes, kMaxJsonDepth, kMaxFollowedEqns, kMaxEmbeddedText})
        out += std::string(l.name) + " " + std::to_string(l.value) + "  " + l.what + "\n";
    return out;
}

std::int64_t machine_memory() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

}  // namespace jaxscope
