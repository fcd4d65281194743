// Where blocks of the arena lie: apart wherever they are alive together, and not on the same lines of their pages.
#include "jit/plan/arena.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace jaxscope::exec {
namespace {

bool meet(const ArenaBlock& a, const ArenaBlock& b) { return a.first <= b.last && b.first <= a.last; }

TEST(Arena, ArraysOfPowersOfTwoBeginAtOtherLines) {
    for (const std::int64_t bytes : {std::int64_t{1} << 16, std::int64_t{1} << 20, std::int64_t{3} << 14}) {
        std::vector<ArenaBlock> blocks(10, {bytes, 0, 1});
        place_blocks(blocks);
        const std::int64_t top = spread_over_lines(blocks);
        EXPECT_LE(top, 10 * bytes + 10 * std::min<std::int64_t>(4096, bytes / 64));
        for (std::size_t i = 0; i < blocks.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const std::int64_t lines = (blocks[i].offset - blocks[j].offset) / 64 % 64,
                                   apart = std::min(std::abs(lines), 64 - std::abs(lines));
                EXPECT_GE(apart, 5) << bytes << " bytes, blocks " << i << " and " << j;
            }
    }
}

TEST(Arena, BlocksAliveTogetherStayApart) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<ArenaBlock> blocks(1 + random() % 40);
        std::int64_t most = 0;
        for (ArenaBlock& b : blocks) {
            b.bytes = random() % 4 == 0 ? static_cast<std::int64_t>(random() % 200) : std::int64_t{1} << random() % 20;
            b.first = static_cast<int>(random() % 30), b.last = b.first + static_cast<int>(random() % 12);
            most += b.bytes / 64 + 64;
        }
        const std::int64_t before = place_blocks(blocks), top = spread_over_lines(blocks);
        EXPECT_LE(top, before + most);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            EXPECT_EQ(blocks[i].offset % 64, 0);
            EXPECT_LE(blocks[i].offset + blocks[i].bytes, top);
            for (std::size_t j = 0; j < i; ++j) {
                const ArenaBlock &a = blocks[i], &b = blocks[j];
                const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
                EXPECT_TRUE(a.bytes == 0 || b.bytes == 0 || !meet(a, b) || apart) << "round " << round;
            }
        }
    }
}

}  // namespace
}  // namespace jaxscope::exec
