// Whichever operand the compiler evaluates first: a jaxpr has the equations in the order in which Python would have made them.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <regex>

namespace {

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

/// The primitives of a function of two arrays, in order.
template <class F>
std::string primitives(const F& f) {
    const std::string text = jax::make_jaxpr(f)(jnp::ones({3}), jnp::ones({3})).str();
    static const std::regex equation(R"(= (\w+))");
    std::string out;
    for (std::sregex_iterator at(text.begin(), text.end(), equation), end; at != end; ++at)
        out += (out.empty() ? "" : " ") + (*at)[1].str();
    return out;
}

TEST(EvaluationOrder, OperandsOfOneOperator) {
    EXPECT_EQ(primitives([](Array x, Array y) { return jnp::sin(x) * jnp::cos(y); }), "sin cos mul");
    EXPECT_EQ(primitives([](Array x, Array y) { return jnp::exp(jnp::sin(x)) - jnp::tanh(jnp::cos(y)); }), "sin exp cos tanh sub");
}

TEST(EvaluationOrder, NestedOnesAndMoreThanTwo) {
    EXPECT_EQ(primitives([](Array x, Array y) { return (jnp::sin(x) + jnp::cos(y)) * (jnp::exp(x) - jnp::log(y)); }),
              "sin cos add exp log sub mul");
    EXPECT_EQ(primitives([](Array x, Array y) { return jnp::where(x > y, jnp::sin(x), jnp::cos(y)); }), "gt sin cos jit select_n");
}

TEST(EvaluationOrder, FunctionsOfSeveralEquations) {
    EXPECT_EQ(primitives([](Array x, Array y) { return jnp::mean(jnp::sin(x)) + jnp::mean(jnp::cos(y)); }),
              "sin reduce_sum div cos reduce_sum div add");
}

TEST(EvaluationOrder, NamedValuesStayWhereTheyWereMade) {
    EXPECT_EQ(primitives([](Array x, Array y) {
                  Array late = jnp::cos(y);
                  Array early = jnp::sin(x);
                  return early * late;
              }),
              "cos sin mul");
    EXPECT_EQ(primitives([](Array x, Array y) {
                  Array named = jnp::cos(y);
                  return jnp::sin(x) * named;
              }),
              "cos sin mul");
}

// clang-format off
TEST(EvaluationOrder, StatementsOfOneLine) {
    EXPECT_EQ(primitives([](Array x, Array) { Array y = jnp::exp(x); return jnp::sin(y) + jnp::cos(y); }), "exp sin cos add");
    EXPECT_EQ(primitives([](Array x, Array) { Array y = jnp::exp(x); return jnp::sin(y) + jnp::cos(jnp::tan(x) * y); }), "exp sin tan mul cos add");
    EXPECT_EQ(primitives([](Array x, Array) { const Array y = jnp::exp(x), z = y * y; return jnp::sin(z) * y - jnp::cos(y) * z; }), "exp mul sin mul cos mul sub");
    EXPECT_EQ(primitives([](Array x, Array) { Array y = jnp::exp(x); for (int i = 0; i < 2; ++i) y = jnp::sin(y) * jnp::cos(y); return y; }), "exp sin cos mul sin cos mul");
}
// clang-format on

TEST(EvaluationOrder, ConstantsComeInTheOrderInWhichTheyAreRead) {
    const Array a(std::vector<float>{1, 2, 3}, {3}), b(std::vector<float>{4, 5, 6}, {3});
    const std::string text = jax::make_jaxpr([&](Array x) { return jnp::sin(x + a) * jnp::cos(x + b); })(jnp::ones({3})).str();
    EXPECT_EQ(text, R"({ lambda a:f32[3] b:f32[3]; c:f32[3]. let
    d:f32[3] = add c a
    e:f32[3] = sin d
    f:f32[3] = add c b
    g:f32[3] = cos f
    h:f32[3] = mul e g
  in (h,) })");
}

TEST(EvaluationOrder, WhatAnOperandChangesForAnotherStays) {
    Array kept;
    const auto first = [&](const Array& x) { return kept = jnp::sin(x); };
    const auto second = [&](const Array& x) { return kept.has_value() ? jnp::cos(kept) : jnp::cos(x); };
    const std::string order = primitives([&](Array x, Array) {
        kept = Array();
        return second(x) * first(x);
    });
    EXPECT_TRUE(order == "cos sin mul" || order == "sin cos mul") << order;
    EXPECT_EQ(primitives([](Array x, Array y) { return jax::jit([](Array v) { return jnp::sin(v); })(x) * jnp::cos(y); }),
              "jit sin cos mul");
}

}  // namespace
