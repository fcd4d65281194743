#include "base/paged_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace jaxscope {
namespace {

TEST(PagedList, GivesBackWhatWasPutInInOrder) {
    for (const int count : {0, 1, 1000, 300'000}) {
        PagedList<std::string> list;
        for (int k = 0; k < count; ++k) list.push_back("value " + std::to_string(k));
        const std::vector<std::string> taken = list.take();
        ASSERT_EQ(taken.size(), static_cast<std::size_t>(count));
        for (int k = 0; k < count; ++k) ASSERT_EQ(taken[static_cast<std::size_t>(k)], "value " + std::to_string(k));
        EXPECT_TRUE(list.take().empty());
        list.push_back("again");
        EXPECT_EQ(list.take().size(), 1u);
    }
}

TEST(PagedList, WhatNobodyTakesIsDestroyed) {
    const auto counted = std::make_shared<int>(0);
    {
        PagedList<std::shared_ptr<int>> list;
        for (int k = 0; k < 200'000; ++k) list.push_back(counted);
        EXPECT_EQ(counted.use_count(), 200'001);
        PagedList<std::shared_ptr<int>> moved = std::move(list);
        EXPECT_EQ(moved.take().size(), 200'000u);
        for (int k = 0; k < 200'000; ++k) moved.push_back(counted);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace jaxscope
