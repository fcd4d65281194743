// SPDX-License-Identifier: Apache-2.0
// A function that holds nothing is traced once, whoever jits it; what is put on a device is an equation; warnings of numbers that are cut
// off.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <map>

#include "trace/error_of.h"

namespace {

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
using Map = std::map<std::string, Array>;

TEST(SharedTraces, AMappedAxisWithoutANameIsNoOtherContext) {
    int traces = 0;
    const auto f = jax::jit([&](Array x) { return ++traces, x * 2.; });
    f(jnp::ones({}));
    jax::vmap(f)(jnp::ones({2}));
    jax::vmap([&](Array row) { return jax::vmap(f)(row); })(jnp::ones({2, 2}));
    EXPECT_EQ(traces, 1);
    int others = 0;
    const auto remat = jax::checkpoint([&](Array x) { return ++others, x * 2.; });
    remat(jnp::ones({}));
    jax::vmap(remat)(jnp::ones({2}));
    EXPECT_EQ(others, 1);
    jax::vmap(f, {.axis_name = "i"})(jnp::ones({2}));
    EXPECT_EQ(traces, 2);
}

TEST(SharedTraces, WhoeverJitsIt) {
    static int traces = 0;
    const auto f = [](Array x) { return ++traces, jnp::sin(x) * 2; };
    jax::jit(f)(1.), jax::jit(f)(2.);
    jax::jit(f, {.keep_unused = true})(3.);
    Array given(jnp::ones({}) * 4);
    jax::jit(f, {.donate_argnums = 0})(jnp::asarray(given, jnp::float32));
    EXPECT_EQ(traces, 2);  // a Python number is weak
    jax::jit(f, {.name = "f"})(1.);
    EXPECT_EQ(traces, 3);
    const auto jitted = jax::jit(f);
    jitted.clear_cache();
    jitted(1.);
    EXPECT_EQ(traces, 4);
    int calls = 0;
    const auto counts = [&](Array x) { return ++calls, x * 2; };  // holds something: nobody knows whether it is the same
    jax::jit(counts)(1.), jax::jit(counts)(1.);
    EXPECT_EQ(calls, 2);
}
TEST(SharedTraces, CallsOfOneProgramAreCallsOfOneJaxpr) {
    const auto f = [](Array x) { return jnp::sin(x) * 2; };
    EXPECT_EQ(jax::make_jaxpr([=](Array x) { return jax::jit(f, {.name = "f"})(jax::jit(f, {.name = "f"})(x)); })(1.).str(),
              R"(let f = { lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = mul b 2.0:f32[]
  in (c,) } in
{ lambda ; d:f32[]. let
    e:f32[] = jit[name=f jaxpr=f] d
    g:f32[] = jit[name=f jaxpr=f] e
  in (g,) })");
    // Another value of a static argument is another trace.
    const auto scaled = [](Array x, int by) { return x * by; };
    EXPECT_EQ(jax::jit(scaled, {.static_argnums = 1})(2., 3).item(), 6);
    EXPECT_EQ(jax::jit(scaled, {.static_argnums = 1})(2., 4).item(), 8);
}
TEST(SharedTraces, TextBetweenQuotesIsAnArgumentThatIsKept) {
    const auto f = jax::jit([](Array x, std::string how) { return how == "a" ? x : x * 2; }, {.static_argnums = 1});
    EXPECT_EQ(f.lower(1., "a").as_text(), "{ lambda ; a:f32[]. let  in (a,) }");
    EXPECT_EQ(f.trace(1., "b").jaxpr().str(), "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }");
    EXPECT_EQ(f.eval_shape(jnp::ones(2), "a").shape().str(), "(2,)");
    EXPECT_EQ(jax::filter_jit([](Array x, std::string) { return x; }).lower(jnp::asarray(1.), "a").as_text(),
              "{ lambda ; a:f32[]. let  in (a,) }");
    EXPECT_EQ(jax::checkpoint([](Array x, int k) { return x * k; }, {.static_argnums = 1})(2., 3).item(), 6);
}
TEST(Devices, WhatIsPutThereIsAnEquation) {
    const std::string one = jax::make_jaxpr([](Array x) { return jax::device_put(x, {.donate = true}); })(1.).str();
    EXPECT_NE(one.find("copy_semantics=(ArrayCopySemantics.DONATE_INPUT,)"), std::string::npos) << one;
    const std::string two = jax::make_jaxpr([](Array x) {
                                return jax::device_put(Map{{"a", x}, {"b", x}}, {.may_alias = false});
                            })(1.)
                                .str();
    EXPECT_NE(two.find("copy_semantics=(ArrayCopySemantics.ALWAYS_COPY, ArrayCopySemantics.ALWAYS_COPY)"), std::string::npos) << two;
    EXPECT_EQ(jax::grad([](Array x) { return jax::device_put(x) * 3; })(1.).item(), 3);
    const Map put = jax::block_until_ready(jax::device_put(Map{{"a", jnp::ones(2)}}));
    EXPECT_EQ(put.at("a").str(), "[1. 1.]");
}
TEST(Warnings, OfNumbersThatAreCutOffAreToldOnceForEachPlace) {
    const Array whole(std::vector<int>{1, 2}, {2});
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) whole.at(0).set(1.5);
    whole.at(0).add(2);
    jnp::ones(2).at(0).set(1);
    EXPECT_EQ(jnp::ones(2).astype(jnp::complex64).astype(jnp::float32).str(), "[1. 1.]");
    EXPECT_EQ(jnp::ones(2).astype(jnp::complex64).astype(jnp::bool_).str(), "[ True  True]");
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
    EXPECT_NE(
        told.find("FutureWarning: scatter inputs have incompatible types: cannot safely cast value from dtype=float32 to dtype=int32"),
        std::string::npos);
    EXPECT_NE(told.find("DeprecationWarning: Casting from complex to real dtypes"), std::string::npos);
}
TEST(Filters, WithoutArraysNothingIsMapped) {
    const auto f = [](int n) { return jnp::asarray(n); };
    EXPECT_EQ(jax::filter_vmap(f, {.out_axes = jax::none})(3).item(), 3);
    EXPECT_EQ(error_of([&] { jax::filter_vmap(f)(3); }),
              "Cannot resolve batch dimension. Non-`None` `out_axes` requires either `in_axes` or `axis_size` to be not `None`.");
}
TEST(Trees, NoneAndEmptyOnesAreOneNode) {
    for (const bool leaf :
         {jax::treedef_is_leaf(jax::tree_structure(Array())), jax::treedef_is_leaf(jax::tree_structure(std::vector<Array>{})),
          jax::treedef_is_leaf(jax::tree_structure(Array(1.)))})
        EXPECT_TRUE(leaf);
    EXPECT_FALSE(jax::treedef_is_leaf(jax::tree_structure(std::vector<Array>{Array(1.)})));
}
TEST(Tracers, AreNotAskedWhetherTheyWereDeleted) {
    EXPECT_NE(error_of([] { jax::jit([](Array x) { return x.is_deleted() ? x : x * 2; })(1.); }).find("traced array with shape float32[]"),
              std::string::npos);
}

}  // namespace
