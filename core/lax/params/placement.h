// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

/// One device (or sharding, or memory space), source and copy rule for each input; None where nothing was asked for. JAX 0.4.30 has no
/// copy rules.
struct DevicePutParams {
    Attrs copy_semantics, devices, srcs;
    static constexpr auto kFields = std::tuple(optional_field("copy_semantics", &DevicePutParams::copy_semantics),
                                               field("devices", &DevicePutParams::devices), field("srcs", &DevicePutParams::srcs));
};
Attr to_attr(const Attrs& v);  ///< a tuple
void from_attr(const Attr& a, Attrs& v);

/// `algorithm` is a RandomAlgorithm member. Inputs: the key, uint32[4]. Results: the next key, the bits.
struct RngBitGeneratorParams {
    Attr algorithm;
    DType dtype = DType::U32;
    Attr out_sharding = {};
    Dims shape;
    static constexpr auto kFields =
        std::tuple(field("algorithm", &RngBitGeneratorParams::algorithm), field("dtype", &RngBitGeneratorParams::dtype),
                   optional_field("out_sharding", &RngBitGeneratorParams::out_sharding), field("shape", &RngBitGeneratorParams::shape));
};

struct EmptyParams {
    DType dtype = DType::F32;
    Attr out_sharding = {};
    Dims shape;
    static constexpr auto kFields =
        std::tuple(field("dtype", &EmptyParams::dtype), optional_field("out_sharding", &EmptyParams::out_sharding),
                   field("shape", &EmptyParams::shape));
};

/// To another sharding of explicit types.
extern const Primitive kReshard;

class Builder;
/// Which branch of jax.lax.platform_dependent runs: `platforms` as the equation has them, a tuple of names or None per branch.
Value platform_index(Builder& b, const Attr& platforms);

}  // namespace jaxscope
