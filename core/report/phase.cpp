// SPDX-License-Identifier: Apache-2.0
#include "report/phase.h"

#include "analysis/equations/eqn_path.h"
#include "analysis/sharding/per_device.h"
#include "picture/scope_tree.h"

namespace jaxscope {

namespace {

Role role_of_step(const Jaxpr& root, const PlannedStep& step) {
    if (step.eqn.empty()) return role_of(*step.source);
    try {
        return std::max(role_of(*step.source), role_of(root, parse_eqn_path(step.eqn)));
    } catch (const Error&) {  // a step that is no equation's
        return role_of(*step.source);
    }
}

bool is_backward(Role role) { return role == Role::Backward || role == Role::Recomputed; }

/// Of a step that says nothing itself.
Phase phase_between(const std::vector<Role>& roles, std::size_t peak) {
    const auto at = roles.begin() + static_cast<std::ptrdiff_t>(peak);
    const bool before = std::any_of(roles.begin(), at, is_backward), behind = std::any_of(at, roles.end(), is_backward);
    if (before) return behind ? Phase::Backward : Phase::Update;
    return behind ? Phase::Forward : Phase::Unknown;
}

}  // namespace

Phase phase_at_peak(const Inspection& inspection) {
    const MemoryPlan& plan = inspection.plan();
    if (plan.peak_step < 0 || static_cast<std::size_t>(plan.peak_step) >= plan.steps.size()) return Phase::Unknown;
    const PerDevice& cut = inspection.per_device();
    const Jaxpr& root = cut ? *cut.program->body : *inspection.step().jaxpr;
    const auto peak = static_cast<std::size_t>(plan.peak_step);
    switch (role_of_step(root, plan.steps[peak])) {
        case Role::Forward:
            return Phase::Forward;
        case Role::Backward:
            return Phase::Backward;
        case Role::Recomputed:
            return Phase::Recomputed;
        case Role::Plain:
            break;
    }
    std::vector<Role> roles;
    for (const PlannedStep& step : plan.steps) roles.push_back(role_of_step(root, step));
    return phase_between(roles, peak);
}

std::string words(Phase phase) {
    switch (phase) {
        case Phase::Forward:
            return "in the forward pass";
        case Phase::Backward:
            return "in the backward pass";
        case Phase::Recomputed:
            return "where the backward pass recomputes";
        case Phase::Update:
            return "behind the backward pass, where the state is updated";
        case Phase::Unknown:
            break;
    }
    return "";
}

}  // namespace jaxscope
