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
    Dims open = {};      ///< dimensions that a constraint leaves to what follows (UNCONSTRAINED, an axis that vmap maps)
};

/// The partition rule of an equation. Scans and loops tie their carries together; what has no rule is whole.
PartitionRule rule_of(const Op& op);
/// What a shard_map says. Throws Error{NoRule} for another mesh.
struct ManualRegion {
    std::vector<Spec> in, out;
    JaxprPtr body;
    AxisNames manual;  ///< along these its body is one device's program
    /// How what a device has of a value along `manual`, where it lies as `lead` says, lies along the other axes, if outside it lies as
    /// `whole`. What isn't cut so is whole. `shape`: outside.
    Spec rest(const Spec& whole, const Spec& lead, const Dims& shape, const Mesh& mesh) const;
};
/// Cut by `lead` first, and each part of it by `rest`.
Spec joined(const Spec& lead, const Spec& rest);
std::optional<ManualRegion> manual_region(const Op& op, const Mesh& mesh);
/// with_sharding_constraint, or a reshard.
bool is_constraint(const Primitive& prim);
/// What it asks for, on this mesh; none: the equation is no constraint. Throws Error{NoRule} for another mesh.
std::optional<Placed> constraint_of(const Op& op, const Mesh& mesh);

/// Per variable. `in`, `out`: what is known of inputs (constvars aren't among them) and results; may be empty.
std::vector<Placed> propagate(const Jaxpr& j, const Mesh& mesh, const std::vector<std::optional<Spec>>& in,
                              const std::vector<std::optional<Spec>>& out);

}  // namespace jaxscope::sharding
