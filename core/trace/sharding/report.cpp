// SPDX-License-Identifier: Apache-2.0
// What became of a function of sharded_jit or pmap, in words.
#include <fmt/core.h>

#include "ir/primitive.h"
#include "ir/print/printer.h"
#include "trace/sharding/sharded_state.h"

namespace jaxscope::jax::detail {

ShardingReport report_of(const ShardedExecutable& executable) {
    const sharding::Partitioned& p = executable.program();
    ShardingReport out;
    out.devices = p.mesh.devices();
    out.program = to_text(*p.body);
    for (const sharding::CollectiveUse& c : p.collectives)
        out.collectives.push_back("" + c.kind->name + fmt::format(" over {} devices: {} bytes for ", c.members, c.bytes) +
                                  c.asked_by->name);
    for (const sharding::Finding& f : p.findings)
        out.findings.push_back(sharding::kind_name(f.kind) + (": " + f.primitive->name) +
                               fmt::format(" of {} cut as {}: {} bytes", to_text(f.aval), f.spec, f.bytes));
    for (const DevicePeak& peak : executable.peaks()) out.peak_bytes.push_back(peak.bytes);
    return out;
}

ShardingReport sharding_report(ShardedState& s, Call& call) {
    initialise();
    const std::shared_ptr<ShardedEntry> e = sharded_entry(s, call);
    ShardingReport out = report_of(*e->executable);
    for (const sharding::Parts& parts : e->crossing)
        out.findings.push_back(fmt::format("{} cuts across other specs: such values are replicated", sharding::to_text(parts)));
    return out;
}

}  // namespace jaxscope::jax::detail
