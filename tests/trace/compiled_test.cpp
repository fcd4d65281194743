// Compiled programs that are called, and what else C++ has of functions: members of classes, configurations as static arguments, names of
// types.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

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

}  // namespace
