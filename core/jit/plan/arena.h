// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace jaxscope::exec {

/// A block to place: alive from step `first` to `last` inclusive.
struct ArenaBlock {
    std::int64_t bytes = 0;
    int first = 0, last = 0;
    std::int64_t offset = 0;  ///< result, a multiple of 64
};

constexpr std::int64_t kGuardBytes = 4096;  ///< a page: between buffers in debug mode

/// Debug mode: each block on pages of its own, its end at the end of the last, with a page that nobody may touch before and behind it.
/// Offsets of those go into `guards`. Blocks of whole pages begin at a page. Returns the size of the arena.
std::int64_t place_guarded(std::vector<ArenaBlock>& blocks, std::vector<std::int64_t>& guards);

/// Places blocks so that no two that are alive together overlap; returns the size of the arena. Tries two orders and keeps the better:
/// by size with the lowest gap that fits (few blocks only, quadratic), and by time with the best-fitting free gap (n log n).
std::int64_t place_blocks(std::vector<ArenaBlock>& blocks);

/// Moves placed blocks up, by a page and by a 64th of their size at most, so that those alive together don't begin at the same lines of
/// their pages: a kernel that goes over a dozen arrays whose places are the same modulo 4096 has all of them in the same eight lines of the
/// first-level cache (measured: 1.6 times the time). Of thousands of blocks none is moved. Returns the size of the arena.
std::int64_t spread_over_lines(std::vector<ArenaBlock>& blocks);

}  // namespace jaxscope::exec
