// Functions with parameters that are no arrays, inside of every transformation; defaults; functions that give nothing; models under
// tree_map.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <map>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

const auto times = [](Array x, int n) { return x * n; };
float number(const Array& a) { return a.item<float>(); }

/// `f` has a static number, and gives what `expected` is for (2, 3).
template <class F>
void under_all(const F& f, float expected) {
    EXPECT_EQ(number(jax::jit(f, {.static_argnums = {1}})(2., 3)), expected);
    EXPECT_EQ(number(jax::checkpoint(f, {.static_argnums = {1}})(2., 3)), expected);
    EXPECT_EQ(number(jax::jit(jax::checkpoint(f, {.static_argnums = {1}}), {.static_argnums = {1}})(2., 3)), expected);
    EXPECT_EQ(number(jax::filter_jit(f)(Array(2.f), 3)), expected);
    EXPECT_EQ(number(jax::vmap(f, {.in_axes = {0, jax::none}})(jnp::ones(1) * 2., 3)[0]), expected);
}

TEST(Nesting, StaticNumbersGoThroughEveryTransformation) {
    under_all(times, 6);
    under_all(jax::jit(times, {.static_argnums = {1}}), 6);
    under_all(jax::filter_checkpoint(times), 6);
    under_all(jax::grad(times), 3);
    under_all(jax::jacfwd(times), 3);
    under_all(jax::grad(jax::jit(times, {.static_argnums = {1}})), 3);
    under_all(jax::grad(jax::grad(times)), 0);
    under_all(jax::custom_jvp<1>(times).defjvp(
                  [](int n, std::tuple<Array> x, std::tuple<Array> dx) { return std::pair(std::get<0>(x) * n, std::get<0>(dx) * n); }),
              6);
    under_all(jax::custom_vjp<1>(times).defvjp([](Array x, int n) { return std::pair(x * n, x); },
                                               [](int n, Array, Array ct) { return std::tuple(ct * n); }),
              6);
    const auto chosen = [](Array p, Array x, bool both) { return both ? (p * x).sum() : p.sum(); };
    EXPECT_EQ(number(jax::jit(jax::grad(chosen), {.static_argnums = {2}})(1., 2., true)), 2);
    EXPECT_EQ(number(jax::jit(jax::grad(chosen), {.static_argnums = {2}})(1., 2., false)), 1);
}

TEST(Nesting, NumbersOfParametersThatHaveDefaults) {
    const auto scaled = [](Array x, int n = 3) { return x * n; };
    EXPECT_EQ(number(jax::jit(scaled, {.static_argnums = {1}})(2.)), 6);
    EXPECT_EQ(number(jax::jit(scaled, {.static_argnums = {1}})(2., 4)), 8);
    EXPECT_EQ(error_of([&] { jax::jit(scaled, {.static_argnums = {2}}); }),
              "Jitted function has static_argnums=(2,), but only accepts 2 positional arguments.");
    EXPECT_EQ(error_of([&] { jax::jit(jax::grad(jax::checkpoint(scaled)), {.donate_argnums = {2}}); }),
              "Jitted function has donate_argnums=(2,), but only accepts 2 positional arguments.");
    // As one with *args takes any number of them.
    const auto any = [](Array x, const auto&... rest) { return (x + ... + rest); };
    const Array last = jnp::ones(2);
    EXPECT_EQ(jax::jit(any, {.donate_argnums = {2}, .static_argnums = {5}})(jnp::ones(2), 1., last).str(), "[3. 3.]");
    EXPECT_TRUE(last.is_deleted());
    EXPECT_EQ(number(jax::jit(any, {.donate_argnums = {9}})(2.)), 2);
}

TEST(Nesting, FunctionsThatGiveNothing) {
    int runs = 0;
    const auto nothing = [&](Array) { ++runs; };
    jax::jit(nothing)(1.);
    jax::checkpoint(nothing)(1.);
    jax::vmap(nothing)(jnp::ones(3));
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(jax::make_jaxpr([](Array) {})(1.).str(), "{ lambda ; a:f32[]. let  in () }");
}

using Activation = Array (*)(const Array&);
Array relu_of(const Array& x) { return jnp::maximum(x, 0.); }
struct Layer {
    Array w, b;
    int width = 2;
};
struct Network {
    std::vector<Layer> layers;
    Activation activation;
};

TEST(Nesting, ModelsAreMappedArrayByArray) {
    const Network m{{Layer{jnp::ones({2, 2}), jnp::ones(2)}, Layer{jnp::ones({2, 2}), jnp::zeros(2)}}, relu_of};
    const auto loss = [](const Network& m, const Array& x) {
        Array h = x;
        for (const Layer& l : m.layers) h = m.activation(jnp::matmul(h, l.w) + l.b);
        return h.sum();
    };
    const Network gradients = jax::filter_grad(loss)(m, jnp::ones({1, 2}));
    const Network next = jax::tree_map([](Array p, Array g) { return p - .5 * g; }, m, gradients);
    EXPECT_EQ(next.layers[1].b.str(), "[-0.5 -0.5]");
    EXPECT_EQ(next.layers[0].width, 2);
    EXPECT_EQ(next.activation, m.activation);
    Network wider = m;
    wider.layers[0].width = 3;
    EXPECT_NE(error_of([&] { jax::tree_map([](Array p, Array) { return p; }, m, wider); }), "no error");
    EXPECT_NE(jax::tree_pformat(m).find("<function "), std::string::npos) << jax::tree_pformat(m);
}

TEST(Nesting, LoweringTracesAndWarnsAtOnce) {
    int traces = 0;
    const auto first = jax::jit(
        [&](Array x) {
            ++traces;
            return x[0];
        },
        {.donate_argnums = {0}});
    testing::internal::CaptureStderr();
    const auto lowered = first.lower(jnp::ones(3));
    EXPECT_EQ(traces, 1);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("Some donated buffers were not usable: float32[3]"), std::string::npos);
    testing::internal::CaptureStderr();
    const auto compiled = lowered.compile();
    compiled(jnp::ones(3));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(traces, 1);
}

TEST(Nesting, CompiledCallsTakeNoTracers) {
    const auto square = jax::jit([](Array x) { return x * x; }).lower(1.).compile();
    const std::string refused =
        "Cannot apply JAX transformations to a function lowered and compiled for a particular signature. Detected argument of Tracer type: "
        "float32[].";
    EXPECT_EQ(error_of([&] { jax::grad(square)(1.); }), refused);
    EXPECT_EQ(error_of([&] { jax::make_jaxpr(square)(1.); }), refused);
    EXPECT_EQ(error_of([&] { jax::vmap(square)(jnp::ones(2)); }), refused);
}

TEST(Nesting, JacobiansOfWholeNumbersAreZero) {
    EXPECT_EQ(jax::jacfwd([](Array x) { return x.astype(jax::dtype::int32); })(1.).str(), "0");
    const auto both = jax::jacfwd([](Array x) { return std::pair(x * 2, x > 1.); })(jnp::ones(2));
    EXPECT_EQ(both.first.str(), "[[2. 0.]\n [0. 2.]]");
    EXPECT_EQ(both.second.str(), "[[False False]\n [False False]]");
}

TEST(Nesting, AxesByArgumentName) {
    const auto plus = [](Array x, Array y) { return x + y; };
    const auto mapped = jax::filter_vmap(plus, {.in_axes = jax::Axis::dict({{"y", jax::none}}), .arg_names = {"x", "y"}});
    EXPECT_EQ(mapped(jnp::ones(2), jnp::arange(2.)).str(), "[[1. 2.]\n [1. 2.]]");
    EXPECT_EQ(error_of([&] {
                  jax::filter_vmap(plus, {.in_axes = jax::Axis::dict({{"z", 0}}), .arg_names = {"x", "y"}})(jnp::ones(2), jnp::ones(2));
              }),
              "The following `in_axes` did not correspond to any argument: ('z',)");
    // Of one argument they may be its own.
    using Two = std::map<std::string, Array>;
    const auto sum =
        jax::filter_vmap([](const Two& t) { return t.at("a") + t.at("b"); }, {.in_axes = jax::Axis::dict({{"a", jax::none}, {"b", 0}})});
    EXPECT_EQ(sum(Two{{"a", jnp::ones(2)}, {"b", jnp::arange(2.)}}).str(), "[[1. 1.]\n [2. 2.]]");
}

TEST(Keys, AreNoNumbers) {
    const Array key = jax::random::key(0), keys = jax::random::split(key, 3);
    EXPECT_EQ(error_of([&] { jnp::sin(key); }), "Cannot convert_element_type from key<fry> to float32");
    EXPECT_EQ(error_of([&] { key.astype(jax::dtype::int32); }), "Cannot convert_element_type from key<fry> to int32");
    EXPECT_EQ(error_of([&] { jnp::ones(2).astype(jax::dtype::key_fry); }), "Cannot convert_element_type from float32 to key<fry>");
    EXPECT_EQ(error_of([&] { jnp::any(keys); }), "Cannot convert_element_type from key<fry> to bool");
    EXPECT_EQ(error_of([&] { jnp::dot(keys, keys); }), "dot_general does not accept dtype key<fry> at position 0.");
    EXPECT_EQ(error_of([&] { jnp::sort(keys); }), "sort does not accept dtype key<fry>.");
    EXPECT_EQ(error_of([&] { jnp::argmax(keys); }), "argmax does not accept dtype key<fry>.");
    EXPECT_EQ(error_of([&] { static_cast<void>(static_cast<bool>(key)); }), "key array cannot be converted to boolean.");
    EXPECT_NE(error_of([&] { key.item(); }), "no error");
    EXPECT_NE(error_of([&] { jax::make_jaxpr([](Array k) { return jnp::exp(k); })(key); }), "no error");
    EXPECT_EQ(jnp::concatenate({keys, keys}).shape().str(), "(6,)");
}

TEST(Eager, NumbersOfOneOperationAreItsInputs) {
    const Array x = jnp::arange(3.);
    for (int i = 1; i < 40; ++i) {
        EXPECT_EQ((x * i)[1].item<float>(), static_cast<float>(i));
        EXPECT_EQ((x * i + i)[0].item<float>(), static_cast<float>(i));
        EXPECT_EQ((x * i + 1)[2].item<float>(), static_cast<float>(2 * i + 1));
        EXPECT_EQ(number(jax::grad([&](Array y) { return y * y * i; })(1.)), static_cast<float>(2 * i));
    }
    EXPECT_EQ(number(jnp::sign(Array(1e-40f))), 0.f);
}

TEST(Eager, WhatIsTooLargeIsSaidInXlasWords) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose allocators end the process
    EXPECT_EQ(error_of([] { jnp::ones({1 << 20, 1 << 22}); }).substr(0, 37), "RESOURCE_EXHAUSTED: Out of memory all");
#endif
    EXPECT_NE(error_of([] { jnp::load("/tmp"); }), "no error");
}

}  // namespace
