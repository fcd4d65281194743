// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory_timeline.h"

#include <algorithm>

namespace jaxscope {

MemoryTimeline memory_timeline(const MemoryPlan& plan) {
    MemoryTimeline out;
    const int steps = static_cast<int>(plan.steps.size());
    if (steps == 0) return out;
    std::vector<std::array<std::int64_t, MemoryTimeline::kRoles>> change(plan.steps.size() + 1);
    for (const PlannedBuffer& buffer : plan.buffers) {
        if (buffer.alias_of || buffer.role == BufferRole::Constant) continue;
        const int first = std::clamp(buffer.first_step, 0, steps - 1);
        const int last = std::clamp(buffer.last_step, first, steps - 1);
        const auto role = static_cast<std::size_t>(buffer.role);
        change[static_cast<std::size_t>(first)][role] += buffer.bytes;
        change[static_cast<std::size_t>(last) + 1][role] -= buffer.bytes;
    }
    out.by_role.resize(plan.steps.size());
    std::array<std::int64_t, MemoryTimeline::kRoles> now{};
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        std::int64_t sum = 0;
        for (std::size_t r = 0; r < now.size(); ++r) sum += now[r] += change[s][r];
        out.by_role[s] = now;
        out.live.push_back(sum);
        if (sum > out.peak) {
            out.peak = sum;
            out.peak_step = static_cast<int>(s);
        }
    }
    return out;
}

std::shared_ptr<const MemoryPlan> open_step(const MemoryPlan& plan, int step) {
    const PlannedStep& s = plan.steps[static_cast<std::size_t>(step)];
    if (!s.inside) return nullptr;
    auto opened = std::make_shared<MemoryPlan>(*s.inside);
    opened->derivation = plan.derivation;
    opened->target = plan.target;
    opened->opened = plan.opened;
    opened->opened.push_back(step);
    return opened;
}

std::vector<int> alive_at(const MemoryPlan& plan, int step) {
    std::vector<int> alive;
    for (int b = 0; b < static_cast<int>(plan.buffers.size()); ++b) {
        const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
        if (buffer.first_step <= step && step <= buffer.last_step && !buffer.alias_of && buffer.role != BufferRole::Constant)
            alive.push_back(b);
    }
    std::stable_sort(alive.begin(), alive.end(), [&](int a, int b) {
        return plan.buffers[static_cast<std::size_t>(a)].bytes > plan.buffers[static_cast<std::size_t>(b)].bytes;
    });
    return alive;
}

}  // namespace jaxscope
