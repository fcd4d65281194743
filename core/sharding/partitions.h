// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partition specs of sharded_jit (JAX's jax/interpreters/sharded_jit.py and pxla.py of December 2021): an integer per dimension, into how
// many parts that dimension is cut. In: specs and avals. Out: part counts, local and global avals, the index of each device's shard. Never
// here: meshes with named axes (mesh.h), trees of specs (jaxscope/sharding.h).
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/types/aval.h"

namespace jaxscope::sharding {

/// Parts per dimension; none: replicated, every device has the whole value.
using Parts = std::optional<Dims>;

/// `PartitionSpec(2, 1)`, `PartitionSpec(2,)`, `None`: as the seed prints it.
std::string to_text(const Parts& parts);
/// As a parameter of an equation, and back. Throws Error{BadInput} for another value.
Attr to_attr(const Parts& parts);
Parts parts_from(const Attr& attr);

/// How many devices a spec is for: its product, 1 for an empty one; none where it is replicated.
std::optional<std::int64_t> part_count(const Parts& parts);
/// The count that all specs share; none where all are replicated. `text`: the specs as the user wrote them, for JAX's error
/// "All partition specs must use the same number of total partitions, got TEXT, with distinct number of partitions {2, 4}".
std::optional<std::int64_t> get_num_partitions(std::span<const Parts> specs, const std::string& text);
/// The count for a whole program: `outer`, what the specs of sharded_jit say, else what its constraints say, else 1. Throws JAX's error
/// for a constraint, here or in any jaxpr inside, of another count.
std::int64_t reconcile_num_partitions(const Jaxpr& jaxpr, std::optional<std::int64_t> outer);

/// The type that all processes have together where one has `local`, cut into `local_parts` of `global_parts`. Throws what JAX asserts:
/// "4 % 3 != 0" for parts that don't divide, "length mismatch: [1, 2, 2]" for another rank.
AvalRef get_global_aval(AvalRef local, const Parts& global_parts, const Parts& local_parts);
/// The other way: the share of one process.
AvalRef get_local_aval(AvalRef global, const Parts& global_parts, const Parts& local_parts);

/// From `start` up to, without, `stop`.
struct Range {
    std::int64_t start = 0, stop = 0;
    std::int64_t size() const { return stop - start; }
    friend bool operator==(const Range&, const Range&) = default;
};
/// One range per dimension.
using ShardIndex = std::vector<Range>;
/// `(slice(0, 4), slice(3, 6))`
std::string to_text(const ShardIndex& index);
/// What each of `devices` devices has of an array: the tiles in row-major order of the spec, the whole array everywhere where it is
/// replicated. Throws what JAX asserts: "(3, 2, 0)" where dimension 0 of size 3 isn't cut into 2 even parts.
std::vector<ShardIndex> spec_to_indices(const Dims& shape, const Parts& parts, std::int64_t devices);
/// Shape of one tile. Throws as spec_to_indices.
Dims shard_shape(const Dims& shape, const Parts& parts);
/// Bytes of a value that each device has.
std::int64_t bytes_per_device(AvalRef aval, const Parts& parts);

}  // namespace jaxscope::sharding
