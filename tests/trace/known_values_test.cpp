// SPDX-License-Identifier: Apache-2.0
// Values that a program asks for while it is differentiated or mapped: what JAX knows then is known here (its results stand beside).
#include <gtest/gtest.h>

#include <jaxscope/jax.h>

#include <cmath>

#include "trace/error_of.h"

using namespace jaxscope::jax;
namespace jnp = numpy;

namespace {

const auto by_sign = [](Array x) { return x > 0 ? x * x * x : -x; };
const auto by_first = [](Array x) { return x.item() > 0 ? x * x : -x; };
std::string why_not(auto&& f) { return error_of(f); }

}  // namespace

TEST(KnownValues, AFunctionBranchesOnWhatItIsDifferentiatedBy) {
    EXPECT_EQ(grad(by_sign)(Array(3.0f)).item(), 27);
    EXPECT_EQ(grad(by_sign)(Array(-3.0f)).item(), -1);
    EXPECT_EQ(value_and_grad(by_first)(Array(3.0f)).second.item(), 6);
    EXPECT_EQ(grad(grad(by_sign))(Array(3.0f)).item(), 18);
    EXPECT_EQ(std::get<0>(vjp(by_sign, Array(2.0f)).second(Array(1.0f))).item(), 12);
    EXPECT_EQ(jvp(by_sign, std::tuple(Array(2.0f)), std::tuple(Array(1.0f))).second.item(), 12);
    EXPECT_EQ(linearize(by_sign, Array(2.0f)).second(Array(1.0f)).item(), 12);
    const auto of_first = [](Array x) { return jnp::sum(x) > 0 ? x * x : -x; };
    EXPECT_EQ(jacfwd(of_first)(jnp::array({1.0f, 2.0f})).to_vector(), (std::vector<double>{2, 0, 0, 4}));
    EXPECT_EQ(jacrev(of_first)(jnp::array({1.0f, 2.0f})).to_vector(), (std::vector<double>{2, 0, 0, 4}));
    EXPECT_EQ(hessian(by_sign)(Array(3.0f)).item(), 18);
}

TEST(KnownValues, ALoopStopsWhereItsValuesSaySo) {
    int steps = 0;
    const auto newton = [&](Array a) {
        Array x = a;
        while (jnp::abs(x * x - a) > 1e-3f) x = 0.5f * (x + a / x), ++steps;
        return x;
    };
    const Array slope = grad(newton)(Array(2.0f));
    EXPECT_NEAR(slope.item(), 0.5 / std::sqrt(2.0), 1e-3);
    EXPECT_EQ(steps, 3);
    const auto power = [](Array x, Array n) {
        Array y = Array(1.0f);
        for (int i = 0; i < n.item<int>(); ++i) y = y * x;
        return y;
    };
    EXPECT_EQ(grad(power)(Array(3.0f), Array(4)).item(), 108);
}

TEST(KnownValues, WhatIsMappedIsntKnownAndTheRestIs) {
    const auto f = [](Array x, Array y) { return y > 0 ? x : -x; };
    EXPECT_EQ(vmap(f, {.in_axes = {0, none}})(jnp::ones(3), Array(-2.0f)).to_vector(), (std::vector<double>{-1, -1, -1}));
    EXPECT_NE(why_not([&] { vmap(f)(jnp::ones(3), jnp::ones(3)); }).find("Attempted boolean conversion of traced array with shape bool[]."),
              std::string::npos);
    const Array w = jnp::ones(3);
    EXPECT_EQ(vmap([&](Array x) { return jnp::sum(w) > 0 ? x : -x; })(w).to_vector(), (std::vector<double>{1, 1, 1}));
    EXPECT_NE(why_not([&] { vmap(grad(by_sign))(w); }).find("Attempted boolean conversion"), std::string::npos);
    // A place among mapped ones is no value.
    const auto placed = [](Array x) { return lax::axis_index("i") > 0 ? x : -x; };
    EXPECT_NE(why_not([&] { vmap(placed, {.axis_name = "i"})(w); }).find("Attempted boolean conversion"), std::string::npos);
}

TEST(KnownValues, UnderJitNothingIs) {
    for (const std::string& text :
         {why_not([] { jit(grad(by_sign))(Array(1.0f)); }), why_not([] { grad(jit(by_sign))(Array(1.0f)); }),
          why_not([] { grad(checkpoint(by_sign))(Array(1.0f)); }), why_not([] { make_jaxpr(grad(by_sign))(Array(1.0f)); }),
          why_not([] { jit([](Array x) { return jnp::sum(jnp::ones(3)) > 0 ? x : -x; })(Array(1.0f)); })})
        EXPECT_NE(text.find("Attempted boolean conversion of traced array with shape bool[]."), std::string::npos) << text;
}

TEST(KnownValues, AnAnswerIsForOneCall) {
    const auto slope = grad(by_sign);
    for (const float x : {2.0f, -2.0f, 3.0f, -3.0f}) EXPECT_EQ(slope(Array(x)).item(), x > 0 ? 3 * x * x : -1);
    // custom rules: the function is run for its value, its rule for the derivative
    const auto rule = [](std::tuple<Array> p, std::tuple<Array> t) {
        return std::pair(std::get<0>(p) * std::get<0>(p), std::get<0>(t) * 7.0f);
    };
    const auto f = custom_jvp([](Array x) { return x > 0 ? x * x : x; }).defjvp(rule);
    for (const float x : {2.0f, -2.0f}) EXPECT_EQ(grad([&](Array a) { return f(a); })(Array(x)).item(), 7);
}

TEST(KnownValues, RulesBranchOnThePrimals) {
    const auto twice = [](Array x) { return x * 2.0f; };
    const auto forward = custom_jvp(twice).defjvp([&](std::tuple<Array> p, std::tuple<Array> t) {
        const Array x = std::get<0>(p), dx = std::get<0>(t);
        return std::pair(twice(x), x > 0 ? dx * 3.0f : dx * 5.0f);
    });
    const auto reverse = custom_vjp(twice).defvjp([&](Array x) { return std::pair(twice(x), x > 0 ? Array(3.0f) : Array(5.0f)); },
                                                  [](Array r, Array ct) { return std::tuple(r * ct); });
    for (const float x : {2.0f, -2.0f}) {
        EXPECT_EQ(grad(forward)(Array(x)).item(), x > 0 ? 3 : 5);
        EXPECT_EQ(jvp(forward, std::tuple(Array(x)), std::tuple(Array(1.0f))).second.item(), x > 0 ? 3 : 5);
        EXPECT_EQ(grad(reverse)(Array(x)).item(), x > 0 ? 3 : 5);
    }
    EXPECT_NE(why_not([&] { jit(grad(reverse))(Array(2.0f)); }).find("Attempted boolean conversion"), std::string::npos);
    EXPECT_EQ(jit(reverse)(Array(2.0f)).item(), 4) << "nobody asks for the rule";
}

TEST(KnownValues, BoundsOfLoopsAreThoseThatAreKnown) {
    const auto power = [](Array x, Array n) {
        return lax::fori_loop(
            0, n, [&](Array, Array c) { return c * x; }, Array(1.0f));
    };
    EXPECT_EQ(grad(power)(Array(2.0f), Array(3)).item(), 12);
    EXPECT_NE(error_of([&] { jit(grad(power))(Array(2.0f), Array(3)); }).find("fori_loop"), std::string::npos);
}

TEST(KnownValues, WhatHasEffectsIsRunOnce) {
    int calls = 0;
    const auto f = [&](Array x) {
        const auto counted = [&](Array a) { return ++calls, a; };
        const Array y = io_callback(counted, ShapeDtypeStruct({}, dtype::float32))(lax::stop_gradient(x));
        return y > 0 ? x : -x;
    };
    EXPECT_NE(error_of([&] { grad(f)(Array(1.0f)); }).find("Attempted boolean conversion"), std::string::npos);
    EXPECT_EQ(calls, 0);
}
