// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ir/kernel_builder.h"
#include "ir/primitive.h"

namespace jaxscope::exec {

/// A dimension of a window that is written into an array; strides in elements.
struct WindowDim {
    std::int64_t size, operand, update;
};
/// A window that indices place.
struct Window {
    std::vector<WindowDim> dims;
    Dims last;             ///< by dimension of the operand: the last place that a window may have; negative: there is room for none
    Dims strides;          ///< of the operand
    std::int64_t run = 1;  ///< numbers side by side that are written for each of `dims`
};
/// Of each index of a scatter.
Window scattered_window(const Op& op, const ScatterKernel& spec);
/// Of a dynamic_update_slice whose update isn't empty. Trailing dimensions that are taken whole make one run with the one before them.
Window updated_window(const Op& op);

}  // namespace jaxscope::exec
