#pragma once
#include "analysis/inspection.h"
#include "report/memory_report.h"

namespace jaxscope {

/// The plan's figures, and with `run` what was measured beside them.
MemoryReport memory_report(const Inspection& inspection, const RunReport* run);
MemoryReport memory_report(const Program& program, const MemoryPlan& plan, const RunReport* run);
TimeReport time_report(const RunReport& run, double load_seconds);

/// A lower bound on any device: arguments + residuals + undonated outputs, against a memory size.
struct DeviceFit {
    std::int64_t lower_bound = 0, device_memory = 0;
    bool fits = false;
    std::string sentence;
};
DeviceFit device_fit(const Inspection& inspection, const std::string& device_memory);

}  // namespace jaxscope
