// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

// Parameters of the primitives that move elements without computing (lax.py). Every field that JAX prints or keeps is listed;
// `Attr` fields are kept for printing only (explicit shardings).

/// Dimension i of the operand becomes dimension `broadcast_dimensions[i]` of the result; unit dimensions stretch.
struct BroadcastInDimParams {
    Dims shape, broadcast_dimensions;
    Attr sharding = {};
    static constexpr auto kFields =
        std::tuple(field("shape", &BroadcastInDimParams::shape), field("broadcast_dimensions", &BroadcastInDimParams::broadcast_dimensions),
                   optional_field("sharding", &BroadcastInDimParams::sharding));
};

/// `dimensions`, when given, is a permutation applied before reshaping.
struct ReshapeParams {
    Dims new_sizes;
    std::optional<Dims> dimensions = {};
    Attr sharding = {};
    static constexpr auto kFields =
        std::tuple(field("new_sizes", &ReshapeParams::new_sizes), optional_field("dimensions", &ReshapeParams::dimensions),
                   optional_field("sharding", &ReshapeParams::sharding));
};

struct SqueezeParams {
    Dims dimensions;
    static constexpr auto kFields = std::tuple(field("dimensions", &SqueezeParams::dimensions));
};

struct TransposeParams {
    Dims permutation;
    static constexpr auto kFields = std::tuple(field("permutation", &TransposeParams::permutation));
};

struct RevParams {
    Dims dimensions;
    static constexpr auto kFields = std::tuple(field("dimensions", &RevParams::dimensions));
};

/// Padding of one dimension, in elements: `low` and `high` may be negative (they crop), `interior` goes between neighbours.
struct PadDim {
    std::int64_t low = 0, high = 0, interior = 0;
    friend bool operator==(const PadDim&, const PadDim&) = default;
};
using PadConfig = std::vector<PadDim>;
Attr to_attr(const PadConfig& v);
void from_attr(const Attr& a, PadConfig& v);

struct PadParams {
    PadConfig padding_config;
    static constexpr auto kFields = std::tuple(field("padding_config", &PadParams::padding_config));
};

struct ConcatenateParams {
    std::int64_t dimension = 0;
    static constexpr auto kFields = std::tuple(field("dimension", &ConcatenateParams::dimension));
};

struct SplitParams {
    Dims sizes;
    std::int64_t axis = 0;
    static constexpr auto kFields = std::tuple(field("sizes", &SplitParams::sizes), field("axis", &SplitParams::axis));
};

struct TileParams {
    Dims reps;
    static constexpr auto kFields = std::tuple(field("reps", &TileParams::reps));
};

/// stack and unstack: the new, or the removed, dimension.
struct StackParams {
    std::int64_t axis = 0;
    static constexpr auto kFields = std::tuple(field("axis", &StackParams::axis));
};

struct IotaParams {
    DType dtype = DType::S32;
    Dims shape;
    std::int64_t dimension = 0;
    Attr sharding = {};
    static constexpr auto kFields =
        std::tuple(field("dtype", &IotaParams::dtype), field("shape", &IotaParams::shape), field("dimension", &IotaParams::dimension),
                   optional_field("sharding", &IotaParams::sharding));
};

}  // namespace jaxscope
