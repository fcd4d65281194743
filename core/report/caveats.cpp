// SPDX-License-Identifier: Apache-2.0
#include "report/caveats.h"

#include <fmt/format.h>

#include "analysis/inspection.h"
#include "analysis/sharding/distribution.h"
#include "analysis/sharding/per_device.h"

namespace jaxscope {

std::vector<std::string> caveats(const Inspection& inspection) {
    const auto spread = distribution_of(inspection.program());
    if (!spread) return {};
    const PerDevice& cut = inspection.per_device();
    const std::string program = fmt::format("this program is sharded over {} ({})",
                                            spread->devices ? std::to_string(spread->devices) + " devices" : "several devices",
                                            spread->mesh.empty() ? "a mesh" : spread->mesh);
    if (cut)
        return {program +
                ": plan, run, residuals on each device, donation and policies are one device's; work, and the sizes of whole "
                "arrays that `inspect` and the split show, are the whole program's"};
    return {program + ": every size and time is that of whole arrays, not of one device's share: " + cut.why_global};
}

}  // namespace jaxscope
