// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/tiles/stage_tile.h"

#include <cstring>
#include <utility>

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

namespace tiles {
#define JAXSCOPE_KERNELS "jit/kernels/tiles/stage_kernels.inl"
#include "jit/kernels/per_processor.inc"
}  // namespace tiles

struct Pair {
    std::uint64_t low, high;
};

/// Elements of two words fill a vector of few: nothing to shuffle.
void stage_pairs(Pair* tile, const Pair* from, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) tile[r * width + c] = from[c * stride + r];
}

template <class T>
void stage_words(void* tile, const void* from, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t width) {
    JAXSCOPE_ON_THIS_PROCESSOR(tiles, stage(static_cast<T*>(tile), static_cast<const T*>(from), rows, cols, stride, width));
}

}  // namespace

void stage_tile(void* tile, const void* from, std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t width,
                std::int64_t bytes) {
    switch (bytes) {
        case 1:
            return stage_words<std::uint8_t>(tile, from, rows, cols, stride, width);
        case 2:
            return stage_words<std::uint16_t>(tile, from, rows, cols, stride, width);
        case 4:
            return stage_words<std::uint32_t>(tile, from, rows, cols, stride, width);
        case 8:
            return stage_words<std::uint64_t>(tile, from, rows, cols, stride, width);
        default:
            return stage_pairs(static_cast<Pair*>(tile), static_cast<const Pair*>(from), rows, cols, stride, width);
    }
}

}  // namespace jaxscope::exec
