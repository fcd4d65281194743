// Equinox's functions on trees and filter_jit. The names of the tests say which items of the behaviours they hold to.
#include <gtest/gtest.h>

#include <complex>
#include <map>

#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

struct Model {
    Array w;
    int n = 3;
    std::string name = "net";
    Array steps;
    std::vector<Array> more = {};
};
Model model() { return {jnp::ones(3), 3, "net", Array(std::vector<std::int32_t>{0, 1}, {2}), {jnp::zeros(2)}}; }

TEST(FilterJit, TakesTransformedFunctions) {
    const auto loss = [](const Model& m, Array x) { return jnp::sum(m.w * x) * m.n; };
    const auto [value, gradient] = jax::filter_jit(jax::filter_value_and_grad(loss))(model(), jnp::ones(3));
    EXPECT_EQ(value.item<double>(), 9.);
    EXPECT_EQ(gradient.w.str(), "[3. 3. 3.]");
    const auto square = [](Array x) { return x * x; };
    EXPECT_EQ(jax::filter_jit(jax::grad(square))(3.).item<double>(), 6.);
    EXPECT_EQ(jax::filter_jit(jax::vmap(square))(jnp::ones(3)).str(), "[1. 1. 1.]");
    EXPECT_EQ(jax::filter_jit(jax::checkpoint(square))(jnp::ones(3)).str(), "[1. 1. 1.]");
    EXPECT_EQ(jax::filter_jit(jax::hessian(square))(3.).item<double>(), 2.);
}
TEST(FilterGrad, PassesKeywordsOn) {
    const auto scaled = [](Array x, Array y) { return x * y; };
    EXPECT_EQ(jax::filter_grad(scaled)(jnp::ones({}), jax::kw("y", 4.)).item<double>(), 4.);
    EXPECT_EQ(jax::filter_jacrev(scaled)(jnp::ones({}), jax::kw("y", 4.)).item<double>(), 4.);
}

struct Stderr {
    Stderr() { testing::internal::CaptureStderr(); }
    std::string text() { return testing::internal::GetCapturedStderr(); }
};

TEST(Behaviours, B_28_AllArraysAreDonatedAndNothingIsSaid) {
    const auto f = jax::filter_jit([](Array x, Array y, int s) { return x + y.sum() * s; }, {.donate = "all"});
    const Array x = jnp::ones(3), y = jnp::ones(4);
    Stderr heard;
    EXPECT_EQ(f(x, y, 2).str(), "[9. 9. 9.]");
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(x.is_deleted());
    EXPECT_FALSE(y.is_deleted());
}
TEST(Behaviours, B_29_TheFirstArgumentCanBeSpared) {
    const auto f = jax::filter_jit([](const std::map<std::string, Array>& x, Array y) { return std::pair(x.at("a") + 1, y + 1); },
                                   {.donate = "all-except-first"});
    const std::map<std::string, Array> x{{"a", jnp::ones(3)}};
    const Array y = jnp::ones(3);
    f(x, y);
    EXPECT_FALSE(x.at("a").is_deleted());
    EXPECT_TRUE(y.is_deleted());
}
TEST(Behaviours, B_31_NothingIsDonatedByDefault) {
    const Array x = jnp::ones(3);
    Stderr heard;
    jax::filter_jit([](Array a) { return a.sum(); })(x);
    EXPECT_EQ(heard.text(), "");
    EXPECT_FALSE(x.is_deleted());
}
TEST(Behaviours, B_32_AnUnknownModeIsRefusedAtOnce) {
    EXPECT_EQ(error_of([] { jax::filter_jit([](Array x) { return x; }, {.donate = "arrays"}); }),
              "`filter_jit(..., donate=...)` must be one of 'all', 'all-except-first', 'warn', 'warn-except-first', or 'none'.");
}
TEST(Behaviours, B_34_WhatTheFilterDecidesIsRefusedAtOnce) {
    const char* text =
        "`jitkwargs` cannot contain 'static_argnums', 'static_argnames', 'donate_argnums', 'in_shardings', or 'out_shardings'.";
    const auto same = [](Array x) { return x; };
    EXPECT_EQ(error_of([&] { jax::filter_jit(same, {.static_argnames = {"x"}}); }), text);
    EXPECT_EQ(error_of([&] { jax::filter_jit(same, {.donate_argnums = 0}); }), text);
    EXPECT_EQ(error_of([&] { jax::filter_jit(same, {.static_argnums = {0, 1}}); }), text);
    EXPECT_EQ(jax::filter_jit(same)(Array(2)).item<int>(), 2);
}
TEST(FilterJit, WarningsAreShownWhereAsked_B_28) {
    const auto heard_of = [](const char* mode) {
        Stderr heard;
        jax::filter_jit([](Array x, Array y) { return x.sum() + y.sum(); }, {.donate = mode})(jnp::ones(3), jnp::ones(4));
        return heard.text();
    };
    const std::string end = "\nSee an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n";
    EXPECT_EQ(heard_of("warn"), "UserWarning: Some donated buffers were not usable: float32[3], float32[4]." + end);
    EXPECT_EQ(heard_of("warn-except-first"), "UserWarning: Some donated buffers were not usable: float32[4]." + end);
    EXPECT_EQ(heard_of("all-except-first"), "");
}
TEST(FilterJit, WarningsAreShownInATransformationOutsideOfJit) {
    const auto heard_of = [](const char* mode) {
        Stderr heard;
        const auto f = jax::filter_jit([](Array x) { return jnp::sin(x).sum(); }, {.donate = mode});
        jax::vmap(f)(jnp::ones({2, 6}));
        jax::jvp(f, std::tuple(jnp::ones(6)), std::tuple(jnp::ones(6)));
        return heard.text();
    };
    const std::string begin = "UserWarning: Some donated buffers were not usable: ";
    const std::string end = ".\nSee an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n";
    EXPECT_EQ(heard_of("warn"), begin + "float32[2,6]" + end + begin + "float32[6], float32[6]" + end);
    EXPECT_EQ(heard_of("all"), "");
    EXPECT_EQ(heard_of("warn-except-first"), "");
}
TEST(Behaviours, B_35_WhatIsNoArrayIsStatic) {
    std::vector<std::string> seen;
    const auto f = jax::filter_jit([&](Array x, const auto& s) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(s)>, std::string>)
            seen.push_back(s);
        else
            seen.push_back(std::to_string(s));
        return std::pair(x, s);
    });
    EXPECT_EQ(f(jnp::ones(2), "a").second, "a");
    EXPECT_EQ(f(jnp::ones(2), 2.5).second, 2.5);
    EXPECT_EQ(f(jnp::zeros(2), "a").first.str(), "[0. 0.]");
    EXPECT_EQ(f(jnp::zeros(2), "b").second, "b");
    EXPECT_EQ(seen, (std::vector<std::string>{"a", "2.500000", "b"}));
}
TEST(FilterJit, MembersThatAreNoArraysAreStatic) {
    int traces = 0;
    const auto f = jax::filter_jit([&](const Model& m) {
        ++traces;
        Model out = m;
        out.w = m.w * m.n;
        return out;
    });
    Model m = model();
    EXPECT_EQ(f(m).w.str(), "[3. 3. 3.]");
    EXPECT_EQ(f(f(m)).name, "net");
    EXPECT_EQ(traces, 1);
    m.n = 5;
    EXPECT_EQ(f(m).w.str(), "[5. 5. 5.]");
    EXPECT_EQ(traces, 2);
    EXPECT_NE(f.retraces().at(1).find("static value"), std::string::npos);
}
struct Adder {
    Array w;
    Array operator()(Array x) const { return x + w; }
};
TEST(Behaviours, B_37_TheObjectOfAMethodIsTheFirstArgument) {
    const auto f = jax::filter_jit([](const Adder& m, Array x) { return m(x); }, {.donate = "all-except-first"});
    const Adder m{jnp::ones(3)};
    const Array x = jnp::ones(3);
    f(m, x);
    EXPECT_FALSE(m.w.is_deleted());
    EXPECT_TRUE(x.is_deleted());
}
TEST(FilterJit, AFunctionObjectsOwnArraysAreTracedAndDonatedWithTheRest) {
    const Adder m{jnp::ones(3)};
    const Array x = jnp::zeros(3);
    const auto f = jax::filter_jit(m, {.donate = "all-except-first"});
    EXPECT_EQ(f(x).str(), "[1. 1. 1.]");
    EXPECT_FALSE(x.is_deleted());
    EXPECT_TRUE(m.w.is_deleted());
}
struct Scale {
    Array w;
    Array operator()(Array x, Array y) const { return x * w.sum() + y.sum(); }
};
TEST(FilterJit, ArgumentsStandAsEquinoxListsThem_B_29) {
    const Array x = jnp::ones(3), y = jnp::ones(4);
    const auto inputs = [&](const auto& f, const auto&... a) {
        const std::string text = f.lower(a...).as_text();
        return text.substr(0, text.find('.'));
    };
    const Scale m{jnp::ones(2)};
    EXPECT_EQ(inputs(jax::filter_jit(m), x, y), "{ lambda ; a:f32[3] b:f32[2] c:f32[4]");
    EXPECT_EQ(inputs(jax::filter_jit(m, {.donate = "all"}), x, y), "{ lambda ; a:f32[3] b:f32[2] c:f32[4]");
    EXPECT_EQ(inputs(jax::filter_jit(m, {.donate = "all-except-first"}), x, y), "{ lambda ; a:f32[3] b:f32[2] c:f32[4]");
    const auto call = [](const Scale& s, Array a, Array b) { return s(a, b); };
    EXPECT_EQ(inputs(jax::filter_jit(call, {.donate = "warn-except-first"}), m, x, y), "{ lambda ; a:f32[2] b:f32[3] c:f32[4]");
    EXPECT_EQ(jax::filter_jit(call, {.donate = "all-except-first"})(m, x, y).str(), "[6. 6. 6.]");
}
TEST(Behaviours, B_38_AnExtraResultTakesADonatedScalar) {
    const auto f = jax::filter_jit([](Array i, Array x) { return std::pair(x + 1, i + 1); }, {.donate = "all"});
    const Array i = jnp::array({3})[0], x = jnp::ones(2);
    const auto [y, j] = f(i, x);
    EXPECT_EQ(j.item<int>(), 4);
    EXPECT_TRUE(i.is_deleted());
    EXPECT_NE(f.donation_report().find("taken by the extra int32 output"), std::string::npos) << f.donation_report();
    const std::string text =
        jax::make_jaxpr([&](Array a) { return jax::filter_jit([](Array b, int s) { return b * s; })(a, 2); })(jnp::ones(3)).str();
    EXPECT_EQ(text,
              "{ lambda ; a:f32[3]. let\n    _:i32[] b:f32[3] = jit[\n      name=<unnamed function>\n      jaxpr={ lambda ; a:f32[3]. let\n"
              "          b:f32[3] = mul a 2.0:f32[]\n        in (0:i32[], b) }\n    ] a\n  in (b,) }");
}
TEST(Behaviours, B_41_InsideAnotherJitNothingIsDonated) {
    const auto f = jax::filter_jit([](Array x) { return x + 1; }, {.donate = "all"});
    const Array x = jnp::ones(2);
    jax::jit([&](Array a) { return f(a) + a; })(x);
    EXPECT_FALSE(x.is_deleted());
}
TEST(Behaviours, B_40_PartitionAndCombineAreInverse) {
    const Model m = model();
    const auto [floats, rest] = jax::partition(m, jax::is_inexact_array);
    EXPECT_TRUE(floats.w.has_value() && floats.more[0].has_value() && !floats.steps.has_value());
    EXPECT_TRUE(!rest.w.has_value() && rest.steps.has_value());
    const Model back = jax::combine(floats, rest);
    EXPECT_EQ(jax::tree_pformat(back), jax::tree_pformat(m));
    using Map = std::map<std::string, Array>;
    const Map c = jax::combine(Map{{"a", Array()}, {"b", 1}}, Map{{"a", 2}, {"b", 3}});
    EXPECT_EQ(c.at("a").item<int>() * 10 + c.at("b").item<int>(), 21);
    EXPECT_NE(error_of([] { jax::combine(Map{{"a", 1}}, Map{{"a", 1}, {"b", 2}}); }), "no error");
}
TEST(Filter, ASpecificationIsABoolACallableOrAPrefix) {
    const Model m = model();
    EXPECT_FALSE(jax::filter(m, false).w.has_value());
    EXPECT_TRUE(jax::filter(m, jax::is_array, {.inverse = true}).w.has_value() == false);
    const auto big = [](const Array& a) { return a.size() > 2; };
    EXPECT_TRUE(jax::filter(m, big).w.has_value());
    EXPECT_FALSE(jax::filter(m, big).steps.has_value());
    const auto p = jax::filter(std::tuple(m, jnp::ones(1)), std::tuple(true, false));
    EXPECT_TRUE(std::get<0>(p).w.has_value() && !std::get<1>(p).has_value());
    // A tree of its own type: nothing but one weight.
    const auto none = [](Array) { return Array(false); };
    Model spec = jax::filter(m, true);
    jax::detail::each_leaf<true>(spec, [&](Array& a) { a = none(a); });
    spec = jax::tree_at(
        [](auto& t) -> auto& { return t.w; }, spec, Array(true));
    const Model only = jax::filter(m, spec);
    EXPECT_TRUE(only.w.has_value() && !only.steps.has_value() && !only.more[0].has_value());
    using Map = std::map<std::string, Array>;
    EXPECT_NE(error_of([] {
                  jax::filter(Map{{"a", 1}, {"b", 2}}, std::map<std::string, bool>{{"a", true}});
              }).find("pytree structure error"),
              std::string::npos);
}
TEST(Filter, TreeAtReplacesNodes) {
    const Model m = jax::tree_at([](auto& t) { return std::tie(t.w, t.n); }, model(), std::tuple(jnp::zeros(1), 7));
    EXPECT_EQ(m.w.str(), "[0.]");
    EXPECT_EQ(m.n, 7);
    const Model twice = jax::tree_at(
        [](auto& t) -> auto& { return t.w; }, model(), jax::replace_fn([](Array a) { return a * 2; }));
    EXPECT_EQ(twice.w.str(), "[2. 2. 2.]");
}
TEST(Filter, TreesPrintAsEquinoxPrintsThem) {
    EXPECT_EQ(jax::tree_pformat(std::tuple(jnp::ones(2))), "(f32[2],)");
    EXPECT_EQ(jax::tree_pformat(std::vector<Array>{}), "[]");
    EXPECT_EQ(jax::tree_pformat(jax::random::key(0)), "key<fry>[]");
    EXPECT_EQ(jax::tree_pformat(model()), "Model(w=f32[3], steps=i32[2], more=[f32[2]])");
    std::map<std::string, std::vector<Array>> wide{{"a", std::vector<Array>(9, jnp::ones({200, 3}))}};
    std::string want = "{\n  'a':\n  [\n";
    for (int i = 0; i < 9; ++i) want += std::string("    f32[200,3]") + (i < 8 ? ",\n" : "\n");
    EXPECT_EQ(jax::tree_pformat(wide), want + "  ]\n}");
    // What fits on one line between the brackets' lines stays on it.
    struct Layer {
        Array w, b;
    };
    struct Net {
        std::vector<Layer> layers;
    };
    EXPECT_EQ(jax::tree_pformat(Net{{{jnp::ones({5, 3}), jnp::ones(5)}, {jnp::ones({2, 5}), jnp::ones(2)}}}, {.width = 62}),
              "Net(\n  layers=[\n    Layer(w=f32[5,3], b=f32[5]), Layer(w=f32[2,5], b=f32[2])\n  ]\n)");
    EXPECT_EQ(jax::tree_pformat(std::vector<Array>{jnp::ones(2)}, {.short_arrays = false}), "[Array([1., 1.], dtype=float32)]");
    EXPECT_EQ(jax::tree_pformat(std::map<std::string, Array>{{"w", jnp::ones({2, 2})}}, {.short_arrays = false}),
              "{'w': Array([[1., 1.],\n             [1., 1.]], dtype=float32)}");
    EXPECT_EQ(jax::tree_pformat(std::pair(jnp::full(2, 1.), Array(1))), "(weak_f32[2], weak_i32[])");
    EXPECT_EQ(jax::tree_pformat(jax::eval_shape([](Array x) { return std::pair(x, x * 2.); }, Array(1))),
              "(\n  ShapeDtypeStruct(shape=(), dtype=int32, weak_type=True),\n  ShapeDtypeStruct(shape=(), dtype=float32, "
              "weak_type=True)\n)");
}
TEST(Filter, NumbersOfAllKindsAreLikeArrays) {
    EXPECT_TRUE(jax::is_array_like(1) && jax::is_array_like(true) && jax::is_array_like(std::complex<float>(1, 2)));
    EXPECT_TRUE(jax::is_array_like(jnp::ones(2)) && jax::is_inexact_array_like(std::complex<float>(1, 2)));
    EXPECT_FALSE(jax::is_array_like(std::string("s")) || jax::is_array_like(Array()) || jax::is_inexact_array_like(1));
    EXPECT_FALSE(jax::is_array(1.) || jax::is_inexact_array(jnp::arange(2)));
}
TEST(Filter, GradientsAreOfFloatsOfTheFirstArgument) {
    const auto loss = [](const Model& m, double scale) { return (m.w * m.w).sum() * scale + m.more[0].sum(); };
    const auto [value, g] = jax::filter_value_and_grad(loss)(model(), 2.0);
    EXPECT_EQ(value.item<double>(), 6.0);
    EXPECT_EQ(g.w.str(), "[4. 4. 4.]");
    EXPECT_EQ(g.more[0].str(), "[1. 1.]");
    EXPECT_FALSE(g.steps.has_value());
    const auto aux = [](const Model& m) { return std::pair(m.w.sum(), std::tuple(m.name, m.w * 2)); };
    const auto [gradient, extra] = jax::filter_grad(aux)(model());
    EXPECT_EQ(gradient.w.str(), "[1. 1. 1.]");
    EXPECT_EQ(std::get<0>(extra), "net");
    EXPECT_EQ(std::get<1>(extra).str(), "[2. 2. 2.]");
    EXPECT_EQ(error_of([] { jax::filter_grad([](const Model& m) { return m.w; })(model()); }),
              "Gradient only defined for scalar-output functions. Output had shape: (3,).");
}
TEST(Filter, GradientsNameTheirArgumentsByPath) {
    const auto asks = [](const Model& m) { return m.more[0].sum() > 0 ? m.w.sum() : m.w.sum() * 2.; };
    // Outside of jit it is known.
    EXPECT_EQ(jax::filter_grad(asks)(model()).w.str(), "[2. 2. 2.]");
    EXPECT_NE(
        error_of([&] { jax::filter_jit(jax::filter_grad(asks))(model()); }).find("depends on the value of the argument args[0].more[0]."),
        std::string::npos);
    EXPECT_NE(error_of([&] { jax::filter_jit(jax::filter_value_and_grad(asks))(model()); }).find("argument args[0].more[0]."),
              std::string::npos);
    const auto named = jax::grad([](Array x, Array y) { return x.sum() > 0 ? y.sum() : x.sum(); }, {.arg_names = {"x", "y"}});
    EXPECT_NE(error_of([&] { jax::jit(named)(jnp::ones(2), jnp::ones(2)); }).find("depends on the value of the argument x."),
              std::string::npos);
}
TEST(Filter, JvpLeavesOutWhatHasNoTangent) {
    Model dot = jax::filter(model(), false);
    dot.w = jnp::ones(3);
    const auto f = [](const Model& m, Array x) { return std::pair(m.w * x, m.name); };
    const auto [y, t] = jax::filter_jvp(f, std::tuple(model(), Array(2.)), std::tuple(dot, Array()));
    EXPECT_EQ(y.first.str(), "[2. 2. 2.]");
    EXPECT_EQ(t.first.str(), "[2. 2. 2.]");
    EXPECT_EQ(y.second, "net");
}
TEST(Filter, VmapAndCheckpointTakeModels) {
    const Model m{jnp::ones({2, 3}), 3, "net", Array(), {}};
    const auto f = [](const Model& t, Array x) { return t.w * x * t.n; };
    EXPECT_EQ(jax::filter_vmap(f)(m, jnp::ones(2)).shape().str(), "(2, 3)");
    EXPECT_EQ(jax::filter_vmap(f, {.in_axes = {jax::none, 0}})(m, jnp::ones(4)).shape().str(), "(4, 2, 3)");
    EXPECT_EQ(jax::filter_vmap(f, {.in_axes = {jax::if_array(1), jax::none}})(m, jnp::ones({})).shape().str(), "(3, 2)");
    EXPECT_EQ(jax::filter_checkpoint(f)(m, Array(1.))[0][0].item<double>(), 3.0);
    EXPECT_NE(jax::filter_make_jaxpr(jax::filter_checkpoint(f))(m, Array(1.)).str().find("remat"), std::string::npos);
}
TEST(Filter, AConvertedClosureDemandsItsArguments) {
    const Array closed = jnp::ones(3);
    const auto f =
        jax::filter_closure_convert([closed](const Model& m, Array x) { return std::pair(m.w * x + closed, m.name); }, model(), Array(1.));
    const auto [y, name] = f(model(), Array(2.));
    EXPECT_EQ(y.str(), "[3. 3. 3.]");
    EXPECT_EQ(name, "net");
    Model other = model();
    other.w = jnp::ones(4);
    EXPECT_EQ(error_of([&] { f(other, Array(1.)); }).substr(0, 98),
              "Closure-converted function called with different dynamic arguments to the example arguments provid");
    other = model();
    other.n = 4;
    EXPECT_NE(error_of([&] { f(other, Array(1.)); }).find("different static arguments"), std::string::npos);
    const auto g = jax::filter_closure_convert([](Array x, int s) { return x * s; }, jnp::ones(3), 2);
    EXPECT_EQ(error_of([&] { g(jnp::ones(3), 3); }),
              "Closure-converted function called with different static arguments to the example arguments provided:\n\nCalled with: "
              "((None, 3), {})\n\nClosure-converted with: ((None, 2), {})");
    EXPECT_NE(error_of([&] { g(jnp::ones(2), 2); }).find("Called with: ((f32[2], None), {})"), std::string::npos);
}

}  // namespace
