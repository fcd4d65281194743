// SPDX-License-Identifier: Apache-2.0
#include "analysis/identities.h"

#include <algorithm>

namespace jaxscope {

namespace {

/// But for `nth`.
BufferId plain_id(const MemoryPlan& plan, const PlannedBuffer& b) {
    BufferId id;
    id.role = b.role;
    id.number = b.number;
    id.opened = plan.opened;
    if (id.opened.empty() && (b.role == BufferRole::Argument || b.role == BufferRole::Output)) return id;
    id.derivation = plan.derivation;
    id.eqn = b.eqn;
    return id;
}

}  // namespace

BufferId id_of(const MemoryPlan& plan, int buffer) {
    BufferId id = plain_id(plan, plan.buffers[static_cast<std::size_t>(buffer)]);
    const BufferId same = id;
    for (int b = 0; b < buffer; ++b)
        if (plain_id(plan, plan.buffers[static_cast<std::size_t>(b)]) == same) ++id.nth;
    return id;
}

int buffer_index(const MemoryPlan& plan, const BufferId& id) {
    BufferId wanted = id;
    wanted.nth = 0;
    int nth = 0;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b)
        if (plain_id(plan, plan.buffers[b]) == wanted && nth++ == id.nth) return static_cast<int>(b);
    return -1;
}

const MemoryPlan* plan_of(const MemoryPlan& whole, const BufferId& id) {
    const MemoryPlan* plan = &whole;
    if (id.derivation != whole.derivation) return plan;
    for (const int step : id.opened) {
        if (step < 0 || static_cast<std::size_t>(step) >= plan->steps.size()) return nullptr;
        plan = plan->steps[static_cast<std::size_t>(step)].inside.get();
        if (plan == nullptr) return nullptr;
    }
    return plan;
}

const PlannedBuffer* find_buffer(const MemoryPlan& whole, const BufferId& id) {
    const MemoryPlan* plan = plan_of(whole, id);
    if (plan == nullptr) return nullptr;
    if (plan == &whole) {
        const int b = buffer_index(whole, id);
        return b < 0 ? nullptr : &whole.buffers[static_cast<std::size_t>(b)];
    }
    // What stands inside of a plan doesn't know where it was opened.
    int nth = 0;
    for (const PlannedBuffer& b : plan->buffers)
        if (b.role == id.role && b.number == id.number && b.eqn == id.eqn && nth++ == id.nth) return &b;
    return nullptr;
}

const ResidualRow* find_residual(const ResidualReport& report, const ResidualId& id) {
    const auto found = std::find_if(report.rows.begin(), report.rows.end(), [&](const ResidualRow& r) { return r.id == id; });
    return found == report.rows.end() ? nullptr : &*found;
}

const DonatedLeaf* find_donated(const DonationReport& report, int input) {
    const auto found = std::find_if(report.donated.begin(), report.donated.end(), [&](const DonatedLeaf& l) { return l.input == input; });
    return found == report.donated.end() ? nullptr : &*found;
}

}  // namespace jaxscope
