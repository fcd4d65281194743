// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/jit.h"

namespace jaxscope {

/// Live bytes over the steps of a plan, divided by role: what a timeline draws.
struct MemoryTimeline {
    static constexpr std::size_t kRoles = 6;                ///< of BufferRole, constants left out as the plan leaves them out
    std::vector<std::array<std::int64_t, kRoles>> by_role;  ///< per step
    std::vector<std::int64_t> live;                         ///< per step, their sum
    std::int64_t peak = 0;
    int peak_step = 0;
};

/// Linear in steps and buffers. An output in a donated argument's memory counts once, as the argument.
MemoryTimeline memory_timeline(const MemoryPlan& plan);

/// What runs inside of a step (PlannedStep::inside), as a plan that can be looked at on its own; null where nothing does.
std::shared_ptr<const MemoryPlan> open_step(const MemoryPlan& plan, int step);

/// Buffers that live in a step, largest first.
std::vector<int> alive_at(const MemoryPlan& plan, int step);

}  // namespace jaxscope
