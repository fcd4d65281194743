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

/// Programs of several devices, compiled. Between two collectives each device runs a program of its own on its own thread, in its own
/// arena; at a collective all have arrived, and values meet in the order of the devices: the same results each time, whatever the threads
/// do.
class DeviceExecutable {
public:
    /// `body`: closed; every device runs it. `debug_prints`: what debug_print looks at is kept. Throws Error{CannotRun} for collectives
    /// that aren't written (groups, a mesh with other axes), and what Executable::compile throws.
    static std::shared_ptr<DeviceExecutable> compile(const sharding::Mesh& mesh, const JaxprPtr& body, bool debug_prints = false);
    virtual ~DeviceExecutable() = default;
    /// One run at a time. `donated`: per input, may its memory go when nothing reads it any more; empty: all stay until the end. Throws
    /// Error{CannotRun} where devices disagree on a branch or loop that holds collectives: real ones would wait for each other forever.
    virtual DeviceArrays run(const DeviceArrays& inputs, const std::vector<bool>& donated = {}) = 0;
    /// Per device, of the last run: the most bytes that its values, with the arena of the step at work, took at once.
    virtual const std::vector<std::int64_t>& peak_bytes() const = 0;
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
    explicit ShardedExecutable(sharding::Partitioned program, bool debug_prints = false)
        : program_(std::move(program)), executable_(DeviceExecutable::compile(program_.mesh, program_.body, debug_prints)) {}
    /// Results as the devices have them.
    DeviceArrays run_sharded(const std::vector<ArrayPtr>& whole, const std::vector<bool>& donated = {});
    std::vector<ArrayPtr> run(const std::vector<ArrayPtr>& whole, const std::vector<bool>& donated = {});
    const sharding::Partitioned& program() const { return program_; }
    const std::vector<std::int64_t>& peak_bytes() const { return executable_->peak_bytes(); }
    std::vector<Onlooker> take_onlookers() { return executable_->take_onlookers(); }

private:
    sharding::Partitioned program_;
    std::shared_ptr<DeviceExecutable> executable_;
};

}  // namespace jaxscope
