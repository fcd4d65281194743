// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "ir/kernel_builder.h"
#include "ir/params.h"

namespace jaxscope {

// Parameters of slices, gathers and scatters (slicing.py).

struct SliceParams {
    Dims start_indices, limit_indices;
    std::optional<Dims> strides = {};
    static constexpr auto kFields =
        std::tuple(field("start_indices", &SliceParams::start_indices), field("limit_indices", &SliceParams::limit_indices),
                   optional_field("strides", &SliceParams::strides));
};

/// Inputs: the operand, then one scalar start index for each of its dimensions.
struct DynamicSliceParams {
    Dims slice_sizes;
    static constexpr auto kFields = std::tuple(field("slice_sizes", &DynamicSliceParams::slice_sizes));
};

/// Inputs: operand, update, one scalar start index for each dimension.
struct DynamicUpdateSliceParams {
    static constexpr auto kFields = std::tuple();
};

/// JAX's GatherDimensionNumbers; the last dimension of the indices always holds the index vectors.
struct GatherDims {
    Dims offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims;
    friend bool operator==(const GatherDims&, const GatherDims&) = default;
};
Attr to_attr(const GatherDims& v);
void from_attr(const Attr& a, GatherDims& v);

/// JAX's ScatterDimensionNumbers.
struct ScatterDims {
    Dims update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, operand_batching_dims, scatter_indices_batching_dims;
    friend bool operator==(const ScatterDims&, const ScatterDims&) = default;
};
Attr to_attr(const ScatterDims& v);
void from_attr(const Attr& a, ScatterDims& v);

Attr to_attr(OutOfBounds mode);  ///< GatherScatterMode.CLIP, ...
void from_attr(const Attr& a, OutOfBounds& mode);

/// Inputs: operand, indices. `fill_value` (None or a number) stands where a window lies outside under FILL_OR_DROP.
struct GatherParams {
    GatherDims dimension_numbers;
    Attr fill_value = {};
    bool indices_are_sorted = false;
    OutOfBounds mode = OutOfBounds::PromiseInBounds;
    Dims slice_sizes;
    bool unique_indices = false;
    static constexpr auto kFields =
        std::tuple(field("dimension_numbers", &GatherParams::dimension_numbers), optional_field("fill_value", &GatherParams::fill_value),
                   field("indices_are_sorted", &GatherParams::indices_are_sorted), field("mode", &GatherParams::mode),
                   field("slice_sizes", &GatherParams::slice_sizes), field("unique_indices", &GatherParams::unique_indices));
};

/// Inputs: operand, indices, updates. `update_jaxpr` is the combining function as JAX keeps it (None for `scatter`): shown,
/// never read by a rule, since the primitive's name says the same; scatter_apply's, a scatter with one, is the exception.
struct ScatterParams {
    ScatterDims dimension_numbers;
    bool indices_are_sorted = false;
    OutOfBounds mode = OutOfBounds::FillOrDrop;
    bool unique_indices = false;
    Attr update_consts = Attr::tuple({});
    Attr update_jaxpr = {};
    static constexpr auto kFields = std::tuple(
        field("dimension_numbers", &ScatterParams::dimension_numbers), field("indices_are_sorted", &ScatterParams::indices_are_sorted),
        field("mode", &ScatterParams::mode), field("unique_indices", &ScatterParams::unique_indices),
        optional_field("update_consts", &ScatterParams::update_consts), optional_field("update_jaxpr", &ScatterParams::update_jaxpr));
};

}  // namespace jaxscope
