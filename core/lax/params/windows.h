// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/params.h"
#include "lax/params/products.h"

namespace jaxscope {

// Parameters of pooling (windowed_reductions.py). One entry for each dimension of the operand throughout.

struct ReduceWindowParams {
    Dims base_dilation;
    PadPairs padding;
    Dims window_dilation, window_dimensions, window_strides;
    static constexpr auto kFields = std::tuple(
        field("base_dilation", &ReduceWindowParams::base_dilation), field("padding", &ReduceWindowParams::padding),
        field("window_dilation", &ReduceWindowParams::window_dilation), field("window_dimensions", &ReduceWindowParams::window_dimensions),
        field("window_strides", &ReduceWindowParams::window_strides));
};

/// Inputs: tangents, operand. Of each window the tangent at the operand's largest (`ge`) or smallest (`le`) element.
struct SelectAndGatherParams {
    Dims base_dilation;
    PadPairs padding;
    Attr select_prim;
    Dims window_dilation, window_dimensions, window_strides;
    static constexpr auto kFields = std::tuple(
        field("base_dilation", &SelectAndGatherParams::base_dilation), field("padding", &SelectAndGatherParams::padding),
        field("select_prim", &SelectAndGatherParams::select_prim), field("window_dilation", &SelectAndGatherParams::window_dilation),
        field("window_dimensions", &SelectAndGatherParams::window_dimensions),
        field("window_strides", &SelectAndGatherParams::window_strides));
};

/// Inputs: source, operand. Adds each source element where the operand's largest or smallest element of its window stands.
struct SelectAndScatterParams {
    PadPairs padding;
    Attr select_prim;
    Dims window_dimensions, window_strides;
    static constexpr auto kFields =
        std::tuple(field("padding", &SelectAndScatterParams::padding), field("select_prim", &SelectAndScatterParams::select_prim),
                   field("window_dimensions", &SelectAndScatterParams::window_dimensions),
                   field("window_strides", &SelectAndScatterParams::window_strides));
};

}  // namespace jaxscope
