// SPDX-License-Identifier: Apache-2.0
// Calls that donate inside of functions that are differentiated or mapped outside of jit: JAX runs them as they come. The texts are JAX's.
#include <gtest/gtest.h>

#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

const auto twice_donated = jax::jit([](Array x) { return x * 2; }, {.donate_argnums = {0}, .name = "twice_donated"});
const char* const kDeleted = "Array has been deleted with shape=float32[3].";

TEST(EagerDonation, WhatACallHasTakenIsGoneForTheRestOfTheFunction) {
    const auto again = [](Array a) { return jnp::sum(twice_donated(a) * a); };
    EXPECT_EQ(error_of([&] { jax::grad(again)(jnp::ones(3)); }), kDeleted);
    EXPECT_EQ(error_of([&] { jax::vjp(again, jnp::ones(3)); }), kDeleted);
    EXPECT_EQ(error_of([&] { jax::jvp(again, std::tuple(jnp::ones(3)), std::tuple(jnp::ones(3))); }), kDeleted);
    EXPECT_NE(error_of([] { jax::vmap([](Array a) { return twice_donated(a) * a; })(jnp::ones(3)); }).find("Array has been deleted"),
              std::string::npos);
    const auto of_result = [](Array a) {
        const Array s = jnp::sin(a);
        return jnp::sum(twice_donated(s) * s);
    };
    EXPECT_EQ(error_of([&] { jax::grad(of_result)(jnp::ones(3)); }), kDeleted);
    const Array w = jnp::ones(3);
    const auto closes_over = [&](Array a) {
        const Array first = jnp::sum(twice_donated(w) * a);
        return first + jnp::sum(w);
    };
    EXPECT_EQ(error_of([&] { jax::grad(closes_over)(jnp::ones(3)); }), kDeleted);
    // Within jit donation means nothing, and it may be given back.
    EXPECT_EQ(jax::jit(jax::grad(again))(jnp::ones(3)).str(), "[4. 4. 4.]");
    const auto with_aux = [](Array a) { return std::pair(jnp::sum(twice_donated(a)), a); };
    EXPECT_EQ(jax::grad(with_aux, {.has_aux = true})(jnp::ones(3)).first.str(), "[2. 2. 2.]");
}

TEST(EagerDonation, ABackwardPassNeedsWhatItsForwardPassGaveAway_B_16) {
    const auto squared = jax::jit([](Array x) { return x * x; }, {.donate_argnums = {0}});
    const auto loss = [&](Array x) { return squared(x).sum(); };
    const Array x = jnp::ones(3), y = jnp::ones({2, 3});
    EXPECT_EQ(error_of([&] { jax::grad(loss)(x); }), kDeleted);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(error_of([&] { jax::vmap(jax::grad(loss))(y); }), "Array has been deleted with shape=float32[2,3].");
    const Array z = jnp::ones(3), t = jnp::ones(3);
    EXPECT_EQ(jax::jit(jax::grad(loss))(z).str(), "[2. 2. 2.]");
    EXPECT_EQ(jax::grad([](Array a) { return twice_donated(a).sum(); })(z).str(), "[2. 2. 2.]");
    EXPECT_TRUE(z.is_deleted());
    EXPECT_EQ(jax::jvp(squared, std::tuple(t), std::tuple(jnp::ones(3))).second.str(), "[2. 2. 2.]");
}
TEST(EagerDonation, OneArrayIsntDonatedTwice) {
    const Array w = jnp::ones(3);
    EXPECT_EQ(error_of([&] { jax::jvp(twice_donated, std::tuple(w), std::tuple(w)); }),
              "INVALID_ARGUMENT: Attempt to donate the same buffer twice in Execute() (flattened argument 1, replica 0, partition 0, first "
              "use: 0). Toy example for this bug: `f(donate(a), donate(a))`.");
    EXPECT_FALSE(w.is_deleted());
}

TEST(EagerDonation, WhatCantBeUsedIsWarnedAboutOnce) {
    const auto summed = jax::jit([](Array x) { return jnp::sum(x); }, {.donate_argnums = {0}, .name = "summed_5"});
    testing::internal::CaptureStderr();
    jax::vmap(summed)(jnp::ones({2, 5}));
    jax::vmap(summed)(jnp::ones({2, 5}));
    const char* const warning =
        "UserWarning: Some donated buffers were not usable: float32[2,5].\n"
        "See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), warning);
    testing::internal::CaptureStderr();  // another function of the same name
    jax::vmap(jax::jit([](Array x) { return jnp::max(x); }, {.donate_argnums = {0}, .name = "summed_5"}))(jnp::ones({2, 5}));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), warning);
}

TEST(EagerDonation, ACallThatIsKnownHasXlasWords) {
    const auto add = jax::jit([](Array a, Array b) { return a + b; }, {.donate_argnums = {1}});
    const Array a = jnp::ones(3), b = jnp::ones(3);
    add(a, b);
    EXPECT_EQ(
        error_of([&] { add(a, b); }),
        "INVALID_ARGUMENT: Invalid buffer passed to Execute() as argument 1 to replica 0: INVALID_ARGUMENT: Buffer has been deleted or "
        "donated.");
    EXPECT_EQ(error_of([&] { jax::jit([](Array x) { return x * 3; }, {.donate_argnums = {0}})(b); }), kDeleted);
    EXPECT_EQ(error_of([&] { b.block_until_ready(); }), "INVALID_ARGUMENT: BlockHostUntilReady() called on deleted or donated buffer");
    EXPECT_EQ(error_of([&] { b.unsafe_buffer_pointer(); }), "INVALID_ARGUMENT: UnsafeBufferPointer( called on deleted or donated buffer");
    EXPECT_EQ(error_of([&] { b.item(); }), kDeleted);
}

TEST(EagerDonation, WhatAsksForTheTypeAloneTakesADeletedArray) {
    Array x = jnp::ones({2, 3});
    x.delete_buffer();
    EXPECT_EQ(jnp::zeros_like(x).str() + jnp::ones_like(x, jnp::int32).str() + jnp::full_like(x, 7.).str(),
              "[[0. 0. 0.]\n [0. 0. 0.]][[1 1 1]\n [1 1 1]][[7. 7. 7.]\n [7. 7. 7.]]");
    EXPECT_TRUE(jnp::asarray(x).is_deleted());
    EXPECT_EQ(jax::eval_shape([](Array a) { return jnp::sin(a); }, x).shape().str(), "(2, 3)");
    EXPECT_EQ(jax::saved_residuals([](Array a) { return jnp::sin(a); }, x).size(), 1u);
    EXPECT_EQ(error_of([&] { jnp::copy(x); }), "Array has been deleted with shape=float32[2,3].");
}

TEST(EagerDonation, NumbersAndNamesTogetherAreTakenAsTheyStand) {
    const auto f = [](Array x, Array y) { return x + y; };
    const auto donates = [&](const jax::JitOptions& o, bool by_name) {
        const Array x = jnp::ones(3), y = jnp::ones(3);
        by_name ? jax::jit(f, o)(x, jax::kw("y", y)) : jax::jit(f, o)(x, y);
        return std::pair(x.is_deleted(), y.is_deleted());
    };
    const jax::JitOptions both{.donate_argnums = {0}, .donate_argnames = {"y"}, .arg_names = {"x", "y"}};
    EXPECT_EQ(donates(both, false), std::pair(true, false));
    EXPECT_EQ(donates({.donate_argnums = {-1}}, false), std::pair(false, false));
    EXPECT_EQ(donates({.donate_argnames = {"y"}, .arg_names = {"x", "y"}}, false), std::pair(false, true));
    const auto minus = jax::jit(f, {.donate_argnums = {-1}});
    EXPECT_EQ(minus.donation_report(), "donate_argnums=-1 donates nothing: JAX counts donated arguments from the front alone\n");
    EXPECT_EQ(minus.donation_report(jnp::ones(3), jnp::ones(3)).find(minus.donation_report()), 0u);
}

}  // namespace
