#include "base/cancel.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"

namespace jaxscope {
namespace {

bool stopped() {
    try {
        check_cancelled();
        return false;
    } catch (const Error& e) {
        return e.code == ErrorCode::Cancelled;
    }
}

TEST(Cancel, ScopesNestAndEnd) {
    EXPECT_FALSE(stopped());
    CancelToken whole, limited;
    const CancelScope outer(whole);
    {
        const CancelScope inner(limited);
        EXPECT_FALSE(stopped());
        limited.cancel();
        EXPECT_TRUE(stopped());
    }
    EXPECT_FALSE(stopped()) << "a time-out that fired is over with its scope";
    whole.cancel();
    const CancelToken other;
    const CancelScope inner(other);
    EXPECT_TRUE(stopped()) << "what stands outside counts as well";
}

TEST(Cancel, HelpersTakeTheScopesOfWhoStartedThem) {
    CancelToken token;
    token.cancel();
    const CancelScope scope(token);
    bool alone = true, adopted = false;
    std::jthread([&, of_starter = CancelScope::current()] {
        alone = stopped();
        {
            const CancelScope mine(of_starter);
            adopted = stopped();
        }
        alone = alone || stopped();
    }).join();
    EXPECT_FALSE(alone);
    EXPECT_TRUE(adopted);
}

TEST(Invariant, ABrokenOneIsThrownWithItsPlace) {
    try {
        JAXSCOPE_ASSERT(1 == 2);
        FAIL();
    } catch (const Error&) {
        FAIL() << "no fault of the input";
    } catch (const std::exception& e) {
        EXPECT_NE(std::string(e.what()).find("'1 == 2' at "), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("cancel_test.cpp:"), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace jaxscope
