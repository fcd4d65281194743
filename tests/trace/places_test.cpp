// What a function of ours records stands in the line of the user who called it, never in one of our files.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <filesystem>

#include "io/load_program.h"

namespace {

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
namespace la = jnp::linalg;
namespace nn = jax::nn;
namespace jr = jax::random;
using jax::Array;

/// Files are named as they were when they were compiled: seen from the sources here.
TEST(Places, CapturesHoldTheTextOfFilesThatAreThere) {
    const std::string path = JAXSCOPE_BINARY_DIR "/places_test.jaxscope";
    const auto files = [&](const std::string& from, const jaxscope::SaveOptions& options) {
        const std::filesystem::path before = std::filesystem::current_path();
        std::filesystem::current_path(from);
        jaxscope::capture(jax::grad([](Array x) { return jnp::sin(x); }), Array(1.)).save(path, options);
        std::filesystem::current_path(before);
        return jaxscope::load_program(path)->files;
    };
    const auto held = files(JAXSCOPE_SOURCE_DIR, {});
    ASSERT_EQ(held.size(), 1u);
    EXPECT_EQ(held[0].path, "tests/trace/places_test.cpp");
    ASSERT_TRUE(held[0].text);
    EXPECT_TRUE(held[0].text->starts_with("// What a function of ours records"));
    EXPECT_TRUE(held[0].text->ends_with("}  // namespace\n"));
    EXPECT_FALSE(files(JAXSCOPE_SOURCE_DIR, {.source = false})[0].text);
    EXPECT_FALSE(files("/", {})[0].text);
}

#define IN_THIS_FILE(...)                                                                                                       \
    {                                                                                                                           \
        const auto f = []([[maybe_unused]] Array x, [[maybe_unused]] Array k) { return __VA_ARGS__; };                          \
        const std::string text = jax::make_jaxpr(f)(jnp::ones({3, 3}), jr::key(0)).str_with_sources();                          \
        EXPECT_EQ(text.find("core/trace"), std::string::npos) << #__VA_ARGS__ << "\n" << text;                                  \
        EXPECT_EQ(text.find("include/jaxscope"), std::string::npos) << #__VA_ARGS__ << "\n" << text;                            \
        EXPECT_NE(text.find("places_test.cpp:" + std::to_string(__LINE__)), std::string::npos) << #__VA_ARGS__ << "\n" << text; \
    }

TEST(Places, OfFunctions){
    IN_THIS_FILE(nn::relu(x)) IN_THIS_FILE(nn::gelu(x)) IN_THIS_FILE(nn::softmax(x)) IN_THIS_FILE(nn::mish(x))
        IN_THIS_FILE(nn::glu(jnp::ones({4}) * x.sum())) IN_THIS_FILE(jnp::logaddexp(x, x)) IN_THIS_FILE(jnp::quantile(x, 0.3))
            IN_THIS_FILE(jnp::searchsorted(x[0], x[1])) IN_THIS_FILE(jnp::einsum("ij,jk->ik", x, x)) IN_THIS_FILE(la::inv(x))
                IN_THIS_FILE(la::solve(x, x)) IN_THIS_FILE(la::det(x)) IN_THIS_FILE(la::qr(x).Q) IN_THIS_FILE(la::slogdet(x).sign)
                    IN_THIS_FILE(la::matrix_power(x, 3)) IN_THIS_FILE(jr::normal(k, 3)) IN_THIS_FILE(jr::choice(k, x[0], 2, false))
                        IN_THIS_FILE(jr::gamma(k, 2.))} TEST(Places, OfSubscripts){
    IN_THIS_FILE(x[0]) IN_THIS_FILE(x[{jax::all, 1}]) IN_THIS_FILE(x[{jax::slice(1, 2)}])
        IN_THIS_FILE(x.at({1}).set(2.))} TEST(Places, OfLoopsAndTransformations) {
    IN_THIS_FILE(lax::fori_loop(
        0, 3, [](Array, Array c) { return c * 2; }, x))
    IN_THIS_FILE(lax::fori_loop(
        x.astype(jnp::int32)[0][0], 3, [](Array, Array c) { return c * 2; }, x))
    IN_THIS_FILE(lax::associative_scan([](Array a, Array b) { return a + b; }, x))
    IN_THIS_FILE(jax::jit([](Array z) { return z * 2; })(x))
    IN_THIS_FILE(jax::filter_jit([](Array z) { return z * 2; })(x))
    IN_THIS_FILE(jax::custom_jvp([](Array z) { return z * 2; }).defjvps([](Array d, Array, Array) { return d * 2; })(x))
    IN_THIS_FILE(jax::jacrev([](Array z) { return jnp::sin(z); })(x))
}

}  // namespace
