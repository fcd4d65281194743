// Behaviours C, D and G that ask for callables as policies, cached traces, or both passes of a policy.
#include "trace/behaviours.h"

#include "trace/functions.h"

#include <functional>
#include <map>

namespace {

bool is(const jax::Application& a, const char* name) { return a.primitive == name; }

/// Saves by a function and keeps what it was asked about.
auto asked(Lines& seen, const char* only) {
    return [&seen, only](const jax::Application& a) {
        seen.push_back(a.primitive);
        return *only == 0 || a.primitive == only;
    };
}

}  // namespace

TEST(Behaviours, C_05_StaticArgnumsAreIntegers) {
    // Another type doesn't compile in C++ (std::vector<int>); numbers beyond the arguments are refused when called.
    static_assert(std::is_base_of_v<std::vector<int>, decltype(jax::CheckpointOptions::static_argnums)>);
    EXPECT_EQ(error_of([] { jax::checkpoint([](Array x, int) { return x; }, {.static_argnums = {-3}})(Array(1.), 2); }),
              "Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to -len(args) and less than "
              "len(args), but got value -3 for len(args) == 2.");
    // What comes by name isn't counted.
    const auto f = [](Array x, Array n, Array k) { return x * n * k; };
    EXPECT_EQ(
        jax::make_jaxpr([&](Array x, Array k) { return jax::checkpoint(f, {.static_argnums = {-1}})(x, 3., jax::kw("k", k)); })(1., 2.)
            .str(),
        R"({ lambda ; a:f32[] b:f32[]. let
    c:f32[] = remat2[
      differentiated=False
      jaxpr={ lambda ; d:f32[] e:f32[]. let
          f:f32[] = mul d 3.0:f32[]
          g:f32[] = mul f e
        in (g,) }
      policy=None
      prevent_cse=True
    ] a b
  in (c,) })");
    EXPECT_NE(error_of([&] {
                  jax::checkpoint(f, {.static_argnums = {2}})(1., 2., jax::kw("k", 3.));
              }).find("but got (2,), while `len(args)` = 2"),
              std::string::npos);
}
TEST(Behaviours, C_07_TracesAreCachedByTypes) {
    Lines n;
    const auto f = jax::checkpoint([&](Array x) { return n.push_back(x.aval()), jnp::sin(x); });
    for (const Array& v : {Array(1.), Array(2.), Array(3.), jnp::ones({}), jnp::ones(2)}) f(v);
    EXPECT_EQ(n, (Lines{"~float32[]", "float32[]", "float32[2]"}));
    EXPECT_FLOAT_EQ(jax::grad(f)(Array(0.)).item<float>(), 1.F) << "a cached trace computes the same";
    EXPECT_EQ(n.size(), 3u);
    EXPECT_EQ(f(jnp::zeros(2)).str(), "[0. 0.]");
}
int g_traced = 0;
TEST(Behaviours, C_07_CheckpointsOfOneFunctionShareItsTraces) {
    const auto f = [](Array x, Array (*of)(const jax::Operand&)) { return ++g_traced, of(x); };
    Array (*const sine)(const jax::Operand&) = jnp::sin;
    Array (*const cosine)(const jax::Operand&) = jnp::cos;
    const jax::CheckpointOptions options{.static_argnums = {1}};
    EXPECT_FLOAT_EQ(jax::checkpoint(f, options)(0., sine).item<float>(), 0.F);
    EXPECT_FLOAT_EQ(
        jax::checkpoint(f, {.policy = jax::policies::save_only_these_names("a", "b"), .static_argnums = {-1}})(0., sine).item<float>(),
        0.F);
    EXPECT_EQ(g_traced, 1);
    EXPECT_FLOAT_EQ(jax::grad([&](Array x) { return jax::checkpoint(f, options)(x, cosine); })(0.).item<float>(), 0.F);
    EXPECT_EQ(g_traced, 2);
}
TEST(Behaviours, C_07_ATraceThatClosesOverATracerLastsAsLongAsThat) {
    int n = 0;
    const auto outer = [&](Array w) {
        const auto block = jax::checkpoint([&](Array x) { return ++n, x * w; });
        Array a = block(1.), b = block(2.);
        return a + b;
    };
    EXPECT_FLOAT_EQ(jax::grad(outer)(3.).item<float>(), 3.F);
    EXPECT_EQ(n, 1);
    EXPECT_FLOAT_EQ(jax::grad(outer)(3.).item<float>(), 3.F);
    EXPECT_EQ(n, 2);
}
TEST(Behaviours, C_08_StaticArgumentsAreInTheKey) {
    std::vector<std::pair<int, int>> n;
    const auto f = jax::checkpoint([&](Array x, std::pair<int, int> s) { return n.push_back(s), x; }, {.static_argnums = {1}});
    for (const std::pair<int, int>& s : {std::pair(1, 2), std::pair(1, 2), std::pair(1, 3)}) f(1., s);
    EXPECT_EQ(n, (std::vector<std::pair<int, int>>{{1, 2}, {1, 3}}));
    // An array has no value that a key could hold: it counts by identity, and the function sees its elements.
    int traces = 0;
    const auto g = jax::checkpoint([&](Array x, Array s) { return ++traces, s.item<float>() > 0 ? x : -x; }, {.static_argnums = {1}});
    const Array a = jnp::ones({}), b = jnp::ones({});
    EXPECT_EQ(g(1., a).item<float>(), 1.F);
    EXPECT_EQ(g(2., a).item<float>(), 2.F);
    EXPECT_EQ(traces, 1);
    g(1., b);
    EXPECT_EQ(traces, 2);
}
TEST(Behaviours, C_08_ATracerAsStaticArgumentIsNeverCached) {
    int traces = 0;
    const auto f = jax::checkpoint([&](Array x, Array s) { return ++traces, x * s; }, {.static_argnums = {1}});
    EXPECT_FLOAT_EQ(jax::grad([&](Array s) {
                        Array p = f(1., s), q = f(1., s);
                        return p + q;
                    })(2.)
                        .item<float>(),
                    2.F);
    EXPECT_EQ(traces, 2);
    const auto g = jax::checkpoint([](Array x, Array s) { return s > 0 ? x : -x; }, {.static_argnums = {1}});
    const std::string text = error_of([&] { jax::jit([&](Array s) { return g(1., s); })(2.); });
    EXPECT_NE(text.find("Attempted boolean conversion of traced array"), std::string::npos) << text;
}
TEST(Behaviours, C_11_ConcreteIsRefusedInTodaysWords) {
    EXPECT_EQ(error_of([] { jax::remat(twice_sin, {.concrete = true}); }).rfind("The `concrete` option to `jax.checkpoint`", 0), 0u);
}
TEST(Behaviours, C_13_C_14_ControlFlowOnATracer) {
    const auto f = jax::checkpoint([](Array x) { return x > 0 ? x : -x; });
    const auto said = [](const auto& call) {
        try {
            call();
        } catch (const jaxscope::Error& e) {
            return full_text(e);
        }
        return std::string("no error");
    };
    const std::string own = said([&] { f(1.); });
    EXPECT_NE(own.find("Attempted boolean conversion of traced array with shape bool[]."), std::string::npos) << own;
    EXPECT_NE(own.find("Consider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`"), std::string::npos) << own;
    // The comparison is traced into the checkpointed function although x is the outer one's.
    const auto g = [](Array x) { return jax::checkpoint([&](Array y) { return x > 0 ? y : -y; })(2.); };
    const std::string outer = said([&] { jax::jit(g)(1.); });
    EXPECT_NE(outer.find("static_argnums` parameter for `jax.remat"), std::string::npos) << outer;
    EXPECT_EQ(outer.find("traced for jit"), std::string::npos) << outer;
}
TEST(Behaviours, C_17_KeywordArgumentsAreDynamic) {
    const auto f = jax::checkpoint([](Array x, std::map<std::string, Array> k) { return jnp::sin(x) * k.at("a"); });
    const auto call = [&](Array x) { return f(x, jax::kw("k", std::map<std::string, Array>{{"a", x}})); };
    EXPECT_NEAR(jax::grad(call)(1.).item<double>(), 1.3817732, 1e-6);
    EXPECT_NE(jax::make_jaxpr(call)(1.).str().find("] a a\n"), std::string::npos);
}
TEST(Behaviours, C_20_PreventCseForAllOrOneEach) {
    const auto f = [](Array x, Array y) { return jnp::sin(x) * jnp::sin(y); };
    const std::string text = jax::make_jaxpr(jax::checkpoint(f, {.prevent_cse = {true, false}}))(1., 2.).str();
    EXPECT_NE(text.find("prevent_cse=(True, False)"), std::string::npos) << text;
    // As JAX spreads a prefix: static arguments have no part in it, those by name are a tree of their own, bools stand for trees.
    const auto g = [](Array a, Array b, Array k) { return a * b * k; };
    const auto cse = [&](const jax::PreventCse& p, auto&& function, const auto&... a) {
        const std::string s =
            jax::make_jaxpr([&] { return jax::checkpoint(function, {.prevent_cse = p, .static_argnums = {}})(a...); })().str();
        const std::size_t at = s.find("prevent_cse=") + 12;
        return s.substr(at, s.find('\n', at) - at);
    };
    const jax::PreventCse two = {true, false}, three = {true, false, true}, none_given = {};
    EXPECT_EQ(cse(three, g, 1., 2., 3.), "(True, False, True)");
    EXPECT_EQ(cse(two, g, 1., 2., jax::kw("k", 3.)), "(True, True, False)");
    const auto of_dict = [](std::map<std::string, Array> d, Array b) { return d.at("p") * d.at("q") * b; };
    const jax::PreventCse with_dict = {jax::PreventCse::dict({{"p", true}, {"q", false}}), false};
    EXPECT_EQ(cse(with_dict, of_dict, std::map<std::string, Array>{{"p", 1.}, {"q", 2.}}, 2.), "(True, False, False)");
    EXPECT_NE(jax::make_jaxpr([&](Array b, Array k) {
                  return jax::checkpoint(g, {.prevent_cse = {true, false}, .static_argnums = {0}})(1., b, k);
              })(2., 3.)
                  .str()
                  .find("prevent_cse=(True, False)"),
              std::string::npos);
    EXPECT_NE(error_of([&] { jax::checkpoint(g, {.prevent_cse = none_given})(1., 2., 3.); }).find("subtree of type tuple of length 0"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                  jax::checkpoint(f, {.prevent_cse = {true}})(1., 2.);
              }).find("has a subtree of type tuple of length 1, but the full pytree has a subtree of the same type but of length 2"),
              std::string::npos);
}
TEST(Behaviours, C_22_RecursiveCheckpointing) {
    // How often the gradient has sine: n times forwards, and what is evaluated again; each cosine once.
    using F = std::function<Array(Array)>;
    const std::function<F(int)> chain = [&](int n) -> F {
        if (n == 1) return [](Array x) { return jnp::sin(x); };
        const F a = chain(n / 2), b = chain(n / 2);
        if (n == 2) return [=](Array x) { return a(b(x)); };
        return [=](Array x) { return a(jax::checkpoint(b)(x)); };
    };
    for (const auto& [n, sines] : {std::pair<int, std::size_t>{4, 5}, {8, 13}, {16, 33}}) {
        const std::string text = jax::make_jaxpr([f = chain(n)](Array x) { return jax::grad(f)(x); })(1.).str();
        EXPECT_EQ(count(text, "= sin "), sines) << text;
        EXPECT_EQ(count(text, "= cos "), static_cast<std::size_t>(n));
    }
}
/// "primitive: scopes" of all equations, those of inner jaxprs behind their equation.
void collect_scopes(const jaxscope::Jaxpr& j, Lines& out) {
    for (const jaxscope::Eqn& e : j.eqns) {
        out.push_back(e.prim->name + ": " + e.source->name_stack.str());
        for (const auto& [name, value] : e.params->entries())
            if (const auto* inner = value.get<jaxscope::Attr::JaxprRef>()) collect_scopes(*inner->jaxpr, out);
    }
}
TEST(Behaviours, C_23_NameScopes) {
    // As JAX's jaxpr has them, without what jit adds; `checkpoint` comes where the call is lowered.
    Lines scopes;
    const jax::Jaxpr j = jax::make_jaxpr(jax::grad(jax::checkpoint(twice_sin)))(1.);
    collect_scopes(*j.program().jaxpr, scopes);
    EXPECT_EQ(scopes, (Lines{"sin: jvp()", "sin: jvp()", "remat2: transpose(jvp(jvp()))", "sin: rematted_computation",
                             "cos: rematted_computation", "cos: rematted_computation", "mul: ", "mul: "}));
    EXPECT_NE(j.str_with_sources().find("behaviours"), std::string::npos);
}

TEST(Behaviours, D_04_DotsWithoutBatchDims) {
    const auto f = [](Array a, Array b, Array k) {
        Array y = jnp::sin(jnp::matmul(a, a)), z = jnp::sin(jnp::matmul(b, b)), c = jnp::sin(lax::conv(k, k, {1, 1}, "VALID"));
        return y.sum() + z.sum() + c.sum();
    };
    EXPECT_EQ(printed(jax::checkpoint(f, under(policies::dots_with_no_batch_dims_saveable)), {"a", "b", "k"}, jnp::ones({2, 2}),
                      jnp::ones({3, 2, 2}), jnp::ones({1, 1, 2, 2})),
              (Lines{"f32[2,2] from the argument a", "f32[3,2,2] from the argument b", "f32[1,1,2,2] from the argument k",
                     "f32[2,2] output of dot_general"}));
}
TEST(Behaviours, D_11_BothPoliciesTakeBooleans) {
    const auto marks = policies::save_from_both_policies([](const jax::Application&) { return jax::Offloadable("device", "pinned_host"); },
                                                         policies::nothing_saveable);
    EXPECT_EQ(error_of([&] { jax::grad(jax::checkpoint(twice_sin, under(marks)))(1.); }),
              "The return value of the policies should be a boolean. Got: Offloadable(src='device', dst='pinned_host') and False. Please "
              "write a custom policy function directly, rather than using this helper function.");
    const jax::Policy offload =
        policies::save_from_both_policies(policies::offload_dot_with_no_batch_dims("device", "pinned_host"), policies::nothing_saveable);
    EXPECT_EQ(error_of([&] {
                  saved(jax::checkpoint([](Array x) { return jnp::matmul(x, x); }, under(offload)), jnp::ones({2, 2}));
              }),
              error_of([&] { jax::grad(jax::checkpoint(twice_sin, under(marks)))(1.); }));
    const auto both = policies::save_from_both_policies([](const jax::Application& a) { return is(a, "cos"); }, policies::dots_saveable);
    EXPECT_EQ(saved(jax::checkpoint([](Array x) { return jnp::sin(jnp::matmul(x, x)); }, under(both)), jnp::ones({2, 2})),
              (Lines{"from the argument x", "output of cos"}));
}
TEST(Behaviours, D_13_WhatAPolicyIsAskedAbout) {
    Lines seen;
    const auto f = jax::checkpoint([](Array x) { return jnp::exp(x) * 2.; }, under(asked(seen, "")));
    jax::make_jaxpr([&](Array x) { return jax::jvp(f, std::tuple(x), std::tuple(x)); })(1.);
    EXPECT_EQ(seen, Lines{});
    jax::make_jaxpr(jax::grad(f))(1.);
    EXPECT_EQ(seen, (Lines{"exp", "mul"}));
}
TEST(Behaviours, D_14_AnswersAreBooleansOrMarks) {
    // Others don't compile: tests/headers/fail_policy.cpp. The marks:
    for (const auto& [verdict, rows] :
         {std::pair(jax::Verdict(true), Lines{"output of cos", "output of cos"}),
          std::pair(jax::Saveable, Lines{"output of cos", "output of cos"}), std::pair(jax::Recompute, Lines{"from the argument x"}),
          std::pair(jax::Offloadable("device", "pinned_host"), Lines{"output of device_put", "output of device_put"})})
        EXPECT_EQ(saved(jax::checkpoint(twice_sin, under([v = verdict](const jax::Application&) { return v; })), 1.), rows);
}
TEST(Behaviours, D_16_SaveCosSparesTheSines) {
    const auto f = jax::checkpoint(twice_sin, under([](const jax::Application& a) { return is(a, "cos"); }));
    EXPECT_EQ(printed(f, {"x"}, 1.), (Lines{"f32[] output of cos", "f32[] output of cos"}));
    const std::string text = backward(f, 1.);
    EXPECT_EQ(count(text, "remat2["), 1u);
    EXPECT_EQ(count(text, " sin ") + count(text, " cos "), 0u) << text;
    EXPECT_NE(text.find("policy=<function <lambda> at 0x"), std::string::npos) << text;
}
TEST(Behaviours, D_17_ASavedValueCutsWhatLedToIt) {
    const auto f = [](Array x) { return jnp::sin(twice_sin(jax::checkpoint_name(twice_sin(x), "m"))); };
    const auto of = [&](const Lines& names) {
        const std::string t = backward(jax::checkpoint(f, under(policies::save_only_these_names(names))), 1.);
        return std::vector<std::size_t>{count(t, " sin "), count(t, " cos "), count(t, "remat2["), count(t, " name[")};
    };
    EXPECT_EQ(of({}), (std::vector<std::size_t>{4, 5, 1, 1}));
    EXPECT_EQ(of({"m"}), (std::vector<std::size_t>{3, 5, 1, 0}));
}
TEST(Behaviours, D_19_ThePolicyLooksIntoJit) {
    Lines seen;
    const auto f = jax::checkpoint([](Array x) { return jax::jit(twice_sin)(x); }, under(asked(seen, "cos")));
    EXPECT_EQ(printed(f, {"x"}, 1.),
              (Lines{"f32[] output of jitted function '<unnamed function>'", "f32[] output of jitted function '<unnamed function>'"}));
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(seen, (Lines{"cos", "sin"}));
}
TEST(Behaviours, D_20_ThePolicyLooksIntoScan) {
    const auto f = [](Array x) {
        return lax::scan([](Array c, lax::Nothing) { return std::pair(jnp::sin(jnp::matmul(c, c)), lax::Nothing{}); }, x, lax::Nothing{},
                         {.length = 5})
            .first;
    };
    const auto by = [&](const jax::Policy& p) { return printed(jax::checkpoint(f, under(p)), {"x"}, jnp::ones({2, 2})); };
    const std::string x = "f32[2,2] from the argument x", step = "f32[5,2,2] output of closed_call";
    EXPECT_EQ(by(policies::nothing_saveable), Lines{x});
    EXPECT_EQ(by(policies::dots_saveable), (Lines{x, step}));
    EXPECT_EQ(by(policies::everything_saveable), (Lines{x, step, step}));
}
TEST(Behaviours, D_22_CondJoinsItsBranches) {
    const auto twice = [](Array t) { return t * 2.; };
    const auto f = [&](Array x) { return lax::cond(x.sum() > 0, twice_sin, twice, x); };
    EXPECT_EQ(printed(jax::checkpoint(f, under(policies::nothing_saveable)), {"x"}, jnp::ones(3)), Lines{"f32[3] from the argument x"});
    EXPECT_EQ(printed(jax::checkpoint(f, under(policies::everything_saveable)), {"x"}, jnp::ones(3)),
              (Lines{"i32[] output of convert_element_type", "f32[3] output of cond", "f32[3] output of cond"}));
}
TEST(Behaviours, D_23_D_25_OffloadedProducts) {
    const auto offload = under(policies::offload_dot_with_no_batch_dims("device", "pinned_host"));
    const auto f = [](Array x) { return jnp::sin(jnp::matmul(x, x)); };
    EXPECT_EQ(printed(jax::checkpoint(f, offload), {"x"}, jnp::ones({2, 2})),
              (Lines{"f32[2,2] from the argument x", "f32<host>[2,2] output of device_put"}));
    EXPECT_EQ(jax::saved_residuals(jax::checkpoint(f, offload), jnp::ones({2, 2})).back().source, "output of device_put from ");
    const std::string text =
        jax::make_jaxpr(jax::grad(jax::checkpoint([&](Array x) { return f(x).sum(); }, offload)))(jnp::ones({2, 2})).str();
    EXPECT_NE(text.find("    c:f32<host>[2,2] = device_put[\n      copy_semantics=(ArrayCopySemantics.ALWAYS_COPY,)\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("devices=(MemorySpace.Device,)"), std::string::npos);
}
TEST(Behaviours, D_26_OffloadedInsideScan) {
    const jax::Policy p = policies::save_and_offload_only_these_names({}, {"z"}, "device", "pinned_host");
    const auto f = [](Array x) {
        return lax::scan([](Array c, lax::Nothing) { return std::pair(jnp::sin(jax::checkpoint_name(jnp::sin(c), "z")), lax::Nothing{}); },
                         x, lax::Nothing{}, {.length = 3})
            .first;
    };
    EXPECT_EQ(printed(jax::checkpoint(f, under(p)), {"x"}, jnp::ones(4)),
              (Lines{"f32[4] from the argument x", "f32<host>[3,4] output of closed_call"}));
}
TEST(Behaviours, D_28_HowPoliciesPrint) {
    const auto printed_as = [](const jax::Policy& p) {
        const std::string t = jax::make_jaxpr(jax::checkpoint(twice_sin, under(p)))(1.).str();
        const std::size_t at = t.find("policy=") + 7;
        return t.substr(at, std::min(t.find('\n', at), t.find(" at 0x", at)) - at);
    };
    EXPECT_EQ(printed_as({}), "None");
    EXPECT_EQ(printed_as(policies::nothing_saveable), "<function nothing_saveable");
    EXPECT_EQ(printed_as(policies::dots_saveable), "DotsSaveable(only_if_no_batch_dims=False)");
    EXPECT_EQ(printed_as(policies::dots_with_no_batch_dims_saveable), "DotsSaveable(only_if_no_batch_dims=True)");
    EXPECT_EQ(printed_as(policies::save_only_these_names({"a"})), "SaveOnlyTheseNames(saveable_names=frozenset({'a'}))");
    EXPECT_EQ(printed_as([](const jax::Application&) { return true; }), "<function <lambda>");
}
TEST(Behaviours, D_29_CustomRulesUnderAPolicy) {
    const auto s =
        jax::custom_vjp([](Array x) {
            return jnp::sin(x);
        }).defvjp([](Array x) { return std::pair(jnp::sin(x), jnp::cos(x)); }, [](Array c, Array g) { return std::tuple(c * g); });
    const auto by = [&](const jax::Policy& p) { return saved(jax::checkpoint([&](Array x) { return s(s(x)); }, under(p)), 1.); };
    EXPECT_EQ(by(policies::nothing_saveable), Lines{"from the argument x"});
    EXPECT_EQ(by(policies::everything_saveable), (Lines{"output of cos", "output of cos"}));
}

TEST(Behaviours, G_01_TheNameIsTheIdentityEagerly) {
    const Array x = jnp::ones(2), y = jax::checkpoint_name(x, "a");
    EXPECT_EQ(y.str(), "[1. 1.]");
    EXPECT_EQ(y.node(), x.node());
}
TEST(Behaviours, G_13_NamesInsideJitAndScan) {
    const auto f = [](Array x) {
        const auto inner = jax::jit([](Array t) {
            return lax::scan([](Array c, lax::Nothing) { return std::pair(jax::checkpoint_name(jnp::sin(c), "h") * 2., lax::Nothing{}); },
                             jnp::sin(t), lax::Nothing{}, {.length = 3})
                .first;
        });
        return jnp::power(inner(jnp::sin(x)), 2);
    };
    const auto by = [&](const Lines& names) {
        return printed(jax::checkpoint(f, under(policies::save_only_these_names(names))), {"x"}, 1.);
    };
    EXPECT_EQ(by({}), Lines{"f32[] from the argument x"});
    EXPECT_EQ(by({"h"}), (Lines{"f32[] from the argument x", "f32[3] output of jitted function '<unnamed function>'"}));
}
TEST(Policies, AnApplicationTellsItsOperandsAndParameters) {
    Lines seen;
    const auto f =
        jax::checkpoint([](Array x) { return jnp::sin(jax::checkpoint_name(jnp::sin(x), "h")); }, under([&](const jax::Application& a) {
                            if (a.primitive == "name") seen = {a.param("name"), a.operands[0].aval(), a.param("nothing")};
                            return a.param("name") == "h";
                        }));
    EXPECT_EQ(saved(f, jnp::ones(3)), (Lines{"from the argument x", "named 'h'"}));
    EXPECT_EQ(seen, (Lines{"h", "float32[3]", ""}));
}
TEST(Policies, TheLoggersWords) {
    jax::config::log_checkpoint_residuals(true);
    testing::internal::CaptureStderr();
    jax::grad(jax::checkpoint([](Array x, Array y) { return jnp::sin(jnp::sin(x) * y); }))(1., 2.);
    jax::grad(jax::checkpoint([](Array x, Array y) { return jnp::sin(jnp::sin(x) * y); }, under(policies::everything_saveable)))(1., 2.);
    jax::grad(jax::checkpoint([](Array x) { return x * 2.; }))(1.);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(jax::config::log_checkpoint_residuals(false));
    EXPECT_EQ(text.rfind("remat-decorated function saving inputs with shapes:\n  float32[]\n  float32[]\n\n"
                         "remat-decorated function saving inputs with shapes:\n  float32[]\nand saving these intermediates:\n"
                         "  float32[] from output of cos from ",
                         0),
              0u)
        << text;
    EXPECT_NE(text.find("\nremat-decorated function \n"), std::string::npos) << text;
}
