// jax.disable_jit, and trees that are walked with nodes as leaves: what has no pair in Python's jaxprs.
#include <gtest/gtest.h>

#include <jaxscope/jax.h>
#include <jaxscope/tree.h>

#include "error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;

namespace {

using Two = std::pair<Array, Array>;

TEST(DisableJit, RunsTheFunctionItselfEachTime) {
    int traced = 0;
    const auto f = jax::jit([&](Array x) {
        ++traced;
        return x + 1;
    });
    f(1.f), f(1.f);
    EXPECT_EQ(traced, 1);
    {
        const jax::disable_jit scope;
        f(1.f), f(1.f);
        EXPECT_EQ(traced, 3);
        {
            const jax::disable_jit again(false);
            f(1.f);
            EXPECT_EQ(traced, 3);
        }
        f(1.f);
        EXPECT_EQ(traced, 4);
    }
    f(1.f);
    EXPECT_EQ(traced, 4);
}

TEST(DisableJit, ValuesAreAtHandAndNothingIsDonated) {
    const auto f = jax::jit([](Array x) { return x[0] > 0 ? x * 2 : x; }, {.donate_argnums = {0}});
    const Array x = jnp::array({1., 2.});
    const jax::disable_jit scope;
    EXPECT_EQ(f(x).to_vector(), (std::vector<double>{2, 4}));
    EXPECT_FALSE(x.is_deleted());
}

TEST(DisableJit, LoopsAndBranchesRunInTurn) {
    const jax::disable_jit scope;
    int steps = 0, taken = 0;
    const Array last = lax::while_loop([](Array n) { return n < 5; },
                                       [&](Array n) {
                                           ++steps;
                                           return n + 1;
                                       },
                                       Array(0));
    EXPECT_EQ(last.item<int>(), 5);
    EXPECT_EQ(steps, 5);
    const Array chosen = lax::switch_(
        1, std::tuple([&](Array x) { return ++taken, x; }, [&](Array x) { return x * 10; }, [&](Array x) { return ++taken, x; }),
        Array(2.f));
    EXPECT_EQ(chosen.item<float>(), 20.f);
    EXPECT_EQ(taken, 0);
    const Array sum = lax::fori_loop(
        0, 4, [](Array i, Array s) { return s + i; }, Array(0));
    EXPECT_EQ(sum.item<int>(), 6);
    EXPECT_EQ(error_of([] {
                  lax::scan([](Array c, Array y) { return std::pair(c, y); }, Array(0.f), jnp::zeros({0, 2}));
              }),
              std::string("zero-length scan is not supported in disable_jit() mode because the output type is unknown."));
}

TEST(TreesWithNodesForLeaves, AreFlattenedBetweenThem) {
    const Array x = jnp::ones(2);
    const std::vector<Two> pairs{{x, x}, {x, x}};
    const auto [leaves, tree] = jax::tree_flatten(pairs, jax::is_leaf<Two>());
    EXPECT_EQ(leaves.size(), 2u);
    EXPECT_EQ(tree.str(), "PyTreeDef([*, *])");
    const std::tuple mixed{Two{x, x}, std::vector<Array>{x}};
    EXPECT_EQ(jax::tree_leaves(mixed, jax::is_leaf<Two>()).size(), 1u);
    EXPECT_EQ(jax::tree_structure(mixed, jax::is_leaf<Two>()).str(), "PyTreeDef((*, [*]))");
    EXPECT_EQ(error_of([&] { jax::tree_flatten(mixed, jax::is_leaf<Two>()); }),
              std::string("tree_flatten: 1 of the tree's 2 leaves are arrays outside of the nodes that is_leaf names"));
    const std::vector<Array> gaps{x, Array(), x};
    EXPECT_EQ(jax::tree_leaves(gaps, jax::is_leaf<jax::None>()).size(), 3u);
    EXPECT_EQ(jax::tree_structure(gaps, jax::is_leaf<jax::None>()).str(), "PyTreeDef([*, *, *])");
    EXPECT_EQ(jax::tree_structure(gaps).str(), "PyTreeDef([*, None, *])");
}

TEST(TreesWithNodesForLeaves, APrefixThatDoesNotFitIsToldByPlace) {
    const Array x = jnp::ones(2);
    const auto both = [](Array a, const std::vector<Array>&) { return a; };
    const std::string text = error_of([&] { jax::tree_map(both, std::vector<Array>{x, x}, std::vector<std::vector<Array>>{{x}}); });
    EXPECT_NE(text.find("different lengths of list at key path\n    tree_map tree"), std::string::npos) << text;
    EXPECT_EQ(error_of([&] {
                  jax::tree_transpose(Two{x, x}, Two{x, x}, std::vector<Array>{x});
              }),
              std::string("Mismatch\nPyTreeDef([*])\n != \nPyTreeDef(((*, *), (*, *)))"));
}

TEST(Treedefs, SayTheirPartsAndAreJoined) {
    const Array x = jnp::ones(2);
    const jax::PyTreeDef pair = jax::tree_structure(Two{x, x}), leaf = jax::tree_structure(x);
    EXPECT_EQ(jax::treedef_children(pair).size(), 2u);
    EXPECT_TRUE(jax::treedef_is_leaf(leaf));
    EXPECT_FALSE(jax::treedef_is_leaf(pair));
    EXPECT_EQ(jax::treedef_tuple({pair, leaf}).str(), "PyTreeDef(((*, *), *))");
}

}  // namespace
