// Trees of the C++ front end. The names of the tests say which items of the behaviours they hold to.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <map>
#include <optional>
#include <unordered_map>
#include <variant>

#include <jaxscope/jax.h>
#include <jaxscope/tree.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

struct PlanePoint {
    Array x, y;
};
struct Net {
    std::vector<PlanePoint> layers;
    std::map<std::string, Array> extra;
    std::optional<Array> bias;
    jax::Static<int> depth{2};
};
class Hidden {
public:
    explicit Hidden(Array w) : w_(std::move(w)) {}
    JAXSCOPE_PYTREE(Hidden, w_)

private:
    Array w_;
};

using Map = std::map<std::string, Array>;

TEST(Behaviours, A_01_MapsAreSortedAndTuplesKeepTheirOrder) {
    const auto d = jax::tree_structure(std::pair(Map{{"b", 1}, {"a", 2}}, std::tuple(Array(3), std::vector<Array>{4})));
    EXPECT_EQ(d.str(), "PyTreeDef(({'a': *, 'b': *}, (*, [*])))");
    EXPECT_EQ(d.num_leaves(), 4u);
}
TEST(Behaviours, A_02_WhatHoldsNothingIsNone) {
    const std::vector<std::optional<Array>> t{Array(1), std::nullopt};
    EXPECT_EQ(jax::tree_structure(t).str(), "PyTreeDef([*, None])");
    EXPECT_EQ(jax::tree_structure(std::pair(Array(1), Array())).str(), "PyTreeDef((*, None))");
    EXPECT_EQ(jax::tree_leaves(t).size(), 1u);
}
TEST(Behaviours, A_04_PathsNameKeysPositionsAndMembers) {
    const Map m{{"w", 1}};
    const auto paths = jax::tree_structure(std::tuple(m, PlanePoint{2, 3}, std::vector<PlanePoint>{{4, 5}})).paths();
    EXPECT_EQ(paths, (std::vector<std::string>{"[0]['w']", "[1].x", "[1].y", "[2][0].x", "[2][0].y"}));
}
TEST(Trees, MapsOfAnyOrderAreSortedByTheirKeys) {
    const std::unordered_map<std::string, Array> hashed{{"zz", 4}, {"b", 2}, {"a", 1}, {"c", 3}};
    EXPECT_EQ(jax::tree_structure(hashed).str(), "PyTreeDef({'a': *, 'b': *, 'c': *, 'zz': *})");
    EXPECT_TRUE(jax::tree_structure(hashed) == jax::tree_structure(Map(hashed.begin(), hashed.end())));
    std::string values;
    for (const Array& a : jax::tree_leaves(hashed)) values += a.str();
    EXPECT_EQ(values, "1234");
    const auto doubled = jax::jit([](const std::unordered_map<std::string, Array>& m) {
        return jax::tree_map([](Array a, Array b) { return a + b; }, m, m);
    })(hashed);
    for (const auto& [key, value] : hashed) EXPECT_EQ(doubled.at(key).item<int>(), 2 * value.item<int>()) << key;
    const std::map<int, Array, std::greater<>> falling{{1, 1}, {3, 3}, {2, 2}};
    EXPECT_EQ(jax::tree_structure(falling).str(), "PyTreeDef({1: *, 2: *, 3: *})");
    EXPECT_EQ(jax::tree_leaves(falling)[0].item<int>(), 1);
    const auto [some, rest] =
        jax::partition(hashed, std::unordered_map<std::string, bool>{{"a", true}, {"b", false}, {"c", true}, {"zz", false}});
    EXPECT_TRUE(some.at("a").has_value() && some.at("c").has_value() && rest.at("b").has_value() && rest.at("zz").has_value());
    EXPECT_FALSE(some.at("b").has_value() || some.at("zz").has_value() || rest.at("a").has_value());
}
TEST(Trees, LeavesComeWithTheirPaths_A_04_A_05) {
    const Net net{{{1, 2}}, {{"k", 3}}, Array(4)};
    std::string steps, names, values;
    for (const auto& [path, leaf] : jax::tree_flatten_with_path(net).first) {
        for (const jax::KeyEntry& e : path) steps += e.str() + " ";
        names += jax::keystr(path) + " " + jax::keystr(path, {.simple = true, .separator = "/"}) + " ";
        values += leaf.str();
    }
    EXPECT_EQ(steps,
              "GetAttrKey(name='layers') SequenceKey(idx=0) GetAttrKey(name='x') GetAttrKey(name='layers') SequenceKey(idx=0) "
              "GetAttrKey(name='y') GetAttrKey(name='extra') DictKey(key='k') GetAttrKey(name='bias') ");
    EXPECT_EQ(names, ".layers[0].x layers/0/x .layers[0].y layers/0/y .extra['k'] extra/k .bias bias ");
    EXPECT_EQ(values, "1234");
    EXPECT_EQ(jax::keystr({}), "");
    const Net scaled =
        jax::tree_map_with_path([](const jax::KeyPath& path, Array a, Array b) { return path.back().key == "y" ? a * b : a; }, net, net);
    EXPECT_EQ(scaled.layers[0].y.item<int>(), 4);
    EXPECT_EQ(scaled.extra.at("k").item<int>(), 3);
    EXPECT_EQ(jax::tree_reduce([](Array sum, Array a) { return sum + a * a; }, net, Array(0)).item<int>(), 30);
    EXPECT_EQ(jax::tree_reduce([](Array sum, Array a) { return sum - a; }, std::tuple(Array(9), jax::none, Array(2))).item<int>(), 7);
    EXPECT_EQ(error_of([] { jax::tree_reduce([](Array sum, Array a) { return sum + a; }, std::vector<Array>()); }),
              "reduce() of empty iterable with no initial value");
}
TEST(Trees, FixedNumbersAreWrittenAsPythonWritesThem) {
    EXPECT_EQ(jax::tree_structure(jax::Static<float>{1e-3F}).str(), "PyTreeDef(0.001)");
    EXPECT_EQ(jax::tree_structure(jax::Static<double>{3}).str(), "PyTreeDef(3.0)");
    EXPECT_EQ(jax::tree_structure(jax::Static<double>{1e-7}).str(), "PyTreeDef(1e-07)");
}
TEST(Behaviours, A_05_PathsArePlainWithASeparator) {
    const std::map<std::string, std::map<std::string, std::vector<Array>>> t{{"a", {{"b", {1}}}}};
    EXPECT_EQ(jax::tree_structure(t).paths().at(0), "['a']['b'][0]");
    EXPECT_EQ(jax::tree_structure(t).paths(true, "/").at(0), "a/b/0");
    EXPECT_EQ(jax::tree_structure(Array(1)).paths().at(0), "");
}
TEST(Behaviours, A_07_WrongNumbersOfLeavesAreRefused) {
    const std::pair<Array, Array> two(0, 0);
    EXPECT_EQ(error_of([&] { jax::tree_unflatten(two, {Array(1)}); }), "Too few leaves for PyTreeDef; expected 2, got 1");
    EXPECT_EQ(error_of([&] { jax::tree_unflatten(two, {Array(1), Array(2), Array(3)}); }), "Too many leaves for PyTreeDef; expected 2.");
}
TEST(Behaviours, A_08_MappingOverTreesThatDifferNamesThePlace) {
    const auto first = [](Array a, Array) { return a; };
    const std::vector<Array> one{1}, two{1, 2};
    EXPECT_EQ(
        error_of([&] { jax::tree_map(first, two, one); }),
        "pytree structure error: different lengths of list at key path\n    tree_map tree\nAt that key path, the prefix pytree tree_map "
        "tree has a subtree of type list of length 2, but the full pytree has a subtree of the same type but of length 1.");
    const std::tuple<Array> tuple(1);
    EXPECT_EQ(
        error_of([&] { jax::tree_map(first, tuple, one); }),
        "pytree structure error: different types at key path\n    tree_map tree\nAt that key path, the prefix pytree tree_map tree has a "
        "subtree of type\n    <class 'tuple'>\nbut at the same key path the full pytree has a subtree of different type\n    <class "
        "'list'>.");
}
TEST(Trees, DefinitionsCompareHashAndPrint) {
    Net a{{{1, 2}}, {{"k", 3}}, std::nullopt, {2}}, b = a;
    EXPECT_EQ(jax::tree_structure(a), jax::tree_structure(b));
    EXPECT_EQ(jax::tree_structure(a).hash(), jax::tree_structure(b).hash());
    b.depth.value = 3;
    EXPECT_FALSE(jax::tree_structure(a) == jax::tree_structure(b));
    b = a;
    b.bias = Array(1);
    EXPECT_FALSE(jax::tree_structure(a) == jax::tree_structure(b));
    EXPECT_EQ(jax::tree_structure(a).str(), "PyTreeDef(CustomNode(Net[(2,)], [[CustomNode(PlanePoint[()], [*, *])], {'k': *}, None]))");
    EXPECT_EQ(jax::tree_structure(Hidden(1)).paths().at(0), ".w_");
    const std::variant<Array, PlanePoint> v = PlanePoint{1, 2};
    EXPECT_EQ(jax::tree_structure(v).num_leaves(), 2u);
    EXPECT_FALSE(jax::tree_structure(v) == jax::tree_structure(std::variant<Array, PlanePoint>(Array(1))));
    EXPECT_EQ(jax::tree_structure(std::array<Array, 2>{1, 2}).num_leaves(), 2u);
}
struct Stack {
    PlanePoint corner;
    Array w[3], b[2][2];
    PlanePoint points[2];
    jax::Static<int> depth{1};
    Array last;
};
struct Nested {
    std::vector<Nested> inner;
    Array v;
};
TEST(Trees, ArraysOfCAreTuples) {
    Stack s{};
    for (Array& w : s.w) w = 1.;
    for (auto& row : s.b)
        for (Array& b : row) b = 2.;
    s.points[1].y = s.last = 3.;
    EXPECT_EQ(jax::tree_structure(s).str(),
              "PyTreeDef(CustomNode(Stack[(1,)], [CustomNode(PlanePoint[()], [None, None]), (*, *, *), ((*, *), (*, *)), "
              "(CustomNode(PlanePoint[()], [None, None]), CustomNode(PlanePoint[()], [None, *])), *]))");
    EXPECT_EQ(jax::tree_structure(s).paths(), (std::vector<std::string>{".w[0]", ".w[1]", ".w[2]", ".b[0][0]", ".b[0][1]", ".b[1][0]",
                                                                        ".b[1][1]", ".points[1].y", ".last"}));
    const auto loss = [](const Stack& t) { return (t.w[0] * t.w[2] * t.b[1][0] + t.points[1].y * t.last).sum(); };
    const Stack g = jax::grad(loss)(s);
    EXPECT_EQ(g.w[0].item<float>(), 2);
    EXPECT_EQ(g.w[1].item<float>(), 0);
    EXPECT_EQ(g.b[1][0].item<float>(), 1);
    EXPECT_EQ(g.last.item<float>(), 3);
    const auto step = jax::jit([](Stack t) {
        t.w[1] = t.w[1] + t.b[0][1];
        return t;
    });
    EXPECT_EQ(step(step(s)).w[1].item<float>(), 5);
    EXPECT_EQ(step.retraces().size(), 1u);
    s.w[1] = Array();
    s.w[0] = jnp::ones(2);
    EXPECT_THROW(step(s), std::exception);  // an operand that is None
}
TEST(Trees, MayHoldTreesOfTheirOwnType) {
    const Nested n{{Nested{{}, 1.}, Nested{{Nested{{}, 2.}}, 3.}}, 4.};
    EXPECT_EQ(jax::tree_structure(n).paths(), (std::vector<std::string>{".inner[0].v", ".inner[1].inner[0].v", ".inner[1].v", ".v"}));
    EXPECT_EQ(jax::tree_map([](const Array& a) { return a + 1; }, n).inner[1].inner[0].v.item<float>(), 3);
}

TEST(Behaviours, A_10_AxesSpreadOverTheLeavesBelow) {
    const std::map<std::string, std::vector<Array>> value{{"a", {1, 2, Array()}}, {"b", {3}}};
    const auto d = jax::tree_structure(value);
    using jax::AxisTree;
    const auto text = [](const std::vector<jax::Axis>& axes) {
        std::string s;
        for (const jax::Axis& a : axes) s += a.mapped ? std::to_string(a.axis) + " " : "None ";
        return s;
    };
    EXPECT_EQ(text(jax::flatten_axes("spec", d, AxisTree::dict({{"a", jax::none}, {"b", 1}}))), "None None 1 ");
    EXPECT_EQ(text(jax::flatten_axes("spec", d, 0)), "0 0 0 ");
    EXPECT_EQ(text(jax::flatten_axes("spec", d, jax::none)), "None None None ");
}
TEST(Behaviours, A_16_DonationIsPerLeaf) {
    const std::vector<jax::PyTreeDef> args{jax::tree_structure(std::pair<Array, Array>(1, 2))};
    EXPECT_EQ(jax::donation_vector({0}, {}, {jax::tree_structure(Array(1)), jax::tree_structure(std::pair<Array, Array>(1, 2))}, {}),
              (std::vector<bool>{true, false, false}));
    EXPECT_EQ(jax::donation_vector({1}, {"z"}, {jax::tree_structure(Array(1)), jax::tree_structure(Array(2))},
                                   {{"b", jax::tree_structure(Array(5))}, {"z", jax::tree_structure(std::pair<Array, Array>(3, 4))}}),
              (std::vector<bool>{false, true, false, true, true}));
}
TEST(Behaviours, A_17_DonatedNumbersAreLoweredByStaticOnes) {
    using I = std::vector<int>;
    EXPECT_EQ(jax::rebase_donate_argnums({3, 4}, {0, 1}), (I{1, 2}));
    EXPECT_EQ(jax::rebase_donate_argnums({3, 2}, {1, 0}), (I{0, 1}));
    EXPECT_EQ(jax::rebase_donate_argnums({3, 3, 3}, {0, 1}), (I{1}));
    EXPECT_EQ(jax::rebase_donate_argnums({}, {1, 2}), I{});
    EXPECT_EQ(jax::rebase_donate_argnums({0}, {2, 3}), (I{0}));
    EXPECT_EQ(jax::rebase_donate_argnums({2, 0}, {}), (I{0, 2}));
    EXPECT_NE(error_of([] { jax::rebase_donate_argnums({1}, {1}); }), "no error");
}

struct Place {
    int row;
    std::string name;
    auto operator<=>(const Place&) const = default;
};
template <class K>
std::string jitted_by_key(const K& a, const K& b) {
    const auto f = jax::jit([a](const std::map<K, Array>& d) { return d.count(a) ? d.at(a) : d.begin()->second * 10; });
    return f(std::map<K, Array>{{a, 1.}}).str() + " " + f(std::map<K, Array>{{b, 1.}}).str();
}
TEST(Pytrees, KeysOfAnyTypeAreToldApart) {
    EXPECT_EQ(jitted_by_key<std::string_view>("q", "r"), "1.0 10.0");
    EXPECT_EQ(jitted_by_key(std::pair(0, 3), std::pair(1, 2)), "1.0 10.0");
    EXPECT_EQ(jitted_by_key(std::tuple(0, std::string("a")), std::tuple(0, std::string("b"))), "1.0 10.0");
    EXPECT_EQ(jitted_by_key(Place{1, "a"}, Place{1, "b"}), "1.0 10.0");
    EXPECT_EQ(jitted_by_key(std::string("a\0b", 3), std::string("a\0c", 3)), "1.0 10.0");
    const std::map<std::pair<int, int>, Array> d{{{0, 3}, 1.}, {{1, 2}, 2.}};
    EXPECT_EQ(jax::tree_structure(d).str(), "PyTreeDef({(0, 3): *, (1, 2): *})");
}
TEST(Pytrees, KeysArePrintedAsPythonDoes) {
    const std::map<std::string, Array> d{{"it's", 1.}, {"a\n", 2.}, {"a\\b", 3.}};
    EXPECT_EQ(jax::tree_structure(d).str(), R"(PyTreeDef({'a\n': *, 'a\\b': *, "it's": *}))");
    EXPECT_EQ(jax::tree_structure(d).paths(), (std::vector<std::string>{R"(['a\n'])", R"(['a\\b'])", R"(["it's"])"}));
    EXPECT_EQ(jax::tree_structure(d).paths(true, "/"), (std::vector<std::string>{"a\n", "a\\b", "it's"}));
}
TEST(Pytrees, AllMismatchesOfAPrefixAreTold) {
    using T = jax::AxisTree;
    const jax::PyTreeDef d = jax::tree_structure(std::map<std::string, std::vector<Array>>{{"a", {1., 2.}}, {"b", {3.}}});
    const std::string text = error_of([&] { jax::flatten_axes("my spec", d, T::dict({{"a", T::tuple({0, 0})}, {"b", T::tuple({1})}})); });
    EXPECT_NE(text.find("Mismatch details (2 found):\n  pytree structure error: different types at key path\n    my spec['a']\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("<class 'list'>.\n  pytree structure error: different types at key path\n    my spec['b']\n"), std::string::npos)
        << text;
    const jax::PyTreeDef one = jax::tree_structure(std::make_tuple(std::tuple(Array(1.), Array(2.))));
    EXPECT_NE(error_of([&] {
                  jax::flatten_axes("in_axes", one, T::tuple({0, 0}), true);
              })
                  .find("of the corresponding value;  Note that in_axes that are non-trivial pytrees should always be wrapped in a tuple "
                        "representing the argument list. In particular, you're passing in a single argument which means that in_axes might "
                        "need to be wrapped in a singleton tuple.\n  Mismatch details (1 found):"),
              std::string::npos);
}
TEST(Arrays, OfComplexNumbersAreWeakAsPythons) {
    const std::complex<double> c(1, 2);
    EXPECT_EQ(Array(c).aval(), "~complex64[]");
    EXPECT_EQ(jax::make_jaxpr([&](Array x) { return x * c; })(jnp::ones(3)).str(),
              "{ lambda ; a:f32[3]. let\n    b:c64[3] = convert_element_type[new_dtype=complex64 weak_type=False] a\n"
              "    c:c64[3] = mul b (1+2j):c64[]\n  in (c,) }");
    EXPECT_EQ(jax::jit([](Array x) { return x; })(c).aval(), "~complex64[]");
    EXPECT_EQ(jax::jit([](Array x, std::complex<double> s) { return x * s; }, {.static_argnums = {1}})(1., c).str(), "(1+2j)");
    // Static ones that differ in the second part alone are two.
    const auto times = jax::jit([](Array x, Array s) { return x * s; }, {.static_argnums = {1}});
    EXPECT_EQ(times(1., c).str(), "(1+2j)");
    EXPECT_EQ(times(1., std::complex<double>(1, 3)).str(), "(1+3j)");
    EXPECT_EQ(times.retraces().size(), 2u);
}

TEST(Arguments, EmptyTuplesAndMissingArraysAreTreesWithoutLeaves) {
    const auto first = [](Array x, const std::tuple<>&) { return x * 2; };
    EXPECT_EQ(jax::jit(first)(1., std::tuple<>()).item<int>() + jax::checkpoint(first)(2., std::tuple<>()).item<int>(), 6);
    const auto masked = [](Array x, const std::optional<Array>& mask) { return mask ? x * *mask : x; };
    EXPECT_EQ(jax::jit(masked)(3., std::nullopt).item<int>() + jax::grad(masked)(3., jax::kw("mask", std::nullopt)).item<int>(), 4);
    EXPECT_EQ(jax::jit(masked)(3., std::optional<Array>(2.)).item<int>(), 6);
}

}  // namespace
