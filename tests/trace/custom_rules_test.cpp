// Rules of custom_jvp and custom_vjp live as long as they are asked for, and go into captures.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <cmath>

#include "io/load_program.h"
#include "trace/error_of.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

const auto doubled = jax::custom_jvp([](Array t) { return jnp::sin(t); }, {.name = "doubled"})
                         .defjvp([](Array t, Array d) { return std::pair(jnp::sin(t), 2. * jnp::cos(t) * d); }, {.name = "doubled_jvp"});

}  // namespace

TEST(CustomRules, AFunctionMadeInsideOfTheDifferentiatedOne) {
    const float factor = 3;
    const auto f = [&](Array x) {
        const Array scale = x * 0. + factor;  // what the rule closes over belongs to this trace
        const auto g = jax::custom_jvp([](Array t) { return t * t; }).defjvp([&](Array t, Array d) { return std::pair(t * t, scale * d); });
        return g(x);
    };
    EXPECT_FLOAT_EQ(jax::grad(f)(Array(5.)).item<float>(), 3.F);
    EXPECT_FLOAT_EQ(jax::grad(jax::jit(f))(Array(5.)).item<float>(), 3.F);
}

TEST(CustomRules, OutsideOfDerivativesTheFunctionRuns) {
    EXPECT_FLOAT_EQ(doubled(Array(1.)).item<float>(), std::sin(1.F));
    EXPECT_FLOAT_EQ(jax::jit([](Array x) { return doubled(x); })(Array(1.)).item<float>(), std::sin(1.F));
}

TEST(CustomRules, OfReverseModeAloneRefuseForwardModeInWordsOfJax) {
    const auto f = jax::custom_vjp([](Array a) { return a * 2.; })
                       .defvjp(
                           [](Array a) {
                               return std::pair{a * 2., a};
                           },
                           [](Array r, Array g) { return std::tuple(g * r); });
    const auto forward = [&](Array a) { return jax::jvp(f, std::tuple(a), std::tuple(a)); };
    const std::string sentence = "can't apply forward-mode autodiff (jvp) to a custom_vjp function.";
    EXPECT_EQ(error_of([&] { forward(Array(1.)); }), sentence);
    EXPECT_EQ(error_of([&] { jax::jit(forward)(Array(1.)); }), sentence);
    EXPECT_EQ(error_of([&] { jax::jacfwd(f)(Array(1.)); }), sentence);
    EXPECT_EQ(error_of([&] { jax::vmap(forward)(jnp::ones(2)); }), sentence);
    EXPECT_NE(jax::make_jaxpr(forward)(Array(1.)).str().find("custom_lin"), std::string::npos);
}

TEST(CustomRules, ACaptureHasThem) {
    const std::string path = JAXSCOPE_BINARY_DIR "/custom_rules_test.jaxscope";
    jaxscope::capture([](Array x) { return doubled(x) + jax::nn::relu(x); }, Array(1.)).save(path);
    const jaxscope::ProgramPtr p = jaxscope::load_program(path);
    ASSERT_TRUE(p->rules);
    EXPECT_EQ(p->rules->rules.size(), 2u);
    EXPECT_EQ(jaxscope::grad(p->jaxpr, {true})->out_avals().size(), 1u);
}

TEST(CustomRules, OneThatStandsForFewerTangentsDoesSoInACapture) {
    const std::string path = JAXSCOPE_BINARY_DIR "/custom_rules_test.jaxscope";
    using Lists = std::vector<Array>;
    const auto product = [](const Lists& a, const Lists& b) { return a[0] * a[1] * b[0] * b[1]; };
    const auto f = jax::filter_custom_jvp(product).def_jvp([&](auto primals, auto tangents) {
        const auto& [a, b] = primals;
        const auto& [da, db] = tangents;
        return std::pair(product(a, b), da[0].has_value() ? da[0] + 2. * da[1] : Array());
    });
    jaxscope::capture(f, Lists{1., 2.}, Lists{3., 4.}).save(path);
    const jaxscope::ProgramPtr p = jaxscope::load_program(path);
    // Of the first list one array alone moves, for which there is no rule of its own: the other one's tangent is zero.
    EXPECT_EQ(jaxscope::grad(p->jaxpr, {false, true, false, false})->out_avals().size(), 1u);
}

TEST(CustomRules, SymbolicZerosAreRefusedNotIgnored) {
    const auto g = jax::custom_jvp([](Array t) {
                       return jnp::sin(t);
                   }).defjvp([](Array t, Array d) { return std::pair(jnp::sin(t), d); }, {.symbolic_zeros = true});
    EXPECT_THROW(g(Array(1.)), std::exception);
}
