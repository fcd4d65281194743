// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/lax/params: the parameters of lax's primitives as plain structs with a field list, a header for each family. In comes the generic
// form that captures and texts hold (Attr), out goes the struct, and back (conversions.cpp, where a field is more than a number or a list).
// Any floor of core/lax may include these. Never here: what a primitive does with its parameters.
#include "ir/params.h"

namespace jaxscope {

// Parameters of the element-wise primitives and reductions (lax.py). Attr fields are kept for printing only.

struct AccuracyParams {  ///< exp, log, sin, ...: the accuracy asked of XLA, None by default
    Attr accuracy = {};
    static constexpr auto kFields = std::tuple(optional_field("accuracy", &AccuracyParams::accuracy));
};
struct OutDtypeParams {  ///< mul: out_dtype, None by default
    Attr out_dtype = {};
    static constexpr auto kFields = std::tuple(optional_field("out_dtype", &OutDtypeParams::out_dtype));
};
struct RoundParams {
    Attr rounding_method = {};  ///< RoundingMethod.AWAY_FROM_ZERO (0) or TO_NEAREST_EVEN (1)
    static constexpr auto kFields = std::tuple(optional_field("rounding_method", &RoundParams::rounding_method));
};
struct IntegerPowParams {
    std::int64_t y = 0;
    static constexpr auto kFields = std::tuple(field("y", &IntegerPowParams::y));
};
struct ConjParams {
    DType input_dtype = DType::C64;
    static constexpr auto kFields = std::tuple(field("input_dtype", &ConjParams::input_dtype));
};
struct ConvertParams {
    DType new_dtype = DType::F32;
    bool weak_type = false;
    Attr sharding = {};
    static constexpr auto kFields = std::tuple(field("new_dtype", &ConvertParams::new_dtype), field("weak_type", &ConvertParams::weak_type),
                                               optional_field("sharding", &ConvertParams::sharding));
};
struct BitcastParams {
    DType new_dtype = DType::F32;
    static constexpr auto kFields = std::tuple(field("new_dtype", &BitcastParams::new_dtype));
};
struct ReducePrecisionParams {
    std::int64_t exponent_bits = 8, mantissa_bits = 23;
    static constexpr auto kFields = std::tuple(field("exponent_bits", &ReducePrecisionParams::exponent_bits),
                                               field("mantissa_bits", &ReducePrecisionParams::mantissa_bits));
};
struct NameParams {
    Sym name;
    static constexpr auto kFields = std::tuple(field("name", &NameParams::name));
};
struct ReduceParams {
    Dims axes;
    static constexpr auto kFields = std::tuple(field("axes", &ReduceParams::axes));
};
struct ReduceSumParams {
    Dims axes;
    Attr out_sharding = {};
    static constexpr auto kFields =
        std::tuple(field("axes", &ReduceSumParams::axes), optional_field("out_sharding", &ReduceSumParams::out_sharding));
};
struct ArgReduceParams {
    Dims axes;
    DType index_dtype = DType::S32;
    static constexpr auto kFields = std::tuple(field("axes", &ArgReduceParams::axes), field("index_dtype", &ArgReduceParams::index_dtype));
};
struct CumulativeParams {
    std::int64_t axis = 0;
    bool reverse = false;
    static constexpr auto kFields = std::tuple(field("axis", &CumulativeParams::axis), field("reverse", &CumulativeParams::reverse));
};

}  // namespace jaxscope
