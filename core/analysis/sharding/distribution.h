// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "ir/program.h"

namespace jaxscope {

/// Devices that a program's arrays are spread over.
struct Distribution {
    std::int64_t devices = 0;  ///< 0: the capture doesn't say how many
    std::string mesh;          ///< "Mesh('x': 4, ...)", as JAX prints it; may be empty
};
/// Read off the shardings of arguments, of jit's parameters and constraints, of shard_map, and of explicitly sharded types. None: one
/// device.
std::optional<Distribution> distribution_of(const Program& program);

/// The mesh of explicitly sharded types, which captures keep with the flags that were in force (TypeMeshScope); None where types say
/// nothing.
Attr type_mesh(const Program& program);

}  // namespace jaxscope
