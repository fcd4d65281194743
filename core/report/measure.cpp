#include "report/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/caveats.h"
#include "base/text.h"
#include "base/units.h"
#include "jit/targets.h"

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
    if (const Frame* own = b.source.user_frame(); own != nullptr && b.role != BufferRole::Argument) {
        row.file = own->file.str();
        row.line = own->line;
    }
    return row;
}

std::string explain_difference(const MemoryReport& m) {
    if (!m.measured_peak) return {};
    const std::int64_t difference = *m.measured_peak - m.planned_peak;
    const double allowed = std::max(0.01 * static_cast<double>(m.planned_peak), 1048576.0);
    if (std::abs(static_cast<double>(difference)) <= allowed) return {};
    return fmt::format("measured {} {} the plan", bytes_text(std::abs(difference)), difference > 0 ? "above" : "below");
}

}  // namespace

MemoryReport memory_report(const Step& step, const MemoryPlan& plan, const RunReport* run) {
    MemoryReport m;
    m.of = step.of;
    if (plan.target) m.target = plan.target->name;
    m.arguments = plan.arguments;
    m.outputs = plan.outputs;
    m.aliased = plan.aliased;
    m.temporaries = plan.temporaries;
    m.planned_peak = plan.planned_peak;
    if (run) m.measured_peak = run->result.measured_peak;
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
    return memory_report(inspection.step(), inspection.plan(), run);
}

TimeReport time_report(const RunReport& run, double load_seconds) {
    return {load_seconds,           run.transform_seconds, run.compile_seconds, run.result.first_seconds, run.result.median_seconds,
            run.result.best_seconds};
}

namespace {

/// JAX may store four-bit numbers in half a byte.
std::int64_t least_bytes(AvalRef a) { return a->dtype == DType::S4 || a->dtype == DType::U4 ? (a->bytes() + 1) / 2 : a->bytes(); }

/// What stands on the device at once whatever the compiler does: all arguments when the program begins; those that aren't donated and every
/// distinct result that an equation computes when it ends.
std::int64_t provable_bytes(const Step& step, const std::vector<bool>& donated) {
    const Jaxpr& j = *step.jaxpr;
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
    const bool one_device = !distribution_of(inspection.program());
    fit.lower_bound = one_device ? provable_bytes(inspection.step(), donated) : 0;
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
