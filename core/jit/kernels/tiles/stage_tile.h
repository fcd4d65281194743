// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace jaxscope::exec {

/// Copies `cols` runs of `rows` neighbouring elements of `bytes` bytes each (1, 2, 4, 8 or 16), the runs `stride` elements apart, to a tile
/// whose rows are `width` elements long: element r of run c goes to row r, column c. What generated code calls before it computes a tile of
/// a transposed operand, so that each cache line of it is read once.
void stage_tile(void* tile, const void* from, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t width,
                std::int64_t bytes);

}  // namespace jaxscope::exec
