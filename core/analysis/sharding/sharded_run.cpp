// SPDX-License-Identifier: Apache-2.0
#include "analysis/sharding/sharded_run.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/limits.h"
#include "base/units.h"
#include "devices/device_program.h"
#include "jit/jit.h"
#include "sharding/captured.h"

namespace jaxscope {

ShareTypes shares(const Program& program, const sharding::Partitioned& cut) {
    const sharding::SaidSpecs said = sharding::said_specs(program, cut.mesh);
    ShareTypes out;
    const Jaxpr& body = *cut.body;
    for (std::uint32_t i = 0; i < body.num_invars; ++i) {
        out.in.push_back(body.aval(body.invar(i)));
        out.in_said.push_back(said.in[i].has_value());
    }
    for (std::size_t k = 0; k < body.outvars.size(); ++k) {
        out.out.push_back(body.aval(body.outvars[k]));
        out.out_said.push_back(said.out[k].has_value());
    }
    return out;
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void refuse_too_large(const sharding::Partitioned& cut, std::int64_t planned_peak, std::int64_t limit) {
    if (limit > 0 && planned_peak > limit)
        throw Error(ErrorCode::CannotRun,
                    "expected a plan within " + bytes_text(limit) + " on each device, found one of " + bytes_text(planned_peak));
    const auto devices = static_cast<double>(cut.mesh.devices());
    const std::int64_t machine = machine_memory();
    if (devices * static_cast<double>(planned_peak) > static_cast<double>(machine))
        throw Error(ErrorCode::CannotRun, "expected " + std::to_string(cut.mesh.devices()) + " virtual devices within this machine's " +
                                              bytes_text(machine) + ", found plans of " + bytes_text(planned_peak) + " each")
            .advise("`plan` needs no such memory");
}

DeviceRun run_on_devices(const sharding::Partitioned& cut, const DonationReport& donation, std::vector<ArrayPtr> inputs, int repeats,
                         bool debug_prints, Carrier* carrier) {
    std::vector<bool> donated(cut.in.size(), false);
    for (const DonatedLeaf& d : donation.donated) donated.at(static_cast<std::size_t>(d.input)) = d.used;
    inputs = with_made_up(cut.body, cut.in_avals, std::move(inputs));
    DeviceRun out;
    const auto compiling = std::chrono::steady_clock::now();
    ShardedExecutable executable(cut, debug_prints, carrier);
    out.compile_seconds = seconds_since(compiling);
    std::vector<double> times;
    for (int i = 0; i < std::max(1, repeats); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        out.outputs = executable.run(inputs, donated);
        times.push_back(seconds_since(begin));
        if (i == 0) out.onlookers = executable.take_onlookers();
    }
    out.first_seconds = times.front();
    std::sort(times.begin(), times.end());
    out.best_seconds = times.front();
    out.median_seconds = times[times.size() / 2];
    out.peaks = executable.peaks();
    return out;
}

}  // namespace jaxscope
