// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run of a sharded program on virtual devices, as `run` shows it. In: whole inputs. Out: whole results, times, the memory of each device.
#include "analysis/sharding/per_device.h"
#include "devices/device_program.h"
#include "donation/pairing.h"
#include "jit/jit.h"

namespace jaxscope {

/// What pairing of donations goes by where devices have shares of the arrays.
ShareTypes shares(const Program& program, const sharding::Partitioned& cut);

/// Throws Error{CannotRun} where one device's plan is beyond `limit` (0: none), or all devices' together beyond this machine.
void refuse_too_large(const sharding::Partitioned& cut, std::int64_t planned_peak, std::int64_t limit);

struct DeviceRun {
    std::vector<ArrayPtr> outputs;    ///< whole
    std::vector<DevicePeak> peaks;    ///< of each device
    std::vector<Onlooker> onlookers;  ///< of the first run
    double compile_seconds = 0, first_seconds = 0, median_seconds = 0, best_seconds = 0;
};
/// `inputs`: of the whole program; those without values are made up. Throws what DeviceExecutable throws.
/// `carrier`: this process is one of the devices.
DeviceRun run_on_devices(const sharding::Partitioned& cut, const DonationReport& donation, std::vector<ArrayPtr> inputs, int repeats,
                         bool debug_prints, Carrier* carrier = nullptr);

}  // namespace jaxscope
