// Behaviours E: saved_residuals and its strings.
#include "trace/behaviours.h"

#include <complex>
#include <map>

namespace {
struct Point {
    Array u, v;
    JAXSCOPE_PYTREE(Point, u, v)
};
}  // namespace

TEST(Behaviours, E_01_ArgumentsWithTheirPaths) {
    const auto f = [](std::map<std::string, std::vector<Array>> p, Point x) { return jnp::sin(p.at("w")[0] * x.u) * x.v; };
    EXPECT_EQ(printed(f, {"p", "x"}, std::map<std::string, std::vector<Array>>{{"w", {Array(2.)}}}, Point{Array(3.), jnp::ones(2)}),
              (Lines{"f32[] from the argument p['w'][0]", "f32[] from the argument x.u", "f32[2] from the argument x.v",
                     "f32[] output of cos", "f32[] output of convert_element_type"}));
}
TEST(Behaviours, E_02_ArgumentsWithoutNamesAndByKeyword) {
    const auto f = [](Array a, Array b, Array c, Array k, Array z) { return a * b * c * k * z; };
    EXPECT_EQ(saved(f, 1., 2., 3., jax::kw("k", 4.), jax::kw("q", 5.)),
              (Lines{"from the argument x", "from the argument y", "from the argument z", "from the argument k", "from the argument q",
                     "output of mul", "output of mul", "output of mul"}));
    Lines plain;
    for (const auto& r : jax::saved_residuals(f, 1., 2., 3., 4., 5.)) plain.push_back(without_place(r.source));
    EXPECT_EQ(plain[1], "from the argument args[1]");
}
TEST(Behaviours, E_04_NamedValuesAndThePlaceOfTheName) {
    const auto f = [](Array x) { return jnp::sin(jax::checkpoint_name(jnp::cos(x), "h")); };
    const int line = __LINE__ - 1;
    const auto rows =
        jax::saved_residuals(jax::checkpoint(f, under(policies::save_only_these_names({"h"}))), {.arg_names = {"x"}}, jnp::ones(2));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].source, "from the argument x");
    EXPECT_EQ(rows[1].aval, "f32[2]");
    EXPECT_EQ(rows[1].source.rfind("named 'h' from ", 0), 0u) << rows[1].source;
    EXPECT_NE(rows[1].source.find("behaviours_residuals_test.cpp:" + std::to_string(line)), std::string::npos) << rows[1].source;
}
TEST(Behaviours, E_05_ANameWithoutAPolicy) {
    const auto f = [](Array x) { return jax::checkpoint_name(jnp::exp(x), "e"); };
    EXPECT_EQ(saved(f, 1.), Lines{"output of exp"});
    const auto g = [&](Array x) {
        Array a = f(x), b = f(x);
        return a * b;
    };
    EXPECT_EQ(saved(g, 1.), (Lines{"output of exp", "named 'e'", "output of exp", "named 'e'"}));
}
TEST(Behaviours, E_07_ConstantsAndLiterals) {
    const Array c = jnp::array({3., 4.}), k = jnp::ones({}) * jnp::ones({});
    EXPECT_EQ(printed([&](Array x) { return x * c * k * 5.; }, {"x"}, jnp::ones(2)),
              (Lines{"f32[] from a literal", "f32[2] from a constant", "f32[] from a constant"}));
    // One row for each number; numbers in functions that JAX jits, and those that gradients don't need, aren't seen.
    EXPECT_EQ(printed([](Array x) { return x * 2. * 2. / 4; }, {"x"}, jnp::ones(2)), Lines(3, "f32[] from a literal"));
    EXPECT_EQ(printed([](Array x) { return 2. + x - 1. + x.mean() + jnp::where(x > 0.5, x, 3.).mean() * 0; }, {"x"}, jnp::ones(2)).front(),
              "f32[] from a literal");
    EXPECT_EQ(printed([](Array x) { return (x.astype(jnp::bfloat16) * 2.).mean(); }, {"x"}, jnp::ones(2)), Lines{"bf16[] from a literal"});
    EXPECT_EQ(printed([](Array x) { return 3 / x; }, {"x"}, jnp::ones(2)), (Lines{"f32[] from a literal", "f32[2] output of integer_pow"}));
    EXPECT_EQ(printed([](Array x) { return jax::jit([](Array y) { return y * 2.; })(x); }, {"x"}, jnp::ones(2)), Lines{});
    // A number of the weak array's own kind isn't converted; one that the function closes over is a number, too.
    EXPECT_EQ(printed([](Array x) { return x * 2. / 3.; }, {"x"}, 1.), Lines{});
    EXPECT_EQ(printed([](Array x) { return x * 2; }, {"x"}, 1.), Lines{"f32[] from a literal"});
    const Array two(2.);
    EXPECT_EQ(printed([&](Array x) { return x * two; }, {"x"}, 1.), Lines{});
    EXPECT_EQ(printed([&](Array x) { return x * two; }, {"x"}, jnp::ones(2)), Lines{"f32[] from a literal"});
}
TEST(Behaviours, E_07_NumbersThatRulesMake) {
    // The tangent of a padding's number is a zero of the rule's own; a logarithm's factor is no number of the user's.
    EXPECT_EQ(printed(
                  [](Array x) {
                      return lax::pad(jnp::sin(x), 0.f, {{1, 1, 0}}).sum();
                  },
                  {"x"}, jnp::ones(3)),
              (Lines{"f32[] from a literal", "f32[3] output of cos"}));
    EXPECT_EQ(printed([](Array x) { return jnp::prod(x); }, {"x"}, jnp::ones(3)),
              (Lines{"f32[] from a literal", "f32[2] output of slice", "f32[2] output of pad", "f32[1] output of slice",
                     "f32[1] output of slice"}));
    const Lines scanned =
        printed([](Array x) { return lax::associative_scan([](Array a, Array b) { return a * b; }, x).sum(); }, {"x"}, jnp::ones(3));
    EXPECT_EQ(std::count(scanned.begin(), scanned.end(), "f32[] from a literal"), 2);
    EXPECT_EQ(printed([](Array x) { return jnp::log10(x); }, {"x"}, jnp::ones(3)), Lines{"f32[3] from the argument x"});
    EXPECT_EQ(printed([](Array x) { return jnp::pad(x, 1); }, {"x"}, jnp::ones(3)), Lines{"f32[] output of jitted function '_pad'"});
}
TEST(Behaviours, E_08_OrderOfTheList) {
    const Array c = jnp::array({1., 2.});
    const auto f = [&](Array x, Array y) {
        Array a = jnp::cos(jnp::sin(x) * y);
        return a * jnp::ones(2) * c;
    };
    // An array that the program made before is a constant in C++ as in Python; ones are made in the trace.
    EXPECT_EQ(printed(f, {"x", "y"}, 1., 2.), (Lines{"f32[2] from a constant", "f32[] from the argument y", "f32[] output of sin",
                                                     "f32[] output of cos", "f32[] output of sin", "f32[2] output of broadcast_in_dim"}));
}
TEST(Behaviours, E_10_ALinearFunctionKeepsNoArray) {
    EXPECT_EQ(printed([](Array x) { return 2. * x + jnp::flip(x) - x.sum(); }, {"x"}, jnp::ones(3)), Lines{"f32[] from a literal"});
}
TEST(Behaviours, E_11_ShortTypes) {
    const auto f = [](Array x, Array b, Array c, Array i) {
        Array w = jnp::where(x > 0, jnp::sin(x), x[{i}]).sum();
        return (w * b * b).astype(jnp::float32) * c * c;
    };
    const Lines got = printed(f, {"x", "b", "c", "i"}, jnp::ones(3), Array(2.).astype(jnp::bfloat16),
                              Array(std::vector<std::complex<float>>{{1, 0}}, jax::Shape{}), jnp::array({1, 2, 0}));
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0], "c64[] from the argument c");
    for (const char* row : {"bool[3] output of gt", "f32[3] output of cos", "i32[3,1] output of broadcast_in_dim",
                            "c64[] output of convert_element_type", "c64[] output of mul"})
        EXPECT_NE(std::find(got.begin(), got.end(), row), got.end()) << row;
    const Array key = jax::random::key(0);
    const auto g = jax::checkpoint([](Array x, Array k) { return jnp::sin(x * jax::random::normal(k, 3)).sum(); });
    EXPECT_EQ(printed([&](Array x) { return g(x, key); }, {"x"}, 1.), (Lines{"key<fry>[] from a constant", "f32[] from the argument x"}));
}
TEST(Behaviours, E_13_SoftmaxCrossEntropy) {
    const auto f = [](Array l, Array y) { return -(jax::nn::log_softmax(l) * y).sum(); };
    EXPECT_EQ(printed(f, {"l", "y"}, jnp::ones({2, 5}), jnp::ones({2, 5})),
              (Lines{"f32[2,5] from the argument y", "f32[2,5] output of jitted function 'log_softmax'",
                     "f32[2,5] output of jitted function 'log_softmax'", "f32[2,1] output of jitted function 'log_softmax'"}));
}
TEST(Behaviours, E_14_ScanStacksWhatItSaves) {
    const auto f = [](Array w, Array x) {
        return lax::scan([&](Array c, lax::Nothing) { return std::pair(jnp::tanh(jnp::matmul(c, w)), lax::Nothing{}); }, x, lax::Nothing{},
                         {.length = 4})
            .first;
    };
    EXPECT_EQ(printed(f, {"w", "x"}, jnp::ones({3, 3}), jnp::ones(3)),
              (Lines{"f32[3,3] from the argument w", "f32[4,3] output of scan", "f32[4,3] output of scan", "f32[4,3] output of scan"}));
}
TEST(Behaviours, E_16_TwoBlocksInARow) {
    const auto block = [](Array w, Array x) { return jnp::sin(jnp::sin(jnp::matmul(x, w))); };
    const auto f = [&](Array w, Array x) {
        Array once = jax::checkpoint(block)(w, x);
        return jax::checkpoint(block)(w, once).sum();
    };
    EXPECT_EQ(printed(f, {"w", "x"}, jnp::ones({2, 2}), jnp::ones({3, 2})),
              (Lines{"f32[2,2] from the argument w", "f32[3,2] from the argument x", "f32[3,2] output of sin"}));
}
TEST(Behaviours, E_17_ReducePrecisionIsLookedThrough) {
    const auto g = jax::checkpoint([](Array x) { return jnp::sin(jnp::exp(x)); }, under(policies::everything_saveable));
    EXPECT_EQ(saved(g, 1.), (Lines{"output of exp", "output of cos"}));
    EXPECT_NE(jax::make_jaxpr(jax::grad(g))(1.).str().find("reduce_precision"), std::string::npos);
}
TEST(Behaviours, E_19_IntegerArgumentsDontStopTheList) {
    EXPECT_EQ(saved([](Array x, Array i) { return jnp::sin(x) * i; }, 2., 3), (Lines{"output of cos", "output of convert_element_type"}));
}
TEST(Behaviours, E_20_AnInnerBlocksValuesAreNotListed) {
    const auto inner = jax::checkpoint(twice_sin, under(policies::everything_saveable));
    const auto outer = jax::checkpoint([&](Array x) { return jnp::cos(inner(x) * 2.); });
    EXPECT_EQ(printed([&](Array x) { return outer(x) * x; }, {"x"}, 1.), (Lines{"f32[] from the argument x", "f32[] output of cos"}));
}
