#pragma once
#include <span>

#include "lax/linalg/dot.h"

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
/// The shape of what windows over an operand of `shape` give; refuses parameters that don't fit it.
Dims window_shape(const Op& op, const Dims& shape, const ReduceWindowParams& p);

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

/// True for `ge`, false for `le`. Throws Error{BadInput} for anything else.
bool selects_largest(const Attr& select_prim);

/// The scalar that loses against all others: -inf, the smallest integer, False; with `largest` false the opposite.
LiteralRef extremum_identity(DType dtype, bool largest);

/// What they compute in terms of slices, comparisons and a scatter, dimension by dimension.
JaxprPtr reduce_window_expand(const Op& op);
JaxprPtr select_and_gather_expand(const Op& op);
JaxprPtr select_and_scatter_expand(const Op& op);

/// reduce_window_sum, reduce_window_max, reduce_window_min, select_and_gather_add, select_and_scatter_add
std::span<const Primitive* const> window_primitives();

}  // namespace jaxscope
