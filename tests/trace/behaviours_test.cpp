// Items A, B and I of the behaviours that no other test of this folder holds to. docs/front-end-behaviours.md lists them all.
#include <gtest/gtest.h>

#include <map>

#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

using Map = std::map<std::string, Array>;
const auto first = [](Array a, Array) { return a; };
std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

TEST(Behaviours, A_08_KeySetsThatDifferAreShownLikeADiff) {
    EXPECT_EQ(
        error_of([] {
            jax::tree_map(first, Map{{"a", 1}}, Map{{"b", 1}});
        }),
        "pytree structure error: different pytree metadata at key path\n    tree_map tree\nAt that key path, the prefix pytree tree_map "
        "tree has a subtree of type\n    <class 'dict'>\nwith metadata\n    ('a',)\nbut at the same key path the full pytree has a "
        "subtree of the same type but with metadata\n    ('b',)\nso the diff in the metadata at these pytree nodes is\n    - ('a',)\n"
        "    ?   ^\n\n    + ('b',)\n    ?   ^\n");
    EXPECT_NE(error_of([] {
                  jax::tree_map(first, Map{{"a", 1}, {"c", 2}}, Map{{"b", 1}, {"c", 3}});
              }).find("    - ('a', 'c')\n    ?   ^\n\n    + ('b', 'c')\n    ?   ^\n"),
              std::string::npos);
    EXPECT_NE(
        error_of([] {
            jax::tree_map(first, Map{{"a", 1}}, Map{{"b", 1}, {"c", 3}});
        })
            .find("with 1 child keys\n    a\nbut at the same key path the full pytree has a subtree of the same type but with 2 child "
                  "keys\n    b c\nso the symmetric difference on key sets is\n    a b c"),
        std::string::npos);
}
TEST(Behaviours, A_11_AxesThatAreNoPrefixAreRefusedWithThePlace) {
    using jax::AxisTree;
    EXPECT_EQ(
        error_of([] {
            jax::flatten_axes("my spec", jax::tree_structure(Map{{"a", 1}, {"b", 2}}), AxisTree::dict({{"a", 0}}));
        }),
        "my spec specification must be a tree prefix of the corresponding value; \n  Mismatch details (1 found):\n  pytree structure "
        "error: different numbers of pytree children at key path\n    my spec\nAt that key path, the prefix pytree my spec has a subtree "
        "of type\n    <class 'dict'>\nwith 1 child keys\n    a\nbut at the same key path the full pytree has a subtree of the same type "
        "but with 2 child keys\n    a b\nso the symmetric difference on key sets is\n    b");
    EXPECT_NE(
        error_of([] {
            jax::flatten_axes("my spec", jax::tree_structure(std::pair(Array(1), Array(2))), AxisTree::tuple({AxisTree::tuple({0}), 0}));
        })
            .find("    my spec[0]\nAt that key path, the prefix pytree my spec has a subtree of type\n    <class 'tuple'>\nbut at the same "
                  "key path the full pytree has a subtree of different type\n    <class 'jax._src.api_util.PytreeLeaf'>."),
        std::string::npos);
}
TEST(Behaviours, A_13_ArgnumsPartialKeepsTheChosenArgumentsOpen) {
    const auto all = [](const auto&... a) { return (std::string(a) + ...); };
    const std::string a = "a", b = "b", c = "c", d = "d";
    const auto [f, dynamic] = jax::argnums_partial<2, 0>(all, a, b, c, d);
    EXPECT_EQ(dynamic, std::tuple(c, a));
    EXPECT_EQ(f(std::string("Z"), std::string("X")), "XbZd");
    const auto [g, one] = jax::argnums_partial<1>(all, a, b);
    EXPECT_EQ(one, std::tuple(b));
    EXPECT_EQ(g(std::string("Y")), "aY");
}
TEST(Behaviours, A_14_ValuesAreWrappedByValueArraysByIdentity) {
    const Array x = jnp::ones(2);
    using jax::wrap_hashably;
    EXPECT_TRUE(wrap_hashably(std::pair(1, 2)) == wrap_hashably(std::pair(1, 2)));
    EXPECT_EQ(wrap_hashably(3).hash(), 3u);
    EXPECT_TRUE(wrap_hashably(x) == wrap_hashably(x));
    EXPECT_FALSE(wrap_hashably(x) == wrap_hashably(jnp::ones(2)));
    EXPECT_STREQ(decltype(wrap_hashably(x))::kind, "WrapHashably");
    EXPECT_STREQ(decltype(wrap_hashably(3))::kind, "Hashable");
}
TEST(Behaviours, A_19_NumbersAreCheckedWhereJitIsApplied) {
    const auto two = [](Array a, Array) { return a; };
    EXPECT_EQ(error_of([&] { jax::jit(two, {.static_argnums = {2}}); }),
              "Jitted function has static_argnums=(2,), but only accepts 2 positional arguments.");
    EXPECT_EQ(error_of([&] { jax::jit(two, {.donate_argnums = {-3}}); }),
              "Jitted function has donate_argnums=(-3,), but only accepts 2 positional arguments.");
    const auto f = jax::jit([](Array a, const std::string&) { return a; }, {.static_argnums = {-1}});
    EXPECT_EQ(f(jnp::ones(2), "x").shape().str(), "(2,)");
    jax::jit([](Array a, const auto&...) { return a; }, {.donate_argnums = {9}});  // takes anything
}
TEST(Behaviours, A_20_AnUnhashableStaticArgumentIsRefused) {
    const auto f = jax::jit([](Array x, Array) { return x; }, {.static_argnums = {1}});
    EXPECT_EQ(error_of([&] { f(1., jnp::ones(2)); }),
              "Non-hashable static arguments are not supported. An error occurred while trying to hash an object of type <class "
              "'jaxlib._jax.ArrayImpl'>, [1. 1.]. The error was:\nTypeError: unhashable type: 'jaxlib._jax.ArrayImpl'");
    // What has == is a static value in C++, lists of numbers among them.
    int traces = 0;
    const auto g = jax::jit(
        [&](Array x, const std::vector<int>& n) {
            ++traces;
            return x * n.at(0);
        },
        {.static_argnums = {1}});
    EXPECT_EQ(g(2., std::vector<int>{3}).item<double>() + g(2., std::vector<int>{3}).item<double>(), 12.);
    EXPECT_EQ(g(2., std::vector<int>{4}).item<double>(), 8.);
    EXPECT_EQ(traces, 2);
}
TEST(Behaviours, A_22_StaticAndDonatedMayNotOverlap) {
    const std::string want =
        "static_argnames and donate_argnames cannot intersect. Argument names {'x'} appear in both static_argnames and donate_argnames";
    const auto f = [](Array x) { return x; };
    EXPECT_EQ(error_of([&] { jax::jit(f, {.donate_argnums = {0}, .static_argnums = {0}, .arg_names = {"x"}}); }), want);
    EXPECT_EQ(error_of([&] { jax::jit(f, {.donate_argnames = {"x"}, .static_argnames = {"x"}, .arg_names = {"x"}}); }), want);
    // A number from the end has no name to be compared by: the argument is static.
    for (const auto& [donated, fixed] : {std::pair{1, -1}, {-1, 1}, {-1, -1}}) {
        const Array y({1.f, 2.f}, {2});
        const auto times = jax::jit([](Array x, int n) { return x * n; }, {.donate_argnums = donated, .static_argnums = fixed});
        EXPECT_EQ(times(y, 3).str(), "[3. 6.]");
        EXPECT_FALSE(y.is_deleted());
    }
}
TEST(Behaviours, A_23_AnUnknownNameIsRefused) {
    EXPECT_EQ(error_of([] { jax::jit([](Array a) { return a; }, {.static_argnames = {"q"}, .arg_names = {"a"}}); }),
              "Jitted function has invalid argnames {'q'} in static_argnames. Function does not take these args.");
}
TEST(Behaviours, B_26_NamesNeedASignature) {
    const auto add = [](Array a, Array b) { return a + b; };
    const auto refused = [&](const jax::JitOptions& o) { return error_of([&] { jax::jit(add, o)(Array(1), Array(2)); }); };
    EXPECT_EQ(refused({.donate_argnames = {"b"}}),
              "Getting the signature of function <unnamed function> failed. Pass donate_argnums instead of donate_argnames.");
    EXPECT_EQ(refused({.static_argnames = {"b"}, .name = "add"}),
              "Getting the signature of function add failed. Pass static_argnums instead of static_argnames.");
    EXPECT_EQ(refused({.donate_argnames = {"q"}, .arg_names = {"a", "b"}}),
              "Jitted function has invalid argnames {'q'} in donate_argnames. Function does not take these args.");
    // A name that comes with the call is one, too.
    const Array kept = jnp::ones(3), given = jnp::ones(3);
    jax::jit(add, {.donate_argnames = {"b"}})(kept, jax::kw("b", given));
    EXPECT_TRUE(given.is_deleted() && !kept.is_deleted());
}
TEST(Behaviours, A_25_FlattenFunKnowsItsOutputTreeAfterItRan) {
    const std::pair<Array, Map> args{1, Map{{"a", 2}}};
    auto f = jax::flatten_fun(
        [](Array p, const Map& q, Array k) {
            return Map{{"s", p + q.at("a") + k}};
        },
        args.first, args.second, jax::kw("k", Array(3)));
    EXPECT_EQ(error_of([&] { (void)f.out_tree(); }), "Store empty");
    EXPECT_EQ(f({Array(1), Array(2), Array(3)})[0].item<int>(), 6);
    EXPECT_EQ(f.out_tree().str(), "PyTreeDef({'s': *})");
    EXPECT_EQ(error_of([&] { f({Array(1), Array(2), Array(3)}); }), "Store occupied");
    EXPECT_EQ(error_of([&] { f({Array(1)}); }), "Too few leaves for PyTreeDef; expected 3, got 1");
    auto g = jax::flatten_fun_nokwargs2([](Array x) { return std::pair(x * 2, std::vector<Array>{x, x}); }, Array(1));
    const auto [out, aux] = g({Array(4)});
    EXPECT_EQ(out[0].item<int>(), 8);
    EXPECT_EQ(aux.size(), 2u);
    EXPECT_EQ(g.out_trees().second.str(), "PyTreeDef([*, *])");
    // Keyword leaves come last, sorted by name.
    EXPECT_EQ(jax::call_structure(Array(1), jax::kw("z", Array(2)), jax::kw("b", Array(3))).str(), "PyTreeDef(((*,), {'b': *, 'z': *}))");
    auto h = jax::flatten_fun([](Array z, Array x, Array b) { return z * 100 + b * 10 + x; }, jax::kw("z", Array(0)), Array(0),
                              jax::kw("b", Array(0)));
    EXPECT_EQ(h({Array(1), Array(2), Array(3)})[0].item<int>(), 321);
}
TEST(ApiUtil, AFlatFunctionIsAppliedToItsTreesOnly) {
    const auto flat = [](const std::vector<Array>& l) { return std::vector<Array>{l[0] + l[1]}; };
    const auto tree = jax::call_structure(Array(1), Array(2));
    EXPECT_EQ(jax::apply_flat_fun(flat, tree, Map{{"s", 0}}, Array(1), Array(2)).at("s").item<int>(), 3);
    EXPECT_EQ(error_of([&] { jax::apply_flat_fun(flat, tree, Array(0), Array(1)); }),
              "Expected PyTreeDef(((*, *), {})), got PyTreeDef(((*,), {}))");
    const std::tuple two(Array(1), Array(2));
    EXPECT_EQ(jax::apply_flat_fun_nokwargs(flat, jax::tree_structure(two), Array(0), two).item<int>(), 3);
    EXPECT_EQ(error_of([&] { jax::apply_flat_fun_nokwargs(flat, jax::tree_structure(two), Array(0), std::tuple(Array(1))); }),
              "Expected PyTreeDef((*, *)), got PyTreeDef((*,))");
}
TEST(ApiUtil, FunctionsWithoutANameAreCalledThat) {
    const auto f = [](Array x) { return x; };
    EXPECT_EQ(jax::get_name(f), "<unnamed function>");
    const jax::Named<decltype(f)> g{f, "step", "One step."};
    const auto w = jax::wraps(g, f, {.namestr = "jit({fun})", .docstr = "{fun}: {doc}"});
    EXPECT_EQ(jax::get_name(w) + "|" + jax::get_doc(w), "jit(step)|step: One step.");
    EXPECT_EQ(w(Array(2)).item<int>(), 2);
}
TEST(Behaviours, B_16_TheForwardPassOfADonatingJitConsumesItsInput) {
    const auto f = jax::jit([](Array x, Array y) { return x * y; }, {.donate_argnums = {0}});
    const std::string text =
        jax::make_jaxpr([&](Array x, Array y) { return jax::jvp(f, std::tuple(x, y), std::tuple(x, y)); })(1., 2.).str();
    EXPECT_NE(text.find("donated_invars=(True, False, True, False)"), std::string::npos) << text;
}
TEST(Behaviours, B_16_ABackwardPassThatNeedsADonatedInputFindsItDeleted) {
    const auto f = jax::jit([](Array x, Array y) { return x * y; }, {.donate_argnums = {0}});
    const Array x = jnp::ones(2);
    const auto [y, f_vjp] = jax::vjp(f, x, jnp::ones(2));
    EXPECT_TRUE(x.is_deleted());
    const auto square = jax::jit([](Array v) { return v * v; }, {.donate_argnums = {0}});
    const auto [z, push] = jax::linearize(square, jnp::ones(2));
    EXPECT_EQ(error_of([&, &back = f_vjp, &ct = y] { back(ct); }), "Array has been deleted with shape=float32[2].");
    EXPECT_EQ(error_of([&, &forward = push] { forward(jnp::ones(2)); }), "Array has been deleted with shape=float32[2].");
}
TEST(Behaviours, B_17_BatchingADonatingJitDonatesTheBatch) {
    const auto f = jax::vmap(jax::jit([](Array x) { return x + 1; }, {.donate_argnums = {0}}));
    const Array x = jnp::ones({3, 2});
    f(x);
    EXPECT_TRUE(x.is_deleted());
}
TEST(Behaviours, B_19_NumbersCanStandAtADonatedPosition) {
    const auto f = jax::jit([](Array x) { return x + 1; }, {.donate_argnums = {0}});
    EXPECT_EQ(f(1.).item<double>() + f(1.).item<double>(), 4.);
    const std::vector<float> mine{1, 1, 1};
    EXPECT_EQ(f(Array(mine, 3)).str(), "[2. 2. 2.]");
    EXPECT_EQ(mine[0], 1);
}
TEST(Behaviours, B_20_AliasedBytesAreTheDonatedOnes) {
    const auto sizes = [](jax::JitOptions o) {
        const auto m = jax::jit([](Array x, Array y) { return std::pair(x + y, y.sum()); }, o)
                           .lower(jnp::ones(1000), jnp::ones(1000))
                           .compile()
                           .memory_analysis();
        return std::tuple(m.argument_size_in_bytes, m.output_size_in_bytes, m.alias_size_in_bytes);
    };
    using T = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
    // XLA counts 16 bytes more for the results' tuple.
    EXPECT_EQ(sizes({}), T(8000, 4004, 0));
    EXPECT_EQ(sizes({.donate_argnums = {0}}), T(8000, 4004, 4000));
}
TEST(Jit, CostsAreThoseOfItsEquations) {
    const auto f = jax::jit([](Array a, Array b) { return std::pair(a + 1, jnp::matmul(b, b)); });
    const auto c = f.lower(1., jnp::ones({4, 4})).compile().cost_analysis();
    EXPECT_EQ(c.flops, 1 + 2 * 4 * 4 * 4);
    EXPECT_EQ(c.bytes_accessed, (4 + 4 + 4) + 3 * 64);
}
TEST(Behaviours, B_23_DevicePutKeepsItsSourceAlive) {
    const Array x = jnp::ones(3);
    const Array y = jax::device_put(x, {.donate = true});
    EXPECT_FALSE(x.is_deleted());
    EXPECT_EQ(error_of([&] { jax::device_put(y, {.donate = true, .may_alias = true}); }),
              "may_alias and donate cannot be True at the same time.");
}
TEST(Behaviours, B_25_ANumberIsNotStaticAndDonated) {
    EXPECT_EQ(error_of([] { jax::rebase_donate_argnums({1}, {1}); }), "`static_argnums` [1] and `donate_argnums` [1] cannot intersect.");
}
TEST(Behaviours, B_41_AnEagerGradConsumesItsDonatedInputs) {
    const auto f = jax::filter_jit([](Array x) { return x + 1; }, {.donate = "all"});
    const Array x = jnp::ones(2);
    EXPECT_EQ(jax::grad([&](Array a) { return f(a).sum(); })(x).str(), "[1. 1.]");
    EXPECT_TRUE(x.is_deleted());
}
TEST(Behaviours, I_04_ARecomputedBlockCostsItsForwardPassAgain) {
    const auto f = [](const std::array<Array, 2>& ws, Array x) {
        return jnp::tanh(jnp::matmul(jnp::tanh(jnp::matmul(x, ws[0])), ws[1])).sum();
    };
    const std::array<Array, 2> ws{jnp::ones({4, 4}), jnp::ones({4, 4})};
    const auto dots = [&](const jax::Policy& p) {
        return count_of(jax::make_jaxpr(jax::grad(jax::checkpoint(f, {.policy = p})))(ws, jnp::ones({2, 4})).str(), "= dot_general");
    };
    EXPECT_EQ(dots(jax::policies::everything_saveable), 5u);
    EXPECT_EQ(dots(jax::policies::dots_saveable), 5u);
    EXPECT_EQ(dots(jax::policies::nothing_saveable), 7u);
}
TEST(Behaviours, I_10_KeysAreSavedAndDrawnFromAgain) {
    const auto f = [](Array x, Array k) { return jnp::sin(x * jax::random::normal(k, 3)).sum(); };
    const Array k = jax::random::key(1);
    EXPECT_NEAR(jax::grad(f)(Array(1.), k).item<double>(), jax::grad(jax::checkpoint(f))(Array(1.), k).item<double>(), 1e-6);
    const auto rows = jax::saved_residuals([&](Array x) { return jax::checkpoint(f)(x, k); }, Array(1.));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].aval + " " + rows[0].source, "key<fry>[] from a constant");
    EXPECT_EQ(rows[1].aval + " " + rows[1].source, "f32[] from the argument args[0]");
}
TEST(Behaviours, I_11_DropoutInABlockSavesTheKey) {
    const auto f = [](Array w, Array x, Array k) {
        const Array mask = jax::random::bernoulli(k, .5, x.shape());  // first: C++ doesn't say in which order arguments are computed
        return jnp::where(mask, jnp::tanh(jnp::matmul(x, w)), 0.).sum();
    };
    const auto avals = [&](const auto& g) {
        std::string out;
        for (const auto& r :
             jax::saved_residuals([&](Array w, Array x) { return g(w, x, jax::random::key(0)); }, jnp::ones({4, 4}), jnp::ones({2, 4})))
            out += r.aval + " ";
        return out;
    };
    EXPECT_EQ(avals(f), "f32[4,4] f32[2,4] bool[2,4] f32[2,4] f32[2,4] f32[2,4] ");
    EXPECT_EQ(avals(jax::checkpoint(f)), "f32[4,4] f32[2,4] key<fry>[] ");
}
TEST(SeedDonation, ModesOfThePullRequest) {
    const std::string warning =
        "UserWarning: Some donated buffers were not usable: float32[4].\n"
        "See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n";
    const auto run = [](const char* mode, bool& deleted) {
        const Array x = jnp::ones(3), y = jnp::ones(4);
        testing::internal::CaptureStderr();
        jax::donation::filter_jit([](Array a, Array b) { return a + b.sum(); }, mode)(x, y);
        deleted = x.is_deleted();
        return testing::internal::GetCapturedStderr();
    };
    bool deleted = false;
    EXPECT_EQ(run("arrays", deleted), "");
    EXPECT_TRUE(deleted);
    EXPECT_EQ(run("warn", deleted), warning);
    EXPECT_TRUE(deleted);
    EXPECT_EQ(run("none", deleted), "");
    EXPECT_FALSE(deleted);
    EXPECT_EQ(error_of([] { jax::donation::filter_jit([](Array a) { return a; }, "all"); }),
              "`filter_jit(..., donate=...)` must be one of 'arrays', 'warn', or 'none'.");
}
TEST(SeedDonation, TheFirstDesignGoesByArgumentNameAndFunction) {
    const auto f = [](Array x, const auto&... rest) { return x + (Array(0.) + ... + rest); };
    // On a static argument `true` donates nothing.
    const auto g = jax::donation::filter_jit([](Array x, int) { return x + 1; }, {.donate_args = {false, true}});
    const Array x = jnp::zeros(100);
    g(x, 10);
    EXPECT_FALSE(x.is_deleted());
    EXPECT_EQ(g.donation_report(), "");
    const auto named = jax::donation::filter_jit(f, {.donate_kwargs = {{"model", true}}});
    const Array a = jnp::ones(2), m = jnp::ones(2);
    named(a, jax::kw("model", m));
    EXPECT_TRUE(!a.is_deleted() && m.is_deleted());
    const auto rest = jax::donation::filter_jit(f, {.donate_args = {false}, .donate_default = true});
    const Array b = jnp::ones(2), c = jnp::ones(2);
    rest(b, c);
    EXPECT_TRUE(!b.is_deleted() && c.is_deleted());
}
TEST(SeedDonation, WrappersMakeArraysDynamicAndCopies) {
    int traces = 0;
    const auto f = jax::donation::filter_jit([&](Array x, Array y) {
        ++traces;
        return x * y;
    });
    const auto g = jax::donation::as_arrays(f);
    EXPECT_EQ(g(jnp::ones(2), 2).str(), "[2. 2.]");
    EXPECT_EQ(g(jnp::ones(2), 3).str(), "[3. 3.]");
    EXPECT_EQ(traces, 1);
    const Array x = jnp::ones(2);
    f(x.copy(), Array(2.));
    EXPECT_FALSE(x.is_deleted());
    f(x, Array(2.));
    EXPECT_TRUE(x.is_deleted());
}
TEST(SeedDonation, AKeyIsUsedOnce) {
    const Array key = jax::random::key(0), same = jax::random::key(0);
    EXPECT_EQ(jax::donation::safe_eager_uniform(key, 3).str(), jax::random::uniform(same, 3).str());
    EXPECT_EQ(error_of([&] { jax::donation::safe_eager_uniform(key, 3); }), "Array has been deleted with shape=uint32[2].");
    EXPECT_EQ(error_of([] { jax::jit([](Array k) { return jax::donation::safe_eager_uniform(k, 3); })(jax::random::key(0)); }),
              "random must run eagerly");
}
TEST(Keywords, NameArgumentsUnderEveryTransformation) {
    const auto f = [](Array x, Array scale) { return jnp::sin(x) * scale; };
    const Array x = jnp::ones(2), s = jnp::ones(2) * 3;
    const auto total = [&](const auto& g) { return [&](Array a, Array b) { return g(a, b).sum(); }; };
    const std::string plain = jax::grad(total(f))(x, s).str();
    EXPECT_EQ(jax::grad(total(f))(x, jax::kw("scale", s)).str(), plain);
    EXPECT_EQ(jax::grad(total(jax::checkpoint(f)))(x, jax::kw("scale", s)).str(), plain);
    EXPECT_EQ(jax::checkpoint(f)(x, jax::kw("scale", s)).str(), f(x, s).str());
    const auto rows = jax::saved_residuals(f, x, jax::kw("scale", s));
    std::string sources;
    for (const auto& r : rows) sources += r.source + "\n";
    EXPECT_NE(sources.find("from the argument scale"), std::string::npos) << sources;
    EXPECT_EQ(jax::filter_jit([](Array a, int n) { return a * n; })(x, jax::kw("n", 3)).str(), "[3. 3.]");
    EXPECT_EQ(jax::jit([](Array a, int n) { return a * n; }, {.static_argnames = {"n"}})(x, jax::kw("n", 2)).str(), "[2. 2.]");
    const auto named = jax::jit(f, {.arg_names = {"x", "scale"}});
    EXPECT_EQ(error_of([&] { named(jax::kw("scale", s), jax::kw("x", x)); }),
              "the argument passed as 'scale' stands in the place of 'x': C++ passes arguments by position, kw names them");
}
TEST(Report, WhatACallWouldBeRefusedForIsSaidBefore) {
    const auto f = jax::jit([](Array x, Array y) { return std::pair(x + 1, y + 1); }, {.donate_argnums = {0, 1}, .arg_names = {"x", "y"}});
    const Array a = jnp::ones(2);
    EXPECT_NE(f.donation_report(a, a).find("x and y are one array, donated twice: the call will be refused"), std::string::npos);
    Array b = jnp::ones(2);
    f(b, jnp::ones(2));
    EXPECT_NE(f.donation_report(b, a).find("x was donated or deleted before this call"), std::string::npos);
    const auto one = jax::jit([](Array x) { return x + 1; }, {.donate_argnums = {0}, .arg_names = {"x"}});
    EXPECT_NE(one.donation_report(a).find("x f32[2]: memory taken by the result, "), std::string::npos) << one.donation_report(a);
}

}  // namespace
