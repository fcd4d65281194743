// Compiled programs that are called, and what else C++ has of functions: members of classes, configurations as static arguments, names of
// types.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

TEST(Compiled, RunsForTheTypesThatItWasMadeFor) {
    const auto product = jax::jit([](Array a, Array b) { return jnp::matmul(a, b).sum(); }, {.arg_names = {"a", "b"}});
    const auto compiled = product.lower(jnp::ones({2, 2}), jnp::ones({2, 2})).compile();
    EXPECT_EQ(compiled(jnp::ones({2, 2}), jnp::ones({2, 2}) * 3).item<float>(), 24.f);
    EXPECT_EQ(compiled.memory_analysis().argument_size_in_bytes, 32);
    EXPECT_EQ(
        error_of([&] {
            compiled(jnp::ones({3, 2}), jnp::ones({2, 2}).astype(jnp::bfloat16));
        }),
        "Argument types differ from the types for which this computation was compiled. Perhaps you are calling the compiled executable "
        "with a different enable_x64 mode than when it was AOT compiled? The mismatches are:\n"
        "Argument 'a' compiled with float32[2,2] and called with float32[3,2]\n"
        "Argument 'b' compiled with float32[2,2] and called with bfloat16[2,2]");
    EXPECT_EQ(product.retraces().size(), 1u);
    const auto lists = jax::jit([](const std::vector<Array>& v) { return v[0]; }).lower(std::vector<Array>{1, 2}).compile();
    EXPECT_EQ(error_of([&] { lists(std::vector<Array>{1}); }),
              "Function compiled with input pytree does not match the input pytree it was called with. There are 1 mismatches, including:\n"
              "    * at args[0], seen list of length 2 but now given list of length 1, so the lengths do not match");
}
TEST(Compiled, TakesWhatIsDonated_B_01) {
    const auto twice = jax::jit([](Array x) { return x * 2; }, {.donate_argnums = {0}});
    const Array x = jnp::ones(3);
    EXPECT_EQ(twice.lower(x).compile()(x).str(), "[2. 2. 2.]");
    EXPECT_TRUE(x.is_deleted());
}

TEST(Compiled, SaysWhatItTakesAndGives) {
    using Map = std::map<std::string, Array>;
    const auto f = jax::jit(
        [](Array x, int, Array k) {
            return Map{{"a", x + k}};
        },
        {.donate_argnums = {0}, .static_argnums = {1}, .arg_names = {"x", "n", "k"}});
    const Array x = jnp::ones(3);
    const auto lowered = f.lower(x, 2, jax::kw("k", x));
    EXPECT_EQ(lowered.args_info().str(),  // JAX's text
              "((ArgInfo(_aval=ShapedArray(float32[3]), donated=True),), {'k': ArgInfo(_aval=ShapedArray(float32[3]), donated=False)})");
    EXPECT_EQ(lowered.in_tree().str(), "PyTreeDef(((*,), {'k': *}))");
    EXPECT_EQ(lowered.compile().out_tree().str(), "PyTreeDef({'a': *})");
    EXPECT_EQ(lowered.donate_argnums(), std::vector<int>{0});
    EXPECT_EQ(f.eval_shape(x, 2, jax::kw("k", x)).at("a").str(), "ShapeDtypeStruct(shape=(3,), dtype=float32)");
    EXPECT_EQ(f.trace(x, 2, jax::kw("k", x)).lower().out_info().at("a").str(), "ShapeDtypeStruct(shape=(3,), dtype=float32)");
    EXPECT_FALSE(x.is_deleted());
    EXPECT_EQ(f.retraces().size(), 1u);
    f.clear_cache();
    EXPECT_EQ(f(x, 2, jax::kw("k", jnp::ones(3))).at("a").str(), "[2. 2. 2.]");
    EXPECT_EQ(f.retraces().size(), 2u);
}

class Scaled {
public:
    explicit Scaled(Array by) : by_(std::move(by)) {}
    Array of(const Array& x) const { return x * by_; }
    JAXSCOPE_PYTREE(Scaled, by_)

private:
    Array by_;
};
TEST(Methods, AreFunctionsOfTheirObject_B_37) {
    const Scaled three(jnp::array({3.}));
    const Array x = jnp::ones(1);
    EXPECT_EQ(jax::jit(&Scaled::of)(three, x).str(), "[3.]");
    EXPECT_EQ(jax::filter_jit(&Scaled::of, {.donate = "all-except-first"})(three, x).str(), "[3.]");
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(jax::vmap(&Scaled::of, {.in_axes = {jax::none, 0}})(three, jnp::ones({2, 1})).str(), "[[3.]\n [3.]]");
}

enum class Act { relu, tanh };
struct Config {
    int depth;
    Act act;
    bool operator==(const Config&) const = default;
};
TEST(StaticArguments, AConfigurationIsOne_A_20) {
    int traces = 0;
    const auto f = jax::jit(
        [&](Array x, const Config& c) {
            ++traces;
            for (int i = 0; i < c.depth; ++i) x = c.act == Act::tanh ? jnp::tanh(x) : x + 1;
            return x;
        },
        {.static_argnums = {1}});
    EXPECT_EQ(f(Array(0), Config{2, Act::relu}).item<int>(), 2);
    EXPECT_EQ(f(Array(5), Config{2, Act::relu}).item<int>(), 7);
    EXPECT_EQ(f(Array(0), Config{3, Act::relu}).item<int>(), 3);
    EXPECT_EQ(traces, 2);
    EXPECT_NE(error_of([] { jax::jit([](Array x, const Config&) { return x; })(Array(0), Config{}); }).find("marked as static"),
              std::string::npos);
    EXPECT_EQ(jax::checkpoint([](Array x, const Config& c) { return x * c.depth; }, {.static_argnums = {1}})(Array(2), Config{4, Act::relu})
                  .item<int>(),
              8);
}
TEST(Arrays, ShapesAndTypesPrint) {
    std::ostringstream out;
    out << jnp::ones({2, 3}).shape() << ' ' << jnp::ones(2).dtype() << ' ' << jnp::arange(3).shape();
    EXPECT_EQ(out.str(), "(2, 3) float32 (3,)");
}

TEST(Warnings, AreToldOnceOfAFunctionThatHoldsNothing) {
    const auto first_of = [](Array a) { return a[{jax::slice(1)}]; };
    const auto told_by = [](const auto& f, int n) {
        testing::internal::CaptureStderr();
        jax::jit(f, {.donate_argnums = {0}})(jnp::ones({n}));
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_NE(told_by(first_of, 3).find("Some donated buffers were not usable: float32[3]"), std::string::npos);
    EXPECT_EQ(told_by(first_of, 3), "");
    EXPECT_NE(told_by(first_of, 4).find("float32[4]"), std::string::npos);
    // One that holds something is another function each time.
    for (const int k : {1, 1}) EXPECT_NE(told_by([k](Array a) { return a[{jax::slice(k)}]; }, 5), "");
}

TEST(Warnings, TellOfLargeArraysThatAreClosedOver) {
    const Array table = jnp::ones({500, 1000});
    const auto told = [&](const char* limit, const char* frames) {
        setenv("JAX_CAPTURED_CONSTANTS_WARN_BYTES", limit, 1);
        setenv("JAX_CAPTURED_CONSTANTS_REPORT_FRAMES", frames, 1);
        testing::internal::CaptureStderr();
        jax::jit([&](Array a) { return a + table; })(1.);
        unsetenv("JAX_CAPTURED_CONSTANTS_WARN_BYTES");
        unsetenv("JAX_CAPTURED_CONSTANTS_REPORT_FRAMES");
        return testing::internal::GetCapturedStderr();
    };
    const std::string text =
        "UserWarning: A large amount of constants were captured during lowering (2.00MB total). If this is intentional, disable this "
        "warning by setting JAX_CAPTURED_CONSTANTS_WARN_BYTES=-1. ";
    EXPECT_EQ(told("2000000", ""),
              text + "To obtain a report of where these constants were encountered, set JAX_CAPTURED_CONSTANTS_REPORT_FRAMES=-1.\n");
    EXPECT_EQ(told("2000001", ""), "");
    EXPECT_EQ(told("-1", ""), "");
    EXPECT_EQ(told("", ""), "");  // JAX's own limit is 2 GB
    const std::string report = told("1000", "-1");
    EXPECT_NE(report.find("Largest 1 allocation(s):\n  Constant float32[500,1000], 2.00MB captured at:\n"), std::string::npos) << report;
    EXPECT_NE(report.find("compiled_test.cpp:"), std::string::npos) << report;
}

TEST(Arguments, PairsAndTuplesOfNumbersAreTreesOfThem) {
    int traces = 0;
    const auto f = jax::jit([&](std::pair<Array, Array> p) { return ++traces, p.first * p.second; });
    EXPECT_EQ(f(std::pair{2., 3.}).item(), 6.);
    EXPECT_EQ(f(std::pair{4., 5.}).item(), 20.);
    EXPECT_EQ(f(std::pair{2, 3}).item<int>(), 6);
    EXPECT_EQ(traces, 2);
    const auto [a, b] = jax::grad([](std::pair<Array, Array> p) { return p.first * p.second; })(std::pair{2., 3.});
    EXPECT_EQ(a.item(), 3.);
    EXPECT_EQ(b.item(), 2.);
    // Where numbers are asked for they stay what they are.
    const auto sized = jax::jit([](Array x, std::pair<int, int> n) { return x * (n.first + n.second); }, {.static_argnums = {1}});
    EXPECT_EQ(sized(2., std::pair{3, 4}).item(), 14.);
    const auto any = jax::jit([](Array x, auto n) { return x.reshape({n.first.template item<int>(), 2}); }, {.static_argnums = {1}});
    EXPECT_EQ(any(jnp::ones({6}), std::pair{3, 4}).shape().str(), "(3, 2)");
}

TEST(Trees, OtherOnesMayHaveNoneWhereTheFirstHasAnArray) {
    const Array x = jnp::ones({2});
    const std::vector<Array> params{x, x}, updates{x, Array()};
    const auto stepped = jax::tree_map([](Array p, Array u) { return u.has_value() ? p - u : p; }, params, updates);
    EXPECT_EQ(stepped[0].str() + stepped[1].str(), "[0. 0.][1. 1.]");
    const auto of_updates = jax::tree_map([](Array u) { return u * 2; }, updates);
    EXPECT_FALSE(of_updates[1].has_value());
    EXPECT_NE(error_of([&] { jax::tree_map([](Array u, Array) { return u; }, updates, params); }).find("<class 'NoneType'>"),
              std::string::npos);
}

}  // namespace
