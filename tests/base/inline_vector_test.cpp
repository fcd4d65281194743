// SPDX-License-Identifier: Apache-2.0
#include "base/inline_vector.h"

#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <vector>

namespace jaxscope {
namespace {

using Few = InlineVector<int, 4>;

std::vector<int> elements(const Few& v) { return {v.begin(), v.end()}; }

/// The same at random on both: everything that a vector can do, on both sides of the four that lie in the object.
TEST(InlineVector, does_what_a_vector_does) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int round = 0; round < 300; ++round) {
        Few ours, other;
        std::vector<int> theirs, second;
        for (int step = 0; step < 40; ++step) {
            const int v = static_cast<int>(below(100));
            const auto at = static_cast<std::ptrdiff_t>(below(theirs.size() + 1));
            switch (below(14)) {
                case 0:
                case 1:
                case 2:
                    ours.push_back(v), theirs.push_back(v);
                    break;
                case 3:
                    ours.insert(ours.begin() + at, v), theirs.insert(theirs.begin() + at, v);
                    break;
                case 4:
                    ours.insert(ours.begin() + at, 3, v), theirs.insert(theirs.begin() + at, 3, v);
                    break;
                case 5: {  // of its own elements
                    const std::vector<int> copy = theirs;
                    ours.insert(ours.begin() + at, ours.begin(), ours.end()), theirs.insert(theirs.begin() + at, copy.begin(), copy.end());
                    break;
                }
                case 6:
                    if (at < std::ssize(theirs)) ours.erase(ours.begin() + at), theirs.erase(theirs.begin() + at);
                    break;
                case 7:
                    ours.erase(ours.begin() + at, ours.end()), theirs.erase(theirs.begin() + at, theirs.end());
                    break;
                case 8:
                    ours.resize(below(9), v), theirs.resize(ours.size(), v);
                    break;
                case 9:
                    std::swap(ours, other), std::swap(theirs, second);
                    break;
                case 10:
                    other = ours, second = theirs;
                    break;
                case 11:
                    other = std::move(ours), second = std::move(theirs);
                    ours.clear(), theirs.clear();
                    break;
                case 12:
                    if (!theirs.empty()) ours.push_back(ours.front()), theirs.push_back(theirs.front());
                    break;
                default:
                    ours.assign({v, v + 1, v + 2, v + 3, v + 4}), theirs.assign({v, v + 1, v + 2, v + 3, v + 4});
            }
            ASSERT_EQ(elements(ours), theirs) << "round " << round << ", step " << step;
            ASSERT_EQ(elements(other), second) << "round " << round << ", step " << step;
            ASSERT_EQ(ours == other, theirs == second);
            ASSERT_EQ(ours < other, theirs < second);
            ASSERT_EQ(std::vector<int>(ours.rbegin(), ours.rend()), std::vector<int>(theirs.rbegin(), theirs.rend()));
        }
    }
}

TEST(InlineVector, what_was_moved_from_is_empty) {
    for (const int n : {3, 9}) {
        Few a(static_cast<std::size_t>(n), 1);
        const Few b = std::move(a);
        EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move)
        a.push_back(5);
        EXPECT_EQ(b.size(), static_cast<std::size_t>(n));
        EXPECT_EQ(b.front(), 1);
        EXPECT_THROW((void)b.at(static_cast<std::size_t>(n)), std::out_of_range);
    }
}

TEST(InlineVector, reads_what_can_be_read_once) {
    std::istringstream text("1 2 3 4 5 6");
    const Few v{std::istream_iterator<int>(text), std::istream_iterator<int>()};
    EXPECT_EQ(elements(v), (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace jaxscope
