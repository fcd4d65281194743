// SPDX-License-Identifier: Apache-2.0
#pragma once
// How each value of a program lies: what inputs, results and constraints say, spread along the dimensions that the primitives' partition
// rules tie together, forwards and backwards. In: a flattened jaxpr and what is known. Out: a spec per variable. Never here: equations of a
// device.
#include <optional>
#include <vector>

#include "ir/partition_rule.h"
#include "sharding/mesh.h"

namespace jaxscope::sharding {

struct Placed {
    Spec spec;
    bool fixed = false;  ///< somebody said so: an input, a result, a constraint
};

/// The partition rule of an equation. Scans and loops tie their carries together; what has no rule is whole.
PartitionRule rule_of(const Op& op);
/// What a shard_map says. Throws Error{NoRule} for another mesh, or a part of its axes.
struct ManualRegion {
    std::vector<Spec> in, out;
    JaxprPtr body;
};
std::optional<ManualRegion> manual_region(const Op& op, const Mesh& mesh);
/// The spec that a constraint asks for, on this mesh. Throws Error{NoRule} for another mesh.
std::optional<Spec> constraint_of(const Op& op, const Mesh& mesh);

/// Per variable. `in`, `out`: what is known of inputs (constvars aren't among them) and results; may be empty.
std::vector<Placed> propagate(const Jaxpr& j, const Mesh& mesh, const std::vector<std::optional<Spec>>& in,
                              const std::vector<std::optional<Spec>>& out);

}  // namespace jaxscope::sharding
