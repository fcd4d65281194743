// SPDX-License-Identifier: Apache-2.0
#include "report/run_size.h"

#include <fmt/format.h>

#include "analysis/equations/cost.h"
#include "analysis/sharding/per_device.h"
#include "base/limits.h"
#include "base/units.h"

namespace jaxscope {

namespace {

constexpr double kFlopsPerSecond = 3e10;
constexpr double kLongestRun = 180;  // seconds
constexpr int kPolicies = 6;         // rows of the policy table, each of which is run

std::string about(double seconds) {
    if (seconds < 7200) return fmt::format("about {:.0f} minutes", seconds / 60);
    return fmt::format("about {:.0f} hours", seconds / 3600);
}

}  // namespace

std::string why_not_run(const Inspection& inspection, int repeat) {
    const PerDevice& cut = inspection.per_device();
    const double devices = cut ? static_cast<double>(cut.program->mesh.devices()) : 1;
    const double memory = devices * static_cast<double>(inspection.plan().planned_peak);
    const std::int64_t machine = machine_memory();
    const double flops = cost_of(*inspection.step().jaxpr).flops * devices;
    const double seconds = flops / kFlopsPerSecond * (repeat + 1) * (1 + kPolicies);
    std::string why;
    if (memory > static_cast<double>(machine) / 2)
        why = fmt::format("it needs {} of this machine's {}", bytes_text(static_cast<std::int64_t>(memory)), bytes_text(machine));
    if (seconds > kLongestRun) why += (why.empty() ? "" : ", and ") + fmt::format("with its policies it would take {}", about(seconds));
    return why.empty() ? why : "not run without being asked: " + why + " (--run does it)";
}

}  // namespace jaxscope
