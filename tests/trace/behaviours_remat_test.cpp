// Behaviours F: the rules of the remat primitive, seen through the front end.
#include "trace/behaviours.h"

#include <functional>

namespace {
const auto everything = under(policies::everything_saveable);
Array spread(const std::function<Array(Array)>& step, Array x, std::int64_t n) {
    return lax::scan([&](Array c, lax::Nothing) { return std::pair(step(c), lax::Nothing{}); }, x, lax::Nothing{}, {.length = n}).first;
}
}  // namespace

TEST(Behaviours, F_01_EagerCallsEvaluateTheBodyOnce) {
    int n = 0;
    const auto f = jax::checkpoint([&](Array x) { return ++n, jnp::sin(x); });
    EXPECT_FLOAT_EQ(f(1.).item<float>(), 0.84147096F);
    EXPECT_EQ(n, 1);
}
TEST(Behaviours, F_02_ResultTypesAreTheBodys) {
    const auto [a, b, c] = jax::eval_shape(jax::checkpoint([](Array x, Array y) {
                                               return std::tuple{x * 2., y.astype(jnp::bfloat16), x > 0};
                                           }),
                                           Array(1.), jnp::ones(2));
    EXPECT_EQ((Lines{a.aval(), b.aval(), c.aval()}), (Lines{"~float32[]", "bfloat16[2]", "~bool[]"}));
}
TEST(Behaviours, F_04_JvpPassesNonzeroTangentsOnly) {
    const auto f = jax::checkpoint([](Array x, Array y) { return std::pair{jnp::sin(x), jnp::cos(y)}; });
    const std::string text =
        jax::make_jaxpr([&](Array x, Array y) { return jax::jvp([&](Array t) { return f(t, y); }, std::tuple(x), std::tuple(x)); })(1., 2.)
            .str();
    EXPECT_NE(text.find("    c:f32[] d:f32[] e:f32[] = remat2["), std::string::npos) << text;
    EXPECT_NE(text.find("    ] a b a\n"), std::string::npos) << text;
}
TEST(Behaviours, F_05_ResidualsFirstThenInputsThenTangents) {
    const auto f = jax::checkpoint([](Array x) { return jnp::sin(jax::checkpoint_name(jnp::sin(x), "r")); },
                                   under(policies::save_only_these_names({"r"})));
    auto [y, linear] = jax::linearize(f, 1.);
    EXPECT_EQ(jax::make_jaxpr(linear)(1.).str(), R"({ lambda a:f32[]; b:f32[]. let
    c:f32[] = remat2[
      differentiated=True
      jaxpr={ lambda ; d:f32[] e:f32[] f:f32[]. let
          g:f32[] = cos e
          h:f32[] = mul f g
          i:f32[] = cos d
          j:f32[] = mul h i
        in (j,) }
      policy=SaveOnlyTheseNames(saveable_names=frozenset({'r'}))
      prevent_cse=True
    ] a 1.0:f32[] b
  in (c,) })");
}
TEST(Behaviours, F_07_UnusedResidualsAreDropped) {
    const std::string text = backward(jax::checkpoint([](Array x) { return jnp::exp(x) + x * 2.; }, everything), 1.);
    EXPECT_EQ(text.rfind("{ lambda a:f32[]; b:f32[]. let\n    c:f32[] = remat2[", 0), 0u) << text;
    EXPECT_NE(text.find("f:f32[] = mul e 2.0:f32[]\n          g:f32[] = mul e d\n          h:f32[] = add_any f g\n"), std::string::npos)
        << text;
}
TEST(Behaviours, F_08_AResidualThatIsAResultIsOneValue) {
    const auto f = jax::checkpoint([](Array x) { return jnp::exp(x); }, everything);
    const std::string text = jax::make_jaxpr([&](Array x) { return jax::vjp(f, x).second(1.); })(1.).str();
    EXPECT_EQ(text.rfind("{ lambda ; a:f32[]. let\n    b:f32[] = exp a\n    c:f32[] = remat2[", 0), 0u) << text;
    EXPECT_NE(text.find("] b 1.0:f32[]\n"), std::string::npos) << text;
}
TEST(Behaviours, F_10_ConstantsOfTheBodyAreRebuilt) {
    EXPECT_EQ(saved(jax::checkpoint([](Array x) { return jnp::tril(x); }), jnp::ones({2, 2})), Lines{});
    EXPECT_EQ(saved(jax::checkpoint([](Array x) {
                        return jnp::sin(x) * (jnp::arange(4) * 1.).reshape({2, 2});
                    }),
                    jnp::ones({2, 2})),
              Lines{"from the argument x"});
}
TEST(Behaviours, F_11_NestedRemat) {
    const auto g = jax::checkpoint([](Array x) { return jnp::sin(jax::checkpoint([](Array t) { return jnp::sin(t); })(x)); });
    EXPECT_EQ(backward(g, 1.), R"({ lambda ; a:f32[]. let
    b:f32[] = remat2[
      differentiated=True
      jaxpr={ lambda ; c:f32[] d:f32[]. let
          e:f32[] = sin c
          f:f32[] = cos e
          g:f32[] = mul d f
          h:f32[] = remat2[
            differentiated=True
            jaxpr={ lambda ; i:f32[] j:f32[]. let
                k:f32[] = cos i
                l:f32[] = mul j k
              in (l,) }
            policy=None
            prevent_cse=True
          ] c g
        in (h,) }
      policy=None
      prevent_cse=True
    ] 1.0:f32[] a
  in (b,) })");
}
TEST(Behaviours, F_13_JitInsideRematIsSplit) {
    const auto inner = jax::jit(twice_sin);
    const auto f = jax::checkpoint([&](Array x) { return inner(x); }, everything);
    const std::string text = jax::make_jaxpr([&](Array x) { return jax::vjp(f, x).second(1.); })(1.).str();
    Lines seen;
    for (std::size_t at = 0; at < text.size(); ++at)
        for (const char* name : {"jit[", "remat2["})
            if (text.compare(at, std::string(name).size(), name) == 0 && text[at - 1] == ' ') seen.emplace_back(name);
    EXPECT_EQ(seen, (Lines{"jit[", "remat2[", "jit[", "jit["})) << text;
}
TEST(Behaviours, F_14_AValueUsedBySeveralJitsIsOneResidual) {
    const auto f = [](Array x) {
        const Array y = jax::checkpoint_name(jnp::cos(jnp::arange(3) * 1.), "y");
        const auto g = [&](Array t) { return jax::jit([&](Array u) { return u * y; })(t); };
        return g(g(g(x)));
    };
    EXPECT_EQ(saved(jax::checkpoint(f, under(policies::save_only_these_names({"y"}))), 3.).size(), 1u);
}
TEST(Behaviours, F_16_RematInsideScan) {
    const auto f = [](Array x) { return spread(jax::checkpoint(twice_sin), x, 3); };
    EXPECT_EQ(printed(f, {"x"}, 1.), Lines{"f32[3] output of scan"});
    const std::string text = backward(f, 1.);
    EXPECT_EQ((std::vector<std::size_t>{count(text, "scan["), count(text, "remat2["), count(text, "differentiated=True"),
                                        count(text, " sin "), count(text, " cos ")}),
              (std::vector<std::size_t>{1, 1, 1, 1, 2}))
        << text;
}
TEST(Behaviours, F_17_RematInsideOrAroundAScan) {
    const auto block = [](Array W) {
        return [W](Array x) { return jnp::sin(jnp::matmul(jnp::sin(jnp::matmul(jnp::sin(jnp::matmul(x, W)), W)), W)); };
    };
    const auto dots = under(policies::dots_saveable);
    const auto inside = [&](Array W) { return spread(jax::checkpoint(block(W), dots), jnp::ones(4), 2); };
    const auto around = jax::checkpoint([&](Array W) { return spread(block(W), jnp::ones(4), 2); }, dots);
    const auto of = [](const std::string& t) {
        return std::vector<std::size_t>{count(t, " sin "), count(t, " cos "), count(t, " dot_general")};
    };
    EXPECT_EQ(of(backward(inside, jnp::ones({4, 4}))), (std::vector<std::size_t>{2, 3, 6}));
    EXPECT_EQ(of(backward(around, jnp::ones({4, 4}))), (std::vector<std::size_t>{3, 3, 6}));
}
TEST(Behaviours, F_19_WhileLoopsHaveNoReverseMode) {
    const auto loop =
        jax::checkpoint([](Array x) { return lax::while_loop([](Array t) { return t < 9.; }, [](Array t) { return t * 2.; }, x); });
    EXPECT_EQ(error_of([&] { jax::grad(loop)(1.); }),
              "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. Try using "
              "lax.scan, or using fori_loop with static start/stop.");
    const auto fixed = jax::checkpoint([](Array x) {
        return lax::fori_loop(
            0, 3, [](Array, Array t) { return jnp::sin(t); }, x);
    });
    EXPECT_NEAR(jax::grad(fixed)(1.).item<double>(), 0.26450825, 1e-6);
}
TEST(Behaviours, F_20_CondInsideRemat) {
    const auto of = [](const auto& f) {
        auto [y, linear] = jax::linearize(jax::checkpoint(f), 4.);
        const std::string text = jax::make_jaxpr(linear)(1.).str();
        return std::pair(count(text, " sin "), count(text, " cos "));
    };
    const auto sine = [](Array t) { return jnp::sin(t); };
    const auto same = [](Array t) { return t; };
    EXPECT_EQ(of([&](Array x) { return lax::cond(x > 0, sine, sine, x); }), (std::pair<std::size_t, std::size_t>{0, 2}));
    EXPECT_EQ(of([&](Array x) { return lax::cond(x > 0, twice_sin, same, x); }), (std::pair<std::size_t, std::size_t>{1, 2}));
}
TEST(Behaviours, F_22_CustomJvpInsideRemat) {
    const auto s = jax::custom_jvp([](Array x) { return jnp::sin(x); }).defjvp([](auto p, auto t) {
        return std::pair(jnp::sin(std::get<0>(p)), 5. * jnp::cos(std::get<0>(p)) * std::get<0>(t));
    });
    const auto f = [&](Array x) { return s(s(x)); };
    EXPECT_NEAR(jax::grad(jax::checkpoint(f))(1.).item<double>(), 9.000987, 1e-5);
    EXPECT_NEAR(jax::grad(f)(1.).item<double>(), 9.000987, 1e-5);
}
TEST(Behaviours, F_23_CustomVjpInsideRemat) {
    // fwd stands in the recomputation again: its cosine once in the forward pass, where its result is dropped, and once behind.
    const auto s = jax::custom_vjp([](Array x) { return jnp::sin(x); })
                       .defvjp([](Array x) { return std::pair(jnp::sin(x), jnp::tan(x)); },
                               [](Array t, Array g) { return std::tuple(jnp::cos(t) * g); });
    const std::string text = jax::make_jaxpr(jax::grad(jax::checkpoint([&](Array x) { return s(x); })))(1.).str();
    EXPECT_EQ(count(text, "= cos "), 1u) << text;
    EXPECT_EQ(count(text.substr(text.find("remat2[")), "= tan "), 1u) << text;
}
TEST(Behaviours, F_25_ZeroCotangents) {
    const auto f = jax::checkpoint([](Array x, Array y) { return std::pair{jnp::sin(x), jnp::sin(y)}; });
    const auto [dx, dy] = jax::grad<0, 1>([&](Array x, Array y) { return f(x, y).first; })(1., jnp::ones({}));
    EXPECT_FLOAT_EQ(dx.item<float>(), 0.5403023F);
    EXPECT_EQ(dx.aval(), "~float32[]");
    EXPECT_EQ(dy.item<float>(), 0.F);
    EXPECT_EQ(dy.aval(), "float32[]");
}
TEST(Behaviours, F_26_ABodyThatDoesNotDependOnTheArgument) {
    const auto f = [](Array, Array c) { return jax::checkpoint([](Array t) { return jnp::sin(t); })(c); };
    EXPECT_EQ(jax::make_jaxpr(jax::grad(f))(1., 2.).str(), R"({ lambda ; a:f32[] b:f32[]. let
    _:f32[] = remat2[
      differentiated=False
      jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }
      policy=None
      prevent_cse=True
    ] b
  in (0.0:f32[],) })");
}
TEST(Behaviours, F_28_CollectivesOverANamedVmapAxis) {
    const auto f = jax::checkpoint([](Array x) { return jnp::sin(lax::psum(x, "i")); });
    const Array g = jax::grad([&](Array x) { return jax::vmap(f, {.axis_name = "i"})(x).sum(); })(jnp::arange(3) * 1.);
    for (const double d : g.to_vector()) EXPECT_NEAR(d, -2.9699774, 1e-5);
}
TEST(Behaviours, F_29_F_31_DeadCodeInsideOfTheBody) {
    // An outer jit drops what nobody takes, inside of the body as well: y is no input of the compiled program.
    const auto f = jax::checkpoint([](Array x, Array y) { return std::pair{jnp::sin(x), jnp::cos(y)}; });
    const auto first = jax::jit([&](Array x, Array y) { return f(x, y).first; }, {.donate_argnums = {1}});
    const Array x = jnp::ones({}), y = jnp::ones({});
    EXPECT_FLOAT_EQ(first(x, y).item<float>(), 0.84147098F);
    EXPECT_FALSE(y.is_deleted()) << "it is pruned, so its donation counts for nothing";
    const auto g = jax::checkpoint([](Array t) { return jax::jit([] { return Array(3.); })() * t; });
    EXPECT_FLOAT_EQ(jax::grad(g)(3.).item<float>(), 3.F);
}
TEST(Behaviours, F_32_F_34_BarriersOnlyWhereDifferentiatedAndAsked) {
    // The barrier is a property of the equation here: `prevent_cse` of the differentiated call.
    const std::string plain = jax::make_jaxpr(jax::checkpoint(twice_sin))(1.).str();
    EXPECT_NE(plain.find("differentiated=False"), std::string::npos);
    const std::string guarded = jax::make_jaxpr(jax::grad(jax::checkpoint(twice_sin)))(1.).str();
    const std::string free = jax::make_jaxpr(jax::grad(jax::checkpoint(twice_sin, {.prevent_cse = false})))(1.).str();
    EXPECT_NE(guarded.find("differentiated=True"), std::string::npos);
    EXPECT_NE(guarded.find("prevent_cse=True"), std::string::npos);
    EXPECT_NE(free.find("prevent_cse=False"), std::string::npos);
    EXPECT_FLOAT_EQ(jax::jit(jax::grad(jax::checkpoint(twice_sin, {.prevent_cse = false})))(Array(2.)).item<float>(),
                    jax::jit(jax::grad(jax::checkpoint(twice_sin)))(Array(2.)).item<float>());
}
TEST(Behaviours, F_35_OtherLoweringsGiveTheSameNumbers) {
    const auto f = jax::checkpoint([](Array x, Array k) { return (twice_sin(x) * jax::random::normal(k, 3)).sum(); });
    const Array x = jnp::arange(3) * .5, k = jax::random::key(3);
    const auto under = [&](const char* form) { return jax::jit(jax::grad(f), {.remat_lowering = form})(x, k).str(); };
    EXPECT_EQ(under("while"), under("barrier"));
    EXPECT_EQ(under("cond"), under("barrier"));
    EXPECT_EQ(error_of([&] { under("loop"); }), "expected barrier, while or cond as the lowering of checkpoints, found 'loop'");
}
TEST(Behaviours, F_37_F_38_OptimizationBarrier) {
    const auto both = lax::optimization_barrier(std::pair{Array(1.), std::vector<Array>{jnp::ones(2)}});
    EXPECT_EQ(both.first.aval(), "~float32[]");
    EXPECT_EQ(both.second[0].str(), "[1. 1.]");
    EXPECT_EQ(jax::make_jaxpr([](Array x, Array y) {
                  return lax::optimization_barrier(std::pair{x, y});
              })(1., 2)
                  .str(),
              "{ lambda ; a:f32[] b:i32[]. let\n    c:f32[] d:i32[] = optimization_barrier a b\n  in (c, d) }");
    EXPECT_FLOAT_EQ(jax::grad([](Array x) { return lax::optimization_barrier(jnp::sin(x)); })(1.).item<float>(), 0.5403023F);
    EXPECT_EQ(jax::vmap([](Array x) { return lax::optimization_barrier(x); })(jnp::ones(2)).str(), "[1. 1.]");
}
TEST(Behaviours, F_40_ReducePrecisionBehindResidualsThatAreUsed) {
    const auto f = jax::checkpoint([](Array x) { return jnp::sin(jnp::exp(x)); }, everything);
    const Array one = Array(1.).astype(jnp::bfloat16);
    EXPECT_EQ(jax::make_jaxpr([&](Array x) { return jax::vjp(f, x).first; })(one).str(), R"({ lambda ; a:bf16[]. let
    b:bf16[] = exp a
    c:bf16[] = reduce_precision[exponent_bits=8 mantissa_bits=7] b
    d:bf16[] = sin c
    _:bf16[] = cos c
  in (d,) })");
    EXPECT_EQ(count(jax::make_jaxpr(jax::grad(f))(one).str(), "reduce_precision["), 1u);
}
TEST(Behaviours, F_41_LoopInvariantResidualsAreHoisted) {
    const auto f = [](Array w, Array x) { return spread([&](Array c) { return c * jnp::sin(w); }, x, 4); };
    const Array w = jnp::ones(3);
    EXPECT_EQ(printed([&](Array x) { return f(w, x); }, {"x"}, jnp::ones(3)), Lines{"f32[3] output of sin"});
}
