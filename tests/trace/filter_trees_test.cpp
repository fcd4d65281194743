// Equinox's functions on models as they are trained: updates, equality, Jacobians, files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <jaxscope/filter_trees.h>
#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

struct Affine {
    Array w, b;
};
struct Trained {
    Array w;
    int n = 3;
    Array steps;
};
Affine affine() { return {jnp::array({{1., 2., 3.}, {4., 5., 6.}}), jnp::array({.5, 1., 2.})}; }

TEST(ApplyUpdates, AddsWhereThereIsOne) {
    const Trained model{jnp::ones(2), 3, jnp::array({1, 2})};
    const Trained out = jax::apply_updates(model, Trained{jnp::ones(2) * .5, 3, {}});
    EXPECT_EQ(out.w.to_vector(), (std::vector<double>{1.5, 1.5}));
    EXPECT_EQ(out.steps.to_vector(), (std::vector<double>{1, 2}));
}

TEST(TreeEqual, LooksAtShapesTypesAndNumbers) {
    EXPECT_TRUE(static_cast<bool>(jax::tree_equal(affine(), affine())));
    Affine other = affine();
    other.b = other.b + 1e-6;
    EXPECT_FALSE(static_cast<bool>(jax::tree_equal(affine(), other)));
    EXPECT_TRUE(static_cast<bool>(jax::tree_equal(affine(), other, {.rtol = 1e-3})));
    other.b = jnp::ones(2);
    EXPECT_FALSE(static_cast<bool>(jax::tree_equal(affine(), other)));
    other.b = affine().b.astype(jnp::bfloat16);
    EXPECT_FALSE(static_cast<bool>(jax::tree_equal(affine(), other)));
}
TEST(TreeEqual, LooksAtWhatIsNoArray) {
    EXPECT_TRUE(static_cast<bool>(jax::tree_equal(Trained{jnp::ones(2), 3, {}}, Trained{jnp::ones(2), 3, {}})));
    EXPECT_FALSE(static_cast<bool>(jax::tree_equal(Trained{jnp::ones(2), 3, {}}, Trained{jnp::ones(2), 4, {}})));
}

TEST(FilterJacobians, AreOfTheFloatingPointArrays) {
    const auto f = [](const Trained& m, const Array& x) { return jnp::sin(m.w) * x; };
    const Trained model{jnp::zeros(2), 3, jnp::array({1, 2})};
    for (const Trained& j : {jax::filter_jacfwd(f)(model, Array(2.)), jax::filter_jacrev(f)(model, Array(2.))}) {
        EXPECT_EQ(j.w.to_vector(), (std::vector<double>{2, 0, 0, 2}));
        EXPECT_FALSE(j.steps.has_value());
    }
    const auto h = jax::filter_hessian([](const Affine& l) { return (l.w * l.w).sum() * l.b.sum(); })(affine());
    EXPECT_EQ(h[&Affine::w].b.shape(), (jax::Shape{2, 3, 3}));
    EXPECT_EQ((h[&Affine::b].w[{1, 0, 2}].item<double>()), 6);
}

TEST(LeavesFile, HoldsWhatItWasGiven) {
    const std::string path = testing::TempDir() + "leaves";
    const Affine saved{affine().w.astype(jnp::bfloat16), jnp::array({true, false})};
    jax::tree_serialise_leaves(path, saved);
    EXPECT_EQ(std::filesystem::file_size(path + ".eqx"), 128 + 12 + 128 + 2);
    const Affine back = jax::tree_deserialise_leaves(path, Affine{jnp::zeros({2, 3}, jnp::bfloat16), jnp::zeros(2, jnp::bool_)});
    EXPECT_TRUE(static_cast<bool>(jax::tree_equal(saved, back)));
    EXPECT_EQ(error_of([&] { jax::tree_deserialise_leaves(path, affine()); }),
              path + ".eqx: Deserialised leaf 0 has changed dtype from float32 in `like` to '<V2' on disk.");
    EXPECT_EQ(error_of([&] {
                  jax::tree_deserialise_leaves(path, Affine{jnp::zeros({3, 2}, jnp::bfloat16), jnp::zeros(2, jnp::bool_)});
              }),
              path + ".eqx: Deserialised leaf 0 has changed shape from (3, 2) in `like` to (2, 3) on disk.");
    std::filesystem::remove(path + ".eqx");
}

TEST(Combine, RefusesTreesThatDiffer) {
    using Map = std::map<std::string, Array>;
    using Lists = std::vector<std::vector<Array>>;
    const auto differs = [](auto&& f) { return error_of(f).find("pytree structure error: different ") == 0; };
    EXPECT_TRUE(differs([] { jax::combine(Map{{"a", Array()}}, Map{{"b", 1.}}); }));
    EXPECT_TRUE(differs([] { jax::combine(Lists{{1., {}}, {{}}}, Lists{{{}}, {2., 3.}}); }));
    EXPECT_TRUE(differs([] { jax::apply_updates(Map{{"a", 1.}}, Map{{"b", 1.}}); }));
    EXPECT_TRUE(differs([] { jax::apply_updates(Map{{"a", 1.}, {"b", 1.}}, Map{{"a", 1.}}); }));
    EXPECT_EQ(jax::combine(Map{{"a", Array()}, {"b", 2.}}, Map{{"a", 1.}, {"b", Array()}}).at("a").item(), 1);
}

}  // namespace
