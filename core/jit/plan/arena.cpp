// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/arena.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "base/cancel.h"
#include "base/checked.h"

namespace jaxscope::exec {

namespace {

constexpr std::size_t kQuadraticLimit = 6000;
constexpr std::int64_t kAlignment = 64;

std::int64_t by_size(std::vector<ArenaBlock>& blocks) {
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return blocks[a].bytes != blocks[b].bytes ? blocks[a].bytes > blocks[b].bytes : blocks[a].first < blocks[b].first;
    });
    std::vector<std::size_t> placed;  // sorted by offset
    std::int64_t top = 0;
    for (const std::size_t i : order) {
        check_cancelled();
        ArenaBlock& block = blocks[i];
        std::int64_t end = 0, best = -1, best_gap = 0;
        for (const std::size_t p : placed) {
            const ArenaBlock& other = blocks[p];
            if (other.last < block.first || other.first > block.last) continue;
            const std::int64_t gap = other.offset - end;
            if (gap >= block.bytes && (best < 0 || gap < best_gap)) best = end, best_gap = gap;
            end = std::max(end, checked_align(checked_add(other.offset, other.bytes), kAlignment));
        }
        block.offset = best >= 0 ? best : end;
        top = std::max(top, checked_add(block.offset, block.bytes));
        placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                       [&](std::size_t a, std::size_t b) { return blocks[a].offset < blocks[b].offset; }),
                      i);
    }
    return checked_align(top, kAlignment);
}

/// Free gaps by offset and by size; neighbours merge when a block is freed.
class FreeList {
public:
    std::int64_t take(std::int64_t bytes) {
        bytes = checked_align(bytes, kAlignment);
        const auto fit = by_size_.lower_bound({bytes, 0});
        if (fit == by_size_.end()) {
            std::int64_t offset = top_;
            // A gap that reaches the top is grown rather than left behind.
            if (!by_offset_.empty() && by_offset_.rbegin()->first + by_offset_.rbegin()->second == top_) {
                offset = by_offset_.rbegin()->first;
                erase(offset);
            }
            top_ = checked_add(offset, bytes);
            return offset;
        }
        const auto [size, offset] = *fit;
        erase(offset);
        if (size > bytes) insert(offset + bytes, size - bytes);
        return offset;
    }
    void give(std::int64_t offset, std::int64_t bytes) {
        bytes = checked_align(bytes, kAlignment);
        auto next = by_offset_.lower_bound(offset);
        if (next != by_offset_.end() && offset + bytes == next->first) {
            bytes += next->second;
            erase(next->first);
        }
        next = by_offset_.lower_bound(offset);
        if (next != by_offset_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second == offset) {
                offset = before->first;
                bytes += before->second;
                erase(offset);
            }
        }
        insert(offset, bytes);
    }
    std::int64_t top() const { return top_; }

private:
    void insert(std::int64_t offset, std::int64_t bytes) {
        by_offset_[offset] = bytes;
        by_size_.insert({bytes, offset});
    }
    void erase(std::int64_t offset) {
        by_size_.erase({by_offset_.at(offset), offset});
        by_offset_.erase(offset);
    }
    std::map<std::int64_t, std::int64_t> by_offset_;
    std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
    std::int64_t top_ = 0;
};

std::int64_t by_time(std::vector<ArenaBlock>& blocks) {
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return blocks[a].first != blocks[b].first ? blocks[a].first < blocks[b].first : blocks[a].bytes > blocks[b].bytes;
    });
    FreeList free;
    using Entry = std::pair<int, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> alive;
    for (const std::size_t i : order) {
        check_cancelled();
        while (!alive.empty() && alive.top().first < blocks[i].first) {
            const ArenaBlock& done = blocks[alive.top().second];
            alive.pop();
            free.give(done.offset, done.bytes);
        }
        blocks[i].offset = free.take(blocks[i].bytes);
        alive.emplace(blocks[i].last, i);
    }
    return free.top();
}

/// How many large blocks begin at each line of their pages.
class LinesOfPages {
public:
    void add(std::int64_t offset) { ++begin_[static_cast<std::size_t>(offset / kAlignment % kLines)]; }
    /// The least distance from `offset`, of at most `most` bytes, to the place with the fewest neighbours.
    std::int64_t distance(std::int64_t offset, std::int64_t most) const {
        std::int64_t best = 0, fewest = std::numeric_limits<std::int64_t>::max();
        for (std::int64_t lines = 0; lines < kLines && lines * kAlignment <= most && fewest > 0; ++lines)
            if (const std::int64_t n = neighbours(offset / kAlignment + lines); n < fewest) fewest = n, best = lines * kAlignment;
        return best;
    }

private:
    static constexpr std::int64_t kLines = 4096 / kAlignment, kApart = 5;
    std::int64_t neighbours(std::int64_t line) const {
        std::int64_t n = 0;
        for (std::int64_t by = 1 - kApart; by < kApart; ++by) n += begin_[static_cast<std::size_t>((line + kLines + by) % kLines)];
        return n;
    }
    std::array<int, kLines> begin_{};
};

}  // namespace

std::int64_t place_guarded(std::vector<ArenaBlock>& blocks, std::vector<std::int64_t>& guards) {
    guards.push_back(0);
    std::int64_t top = kGuardBytes;
    for (ArenaBlock& b : blocks) {
        if (b.bytes == 0) continue;
        const std::int64_t bytes = checked_align(b.bytes, kAlignment), pages = checked_align(bytes, kGuardBytes);
        b.offset = top + pages - bytes;
        top = checked_add(top, pages);
        guards.push_back(top);
        top = checked_add(top, kGuardBytes);
    }
    return top;
}

std::int64_t place_blocks(std::vector<ArenaBlock>& blocks) {
    std::vector<ArenaBlock> nonempty;
    std::vector<std::size_t> number;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].bytes > 0) nonempty.push_back(blocks[i]), number.push_back(i);
    std::vector<ArenaBlock> other = nonempty;
    std::int64_t top = by_time(nonempty);
    if (other.size() <= kQuadraticLimit)
        if (const std::int64_t t = by_size(other); t <= top) top = t, nonempty = std::move(other);
    for (std::size_t k = 0; k < number.size(); ++k) blocks[number[k]].offset = nonempty[k].offset;
    return top;
}

std::int64_t spread_over_lines(std::vector<ArenaBlock>& blocks) {
    constexpr std::int64_t kLeast = 16 << 10, kPartOfIt = 64;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].bytes > 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return blocks[a].offset < blocks[b].offset; });
    std::int64_t top = 0;
    for (std::size_t n = 0; n < order.size(); ++n) {
        check_cancelled();
        ArenaBlock& block = blocks[order[n]];
        if (order.size() <= kQuadraticLimit) {
            LinesOfPages lines;
            std::int64_t end = 0;
            for (std::size_t below = 0; below < n; ++below) {
                const ArenaBlock& other = blocks[order[below]];
                if (other.last < block.first || other.first > block.last) continue;
                end = std::max(end, checked_align(checked_add(other.offset, other.bytes), kAlignment));
                if (other.bytes >= kLeast) lines.add(other.offset);
            }
            block.offset = block.bytes < kLeast ? end : checked_add(end, lines.distance(end, block.bytes / kPartOfIt));
        }
        top = std::max(top, checked_add(block.offset, block.bytes));
    }
    return checked_align(top, kAlignment);
}

}  // namespace jaxscope::exec
