// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/kernel_builder.h"

namespace jaxscope::exec {

/// An array as [outer, length, inner] around one axis: lines of `length` elements, `inner` apart.
struct AxisShape {
    std::int64_t outer = 1, length = 1, inner = 1;
    AxisShape(const Dims& shape, int axis) {
        for (int d = 0; d < static_cast<int>(shape.size()); ++d)
            (d < axis ? outer : d == axis ? length : inner) *= shape[static_cast<std::size_t>(d)];
    }
    std::int64_t lines() const { return outer * inner; }
    /// Where a line begins.
    std::int64_t first(std::int64_t line) const { return line / inner * length * inner + line % inner; }
};

}  // namespace jaxscope::exec
