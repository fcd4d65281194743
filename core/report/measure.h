// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/inspection.h"
#include "report/memory_report.h"

namespace jaxscope {

/// The plan's figures, and with `run` what was measured beside them.
MemoryReport memory_report(const Inspection& inspection, const RunReport* run);
MemoryReport memory_report(const Step& step, const MemoryPlan& plan, const RunReport* run);
TimeReport time_report(const RunReport& run, double load_seconds);

/// The program on a device of some size. All sizes in bytes.
struct DeviceFit {
    std::int64_t device_memory = 0;
    std::int64_t planned_peak = 0;  ///< of our CPU JIT
    /// What any compiler needs: the arguments when the program begins; when it ends, those that aren't donated and the distinct results
    /// that it computes. 0 for programs over several devices that couldn't be cut.
    std::int64_t lower_bound = 0;
    bool fits = false;        ///< the plan does
    bool impossible = false;  ///< the lower bound exceeds the device
    std::string sentence;
};
DeviceFit device_fit(const Inspection& inspection, std::int64_t device_memory);

}  // namespace jaxscope
