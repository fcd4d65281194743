// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captured programs over several devices: what their capture says of meshes and specs.
#include "ir/program.h"
#include "sharding/partition.h"

namespace jaxscope::sharding {

/// The mesh that a capture names: by the shardings of its inputs, or in its equations (shard_map, which pmap is too, constraints, shardings
/// of jit). None: the program is for one device.
std::optional<Mesh> mesh_of(const Program& program);
/// The call that the whole program is: of a function that was jitted (or pmapped) when it was captured; else null.
const Eqn* only_call(const Jaxpr& j);
/// What the capture says of inputs and results: shardings of the arrays it was captured with, and of the jit that the program is. None:
/// nobody said.
struct SaidSpecs {
    std::vector<std::optional<Spec>> in, out;
};
/// Throws Error{NoRule} where one of them is over another mesh.
SaidSpecs said_specs(const Program& program, const Mesh& mesh);

/// What a policy makes of the program, cut as the program is: it has its inputs, and maybe further ones behind them. `own_results`: its
/// results are the program's.
Partitioned partition(const Program& program, const JaxprPtr& jaxpr, bool own_results);
/// The program of each device. Inputs lie as they did when captured; where the capture doesn't say, as propagation has it. Throws
/// Error{CannotRun} for a program without a mesh, and what partition throws.
Partitioned partition(const Program& program);

}  // namespace jaxscope::sharding
