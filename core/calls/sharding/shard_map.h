// SPDX-License-Identifier: Apache-2.0
#pragma once
// An application of shard_map, read: its mesh, its specs, and the types that values have inside and outside of it.
#include <vector>

#include "ir/params.h"
#include "ir/primitive.h"
#include "ir/types/manual_axes.h"
#include "lax/params/mesh_spec.h"

namespace jaxscope {

struct ShardMapParams {
    bool check_vma = true;
    Attr in_specs;
    Attr::JaxprRef jaxpr;
    Attr mesh;
    Attr newly_manual_axes;
    Attr out_specs;
    static constexpr auto kFields =
        std::tuple(field("check_vma", &ShardMapParams::check_vma), field("in_specs", &ShardMapParams::in_specs),
                   field("jaxpr", &ShardMapParams::jaxpr), field("mesh", &ShardMapParams::mesh),
                   field("newly_manual_axes", &ShardMapParams::newly_manual_axes), field("out_specs", &ShardMapParams::out_specs));
};
extern const Primitive kShardMap;

class ShardedRegion {
public:
    using Spec = sharding::Spec;
    /// Throws Error{BadInput | NoRule} for parameters that aren't those of JAX 0.10's shard_map.
    explicit ShardedRegion(const Op& op);

    JaxprPtr body;
    std::vector<Attr> in_specs, out_specs;  ///< as they stand in the parameters
    bool check;

    /// For the time in which its body is transformed.
    ManualAxes inside() const;
    /// The type that a device has of a value, and that of the value that devices have parts of. Outside of `inside()`.
    AvalRef local(AvalRef of_all, const Attr& spec) const;
    AvalRef whole(AvalRef of_one, const Attr& spec) const;
    /// How a residual of this local type leaves: cut by its first dimension over all axes that it may vary over (JAX's nospec).
    Attr residual_spec(AvalRef of_one) const;
    /// The manual axes that a spec doesn't name, and how many devices they are.
    std::vector<Sym> unmentioned(const Attr& spec) const;
    std::int64_t devices(const std::vector<Sym>& axes) const { return mesh_.size_of(axes); }
    /// The application with another body.
    ParamsRef with(JaxprPtr other, std::vector<Attr> in, std::vector<Attr> out) const;

private:
    ShardMapParams params_;
    sharding::Mesh mesh_;
    std::vector<Sym> manual_, outer_manual_;
};

}  // namespace jaxscope
