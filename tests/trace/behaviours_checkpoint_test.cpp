// Behaviours C, D and G: checkpoint, its policies, names. Each compares with the text in the list of behaviours; what stands in it of
// places is that of the C++ program here, so lists of residuals are compared without their places.
#include "trace/behaviours.h"

TEST(Behaviours, C_01_TheCallIsOneEquationWithItsBody) {
    EXPECT_EQ(jax::make_jaxpr(jax::checkpoint([](Array x) { return jnp::sin(x) * 2.; }))(1.).str(), R"({ lambda ; a:f32[]. let
    b:f32[] = remat2[
      differentiated=False
      jaxpr={ lambda ; c:f32[]. let
          d:f32[] = sin c
          e:f32[] = mul d 2.0:f32[]
        in (e,) }
      policy=None
      prevent_cse=True
    ] a
  in (b,) })");
}
TEST(Behaviours, C_02_AGradientInlinesTheForwardPart) {
    EXPECT_EQ(jax::make_jaxpr(jax::grad(jax::checkpoint(twice_sin)))(1.).str(), R"({ lambda ; a:f32[]. let
    b:f32[] = sin a
    _:f32[] = sin b
    c:f32[] = remat2[
      differentiated=True
      jaxpr={ lambda ; d:f32[] e:f32[]. let
          f:f32[] = sin d
          g:f32[] = cos d
          h:f32[] = cos f
          i:f32[] = mul e h
          j:f32[] = mul i g
        in (j,) }
      policy=None
      prevent_cse=True
    ] a 1.0:f32[]
  in (c,) })");
}
TEST(Behaviours, C_04_StaticArgnumsMayCountFromTheEnd) {
    const auto f = [](Array x, bool flag) { return flag ? jnp::sin(x) : jnp::cos(x); };
    for (const int s : {1, -1})
        EXPECT_FLOAT_EQ(jax::grad(jax::checkpoint(f, {.static_argnums = {s}}))(Array(1.), true).item<float>(), 0.5403023F);
}
TEST(Behaviours, C_10_ConcreteIsGone) {
    for (const bool concrete : {true, false})
        EXPECT_EQ(
            error_of([&] { jax::checkpoint(twice_sin, {.concrete = concrete})(Array(1.)); }),
            "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In its place please use "
            "`static_argnums`; for details refer to https://docs.jax.dev/en/latest/jep/11830-new-remat-checkpoint.html.");
}
TEST(Behaviours, C_19_ClosedOverArraysAreLeadingOperands) {
    const Array c = jnp::arange(3) * 1.;
    const std::string text = jax::make_jaxpr(jax::checkpoint([&](Array x) { return x * c; }))(jnp::ones(3)).str();
    EXPECT_EQ(text.rfind("{ lambda a:f32[3]; b:f32[3]. let", 0), 0u) << text;
    EXPECT_NE(text.find("] a b"), std::string::npos) << text;
    EXPECT_NE(text.find("jaxpr={ lambda ; d:f32[3] e:f32[3]. let"), std::string::npos) << text;
}
TEST(Behaviours, C_25_WhatIsNoArrayIsRefusedUnlessStatic) {
    EXPECT_EQ(error_of([] { jax::checkpoint([](Array x, std::string) { return x; })(Array(1.), "str"); }),
              "Argument 'str' of type <class 'str'> is not a valid JAX type");
}
TEST(Behaviours, C_26_IntegersPassThroughAndHaveNoGradient) {
    const auto f = jax::checkpoint([](Array i, Array x) { return jnp::sin(x) * i; });
    EXPECT_FLOAT_EQ(jax::grad<1>(f)(Array(2), Array(1.)).item<float>(), 1.0806046F);
    EXPECT_EQ(error_of([&] { jax::grad(f)(Array(2), Array(1.)); }),
              "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. If you want to "
              "use Boolean- or integer-valued inputs, use vjp or set allow_int to True.");
    EXPECT_EQ(jax::grad(f, {.allow_int = true})(Array(2), Array(1.)).dtype(), jax::dtype::float0);
}

TEST(Behaviours, D_01_EverythingSaveableSavesWhatNoCheckpointSaves) {
    const auto f = [](Array x) { return jnp::sin(jnp::sin(x)) * x; };
    Lines plain = saved(f, Array(1.)), under_policy = saved(jax::checkpoint(f, under(policies::everything_saveable)), Array(1.));
    EXPECT_EQ(under_policy, (Lines{"from the argument x", "output of cos", "output of sin", "output of cos"}));
    std::sort(plain.begin(), plain.end());
    std::sort(under_policy.begin(), under_policy.end());
    EXPECT_EQ(plain, under_policy);
}
TEST(Behaviours, D_02_NothingSaveableSavesInputsThatAreNeeded) {
    const auto f = [](Array x, Array w, Array b) { return jnp::sin(jnp::matmul(x, w)) + b; };
    EXPECT_EQ(saved(jax::checkpoint(f, under(policies::nothing_saveable)), jnp::ones(2), jnp::ones({2, 3}), jnp::ones(3)),
              (Lines{"from the argument x", "from the argument y"}));
}
TEST(Behaviours, D_05_TheDecisionIsTakenAfterBatching) {
    const Array w = jnp::ones({4, 4}), x = jnp::ones({3, 4, 4});
    const auto under_vmap = [&](auto h) {
        return saved(jax::vmap(jax::checkpoint(h, under(policies::dots_with_no_batch_dims_saveable))), x);
    };
    EXPECT_EQ(under_vmap([](Array t) { return jnp::sin(jnp::matmul(t, t)); }), Lines{"from the argument x"});
    EXPECT_EQ(under_vmap([&](Array t) { return jnp::sin(jnp::matmul(t, w)); }), (Lines{"from a constant", "output of dot_general"}));
}
namespace {
Array named_chain(const Array& x) {
    Array a = jax::checkpoint_name(jnp::sin(x), "a"), b = jax::checkpoint_name(jnp::sin(a), "b");
    return jnp::sin(b);
}
}  // namespace
TEST(Behaviours, D_07_SaveOnlyTheseNames) {
    const auto by = [](const Lines& names) {
        return saved(jax::checkpoint(named_chain, under(policies::save_only_these_names(names))), Array(1.));
    };
    EXPECT_EQ(by({}), Lines{"from the argument x"});
    EXPECT_EQ(by({"a"}), (Lines{"from the argument x", "named 'a'"}));
    EXPECT_EQ(by({"a", "b"}), (Lines{"from the argument x", "named 'a'", "named 'b'"}));
    EXPECT_EQ(by({"zzz"}), Lines{"from the argument x"});
}
TEST(Behaviours, D_08_SaveAnyNamesButThese) {
    const auto f = [](Array x) { return jnp::sin(named_chain(x)); };
    const auto by = [&](const Lines& names) {
        return saved(jax::checkpoint(f, under(policies::save_any_names_but_these(names))), Array(1.));
    };
    EXPECT_EQ(by({}), (Lines{"from the argument x", "named 'a'", "named 'b'"}));
    EXPECT_EQ(by({"a"}), (Lines{"from the argument x", "named 'b'"}));
    EXPECT_EQ(by({"a", "b"}), Lines{"from the argument x"});
}
TEST(Behaviours, D_10_BothPolicies) {
    const auto f = [](Array x) {
        Array a = jnp::sin(jnp::matmul(x, x)), b = jax::checkpoint_name(jnp::sin(a), "b");
        return jnp::sin(jnp::matmul(b, b));
    };
    const jax::Policy both = policies::save_from_both_policies(policies::dots_saveable, policies::save_only_these_names({"b"}));
    EXPECT_EQ(saved(jax::checkpoint(f, under(both)), jnp::ones({2, 2})),
              (Lines{"from the argument x", "output of dot_general", "named 'b'", "output of dot_general"}));
}

TEST(Behaviours, G_02_TheEquationName) {
    EXPECT_EQ(jax::make_jaxpr([](Array x) { return jax::checkpoint_name(x * 2., "h"); })(1.).str(), R"({ lambda ; a:f32[]. let
    b:f32[] = mul a 2.0:f32[]
    c:f32[] = name[name=h] b
  in (c,) })");
}
TEST(Behaviours, G_04_VmapKeepsAxisAndName) {
    const auto f = jax::vmap([](Array x) { return jax::checkpoint_name(x, "h"); }, {.in_axes = 1, .out_axes = 1});
    EXPECT_EQ(jax::make_jaxpr(f)(jnp::ones({2, 3})).str(), "{ lambda ; a:f32[2,3]. let b:f32[2,3] = name[name=h] a in (b,) }");
}
TEST(Behaviours, G_05_ATreeIsNamedAtOnce) {
    const auto f = [](Array x) { return jax::checkpoint_name(std::pair{x, x * 2}, "n"); };
    EXPECT_EQ(count(jax::make_jaxpr(f)(1.).str(), "name=n"), 2u);
}
TEST(Behaviours, G_07_NoTranspositionRule) {
    EXPECT_EQ(error_of([] { jax::linear_transpose([](Array x) { return jax::checkpoint_name(x, "h"); }, Array(1.))(Array(1.)); }),
              "Transpose rule (for reverse-mode differentiation) for 'name' not implemented");
}
TEST(Behaviours, G_08_TheSameNameTwice) {
    const auto f = [](Array x) { return jnp::sin(jax::checkpoint_name(jnp::sin(jax::checkpoint_name(jnp::sin(x), "h")), "h")); };
    EXPECT_EQ(saved(jax::checkpoint(f, under(policies::save_only_these_names({"h"}))), Array(1.)),
              (Lines{"from the argument x", "named 'h'", "named 'h'"}));
}
TEST(Behaviours, G_10_ANamedArgument) {
    const auto f = [](Array x) { return jnp::sin(jax::checkpoint_name(x, "in")); };
    EXPECT_EQ(saved(jax::checkpoint(f, under(policies::save_only_these_names({"in"}))), Array(1.)), Lines{"named 'in'"});
}
TEST(Behaviours, G_11_TheValueBeforeTheNamingIsNotSpared) {
    const auto before = [](Array x) {
        Array y = jnp::sin(x);
        jax::checkpoint_name(y, "h");
        return jnp::sin(y);
    };
    const auto after = [](Array x) { return jnp::sin(jax::checkpoint_name(jnp::sin(x), "h")); };
    EXPECT_EQ(saved(jax::checkpoint(before, under(policies::save_only_these_names({"h"}))), Array(1.)), Lines{"from the argument x"});
    EXPECT_EQ(saved(jax::checkpoint(after, under(policies::save_only_these_names({"h"}))), Array(1.)),
              (Lines{"from the argument x", "named 'h'"}));
}
