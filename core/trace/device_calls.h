// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that hold a pmap, run as others are: what jit and single operations compile. In: a jaxpr. Out: an Executable. Never here: how a
// program is cut.
#include "devices/device_program.h"
#include "jit/jit.h"

namespace jaxscope::jax::detail {

/// Executable::compile_in_place; over the virtual devices where the jaxpr holds a shard_map.
std::shared_ptr<Executable> compile_here(const JaxprPtr& program, const Aliases& aliases = {}, const std::vector<bool>& kept = {},
                                         const ::jaxscope::JitOptions& options = {});
/// Throws JAX's error where a constant has no elements: an array that was deleted before it was closed over.
void refuse_deleted_constants(const ::jaxscope::Jaxpr& program);
/// What runs over the virtual devices. Refuses C++ functions that the program calls: which device would, isn't decided anywhere.
std::unique_ptr<ShardedExecutable> compiled_for_devices(sharding::Partitioned cut);
/// What debug_print looked at in the last run, behind it: the lines stand in one order then.
void write_prints(ShardedExecutable& executable);
/// The plan of the same: of one device.
MemoryPlan plan_here(const JaxprPtr& program, const Aliases& aliases = {}, const std::vector<bool>& kept = {});

}  // namespace jaxscope::jax::detail
