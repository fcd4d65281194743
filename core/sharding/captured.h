#pragma once
// Captured programs over several devices: what their capture says of meshes and specs.
#include "ir/program.h"
#include "sharding/partition.h"

namespace jaxscope::sharding {

/// The mesh that a capture names: by the shardings of its inputs, or in its equations (shard_map, which pmap is too, constraints, shardings
/// of jit). None: the program is for one device.
std::optional<Mesh> mesh_of(const Program& program);
/// The program of each device. Inputs lie as they did when captured; where the capture doesn't say, as propagation has it. Throws
/// Error{CannotRun} for a program without a mesh, and what partition throws.
Partitioned partition(const Program& program);

}  // namespace jaxscope::sharding
