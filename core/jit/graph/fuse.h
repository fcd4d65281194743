// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/graph/unit.h"

namespace jaxscope::exec {

/// Groups the nodes of a graph into kernels. Values with several consumers are stored once and not computed again, but for
/// broadcasts, iotas and the like. Units come in an order that respects dependencies and otherwise keeps to program order.
std::vector<Unit> fuse(const Graph& g, const FuseOptions& options);

}  // namespace jaxscope::exec
