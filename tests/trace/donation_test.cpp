// Donation in place: whose memory results take, and what is refused. The texts are JAX's.
#include <gtest/gtest.h>

#include <jaxscope/jax.h>

#include <thread>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

std::string numbers(const Array& a) { return a.str(); }

TEST(Donation, WhatComesBackAsItWasGivenIsOneArrayUnderTwoNames) {
    const Array x = jnp::ones(4), same = jnp::asarray(x), typed = x.astype(jnp::float32), shaped = x.reshape({4}), copied = jnp::array(x);
    jax::jit([](Array v) { return v + 1; }, {.donate_argnums = {0}})(x);
    EXPECT_TRUE(same.is_deleted() && typed.is_deleted() && shaped.is_deleted());
    EXPECT_FALSE(copied.is_deleted());
}

TEST(InPlace, PairsThatCrossStillTakeTheMemoryOfBoth_B_08) {
    const auto f = jax::jit([](Array x, Array y) { return std::tuple(y * 2, x * 3, x + y); }, {.donate_argnums = {0, 1}});
    const Array x = jnp::full(4, 1.0), y = jnp::full(4, 10.0);
    const void *p = x.unsafe_buffer_pointer(), *q = y.unsafe_buffer_pointer();
    const auto [a, b, c] = f(x, y);
    EXPECT_EQ(numbers(a), "[20. 20. 20. 20.]");
    EXPECT_EQ(numbers(b), "[3. 3. 3. 3.]");
    EXPECT_EQ(numbers(c), "[11. 11. 11. 11.]");
    const void *r = a.unsafe_buffer_pointer(), *s = b.unsafe_buffer_pointer();
    EXPECT_TRUE((r == p && s == q) || (r == q && s == p));
    EXPECT_TRUE(x.is_deleted() && y.is_deleted());
}
TEST(InPlace, AnInputThatIsReadAfterItsOutputIsMadeKeepsItsNumbersThatLong) {
    const auto f = jax::jit(
        [](Array x) {
            const Array y = jnp::flip(x);
            return std::pair(y, (x * jnp::array({1., 2., 3., 4.})).sum());
        },
        {.donate_argnums = {0}});
    const auto [y, s] = f(jnp::array({1., 2., 3., 4.}));
    EXPECT_EQ(numbers(y), "[4. 3. 2. 1.]");
    EXPECT_EQ(s.item<double>(), 30.0);
}
TEST(InPlace, MemoryThatSomebodyElseHoldsIsNotWrittenOver) {
    const Array x = jnp::ones(3);
    const auto closed = jax::jit([&](Array y) { return x + y; });
    EXPECT_EQ(numbers(closed(jnp::ones(3))), "[2. 2. 2.]");  // x is a constant of it now
    jax::jit([](Array a) { return a * 5; }, {.donate_argnums = {0}})(x);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(numbers(closed(jnp::ones(3))), "[2. 2. 2.]");
}
TEST(InPlace, OneBufferIsNotDonatedTwiceNorReadBesideItsDonation) {
    const Array x = jnp::ones(2);
    const auto both = [](Array a, Array b) { return std::pair(a + 1, b + 2); };
    const auto twice = jax::jit(both, {.donate_argnums = {0, 1}}), once = jax::jit(both, {.donate_argnums = {0}});
    for (int i = 0; i < 2; ++i) {  // the second time by the short way
        EXPECT_EQ(error_of([&] { twice(x, x); }),
                  "INVALID_ARGUMENT: Attempt to donate the same buffer twice in Execute() (flattened argument 1, replica 0, partition 0, "
                  "first use: 0). Toy example for this bug: `f(donate(a), donate(a))`.");
        EXPECT_EQ(error_of([&] { once(x, x); }),
                  "INVALID_ARGUMENT: Attempt to use a buffer that was previously donated in the same call to Execute() (flattened argument "
                  "1, replica 0, partition 0, first use: 0). Toy example for this bug: `f(donate(a), a)`.");
        EXPECT_FALSE(x.is_deleted());
    }
    EXPECT_EQ(numbers(x), "[1. 1.]");
}
TEST(InPlace, WhatIsPrunedMayBeDeletedAlready) {
    const auto f = jax::jit([](Array, Array b) { return b + 1; });
    Array x = jnp::ones(3);
    x.delete_buffer();
    EXPECT_EQ(numbers(f(x, jnp::ones(2))), "[2. 2.]");
    EXPECT_EQ(error_of([&] { f(jnp::ones(3), x); }), "Array has been deleted with shape=float32[3].");
}
TEST(InPlace, WhatIsPrunedIsReadByNoLoopEither) {
    const auto f = jax::jit([](Array s, Array v) {
        return jax::lax::scan([](Array c, Array a) { return std::pair(c * 2., jax::numpy::sin(a)); }, s, v).first;
    });
    Array v = jax::numpy::arange(3.);
    EXPECT_FLOAT_EQ(f(Array(1.), v).item<float>(), 8.F);
    v.delete_buffer();
    EXPECT_FLOAT_EQ(f(Array(1.), v).item<float>(), 8.F);
}
TEST(InPlace, LoopsWriteTheirCarryIntoDonatedMemory) {
    const auto f = jax::jit(
        [](Array x) {
            return jax::lax::fori_loop(
                0, 5, [](Array, Array c) { return c * 2; }, x);
        },
        {.donate_argnums = {0}});
    Array x = jnp::ones(1000);
    const void* p = x.unsafe_buffer_pointer();
    x = f(x);
    EXPECT_EQ(x.unsafe_buffer_pointer(), p);
    EXPECT_EQ(x[999].item<double>(), 32.0);
}
TEST(Concurrent, CallsFromManyThreadsTraceOnceAndAgree) {
    std::atomic<int> traces{0};
    const auto f = jax::jit([&](Array x) {
        ++traces;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return (x * 2).sum();
    });
    const Array x = jnp::ones(100);
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) right += f(x).item<double>() == 200.0;
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(traces, 1);
    EXPECT_EQ(right, 400);
}
TEST(Concurrent, AFunctionMayCallItself) {
    std::function<Array(Array, int)> step;
    const auto f = jax::jit([&](Array x, int n) { return n == 0 ? x : step(x + 1, n - 1); }, {.static_argnums = {1}});
    step = [&](Array x, int n) { return f(x, n); };
    EXPECT_EQ(f(jnp::zeros(1), 3).item<double>(), 3.0);
}

}  // namespace
