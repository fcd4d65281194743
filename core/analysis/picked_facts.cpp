// SPDX-License-Identifier: Apache-2.0
#include "analysis/picked_facts.h"

#include <algorithm>

#include "analysis/equations/linearity.h"
#include "base/error.h"
#include "ir/primitive.h"

namespace jaxscope {

namespace {

void find_argument(PickedFacts& facts, const Program& program, const Picked& picked) {
    if (picked.input >= 0 && static_cast<std::size_t>(picked.input) < program.in_paths.size())
        facts.input = static_cast<std::uint32_t>(picked.input);
    if (!picked.program) return;
    try {
        facts.first_reader = &resolve(*program.jaxpr, *picked.program);
    } catch (const Error&) {  // a pick of another program
    }
}

/// The equation itself, from whichever jaxpr knows it.
void find_equation(PickedFacts& facts, const Program& program, const Picked& picked, const KnownStages& stages) {
    const std::pair<const std::optional<EqnPath>*, const Jaxpr*> places[] = {
        {&picked.program, program.jaxpr.get()},
        {&picked.known, stages.split != nullptr ? stages.split->known.get() : nullptr},
        {&picked.unknown, stages.split != nullptr ? stages.split->unknown.get() : nullptr},
    };
    for (const auto& [path, root] : places) {
        if (!*path || root == nullptr) continue;
        try {
            const Jaxpr& jaxpr = resolve(*root, (*path)->jaxpr);
            facts.eqn = &resolve(*root, **path);
            facts.jaxpr = &jaxpr;
            break;
        } catch (const Error&) {  // a pick of another program
        }
    }
    if (facts.eqn == nullptr) return;
    try {
        std::int64_t bytes = 0;
        for (std::uint32_t k = 0; k < facts.eqn->n_out; ++k) bytes += facts.jaxpr->aval(facts.jaxpr->output(*facts.eqn, k))->bytes();
        facts.bytes = bytes;
        if (facts.eqn->prim->cost) facts.flops = facts.eqn->prim->cost.fn(make_op(*facts.jaxpr, *facts.eqn)).flops;
    } catch (const Error&) {  // of a size that no number holds
    }
}

bool recomputed(const SplitReport& split, const EqnPath& unknown) {
    try {
        return is_recomputed(*split.unknown, split.num_residuals, unknown);
    } catch (const Error&) {
        return false;
    }
}

/// Does a call hold both directions of a gradient, as a step that is jitted does?
bool holds_gradient(const Eqn& call) {
    if (!call.params->holds_jaxpr()) return false;
    bool forward = false, backward = false;
    for (const SubJaxpr& sub : sub_jaxprs(call))
        for (const Jaxpr* jaxpr : all_jaxprs(*sub.jaxpr))
            for (const Eqn& eqn : jaxpr->eqns) {
                const bool transposed = eqn.source->name_stack.has_transform(stack_names::kTranspose);
                backward = backward || transposed;
                forward = forward || (!transposed && eqn.source->name_stack.has_transform(stack_names::kJvp));
                if (forward && backward) return true;
            }
    return false;
}

PickedFacts::Part part_of(const Picked& picked, const KnownStages& stages, const Eqn* eqn) {
    if (stages.split != nullptr && picked.unknown && recomputed(*stages.split, *picked.unknown)) return PickedFacts::Part::Recomputed;
    if (picked.known && stages.split != nullptr) return PickedFacts::Part::Forward;
    if (picked.unknown) return PickedFacts::Part::Backward;
    if (stages.split == nullptr) return PickedFacts::Part::Unknown;
    if (eqn != nullptr && eqn->source->name_stack.has_transform(stack_names::kTranspose)) return PickedFacts::Part::BackwardBefore;
    return eqn != nullptr && holds_gradient(*eqn) ? PickedFacts::Part::Around : PickedFacts::Part::Outside;
}

/// Of an offloaded value the copy has the type, but for the memory it lies in.
bool is_result(const Jaxpr& jaxpr, const Eqn& eqn, const ResidualRow& row) {
    for (std::uint32_t k = 0; k < eqn.n_out; ++k) {
        Aval aval = *jaxpr.aval(jaxpr.output(eqn, k));
        if (row.on_host) aval.space = MemorySpace::Host;
        if (to_text(aval) == row.aval) return true;
    }
    return false;
}

}  // namespace

PickedFacts facts_of(const Program& program, const Picked& picked, const KnownStages& stages, const Choices& choices) {
    PickedFacts facts;
    facts.residual = stages.find(picked.residual);
    facts.is_argument = picked.input >= 0 || (facts.residual != nullptr && facts.residual->input >= 0);
    if (facts.is_argument) {
        find_argument(facts, program, picked);
    } else {
        find_equation(facts, program, picked, stages);
        facts.part = part_of(picked, stages, facts.eqn);
        facts.residual_is_inside =
            facts.residual != nullptr && facts.eqn != nullptr && !is_result(*facts.jaxpr, *facts.eqn, *facts.residual);
    }
    facts.policy = choices.policy ? choices.policy : choices.replace_policy.empty() ? nullptr : choices.replace_policy.front().policy;
    facts.donated = stages.donated(picked.donated);
    facts.buffer = stages.find(picked.buffer);
    if (facts.buffer != nullptr) {
        facts.buffer_plan = plan_of(*stages.plan, *picked.buffer);
        const auto& peak = facts.buffer_plan->at_peak;
        facts.at_peak =
            std::find(peak.begin(), peak.end(), static_cast<int>(facts.buffer - facts.buffer_plan->buffers.data())) != peak.end();
    }
    return facts;
}

}  // namespace jaxscope
