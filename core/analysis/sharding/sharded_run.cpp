#include "analysis/sharding/sharded_run.h"

#include <algorithm>
#include <chrono>

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

DeviceRun run_on_devices(const sharding::Partitioned& cut, const DonationReport& donation, std::vector<ArrayPtr> inputs, int repeats) {
    std::vector<bool> donated(cut.in.size(), false);
    for (const DonatedLeaf& d : donation.donated) donated.at(static_cast<std::size_t>(d.input)) = d.used;
    inputs = with_made_up(cut.body, cut.in_avals, std::move(inputs));
    DeviceRun out;
    const auto compiling = std::chrono::steady_clock::now();
    ShardedExecutable executable(cut);
    out.compile_seconds = seconds_since(compiling);
    std::vector<double> times;
    for (int i = 0; i < std::max(1, repeats); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        out.outputs = executable.run(inputs, donated);
        times.push_back(seconds_since(begin));
    }
    out.first_seconds = times.front();
    std::sort(times.begin(), times.end());
    out.best_seconds = times.front();
    out.median_seconds = times[times.size() / 2];
    out.peaks = executable.peak_bytes();
    return out;
}

}  // namespace jaxscope
