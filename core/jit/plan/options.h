// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "jit/graph/unit.h"
#include "jit/targets.h"

namespace jaxscope::exec {

struct ComputationOptions {
    int threads = 1;
    FuseOptions fuse;
    bool schedule = true;                  ///< try other orders than the program's and keep the one that needs least memory
    bool whole = false;                    ///< a program, no loop's body: every pair of `alias` holds, if need be by a copy
    bool guarded = false;                  ///< debug mode: guard pages round buffers, checks in generated code
    bool place_io = false;                 ///< inputs and outputs stand in the arena, too, instead of in the caller's memory
    std::vector<bool> kept;                ///< per input: false where jit prunes it; empty: all
    const TargetDevice* target = nullptr;  ///< estimate what this device's compiler needs; such a plan can't be run
};

}  // namespace jaxscope::exec
