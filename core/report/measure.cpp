// SPDX-License-Identifier: Apache-2.0
#include "report/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/sharding/per_device.h"
#include "base/text.h"
#include "base/units.h"
#include "jit/code_cache.h"
#include "jit/targets.h"
#include "report/explain_text.h"

namespace jaxscope {

namespace {

PeakRow to_row(const Step& step, const PlannedBuffer& b) {
    PeakRow row;
    row.aval = to_text(b.aval);
    row.bytes = b.bytes;
    row.equation = b.eqn;
    row.role = role_name(b.role);
    const auto number = static_cast<std::size_t>(std::max(0, b.number));
    if (b.role == BufferRole::Argument && number < step.in_paths.size())
        row.source = step.in_paths[number];
    else if (!b.source->summary().empty())
        row.source = std::string(b.primitive.str()) + " from " + b.source->summary().str();
    else
        row.source = b.primitive.str();
    if (b.role != BufferRole::Argument) set_own_line(row, b.source);
    return row;
}

std::vector<SpaceRow> space_rows(const MemoryPlan& plan) {
    std::vector<SpaceRow> rows;
    for (const SpaceUse& use : plan.spaces)
        rows.push_back({use.space == MemorySpace::Host ? "pinned_host" : "device", use.peak, use.moved_in});
    return rows;
}

/// What the plan doesn't know of, by name; where less was measured, what was never touched.
std::string explain_difference(const MemoryReport& m) {
    if (!m.measured_peak) return {};
    const std::int64_t difference = *m.measured_peak - m.planned_peak;
    const double allowed = std::max(0.01 * static_cast<double>(m.planned_peak), 1048576.0);
    if (std::abs(static_cast<double>(difference)) <= allowed) return {};
    std::string text = fmt::format("measured {} {} the plan", bytes_text(std::abs(difference)), difference > 0 ? "above" : "below");
    if (difference < 0 && m.arena_resident && *m.arena_resident < m.planned_peak)
        return text + fmt::format(": {} of the planned memory was never touched", bytes_text(m.planned_peak - *m.arena_resident));
    if (!m.device_peaks.empty())
        return text +
               ": a device runs its program in pieces between collectives, and what one piece hands to the next stands beside the "
               "arena of the one at work";
    constexpr std::size_t kNamed = 3;
    for (std::size_t i = 0; i < std::min(kNamed, m.unplanned.size()); ++i)
        text += fmt::format("{} {} in {}", i ? "," : ":", bytes_text(m.unplanned[i].bytes), m.unplanned[i].source);
    return text;
}

UnplannedRow to_row(const UnplannedMemory& u) {
    UnplannedRow row{u.bytes, u.eqn, u.primitive.str(), {}, 0};
    if (!u.source->summary().empty()) row.source += " from " + u.source->summary().str();
    set_own_line(row, u.source);
    return row;
}

DeviceRow device_row(std::size_t device, const MemoryPlan& plan, const DeviceUse& use) {
    DeviceRow row{static_cast<std::int64_t>(device), plan.planned_peak, use.peak, use.of_step, use.at->summary().str(), {}, 0};
    set_own_line(row, use.at);
    return row;
}

}  // namespace

std::string words(const StepName& name) {
    switch (name.kind) {
        case StepName::Kind::None:
            return {};
        case StepName::Kind::Program:
            return "the program";
        case StepName::Kind::Step:
            if (name.differentiations == 1) return "the step";
            return fmt::format("the step (the policy is on all {} differentiations of {} at {})", name.differentiations,
                               name.function.str(), name.place.str());
        case StepName::Kind::ValueAndGradient:
            return "value and gradient";
        case StepName::Kind::ValueAndPullback:
            return "value and pullback";
    }
    return {};
}

std::string region_words(const Program& program, const std::optional<int>& region) {
    if (!region) return {};
    return fmt::format(" in {} (region {})", program.regions[static_cast<std::size_t>(*region)].name.str(), *region);
}

std::string words(const Placement& p) {
    const std::string function = p.function.empty() ? "" : " of " + p.function;
    const std::string place = p.loc.file.empty() ? "" : fmt::format(" ({})", short_place(p.loc.file, p.loc.line));
    switch (p.kind) {
        case Placement::Kind::Existing:
            return "in the checkpoints that are there";
        case Placement::Kind::Blocks:
            return fmt::format("around each of {} calls{}{}", p.count, function, place);
        case Placement::Kind::ScanBody:
            return fmt::format("around the body of the scan of {} steps{}", p.count, place);
        case Placement::Kind::Function:
            break;
    }
    return "around the whole function" + (p.function.empty() ? "" : " " + p.function);
}

std::string policy_in_words(const PolicyRow& row) {
    const bool inside = row.policy.starts_with("inside: ");
    if (!row.around && !inside) return row.policy + " around the function";  // a name in it may have a colon of its own
    const std::string policy = row.policy.substr(row.policy.find(": ") + 2);
    return policy + " " + (inside ? "in the checkpoints inside" : words(*row.around));
}

MemoryReport memory_report(const Step& step, const MemoryPlan& plan, const RunReport* run) {
    MemoryReport m;
    m.of = step.of;
    if (plan.target) m.target = plan.target->name;
    m.arguments = plan.arguments;
    m.outputs = plan.outputs;
    m.aliased = plan.aliased;
    m.temporaries = plan.temporaries;
    m.planned_peak = plan.planned_peak;
    m.threads = plan.threads;
    m.instructions = plan.instructions;
    m.scratch = plan.scratch;
    m.spaces = space_rows(plan);
    if (run) {
        m.measured_peak = run->result.measured_peak;
        m.measurement_problem = run->result.measurement_problem;
        if (run->device_peaks.empty()) m.arena_resident = run->result.arena_resident;
        m.device_peaks = run->device_peaks;
        for (std::size_t d = 0; d < run->device_uses.size(); ++d) m.per_device.push_back(device_row(d, plan, run->device_uses[d]));
        for (const UnplannedMemory& u : run->result.unplanned) m.unplanned.push_back(to_row(u));
    }
    for (const int b : plan.at_peak) m.at_peak.push_back(to_row(step, plan.buffers[static_cast<std::size_t>(b)]));
    m.difference = explain_difference(m);
    const auto path = [](const std::vector<std::string>& paths, int i) {
        return static_cast<std::size_t>(i) < paths.size() ? paths[static_cast<std::size_t>(i)] : std::to_string(i);
    };
    for (const CopiedPair& c : plan.copied)
        m.notes.push_back(fmt::format("{} is read after output {} is made, which takes its memory: a temporary of {} and a copy",
                                      path(step.in_paths, c.input), path(step.out_paths, c.output), bytes_text(c.bytes)));
    return m;
}

MemoryReport memory_report(const Inspection& inspection, const RunReport* run) {
    MemoryReport m = memory_report(inspection.step(), inspection.plan(), run);
    if (const PerDevice& cut = inspection.per_device()) m.devices = cut.program->mesh.devices();
    return m;
}

TimeReport time_report(const RunReport& run, double load_seconds) {
    const CodeCacheUse code = code_cache_use();
    return {load_seconds,
            run.transform_seconds,
            run.compile_seconds,
            run.result.first_seconds,
            run.result.median_seconds,
            run.result.best_seconds,
            code.compiled,
            code.found};
}

namespace {

/// JAX may store four-bit numbers in half a byte.
std::int64_t least_bytes(AvalRef a) { return a->dtype == DType::S4 || a->dtype == DType::U4 ? (a->bytes() + 1) / 2 : a->bytes(); }

/// What stands on the device at once whatever the compiler does: all arguments when the program begins; those that aren't donated and every
/// distinct result that an equation computes when it ends.
std::int64_t provable_bytes(const Jaxpr& j, const Step& step, const std::vector<bool>& donated) {
    std::int64_t begin = 0, end = 0;
    for (std::size_t i = 0; i < j.num_invars; ++i) {
        if (i < step.kept.size() && !step.kept[i]) continue;
        const std::int64_t bytes = least_bytes(j.aval(j.invar(static_cast<std::uint32_t>(i))));
        begin += bytes;
        end += donated[i] ? 0 : bytes;
    }
    std::vector<bool> counted(j.num_vars(), false);
    for (const Atom a : j.outvars)
        if (a.is_var() && a.var().index >= j.num_constvars + j.num_invars && !counted[a.var().index]) {
            counted[a.var().index] = true;
            end += least_bytes(j.aval(a));
        }
    return std::max(begin, end);
}

}  // namespace

DeviceFit device_fit(const Inspection& inspection, std::int64_t device_memory) {
    DeviceFit fit;
    fit.device_memory = device_memory;
    fit.planned_peak = inspection.plan().planned_peak;
    const TargetDevice* target = inspection.plan().target;
    std::vector<bool> donated(inspection.step().jaxpr->num_invars, false);
    for (const DonatedLeaf& d : inspection.donation().donated) donated[static_cast<std::size_t>(d.input)] = true;
    const PerDevice& cut = inspection.per_device();
    fit.lower_bound =
        cut.why_global.empty() ? provable_bytes(cut ? *cut.program->body : *inspection.step().jaxpr, inspection.step(), donated) : 0;
    fit.fits = fit.planned_peak <= fit.device_memory;
    fit.impossible = fit.lower_bound > fit.device_memory;
    const std::string size = bytes_text(fit.device_memory);
    fit.sentence = fit.impossible
                       ? fmt::format("doesn't fit: arguments and results alone are {}, more than {}", bytes_text(fit.lower_bound), size)
                       : fmt::format("{} ({}) {} {}; {}",
                                     target ? std::string("the peak estimated for ") + target->name : "the plan of jaxscope's CPU JIT",
                                     bytes_text(fit.planned_peak), fit.fits ? "fits in" : "exceeds", size,
                                     target ? target->accuracy : "another compiler may need more or less");
    return fit;
}

}  // namespace jaxscope
