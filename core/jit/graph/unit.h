// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/graph/kernel.h"

namespace jaxscope::exec {

/// One step of the program to run: a fused kernel, or one node that runs by itself.
struct Unit {
    std::vector<std::uint32_t> nodes;    ///< of the graph, in program order
    std::shared_ptr<Kernel> kernel;      ///< null: the single node is a library call, loop or barrier
    std::vector<ValueId> reads, writes;  ///< roots; a kernel's buffers in the order of its externs and stores
    std::vector<std::uint32_t> after;    ///< units that must run before
};

struct FuseOptions {
    bool fuse = true;
    bool recompute_cheap = false;
};

}  // namespace jaxscope::exec
