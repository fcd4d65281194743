// What goes wrong is told with the line of the user's program that it went wrong in, also where a function takes any number of arguments
// or is an operator, and with what to do.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>
#include <jaxscope/vectorize.h>

#include <map>
#include <sstream>

#include "trace/error_of.h"

namespace {

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;

#define STANDS_HERE(...) EXPECT_EQ(place_of_error("error_places_test.cpp", [&] { __VA_ARGS__; }), std::to_string(__LINE__))

Array itself(const Array& x) { return x; }
Array product(const Array& x, const Array& y) { return x * y; }
Array deleted_array() {
    Array x = jnp::ones({3});
    x.delete_buffer();
    return x;
}

TEST(ErrorPlaces, OfDifferentiation) {
    const Array x = jnp::ones({3}), m = jnp::ones({2, 3});
    const auto with_text = [](Array a, std::string) { return a; };
    STANDS_HERE(jax::vjp(with_text, x, "a"));
    STANDS_HERE(jax::linearize(with_text, x, "a"));
    STANDS_HERE(jax::vjp(itself, deleted_array()));
    auto [y, pullback] = jax::vjp(itself, x);
    STANDS_HERE(pullback(m));
    STANDS_HERE(pullback(std::pair{x, x}));
    auto [z, pushforward] = jax::linearize(product, x, x);
    STANDS_HERE(pushforward(x, m));
    STANDS_HERE(jax::linear_transpose([](Array a) { return a * 2.; }, Array(1)));
    auto [v, back] = jax::filter_vjp(itself, x);
    STANDS_HERE(back(m));
    STANDS_HERE(jax::eval_shape(with_text, x, "a"));
    STANDS_HERE(jax::custom_jvp(itself)(x));
    STANDS_HERE(jax::custom_vjp(itself)(x));
}

TEST(ErrorPlaces, OfTrees) {
    const Array x = jnp::ones({3});
    const std::vector<Array> one{x}, two{x, x};
    const auto first = [](Array a, Array) { return a; };
    const auto first_of_three = [](Array a, Array, Array) { return a; };
    STANDS_HERE(jax::tree_map(first, one, two));
    STANDS_HERE(jax::tree_map(first_of_three, one, one, two));
    STANDS_HERE(jax::tree::map(first, one, two));
    STANDS_HERE(jax::tree_unflatten(one, two));
    STANDS_HERE(jax::tree::unflatten(two, one));
    STANDS_HERE(jax::combine(one, two));
    STANDS_HERE(jax::filter(one, two));
    STANDS_HERE(jax::partition(one, two));
    STANDS_HERE(jax::apply_updates(one, two));
    STANDS_HERE(jax::flatten_axes("in_axes", jax::tree_structure(one), jax::AxisTree::list({0, 1})));
    STANDS_HERE(jnp::array({{1., 2.}, {3.}}));
}

TEST(ErrorPlaces, OfValues) {
    const Array x = jnp::ones({3});
    const Array gone = deleted_array();
    STANDS_HERE(gone.block_until_ready());
    STANDS_HERE(gone.unsafe_buffer_pointer());
    STANDS_HERE(gone.str());
    STANDS_HERE(gone.repr());
    STANDS_HERE(jnp::save("never_written", gone));
    STANDS_HERE(Array().str());
    // Operators have no argument that could be left out: the nearest line is where the array was made, or the function was transformed.
    STANDS_HERE(static_cast<bool>(x > 0));
    STANDS_HERE(jax::jit([](Array a) { return a > 0 ? a : -a; })(1.));
    STANDS_HERE(jax::jit([](Array a) { return a ? a : -a; })(1.));
    STANDS_HERE(jax::make_jaxpr([](Array a) { return a ? a : -a; })(1.));
    STANDS_HERE(jax::jit([](Array a) { return a.unsafe_buffer_pointer() ? a : -a; })(1.));
    const std::string told = error_of([&] {
        std::ostringstream out;
        out << gone;
    });
    EXPECT_EQ(told, "Array has been deleted with shape=float32[3].");
    EXPECT_EQ(error_of([&] { static_cast<bool>(gone); }), told);
    EXPECT_EQ(error_of([&] { static_cast<bool>(jnp::zeros({0})); }),
              "The truth value of an empty array is ambiguous. Use jnp::any(x) or jnp::all(x)");
}

TEST(ErrorPlaces, OfRuledAndChosenNodes) {
    struct Model {
        Array w, b;
        std::vector<Array> layers;
    };
    const Array x = jnp::ones({3});
    const Model m{x, x, {x, x}};
    const std::string no_node = "`where` does not specify an element or elements of `pytree`.";
    Array outside;
    const auto nested = [](auto& t) { return std::tie(t.layers, t.layers[0]); };
    STANDS_HERE(jax::tree_at(
        [&](auto&) -> auto& { return outside; }, m, x));
    EXPECT_EQ(error_of([&] { jax::tree_at(nested, m, std::tuple(std::vector<Array>{x}, x)); }), no_node);
    EXPECT_EQ(error_of([&] {
                  jax::tree_at(
                      [](auto& t) -> auto& { return t.layers.data()[2]; }, m, x);
              }),
              no_node);
    EXPECT_FALSE(outside.has_value());
    // One node twice isn't refused in Equinox.
    EXPECT_EQ(jax::tree_at([](auto& t) { return std::tie(t.w, t.w); }, m, std::tuple(x * 2., x * 3.)).w.ndim(), 1);
    EXPECT_EQ(jax::tree_at(
                  [](auto& t) -> auto& { return t.layers; }, m, std::vector<Array>{x})
                  .layers.size(),
              1u);
}

TEST(ErrorPlaces, OfVectorizedFunctionsAndFactors) {
    const Array x = jnp::ones({3, 3});
    STANDS_HERE(jnp::vectorize(itself, "(n)->(n")(x));
    STANDS_HERE(jax::scipy::linalg::expm(jnp::ones({2, 3})));
    STANDS_HERE(jax::scipy::linalg::lu(jnp::ones({3})));
    const auto told = [&](const char* signature, const auto& f, const auto&... a) {
        return error_of([&] { jnp::vectorize(f, signature)(a...); });
    };
    const std::string context = " on vectorized function with excluded=frozenset() and signature=";
    EXPECT_EQ(
        told("(n,m,k)->(n)", itself, x),
        "input with shape (3, 3) does not have enough dimensions for all core dimensions ('n', 'm', 'k')" + context + "'(n,m,k)->(n)'");
    EXPECT_EQ(told(
                  "(n)->(n)", [](Array a) { return a.sum(); }, x),
              "output shape () does not match core dimensions ('n',)" + context + "'(n)->(n)'");
    EXPECT_EQ(told("(n),(n)->(n)", product, x, jnp::ones({4})),
              "inconsistent size for core dimension 'n': 4 vs 3" + context + "'(n),(n)->(n)'");
    EXPECT_EQ(told("(n)->(n)", product, x, x), "wrong number of positional arguments: expected 1, got 2" + context + "'(n)->(n)'");
    EXPECT_EQ(told("(n)->(n),()", itself, x), "wrong number of output arguments: expected 2, got 1" + context + "'(n)->(n),()'");
}

}  // namespace
