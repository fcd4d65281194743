// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "ir/params.h"

namespace jaxscope {

// Parameters of products and convolutions (lax.py, convolution.py).

/// `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`. Results are ordered: batch, free of lhs, free of rhs.
struct DotDims {
    Dims lhs_contract, rhs_contract, lhs_batch, rhs_batch;
    friend bool operator==(const DotDims&, const DotDims&) = default;
};
Attr to_attr(const DotDims& v);
void from_attr(const Attr& a, DotDims& v);
template <>
struct ParamKey<DotDims> {
    static std::size_t hash(const DotDims& v) {
        std::size_t h = 0;
        for (const Dims* d : {&v.lhs_contract, &v.rhs_contract, &v.lhs_batch, &v.rhs_batch}) h = hash_mix(h, ParamKey<Dims>::hash(*d));
        return h;
    }
};

struct DotGeneralParams {
    DotDims dimension_numbers;
    Attr precision = {};  ///< None, a pair of Precision members, or a dot algorithm
    std::optional<DType> preferred_element_type = {};
    Attr out_sharding = {};
    static constexpr auto kFields = std::tuple(field("dimension_numbers", &DotGeneralParams::dimension_numbers),
                                               optional_field("precision", &DotGeneralParams::precision),
                                               optional_field("preferred_element_type", &DotGeneralParams::preferred_element_type),
                                               optional_field("out_sharding", &DotGeneralParams::out_sharding));
};

/// Each spec holds the positions of (batch, feature, spatial...); of the kernel (output feature, input feature, spatial...).
struct ConvDims {
    Dims lhs_spec, rhs_spec, out_spec;
    friend bool operator==(const ConvDims&, const ConvDims&) = default;
};
Attr to_attr(const ConvDims& v);
void from_attr(const Attr& a, ConvDims& v);

/// Padding of a spatial dimension, negative where it crops.
struct LowHigh {
    std::int64_t low = 0, high = 0;
    friend bool operator==(const LowHigh&, const LowHigh&) = default;
};
using PadPairs = std::vector<LowHigh>;
Attr to_attr(const PadPairs& v);
void from_attr(const Attr& a, PadPairs& v);

struct ConvParams {
    std::int64_t batch_group_count = 1;
    ConvDims dimension_numbers;
    std::int64_t feature_group_count = 1;
    Dims lhs_dilation;
    Attr out_sharding = {};
    PadPairs padding;
    Attr precision = {};
    std::optional<DType> preferred_element_type = {};
    Dims rhs_dilation, window_strides;
    static constexpr auto kFields = std::tuple(
        field("batch_group_count", &ConvParams::batch_group_count), field("dimension_numbers", &ConvParams::dimension_numbers),
        field("feature_group_count", &ConvParams::feature_group_count), field("lhs_dilation", &ConvParams::lhs_dilation),
        optional_field("out_sharding", &ConvParams::out_sharding), field("padding", &ConvParams::padding),
        optional_field("precision", &ConvParams::precision), optional_field("preferred_element_type", &ConvParams::preferred_element_type),
        field("rhs_dilation", &ConvParams::rhs_dilation), field("window_strides", &ConvParams::window_strides));
};

}  // namespace jaxscope
