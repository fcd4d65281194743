// SPDX-License-Identifier: Apache-2.0
#pragma once
// Meshes and specs with named axes, as jax.sharding has them: which device has which part of an array. In: the parameters that captures
// hold (NamedSharding, Mesh, PartitionSpec). Out: local shapes, bytes per device, each device's index. Never here: what a program does with
// its values (propagate.h, partition.h).
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/types/attr.h"
#include "lax/params/mesh_spec.h"
#include "sharding/partitions.h"

namespace jaxscope::sharding {

struct NamedSharding {
    Mesh mesh;
    Spec spec;
};

/// None for any other kind of sharding, which one device has, or of which only a text is known.
std::optional<NamedSharding> named_sharding_from(const Attr& attr);
Attr to_attr(const NamedSharding& sharding);

/// Dimensions that don't divide evenly: there the last devices have less, and what they keep is padded to the others' size.
std::vector<std::size_t> uneven_dims(const Dims& shape, const NamedSharding& sharding);
/// Shape of what each device keeps. Throws Error{BadInput} where the spec has more dimensions than the array.
Dims shard_shape(const Dims& shape, const NamedSharding& sharding);
std::int64_t bytes_per_device(AvalRef aval, const NamedSharding& sharding);
/// What `device` has of an array; shorter, even empty, at the end of uneven dimensions.
ShardIndex shard_index(const Dims& shape, const NamedSharding& sharding, std::int64_t device);
/// JAX's refusal of an argument that doesn't divide ("... implies that array axis 0 is partitioned 8 times, but the dimension size is 3
/// ..."), without what names the sharding; empty: it divides.
std::string indivisible_text(const Dims& shape, const NamedSharding& sharding);

/// A mesh on which every one of these specs is expressed by names: the finest one that all of them cut along, tiles in row-major order.
/// None where their cuts cross (P(2, 3) beside P(3, 2)): one of them can't be named then.
struct NamedParts {
    Mesh mesh;
    std::vector<Spec> specs;  ///< one for each of the given
};
std::optional<NamedParts> named_parts(std::span<const Parts> parts, std::int64_t devices);

}  // namespace jaxscope::sharding
