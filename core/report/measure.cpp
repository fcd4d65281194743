#include "report/measure.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"

namespace jaxscope {

namespace {

PeakRow to_row(const Program& program, const PlannedBuffer& b) {
    PeakRow row;
    row.aval = to_text(b.aval);
    row.bytes = b.bytes;
    row.equation = b.eqn;
    row.role = role_name(b.role);
    const auto number = static_cast<std::size_t>(std::max(0, b.number));
    if (b.role == BufferRole::Argument && number < program.in_paths.size())
        row.source = program.in_paths[number].str();
    else if (!b.source->summary.empty())
        row.source = std::string(b.primitive.str()) + " from " + b.source->summary.str();
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
    return difference > 0
               ? fmt::format("measured {} above the plan: scratch memory of the library kernels", bytes_text(difference))
               : fmt::format("measured {} below the plan: pages of the arena that the run never touched", bytes_text(-difference));
}

}  // namespace

MemoryReport memory_report(const Program& program, const MemoryPlan& plan, const RunReport* run) {
    MemoryReport m;
    m.arguments = plan.arguments;
    m.outputs = plan.outputs;
    m.aliased = plan.aliased;
    m.temporaries = plan.temporaries;
    m.planned_peak = plan.planned_peak;
    if (run) m.measured_peak = run->result.measured_peak;
    for (const int b : plan.at_peak) m.at_peak.push_back(to_row(program, plan.buffers[static_cast<std::size_t>(b)]));
    m.difference = explain_difference(m);
    return m;
}

MemoryReport memory_report(const Inspection& inspection, const RunReport* run) {
    return memory_report(inspection.program(), inspection.plan(), run);
}

TimeReport time_report(const RunReport& run, double load_seconds) {
    return {load_seconds,           run.transform_seconds, run.compile_seconds, run.result.first_seconds, run.result.median_seconds,
            run.result.best_seconds};
}

DeviceFit device_fit(const Inspection& inspection, const std::string& device_memory) {
    const MemoryPlan& plan = inspection.plan();
    DeviceFit fit;
    fit.device_memory = parse_size(device_memory);
    // Saved arguments and constants are counted as arguments already.
    std::int64_t residuals = 0;
    for (const ResidualRow& r : inspection.residuals().rows) residuals += r.equation.empty() ? 0 : r.bytes;
    fit.lower_bound = plan.arguments + residuals + plan.outputs - plan.aliased;
    fit.fits = fit.lower_bound <= fit.device_memory;
    fit.sentence = fmt::format("arguments {} + residuals {} + undonated outputs {} = {}: {} in {}, whatever the compiler does",
                               bytes_text(plan.arguments), bytes_text(residuals), bytes_text(plan.outputs - plan.aliased),
                               bytes_text(fit.lower_bound), fit.fits ? "may fit" : "can't fit", bytes_text(fit.device_memory));
    return fit;
}

}  // namespace jaxscope
