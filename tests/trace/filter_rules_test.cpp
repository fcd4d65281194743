// equinox's filter_vjp, filter_custom_vjp, filter_custom_jvp, filter_eval_shape, combine with is_leaf.
#include "trace/behaviours.h"

#include <optional>

#include <jaxscope/loops.h>

namespace {
struct NamedModel {
    Array w, n;
    std::string name;
    JAXSCOPE_PYTREE(NamedModel, w, n, name)
};
NamedModel named_model() { return {jnp::array({1., 2.}), jnp::array({3, 4}), "m"}; }
}  // namespace

TEST(FilterRules, EvalShapeKeepsWhatIsNoArray) {
    const auto [y, s] = jax::filter_eval_shape([](Array x, std::string t) { return std::pair(x * 2., t); }, jnp::ones(3), std::string("a"));
    EXPECT_EQ(y.str(), "ShapeDtypeStruct(shape=(3,), dtype=float32)");
    EXPECT_EQ(s, "a");
}
TEST(FilterRules, VjpDifferentiatesFloatingPointArrays) {
    const auto f = [](NamedModel m, Array x) { return std::pair(m.w * x * m.n, m.name); };
    auto [y, back] = jax::filter_vjp(f, named_model(), jnp::array({5., 6.}));
    EXPECT_EQ(y.first.str(), "[15. 48.]");
    EXPECT_EQ(y.second, "m");
    const auto [m, x] = back(std::pair(jnp::ones(2), std::string()));
    EXPECT_EQ(m.w.str(), "[15. 24.]");
    EXPECT_FALSE(m.n.has_value());
    EXPECT_EQ(x.str(), "[3. 8.]");
}
TEST(FilterRules, CustomVjpTakesOneArgumentAndRefusesTheOthers) {
    const auto g = jax::filter_custom_vjp([](Array x, Array y) {
                       return x * y;
                   }).def_fwd([](bool, Array x, Array y) {
                         return std::pair(x * y, lax::Nothing{});
                     }).def_bwd([](lax::Nothing, Array grad, bool perturbed, Array, Array y) {
        EXPECT_TRUE(perturbed);
        return grad * y * 3;
    });
    EXPECT_EQ(jax::filter_grad([&](Array x) { return g(x, Array(2.)).sum(); })(jnp::ones(2)).str(), "[6. 6.]");
    EXPECT_EQ(error_of([&] { jax::filter_grad([&](Array y) { return g(jnp::ones(2), y).sum(); })(jnp::ones(2)); }),
              "Unexpected tangent. `*args` and `**kwargs` to `filter_custom_vjp` cannot be autodifferentiated.");
    EXPECT_EQ(g(jnp::ones(2), Array(2.)).str(), "[2. 2.]");
}
TEST(FilterRules, CustomJvpRefusesTangentsOfKeywords) {
    const auto h = jax::filter_custom_jvp([](Array x, Array s) { return x * s; }).def_jvp([](auto primals, auto tangents, Array s) {
        Array y = std::get<0>(primals) * s, dy = 7 * std::get<0>(tangents);
        return std::pair(y, dy);
    });
    EXPECT_EQ(jax::filter_grad([&](Array x) { return h(x, jax::kw("s", Array(2.))).sum(); })(jnp::ones(2)).str(), "[7. 7.]");
    EXPECT_EQ(error_of([&] { jax::filter_grad([&](Array s) { return h(jnp::ones(2), jax::kw("s", s)).sum(); })(jnp::ones({})); }),
              "Received keyword tangent");
}
TEST(FilterRules, OfManyLeavesWholeArgumentsArePerturbed) {
    using Lists = std::vector<Array>;
    const auto product = [](const Lists& a, const Lists& b) { return (a[0] * a[1] * b[0] * b[1]).sum(); };
    const auto f = jax::filter_custom_jvp(product).def_jvp([&](auto primals, auto tangents) {
        const auto& [a, b] = primals;
        const auto& [da, db] = tangents;
        // Of an argument of which one array moves the other one has a tangent, too: zeros.
        if (!db[0].has_value()) return std::pair(product(a, b), 10. * (da[0] + 2. * da[1]).sum());
        return std::pair(product(a, b), 3. * db[1].sum());
    });
    const Array one = jnp::ones(2);
    EXPECT_EQ(jax::grad([&](Array x) { return f(Lists{x, one}, Lists{one, one}); })(one).str(), "[10. 10.]");
    EXPECT_EQ(jax::grad([&](Array x) { return f(Lists{one, x}, Lists{one, one}); })(one).str(), "[20. 20.]");
    EXPECT_EQ(jax::grad([&](Array x) { return f(Lists{one, one}, Lists{one, x}); })(one).str(), "[3. 3.]");
}
TEST(FilterRules, CombineTakesNodesWhole) {
    using T = std::pair<std::optional<std::vector<Array>>, Array>;
    const T a{std::nullopt, Array(1.)}, b{std::vector<Array>{Array(2.), Array(3.)}, Array(4.)};
    const T both = jax::combine(jax::is_leaf([](const std::optional<std::vector<Array>>& t) { return !t.has_value(); }), a, b);
    ASSERT_TRUE(both.first.has_value());
    EXPECT_EQ((*both.first)[1].item<float>(), 3.F);
    EXPECT_EQ(both.second.item<float>(), 1.F);
    EXPECT_NE(error_of([&] { jax::combine(a, b); }), "no error") << "without is_leaf the trees differ";
}
TEST(FilterRules, ClosureConvertRefusesOtherShapes) {
    const auto f = jax::filter_closure_convert([](Array x) { return x * 2; }, jnp::ones(3));
    EXPECT_EQ(error_of([&] { f(jnp::ones(4)); }),
              "Closure-converted function called with different dynamic arguments to the example arguments provided:\n\nCalled with: "
              "((f32[4],), {})\n\nClosure-converted with: ((f32[3],), {})");
}
TEST(FilterRules, CotangentsOfOtherTypesAreRefusedAsJaxDoes) {
    const auto pulled = jax::filter_vjp([](Array x) { return x * 2; }, jnp::ones(3));
    const auto& back = pulled.second;
    EXPECT_EQ(error_of([&] {
                  back(jnp::array({1, 2, 3}));
              }),
              "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got int32[3], but expected float32[3] because the "
              "corresponding output of the differentiated function had JAX type float32[3]");
}
TEST(FilterRules, VmapOfNothingNeedsASize) {
    EXPECT_EQ(error_of([] { jax::filter_vmap([](Array x) { return x; }, {.in_axes = jax::none})(jnp::ones(3)); }),
              "Cannot resolve batch dimension. Non-`None` `out_axes` requires either `in_axes` or `axis_size` to be not `None`.");
}
TEST(FilterRules, JaxprsNameRulesAsEquinoxDoes) {
    using Two = std::pair<Array, Array>;
    const auto f = jax::filter_custom_vjp([](Two v) {
                       return v.first * v.second;
                   }).def_fwd([](bool, Two v) {
                         return std::pair(v.first * v.second, lax::Nothing{});
                     }).def_bwd([](lax::Nothing, Array ct, bool, Two v) { return Two(ct * v.second, Array()); });
    const std::string text = jax::filter_make_jaxpr(f)(Two(jnp::ones(3), jnp::array({1, 2, 3}))).str();
    EXPECT_NE(text.find("    custom_jvp_call[\n      name=_nondifferentiable\n      call_jaxpr={ lambda ; . let  in () }\n"
                        "      jvp=_nondifferentiable_jvp\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("name=fn_wrapped\n      bwd=fn_bwd_wrapped\n"), std::string::npos) << text;
    EXPECT_NE(text.find("fwd=fn_fwd_wrapped\n"), std::string::npos) << text;
}
TEST(Loops, EquinoxsSayHowTheCarryDiffers) {
    using Carry = std::pair<Array, Array>;
    const auto go_on = [](Carry c) { return c.second < 3; };
    for (const char* kind : {"lax", "checkpointed", "bounded"})
        EXPECT_EQ(error_of([&] {
                      jax::eqxi::while_loop(go_on, [](Carry c) { return Carry(c.first.astype(jnp::int32), c.second + 1); },
                                            Carry(jnp::ones(3), 0), {.kind = kind, .max_steps = 4});
                  }),
                  "`body_fun` must have the same input and output structure. Difference is:\n- (f32[3], i32[])\n+ (i32[3], i32[])");
    const auto looped = [&](Array x) {
        return jax::eqxi::while_loop(go_on, [](Carry c) { return Carry(jnp::sin(c.first), c.second + 1); }, Carry(x, 0),
                                     {.kind = "checkpointed", .checkpoints = 2})
            .first;
    };
    EXPECT_EQ(error_of([&] { jax::jvp(looped, std::tuple(jnp::ones(3)), std::tuple(jnp::ones(3))); }),
              "can't apply forward-mode autodiff (jvp) to a custom_vjp function.");
}
TEST(Loops, CarriesOfOtherTypesAreToldByPath) {
    const auto body = [](std::pair<Array, Array> c) { return std::pair(c.first + 1, c.second * jnp::ones(3)); };
    EXPECT_EQ(
        error_of([&] { lax::while_loop([](std::pair<Array, Array> c) { return c.first < 3; }, body, std::pair(Array(0), jnp::ones({}))); }),
        "while_loop body function carry input and carry output must have equal types, but they differ:\n\nThe input carry component "
        "c[1] has type float32[] but the corresponding output carry component has type float32[3], so the shapes do not "
        "match.\n\nRevise the function so that all output types match the corresponding input types.");
    const std::string alone =
        error_of([&] { lax::while_loop([](Array c) { return c.sum() < 3; }, [](Array c) { return c * jnp::ones(3); }, jnp::ones({})); });
    EXPECT_NE(alone.find("The input carry c has type float32[]"), std::string::npos) << alone;
}
TEST(NamedAxes, UnboundNamesAreRefused) {
    EXPECT_EQ(error_of([] { lax::psum(1., "k"); }), "unbound axis name: k");
    EXPECT_EQ(error_of([] { jax::vmap([](Array x) { return lax::psum(x, "k"); }, {.axis_name = "i"})(jnp::ones(3)); }),
              "Found an unbound axis name: k. To fix this, please call psum under `jax.shard_map`.");
}
TEST(ErrorInfo, TellsPlaceAndAdvice) {
    try {
        jax::jit([](Array x, std::string) { return x; })(Array(1.), "s");
        FAIL();
    } catch (const std::exception& e) {
        const auto info = jaxscope::error_info(e);
        ASSERT_TRUE(info);
        EXPECT_EQ(info->code, "bad-usage");
        EXPECT_EQ(e.what(), info->message + "\n  at " + info->file + ":" + std::to_string(info->line) + "\n  try: " + info->advice);
        EXPECT_NE(info->file.find("filter_rules_test.cpp"), std::string::npos);
        EXPECT_GT(info->line, 0);
        EXPECT_NE(info->advice.find("static_argnums = {1}"), std::string::npos);
    }
    EXPECT_FALSE(jaxscope::error_info(std::runtime_error("other")));
}
