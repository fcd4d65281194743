// debug::print and callbacks: what they do when a program runs, and what keeps them from it. Texts beside JAX's:
// tests/differential/test_front_end_effects.py.
#include "trace/behaviours.h"

namespace {

/// What is written to standard output meanwhile.
template <class F>
std::string written(const F& f) {
    testing::internal::CaptureStdout();
    f();
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout();
}
std::string io_effects(const std::string& text) { return text.substr(0, text.find('[')); }

}  // namespace

TEST(Effects, C_16_DebugEffectsAreAllowedUnderCheckpointOthersAreNot) {
    const auto printed = jax::checkpoint([](Array x) {
        jax::debug::print("v={}", {.ordered = true}, x);
        return jnp::sin(x);
    });
    EXPECT_EQ(written([&] { jax::grad(printed)(1.); }), "v=1.0\nv=1.0\n");
    for (const bool ordered : {false, true}) {
        const auto called = jax::checkpoint([&](Array x) {
            jax::io_callback([] { return std::tuple<>(); }, std::tuple<>(), {.ordered = ordered})();
            return jnp::sin(x);
        });
        EXPECT_FLOAT_EQ(called(1.).item<float>(), 0.84147098F);
        const std::string error = error_of([&] { jax::grad(called)(1.); });
        EXPECT_EQ(io_effects(error), "Effects not supported in partial-eval of `checkpoint`/`remat`: ");
        EXPECT_NE(error.find(ordered ? "[OrderedIO]" : "[IO]"), std::string::npos) << error;
    }
}
TEST(Effects, F_01_EagerlyTheBodyRunsOnce) {
    int n = 0;
    jax::checkpoint([&](Array x) {
        jax::debug::callback([&] { ++n; })();
        return jnp::sin(x);
    })(1.);
    EXPECT_EQ(n, 1);
}
TEST(Effects, F_23_TheForwardRuleRunsAgainTheBackwardRuleOnce) {
    int fwd = 0, bwd = 0;
    const auto tick = [](int& k) { jax::debug::callback([&k] { ++k; })(); };
    const auto s = jax::custom_vjp([](Array x) { return jnp::sin(x); })
                       .defvjp(
                           [&](Array x) {
                               tick(fwd);
                               return std::pair(jnp::sin(x), x);
                           },
                           [&](Array x, Array g) {
                               tick(bwd);
                               return std::tuple(jnp::cos(x) * g);
                           });
    jax::grad(jax::checkpoint(s))(1.);
    EXPECT_EQ(fwd, 2);
    EXPECT_EQ(bwd, 1);
}
TEST(Effects, EachCallOfAJittedFunctionPrints) {
    const auto f = jax::jit([](Array x) {
        jax::debug::print("at {:.1f}", x.sum());
        return x * 2.;
    });
    EXPECT_EQ(written([&] { f(jnp::arange(3.)), f(jnp::arange(3.)), f(jnp::arange(4.)); }), "at 3.0\nat 3.0\nat 6.0\n");
}
TEST(Effects, LargeArraysAreSummarised) {
    EXPECT_EQ(written([] {
                  jax::jit([](Array x) { return jax::debug::print("{}", x), x; })(jnp::zeros({600, 600}));
              }),
              written([] {
                  std::printf("%s\n", jnp::zeros({600, 600}).str().c_str());
              }));
}
TEST(Effects, ACallbackMayCallJittedFunctions) {
    const auto inner = jax::jit([](Array x) { return jnp::cos(x); });
    const auto outer = jax::jit([&](Array x) { return jax::pure_callback(inner, x)(x * 2.) + 1.; });
    for (int turn = 0; turn < 2; ++turn) EXPECT_FLOAT_EQ(outer(Array(0.5)).item<float>(), std::cos(1.F) + 1.F);
}
TEST(Effects, TreesGoInAndOutByNameToo) {
    struct Two {
        Array a, b;
    };
    const auto swap = [](const Two& t, const Array& scale) { return Two{t.b * scale, t.a}; };
    const Two in{jnp::arange(2.), jnp::ones({3})};
    const Two shapes{jax::ShapeDtypeStruct({3}), jax::ShapeDtypeStruct({2})};
    const auto f = [&](const Two& t) { return jax::pure_callback(swap, shapes)(t, jax::kw("scale", Array(2.))); };
    EXPECT_EQ(f(in).a.str(), "[2. 2. 2.]");
    EXPECT_EQ(jax::jit(f)(in).b.str(), "[0. 1.]");
    EXPECT_NE(jax::make_jaxpr(f)(in).str().find("'scale': *"), std::string::npos);
}
TEST(Effects, CustomDerivativesMakeCallbacksDifferentiable) {
    const auto told = [](Array x) { return jax::pure_callback([](Array a) { return jnp::sin(a); }, x)(x); };
    const auto f = jax::custom_jvp(told).defjvp(
        [&](auto x, auto t) { return std::pair(told(std::get<0>(x)), jnp::cos(std::get<0>(x)) * std::get<0>(t)); });
    EXPECT_FLOAT_EQ(jax::jit(jax::grad(f))(1.).item<float>(), 0.5403023F);
}
TEST(Effects, WhatACallbackReturnsIsChecked) {
    const auto call = [](const auto& f) {
        return error_of([&] { jax::jit([&](Array x) { return jax::pure_callback(f, x)(x); })(jnp::ones({3})); });
    };
    EXPECT_EQ(call([](Array) { return jnp::ones({2}); }).substr(0, 78),
              "Incorrect output shape for return value #0: Expected: (3,), Actual: (2,)");
    EXPECT_NE(call([](Array x) { return x > 0.; }).find("Incorrect output dtype for return value #0: Expected: float32, Actual: bool"),
              std::string::npos);
    EXPECT_NE(call([](Array x) { return std::pair(x, x); }).find("Mismatched number of outputs from callback. Expected: 1, Actual: 2"),
              std::string::npos);
    EXPECT_THROW(jax::pure_callback([](Array) -> Array { throw std::runtime_error("the user's own"); }, Array(1.))(Array(1.)),
                 std::runtime_error);
}
TEST(Effects, OutsideOfAProgramFunctionsAreLetGo) {
    const auto alive = std::make_shared<int>(0);
    jax::io_callback([alive](Array a) { return a; }, Array(1.))(Array(1.));
    jax::debug::callback([alive] {})();
    EXPECT_EQ(alive.use_count(), 1);
}
