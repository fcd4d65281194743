// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes by what made them: a flame graph. Comes in: a plan and a step of it, or residuals. Goes out: a tree of the user's lines, or of what
// else they are put together by. Never here: pixels.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/identities.h"
#include "analysis/inspection.h"

namespace jaxscope {

/// A line of the user's source within the calls that led to it, or a scope, a type, a role.
struct FlameNode {
    std::string function, file;  ///< function: "loss"; of what has no line what it is: "arguments", "no line is known", "float32"
    int line = 0;
    bool argument = false;  ///< of values that come in
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

constexpr const char *kNoLine = "no line is known", *kNoScope = "in no scope";

/// What bytes are put together by.
enum class FlameBy : std::uint8_t {
    Lines,   ///< the user's calls that led there
    Scopes,  ///< name scopes, without the transformations between them
    Types,   ///< dtype, then type
    Roles,   ///< of buffers; arguments by their names, the rest by what makes it
};

/// What is alive in a step of the plan.
FlameGraph flame_of_step(const Program& program, const MemoryPlan& plan, int step, FlameBy by = FlameBy::Lines);
/// What is saved for the backward pass. `known`: its forward part, which has the scopes of what is computed; null: they aren't known.
FlameGraph flame_of_residuals(const Program& program, const ResidualReport& residuals, FlameBy by = FlameBy::Lines,
                              const Jaxpr* known = nullptr);

}  // namespace jaxscope
