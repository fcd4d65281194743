// What JAX refuses is refused here, in its words and with the line of the call.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <map>

#include "trace/behaviours.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

template <class F>
jaxscope::Error thrown_by(F&& f) {
    try {
        f();
    } catch (const jaxscope::Error& e) {
        return e;
    }
    return {jaxscope::ErrorCode::BadUsage, "no error"};
}
Array same(const Array& x) { return x; }

}  // namespace

TEST(Errors, NumbersOfArraysAreAskedForAsInPython) {
    EXPECT_EQ(static_cast<double>(jnp::array(2.5)), 2.5);
    EXPECT_EQ(static_cast<int>(jnp::asarray(-2.7)), -2);
    EXPECT_EQ(error_of([] { (void)static_cast<float>(jnp::ones(3)); }),
              "Only scalar arrays can be converted to Python scalars; got arr.ndim=1");
    const std::string traced = error_of([] { jax::jit([](Array a) { return a * static_cast<int>(a); })(jnp::ones({})); });
    EXPECT_NE(traced.find(
                  "The problem arose with the `int` function. If trying to convert the data type of a value, try using `x.astype(int)` or "
                  "`jnp.array(x, int)` instead."),
              std::string::npos)
        << traced;
}

TEST(AutodiffErrors, ByWhatIsNoArray) {
    const auto scaled = [](double x, Array y) { return y * x; };
    const std::string refused = "Argument 2.0 of type <class 'float'> is not a valid JAX type.";
    EXPECT_EQ(error_of([&] { jax::grad(scaled)(2., 3.); }), refused);
    EXPECT_EQ(error_of([&] { jax::value_and_grad(scaled)(2., 3.); }), refused);
    EXPECT_EQ(error_of([&] { jax::jacfwd(scaled)(2., 3.); }), refused);
    EXPECT_EQ(error_of([&] { jax::jacrev(scaled)(2., 3.); }), refused);
    EXPECT_EQ(jax::grad<1>(scaled)(2., 3.).item<double>(), 2.);
}

TEST(AutodiffErrors, Grad) {
    const Array three = jnp::array({1., 2., 3.});
    EXPECT_EQ(error_of([&] { jax::grad(same)(three); }), "Gradient only defined for scalar-output functions. Output had shape: (3,).");
    EXPECT_EQ(error_of([&] { jax::grad(same)(Array(1)); }),
              "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. If you want to "
              "use Boolean- or integer-valued inputs, use vjp or set allow_int to True.");
    EXPECT_EQ(error_of([&] { jax::grad(same, {.holomorphic = true})(Array(1.)); }),
              "grad with holomorphic=True requires inputs with complex dtype, but got float32.");
    EXPECT_EQ(error_of([&] { jax::grad(same, {.reduce_axes = {"i"}})(Array(1.)); }), "reduce_axes argument to grad is deprecated");
    EXPECT_EQ(jax::grad([](Array i, Array x) { return x * i; }, {.allow_int = true})(Array(2), Array(1.)).dtype(), jax::dtype::float0);
    const jaxscope::Error e = thrown_by([&] { jax::grad(same)(three); });
    EXPECT_NE(e.loc.file.find("errors_test.cpp"), std::string::npos);
    EXPECT_GT(e.loc.line, 0);
}

TEST(AutodiffErrors, Linear) {
    EXPECT_EQ(error_of([&] { jax::vjp([](Array x, std::string) { return x; }, 1., "a"); }),
              "Argument 'a' of type <class 'str'> is not a valid JAX type.");
    const auto pair = [](Array x) { return std::pair{x, x}; };
    EXPECT_NE(error_of([&] {
                  jax::vjp(pair, 1.).second(Array(1.));
              }).find("  * out was a <class 'tuple'> in the original output, but a pytree leaf here, so their Python types differ."),
              std::string::npos);
    EXPECT_EQ(error_of([&] { jax::vjp(same, 1.).second(jnp::ones(3)); }),
              "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got float32[3], but expected float32[] because the "
              "corresponding output of the differentiated function had JAX type float32[]");
    EXPECT_EQ(error_of([&] { jax::linear_transpose([](Array x) { return x * 1.; }, Array(1)); }),
              "linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer functions, but got "
              "[dtype('int32')] -> [dtype('float32')].");
    EXPECT_EQ(error_of([&] {
                  jax::jvp(same, std::tuple(1.), std::make_tuple(std::pair{Array(1.), Array(1.)}));
              }),
              "primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure PyTreeDef((*,)) "
              "whereas tangents have tree structure PyTreeDef(((*, *),)).");
    EXPECT_EQ(error_of([&] { jax::jvp(same, std::tuple(1.), std::tuple(1)); }),
              "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal dtype the tangent "
              "dtype must be float0.Got primal dtype float32 and so expected tangent dtype float32, but got tangent dtype int32 instead.");
    EXPECT_EQ(error_of([&] { jax::jvp(same, std::tuple(1.), std::tuple(jnp::ones(3))); }),
              "jvp called with different primal and tangent shapes;Got primal shape () and tangent shape as (3,)");
}

TEST(AutodiffErrors, CustomRules) {
    const Array x(1.);
    const auto bad_tangent =
        jax::custom_jvp(same, {.name = "f"}).defjvp([](Array t, Array) { return std::pair(t, jnp::ones(3)); }, {.name = "r"});
    EXPECT_EQ(error_of([&] { jax::grad(bad_tangent)(x); }),
              "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected float32[] (tangent "
              "type of float32[]) but got float32[3].");
    EXPECT_FLOAT_EQ(bad_tangent(x).item<float>(), 1.F) << "the rule is asked for by derivatives alone";
    const auto bad_primal =
        jax::custom_jvp(same, {.name = "f"}).defjvp([](Array, Array d) { return std::pair(jnp::ones(3), d); }, {.name = "r"});
    EXPECT_EQ(error_of([&] { jax::grad(bad_primal)(x); }),
              "Custom JVP rule r for function f must produce a pair (list or tuple of length two) where the first element represents the "
              "primal output (equal in value to the output of the custom_jvp-decorated function f, and in particular with leaves of the "
              "same shape/dtype), but instead the JVP rule output's first element had shapes/dtypes of:\n    float32[3]\nwhile the "
              "custom_jvp-decorated function f had output shapes/dtypes of:\n    float32[]");
    const auto bad_bwd = jax::custom_vjp(same, {.name = "f"})
                             .defvjp([](Array t) { return std::pair(t, t); }, [](Array, Array) { return std::tuple(jnp::ones(3)); });
    EXPECT_EQ(
        error_of([&] { jax::grad(bad_bwd)(x); }),
        "Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal function, but at output[0] the "
        "bwd rule produced an output of type float32[3] corresponding to an input of type float32[], so the shapes do not match");
    const auto two = jax::custom_vjp(same, {.name = "f"})
                         .defvjp([](Array t) { return std::pair(t, t); }, [](Array, Array g) { return std::tuple(g, g); });
    EXPECT_EQ(error_of([&] { jax::grad(two)(x); }),
              "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple of the primal "
              "function, and in particular must produce a tuple of length equal to the number of arguments to the primal function, but got "
              "bwd output structure PyTreeDef((*, *)) for primal input structure PyTreeDef((*,)).");
    EXPECT_EQ(error_of([&] { jax::custom_jvp(same, {.name = "f"})(x); }), "No JVP defined for custom_jvp function f using defjvp.");
    EXPECT_EQ(error_of([&] { jax::custom_vjp(same, {.name = "f"})(x); }), "No VJP defined for custom_vjp function f using defvjp.");
}

TEST(Abstract, TypesAlone) {
    const auto out = jax::eval_shape(
        [](Array a, Array b) {
            return std::pair{jnp::matmul(a, b), a};
        },
        jax::ShapeDtypeStruct({2, 3}), jax::ShapeDtypeStruct({3, 4}, jax::dtype::bfloat16));
    EXPECT_EQ(out.first.str(), "ShapeDtypeStruct(shape=(2, 4), dtype=float32)");
    EXPECT_EQ(out.second.shape(), (jax::Shape{2, 3}));
    EXPECT_NE(error_of([&] { out.first + 1; }).find("a ShapeDtypeStruct"), std::string::npos);
}

TEST(VmapErrors, Texts) {
    const Array x = jnp::ones({3, 4}), v = jnp::ones(4);
    const auto f = [](Array a, Array) { return a; };
    EXPECT_EQ(error_of([&] {
                  jax::vmap(f, {.arg_names = {"x", "y"}})(x, v);
              }),
              "vmap got inconsistent sizes for array axes to be mapped:\n  * one axis had size 3: axis 0 of argument x of type "
              "float32[3,4];\n  * one axis had size 4: axis 0 of argument y of type float32[4]");
    EXPECT_EQ(error_of([&] { jax::vmap([](Array a, Array, Array) { return a; })(x, v, v); }),
              "vmap got inconsistent sizes for array axes to be mapped:\n  * most axes (2 of them) had size 4, e.g. axis 0 of args[1] of "
              "type float32[4];\n  * one axis had size 3: axis 0 of args[0] of type float32[3,4]");
    EXPECT_EQ(
        error_of([&] {
            jax::vmap(f, {.axis_size = 5, .arg_names = {"x", "y"}})(x, x);
        }),
        "vmap got inconsistent sizes for array axes to be mapped:\n  * the `axis_size` argument was 5;\n  * most axes (2 of them) had "
        "size 3, e.g. axis 0 of argument x of type float32[3,4]");
    EXPECT_EQ(error_of([&] { jax::vmap(f, {.in_axes = {0}})(x, v); }),
              "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, "
              "but got len(in_axes)=1, len(args)=2");
    EXPECT_EQ(error_of([&] {
                  jax::vmap(f, {.in_axes = {jax::none, jax::none}})(x, v);
              }),
              "vmap must have at least one non-None value in in_axes or axis_size must be specified");
    EXPECT_EQ(error_of([&] {
                  jax::vmap(f, {.in_axes = {2, jax::none}})(x, v);
              }),
              "vmap was requested to map its argument along axis 2, which implies that its rank should be at least 3, but is only 2 (its "
              "shape is (3, 4))");
    EXPECT_EQ(error_of([&] { jax::vmap(f, {.out_axes = jax::none})(x, x); }),
              "at vmap out_axes, got axis spec None but output was batched on axis 0");
    EXPECT_EQ(error_of([&] { jax::vmap(f, {.out_axes = 3})(x, x); }), "axis 3 is out of bounds for array of dimension 2");
    EXPECT_EQ(error_of([&] { jax::vmap([] { return Array(1.); })(); }),
              "vmap wrapped function must be passed at least one argument containing an array or axis_size must be specified, got empty "
              "*args=() and **kwargs={}");
}

TEST(CheckpointErrors, C_04_C_10_C_20_C_25_StaticArgumentsAndOptions) {
    const auto f = [](Array x, bool flag) { return flag ? jnp::sin(x) : jnp::cos(x); };
    EXPECT_FLOAT_EQ(jax::grad(jax::checkpoint(f, {.static_argnums = {1}}))(Array(1.), true).item<float>(), 0.5403023F);
    EXPECT_FLOAT_EQ(jax::grad(jax::checkpoint(f, {.static_argnums = {-1}}))(Array(1.), true).item<float>(), 0.5403023F);
    EXPECT_EQ(error_of([&] { jax::checkpoint(f, {.static_argnums = {5}})(Array(1.), true); }),
              "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater than or equal to "
              "`-len(args)` and less than `len(args)`, but got (5,), while `len(args)` = 2");
    EXPECT_EQ(error_of([&] { jax::checkpoint([](Array x, std::string) { return x; })(1., "str"); }),
              "Argument 'str' of type <class 'str'> is not a valid JAX type");
    EXPECT_EQ(error_of([&] { jax::checkpoint(same, {.concrete = true})(Array(1.)); }),
              "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In its place please use "
              "`static_argnums`; for details refer to https://docs.jax.dev/en/latest/jep/11830-new-remat-checkpoint.html.");
    EXPECT_NE(error_of([&] {
                  jax::checkpoint([](Array a, Array b) { return a * b; }, {.prevent_cse = {true}})(1., 2.);
              }).find("pytree structure error: different lengths of tuple"),
              std::string::npos);
}

TEST(Checkpoint, NamesOfArgumentsInResiduals) {
    const auto f = [](Array x, Array y) { return jnp::sin(x) * y; };
    const auto rows = jax::saved_residuals(f, {.arg_names = {"x", "y"}}, Array(1.), Array(2.));
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].source, "from the argument y");
    EXPECT_EQ(jax::saved_residuals(f, Array(1.), Array(2.))[0].source, "from the argument args[1]");
}

TEST(Checkpoint, EnsureCompileTimeEval) {
    bool positive = false;
    jax::make_jaxpr([&](Array x) {
        {
            jax::ensure_compile_time_eval now;
            positive = static_cast<bool>(jnp::sum(jnp::ones(3)) > 2.);
        }
        return x * 2.;
    })(Array(1.));
    EXPECT_TRUE(positive);
    // What depends on a tracer is recorded all the same, functions of it and calls of its closures too.
    const auto mixed = [](Array x) {
        const auto inner = [&](Array y) {
            jax::ensure_compile_time_eval now;
            const Array one = jnp::sin(jnp::array(0.f)) + 1.f;
            EXPECT_FALSE(one.is_tracer());
            return jax::jit([&](Array z) { return z + x; })(x * y + one);
        };
        return jax::grad(inner)(3.f) + inner(2.f);
    };
    EXPECT_EQ(jax::jit(mixed)(Array(5.f)).item<float>(), 5.f + 16.f);
    jax::jit([](Array x) {
        jax::ensure_compile_time_eval now;
        EXPECT_FALSE(jnp::ones(2).is_tracer());
        const Array y = x + 1;
        EXPECT_TRUE(y.is_tracer());
        EXPECT_FALSE(jnp::ones(2).is_tracer());
        return y;
    })(Array(1));
}

TEST(AssociativeScan, RefusesOtherLengths) {
    EXPECT_EQ(error_of([&] {
                  jax::lax::associative_scan([](auto a, auto) { return a; }, std::pair{jnp::ones(3), jnp::ones(4)});
              }),
              "Array inputs to associative_scan must have the same first dimension. (saw: [(3,), (4,)])");
}

TEST(Masks, AreRefusedByWhatDoesNotLookAtThem) {
    EXPECT_EQ(error_of([&] { jnp::quantile(jnp::ones(3), .5, {.where = jnp::ones(3) > 0.}); }),
              "quantile() got an unexpected keyword argument 'where'");
}

namespace {
int line_of_error(const jaxscope::Error& e) { return e.loc.file.find("errors_test.cpp") == std::string::npos ? -1 : e.loc.line; }
}  // namespace
#define HERE(...) EXPECT_EQ(line_of_error(thrown_by([&] { __VA_ARGS__; })), __LINE__) << #__VA_ARGS__

TEST(ErrorPlaces, OfTheUsersCall) {
    const Array v = jnp::ones(3);
    HERE(v.shape(3));
    HERE(Array({1.F, 2.F}, {3}));
    HERE(jnp::array({{1., 2.}, {3.}}));
    HERE(jnp::load("no_such_file.npy"));
    HERE(jax::tree_unflatten(std::pair(v, v), std::vector<Array>{v}));
    HERE(jax::rebase_donate_argnums({1}, {1}));
    HERE(jax::policies::save_and_offload_only_these_names({"a"}, {"a"}, "device", "pinned_host"));
    HERE(jax::lax::associative_scan([](const Array& a, const Array&) { return a.sum(); }, v));
}
TEST(ErrorPlaces, OfWhatWasGivenAway) {
    Array w = jnp::ones(3);
    const int made = __LINE__ + 1;
    const auto donates = jax::jit([](Array x) { return x * 2; }, {.donate_argnums = {0}});
    donates(w);
    const auto advice = [&](auto&& f) {
        const jaxscope::Error e = thrown_by(f);
        return e.advices.empty() ? std::string() : e.advices.front();
    };
    const std::string given = "errors_test.cpp:" + std::to_string(made) + ": pass a copy there, or use what that call gave back";
    HERE(w + 1.);
    HERE(jax::grad([](Array x) { return x.sum(); })(w));
    HERE(jax::lax::cond(true, same, same, w));
    EXPECT_NE(advice([&] { w + 1.; }).find(given), std::string::npos) << advice([&] { w + 1.; });
    // A call has no place of its own: the function's is the nearest one.
    EXPECT_EQ(line_of_error(thrown_by([&] { donates(w); })), made);
    Array u = jnp::ones(3);
    const int deleted = __LINE__ + 1;
    u.delete_buffer();
    EXPECT_NE(advice([&] { jnp::sin(u); }).find("errors_test.cpp:" + std::to_string(deleted)), std::string::npos);
}

TEST(RefusedAsJax, ClosureConvertWithOtherConstants) {
    const Array x = jnp::ones({3});
    const auto with = [&](std::size_t n) {
        return error_of([&] {
            jax::grad([&](Array w) {
                const auto converted = jax::closure_convert([&](Array a) { return a * w; }, x);
                return converted.first(x, std::vector<Array>(n, w)).sum();
            })(2.);
        });
    };
    const std::string differs =
        "The inputs to the closure produced by closure_convert must have the same Pytree structure as the example arguments passed when "
        "closure_convert was called. Expected PyTreeDef((*,)), but got ";
    EXPECT_EQ(with(1), "no error");
    EXPECT_EQ(with(2), differs + "PyTreeDef((*, *))");
    EXPECT_EQ(with(0), differs + "PyTreeDef(())");
}

TEST(RefusedAsJax, BackwardRules) {
    const auto twice = [](Array a) { return a * 2.; };
    const auto forward = [](Array a) { return std::pair{a * 2., a}; };
    const auto gradient = [&](auto bwd) { return jax::grad(jax::custom_vjp(twice).defvjp(forward, bwd))(1.); };
    EXPECT_EQ(error_of([&] { gradient([](Array, Array ct) { return ct * 2.; }); }),
              "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple of the primal "
              "function, and in particular must produce a tuple of length equal to the number of arguments to the primal function, but "
              "got bwd output structure PyTreeDef(*) for primal input structure PyTreeDef((*,)).");
    EXPECT_EQ(gradient([](Array, Array ct) { return std::vector<Array>{ct * 2.}; }).item(), 2.);
    EXPECT_EQ(gradient([](Array, Array) { return std::tuple(Array(2)); }).item(), 2.);  // JAX takes an int32 for a float32
}

TEST(RefusedAsJax, WhatCantBeTransposedWhereThePullbackIsCalled) {
    const auto f = jax::custom_vjp([](Array a) { return a * 2.; })
                       .defvjp(
                           [](Array a) {
                               return std::pair{a * 2., a};
                           },
                           [](Array, Array ct) { return ct * 2.; });
    const std::string sentence = "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple";
    const auto value = [&](Array a) { return jax::vjp(f, a).first; };
    const auto [y, pullback] = jax::vjp(f, Array(3.));
    EXPECT_EQ(y.item(), 6.);
    for (int again = 0; again < 2; ++again) EXPECT_EQ(error_of([&, f = pullback, ct = y] { f(ct); }).rfind(sentence, 0), 0u);
    EXPECT_EQ(jax::jit(value)(Array(3.)).item(), 6.);
    EXPECT_EQ(jax::vmap(value)(jnp::ones(2)).sum().item(), 4.);
    EXPECT_EQ(jax::vjp(jax::checkpoint(f), Array(3.)).first.item(), 6.);
    EXPECT_EQ(jax::make_jaxpr(value)(3.).str(), "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }");
    EXPECT_EQ(error_of([&] { jax::grad(f)(3.); }).rfind(sentence, 0), 0u);
    EXPECT_EQ(error_of([&] { jax::jvp(f, std::tuple(Array(3.)), std::tuple(Array(1.))); }),
              "can't apply forward-mode autodiff (jvp) to a custom_vjp function.");
    const auto doubled = [](Array a) { return lax::while_loop([](Array c) { return c < 9.; }, [](Array c) { return c * 2.; }, a); };
    const auto loop = jax::vjp(doubled, Array(1.));
    EXPECT_EQ(loop.first.item(), 16.);
    EXPECT_EQ(error_of([&] { loop.second(loop.first); }).rfind("Reverse-mode differentiation does not work for lax.while_loop", 0), 0u);
}

TEST(RefusedAsJax, ConditionsThatAreTrees) {
    const auto more = [](Array c) { return c + 1; };
    EXPECT_EQ(error_of([&] {
                  jax::lax::while_loop([](Array c) { return std::pair{c < 3, c}; }, more, 0);
              }),
              "cond_fun must return a boolean scalar, but got pytree PyTreeDef((*, *)).");
    EXPECT_EQ(error_of([&] { jax::lax::while_loop([](Array c) { return std::tuple(c < 3); }, more, 0); }),
              "cond_fun must return a boolean scalar, but got pytree PyTreeDef((*,)).");
}

TEST(RefusedAsJax, CompiledCallsWithOtherNames) {
    const Array x = jnp::ones({3});
    const auto product = [](Array a, Array b) { return a * b; };
    const auto by_name = jax::jit(product).lower(x, jax::kw("b", x)).compile();
    const auto by_position = jax::jit(product).lower(x, x).compile();
    EXPECT_EQ(by_name(x, jax::kw("b", x)).sum().item(), 3.);
    EXPECT_EQ(error_of([&] { by_name(x, x); }),
              "Function compiled with input pytree does not match the input pytree it was called with. There are 2 mismatches, "
              "including:\n    * at args, seen tuple of length 1 but now given tuple of length 2, so the lengths do not match\n    * at "
              "kwargs, seen <class 'dict'> with 1 child but now given <class 'dict'> with 0 child, so the numbers of children do not "
              "match, with the symmetric difference of key sets: {'b'}");
    EXPECT_NE(error_of([&] { by_position(x, jax::kw("b", x)); }).find("at kwargs, seen <class 'dict'> with 0 child"), std::string::npos);
}

TEST(RefusedAsJax, TreesOfOtherKeys) {
    using Dict = std::map<std::string, Array>;
    const Array x = jnp::ones({3});
    const auto pullback = jax::vjp([](Array a) { return Dict{{"a", a}, {"b", a}}; }, x).second;
    const std::string other_keys = error_of([&] { pullback(Dict{{"a", x}, {"c", x}}); });
    EXPECT_NE(other_keys.find("out was a <class 'dict'> with pytree metadata ('a', 'b') in the original output, but a <class 'dict'> with "
                              "pytree metadata ('a', 'c') here, so the pytree node metadata does not match."),
              std::string::npos)
        << other_keys;
    const std::string fewer = error_of([&] { pullback(Dict{{"a", x}}); });
    EXPECT_NE(fewer.find("so the numbers of children do not match, with the symmetric difference of key sets: {'b'}."), std::string::npos)
        << fewer;
}
TEST(LoopErrors, ForiLoopCallsItsCarryAsJaxDoes) {
    const auto narrow = [](Array, Array c) { return c.astype(jnp::int32); };
    const auto component = [](const std::string& text) { return text.substr(text.find("loop_carry"), 13); };
    EXPECT_EQ(component(error_of([&] { lax::fori_loop(0, 3, narrow, 1.); })), "loop_carry[1]");
    EXPECT_EQ(component(error_of([&] { jax::jit([&](Array n) { return lax::fori_loop(0, n, narrow, 1.); })(3); })), "loop_carry[2]");
    const auto second = [&](Array i, const std::pair<Array, Array>& c) { return std::pair(c.first, narrow(i, c.second)); };
    EXPECT_NE(error_of([&] { lax::fori_loop(0, 3, second, std::pair(Array(1.), Array(1.))); }).find("component loop_carry[1][1] has"),
              std::string::npos);
}
TEST(Errors, NothingIsTheLargestOfNothing) {
    EXPECT_EQ(error_of([] { jnp::argmax(jnp::ones(0)); }), "attempt to get argmax of an empty sequence");
    EXPECT_EQ(error_of([] { jnp::argmin(jnp::ones({0, 3}), 0); }), "attempt to get argmin of an empty sequence");
    EXPECT_EQ(jnp::argmax(jnp::ones({0, 3}), 1).shape().str(), "(0,)");
    EXPECT_EQ(error_of([] { lax::argmax(jnp::ones(0), 0, jnp::int32); }),
              "argmin and argmax require non-empty reduced dimension. operand.shape=(0,) axis=0");
}
TEST(Errors, WhatJaxTakesIsNotRefused) {
    EXPECT_EQ(jnp::take(jnp::array({0., 1., 2.}), jnp::array({true, false})).str(), "[1. 0.]");
    EXPECT_EQ(jnp::linalg::det(jnp::ones({0, 0})).item(), 1.);
    EXPECT_EQ(jnp::nonzero(jnp::array({0., 1., 2.}))[0].str(), "[1 2]");
    EXPECT_EQ(jnp::argwhere(jnp::array({{0, 1}, {2, 0}})).str(), "[[0 1]\n [1 0]]");
    EXPECT_EQ(jnp::where(jnp::array({false, true}))[0].str(), "[1]");
    EXPECT_EQ(jnp::flatnonzero(jnp::array({{0., 3.}, {-0., 1.}})).str(), "[1 3]");
    EXPECT_FALSE(jax::checkpoint_name(Array(), "a").has_value());
    EXPECT_TRUE(jnp::hypot(3., 4.).weak_type());
    const auto both = [](const std::pair<Array, Array>& p, const Array& q) { return p.first + p.second + q; };
    const std::pair<Array, Array> p(jnp::ones({3}), jnp::ones({3}));
    EXPECT_EQ(jax::jit(both, {.donate_argnums = {0}}).lower(p, jnp::ones({3})).donate_argnums(), (std::vector<int>{0, 1}));
    EXPECT_EQ(jax::jit(both, {.donate_argnums = {1}}).lower(p, jnp::ones({3})).donate_argnums(), (std::vector<int>{2}));
}
