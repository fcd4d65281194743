// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `jit/plan`: which step runs when and where its values lie. Comes in: a graph. Goes out: a Computation, steps with offsets in
// one arena. Never here: running anything or allocating the arena; a plan of shapes that no machine holds is made like any other.
#include <optional>
#include <vector>

#include "jit/plan/computation.h"
#include "jit/plan/options.h"

namespace jaxscope::exec {

/// Fuses the graph, tries orders of its units and gives every value its memory; bodies of loops likewise.
/// `alias`: per output, the input whose memory it should take when that costs no copy.
std::shared_ptr<Computation> plan_computation(const GraphPtr& graph, const std::vector<std::optional<int>>& alias,
                                              const ComputationOptions& options);

}  // namespace jaxscope::exec
