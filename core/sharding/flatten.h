// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as the partitioner walks it: calls inlined, shardings of jit as constraints, nothing that expands or that nobody reads left.
#include "ir/jaxpr.h"

namespace jaxscope::sharding {

/// The jaxpr's calls in their places, in bodies of loops not. Checkpoints leave a barrier where they ask for one. `keep`: what stays as it
/// is although it holds a body (shard_map).
JaxprPtr flattened(const Jaxpr& j);
/// The same values without constraints and what their types say of explicit shardings, in bodies too: what holds inside of one device.
JaxprPtr without_shardings(const Jaxpr& j);
AvalRef without_sharding(AvalRef a);

}  // namespace jaxscope::sharding
