// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/devices: runs the program of each device of a mesh on virtual devices, which are threads with memory of their own. In: a jaxpr over
// local shapes with collectives (sharding/partition.h makes them, shard_map holds them), inputs per device. Out: results per device, how
// much memory each device needed. Never here: which part of a value a device has (core/sharding), what a step computes (core/jit).
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/jaxpr.h"
#include "jit/jit.h"
#include "sharding/partition.h"

namespace jaxscope {

/// Per device, per input or result.
using DeviceArrays = std::vector<std::vector<ArrayPtr>>;

class Carrier;

/// The most that a device had in memory at once.
struct DevicePeak {
    std::int64_t bytes = 0;
    std::int64_t own = 0;  ///< of these, what the step at work needed by itself: its results, and the arena of what it computes
    SourceRef at;          ///< of the last equation of that step
};

/// Programs of several devices, compiled. Between two collectives each device runs a program of its own on its own thread, in its own
/// arena; at a collective all have arrived, and values meet in the order of the devices: the same results each time, whatever the threads
/// do.
class DeviceExecutable {
public:
    /// `body`: closed; every device runs it. `debug_prints`: what debug_print looks at is kept. `carrier`: this process is one device, and
    /// values go to the others by it; it is used until the executable goes. Throws Error{CannotRun} for collectives
    /// that aren't written (groups, a mesh with other axes), and what Executable::compile throws.
    static std::shared_ptr<DeviceExecutable> compile(const sharding::Mesh& mesh, const JaxprPtr& body, bool debug_prints = false,
                                                     Carrier* carrier = nullptr);
    virtual ~DeviceExecutable() = default;
    /// One run at a time; inputs and results are those of this process' devices. `donated`: per input, may its memory go when nothing reads
    /// it any more; empty: all stay until the end. Throws Error{CannotRun} where devices disagree on a branch or loop in which
    /// they meet: real ones would wait for each other forever.
    virtual DeviceArrays run(const DeviceArrays& inputs, const std::vector<bool>& donated = {}) = 0;
    /// Per device of this process, of the last run: the most bytes that its values, with the arena of the step at work, took at once.
    virtual const std::vector<DevicePeak>& peaks() const = 0;
    /// What only looked at values in the last run, in the order of the program. Devices run at once; here they look one after the other,
    /// by their numbers, between two points at which they wait for each other.
    virtual std::vector<Onlooker> take_onlookers() = 0;
};

/// What `device` has of an array, padded with zeros to the others' size.
ArrayPtr shard_of(const ArrayConst& whole, const sharding::NamedSharding& sharding, std::int64_t device);
/// The box `index` of an array.
ArrayPtr part_of(const ArrayConst& whole, const sharding::ShardIndex& index);
/// The whole array from what each device has of it.
ArrayPtr assembled(AvalRef whole, const sharding::NamedSharding& sharding, const std::vector<ArrayPtr>& shards);

/// A partitioned program on whole arrays: cut, run, put together.
class ShardedExecutable {
public:
    explicit ShardedExecutable(sharding::Partitioned program, bool debug_prints = false, Carrier* carrier = nullptr)
        : program_(std::move(program)),
          carrier_(carrier),
          executable_(DeviceExecutable::compile(program_.mesh, program_.body, debug_prints, carrier)) {}
    /// Results as the devices have them.
    DeviceArrays run_sharded(const std::vector<ArrayPtr>& whole, const std::vector<bool>& donated = {});
    /// Of what each device has of the inputs already.
    DeviceArrays run_sharded(const DeviceArrays& parts, const std::vector<bool>& donated) { return executable_->run(parts, donated); }
    /// Every process has all of them.
    std::vector<ArrayPtr> run(const std::vector<ArrayPtr>& whole, const std::vector<bool>& donated = {});
    const sharding::Partitioned& program() const { return program_; }
    /// Of all devices; in the last run.
    std::vector<DevicePeak> peaks() const;
    std::vector<Onlooker> take_onlookers() { return executable_->take_onlookers(); }

private:
    DeviceArrays of_all(DeviceArrays here) const;
    sharding::Partitioned program_;
    Carrier* carrier_;
    std::shared_ptr<DeviceExecutable> executable_;
};

}  // namespace jaxscope
