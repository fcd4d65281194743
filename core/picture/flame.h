// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes by the calls of the user's source that made them: a flame graph. Comes in: a plan and a step of it, or residuals. Goes out: a tree
// of lines. Never here: pixels.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/identities.h"
#include "analysis/inspection.h"

namespace jaxscope {

/// A line of the user's source within the calls that led to it.
struct FlameNode {
    std::string function, file;  ///< function: "loss"; of what has no line what it is: "arguments", "no line is known"
    int line = 0;
    int parent = -1, depth = 0;
    std::int64_t begin = 0, bytes = 0;   ///< bytes: of this line and all that it calls. `begin`: where it stands in the row
    std::optional<ResidualId> residual;  ///< the largest of them, where they are residuals,
    std::optional<BufferId> buffer;      ///< and where they are buffers
};

/// Parents stand before their children, children of one parent side by side, largest first.
struct FlameGraph {
    std::vector<FlameNode> nodes;
    std::int64_t bytes = 0;
    int depth = 0;  ///< of the tallest stack
};

/// What is alive in a step of the plan.
FlameGraph flame_of_step(const Program& program, const MemoryPlan& plan, int step);
/// What is saved for the backward pass.
FlameGraph flame_of_residuals(const Program& program, const ResidualReport& residuals);

}  // namespace jaxscope
