// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program of sharded_jit, whose specs are integers, as one over a mesh with named axes.
#include <vector>

#include "sharding/partition.h"

namespace jaxscope::sharding {

struct NamedProgram {
    PartitionRequest request;
    /// Specs whose cuts cross those of others (P(2, 3) beside P(3, 2)): no axes name both, so such values are replicated.
    std::vector<Parts> crossing;
};
/// `devices`: what all specs multiply to. Constraints of the program become constraints over the mesh.
NamedProgram named_program(const JaxprPtr& program, const std::vector<Parts>& in, const std::vector<Parts>& out, std::int64_t devices);

}  // namespace jaxscope::sharding
