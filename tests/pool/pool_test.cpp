// SPDX-License-Identifier: Apache-2.0
// The executor's own threads under the thread sanitizer (./test.sh --full): every hand-over of work and of results is seen by it, since
// what is handed over are plain numbers. Nothing of the rest of the program is in here: libraries that weren't compiled so would hide their
// own locks.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {
namespace {

TEST(Pool, WorkAndResultsAreHandedOver) {
    std::vector<std::int64_t> numbers(20000);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::int64_t> given(numbers.size(), round);  // made by this thread, read by others
        parallel_shares(4, std::ssize(numbers), 64, [&](int, std::int64_t begin, std::int64_t end) {
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) numbers[i] += given[i];
        });
        if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the next round wakes sleepers
    }
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}), std::ssize(numbers) * (299 * 300 / 2));
}

TEST(Pool, SeveralCallersAtATime) {
    std::vector<std::int64_t> sums(4);
    {
        std::vector<std::jthread> callers;
        for (std::size_t c = 0; c < sums.size(); ++c)
            callers.emplace_back([&sums, c] {
                std::vector<int> own(1000);
                for (int i = 0; i < 200; ++i)
                    parallel_shares(3, std::ssize(own), 8, [&](int, std::int64_t begin, std::int64_t end) {
                        for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) ++own[k];
                    });
                sums[c] = std::accumulate(own.begin(), own.end(), std::int64_t{0});
            });
    }
    for (const std::int64_t sum : sums) EXPECT_EQ(sum, 200 * 1000);
}

TEST(Pool, OnesOwnScratchIsOnesOwn) {
    std::vector<std::int64_t> scratch(3), totals(3);
    for (int round = 0; round < 200; ++round)
        run_shares(3, 50, [&](int thread, std::int64_t share) {
            auto& mine = scratch[static_cast<std::size_t>(thread)];
            mine = share;
            totals[static_cast<std::size_t>(thread)] += mine;
        });
    EXPECT_EQ(totals[0] + totals[1] + totals[2], 200 * (49 * 50 / 2));
}

TEST(Pool, WhatAShareThrowsArrives) {
    for (int i = 0; i < 50; ++i)
        EXPECT_THROW(run_shares(4, 16,
                                [&](int, std::int64_t share) {
                                    if (share % 5 == 3) throw std::runtime_error(std::to_string(share));
                                }),
                     std::runtime_error);
}

}  // namespace
}  // namespace jaxscope::exec
