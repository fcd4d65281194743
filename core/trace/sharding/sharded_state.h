// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a function of sharded_jit keeps, and what stands behind its results.
#include <functional>
#include <mutex>
#include <optional>

#include <jaxscope/sharding.h>

#include "devices/device_program.h"
#include "sharding/named_program.h"
#include "trace/functions.h"

namespace jaxscope::jax::detail {

/// Of an array that sharded_jit or pmap made: per device its index and its elements.
struct DeviceShards {
    std::string sharding;  ///< `PartitionSpec(2, 1)`, or JAX's text of a NamedSharding
    std::vector<sharding::ShardIndex> index;
    std::vector<ArrayPtr> data;
};

struct ShardedEntry {
    const void* type = nullptr;
    PyTreeDef tree;
    Avals avals;                           ///< of the dynamic leaves, as given: what one process has
    std::vector<ArrayPtr> static_leaves;   ///< of static arguments that are arrays
    std::vector<std::size_t> dynamic;      ///< positions of the others among the call's leaves
    std::vector<sharding::Parts> in, out;  ///< per dynamic leaf and result
    Traced traced;
    std::vector<sharding::Parts> crossing;
    std::unique_ptr<ShardedExecutable> executable;
    std::mutex running;
    void* prototype = nullptr;
    void (*drop)(void*) = nullptr;
    ShardedEntry() = default;
    ShardedEntry(const ShardedEntry&) = delete;
    ShardedEntry& operator=(const ShardedEntry&) = delete;
    ~ShardedEntry() {
        if (prototype) drop(prototype);
    }
};

class ShardedState {
public:
    ShardedState(PartsTree in, PartsTree out, ShardedJitOptions o, const Where& w);
    std::atomic<int> refs{1};
    PartsTree in_parts, out_parts;
    ShardedJitOptions options;
    Where where;
    std::optional<std::int64_t> nparts, local_nparts;
    std::recursive_mutex tracing;  ///< guards what follows, held while a trace is made
    std::vector<std::shared_ptr<ShardedEntry>> entries;
};

/// The platform: virtual devices, or none.
struct Platform {
    int devices = 0, local_devices = 0;
    bool log_compiles = false;
    static Platform& current();
};

/// The tuple of those arguments of a call of which `wanted` holds, by their numbers.
PyTreeDef tree_of_arguments(const PyTreeDef& all, const std::function<bool(std::size_t)>& wanted);
/// The trace for these arguments, made if there is none.
std::shared_ptr<ShardedEntry> sharded_entry(ShardedState& state, Call& call);
sharding::Parts parts_of(const Parts& p);
/// At the leaves of all these trees.
std::vector<sharding::Parts> all_parts(const std::vector<PartsTree>& trees);
/// `({'u': PartitionSpec(3, 1)}, None)`, as Python prints it.
std::string text_of(const PartsTree& t);
/// What became of the program of one device, in words.
ShardingReport report_of(const ShardedExecutable& executable);

}  // namespace jaxscope::jax::detail
