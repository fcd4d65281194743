// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "lax/params/slicing.h"
#include "lax/rule_support.h"

namespace jaxscope {

/// One element from each line along `axis`, at the position that `indices` (shape of the result plus a trailing 1) hold.
inline GatherParams along_axis(std::int64_t rank, std::int64_t axis) {
    const Dims others = remaining(rank, {axis});
    GatherParams g{.dimension_numbers = {.offset_dims = {},
                                         .collapsed_slice_dims = {axis},
                                         .start_index_map = {axis},
                                         .operand_batching_dims = others,
                                         .start_indices_batching_dims = others}};
    g.slice_sizes = Dims(static_cast<std::size_t>(rank), 1);
    return g;
}

}  // namespace jaxscope
