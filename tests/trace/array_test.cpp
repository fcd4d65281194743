// Arrays, tracing, jit and donation of the C++ front end. The names of the tests say which items of the behaviours they hold to.
#include <gtest/gtest.h>

#include <jaxscope/jax.h>

#include <array>
#include <complex>
#include <span>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

Array ones(std::int64_t n) { return jnp::ones(n); }
const auto add_one = [](Array x) { return x + 1; };

TEST(Behaviours, A_26_NumbersAreWeakAndBoolsAreNot) {
    EXPECT_EQ(Array(1).aval(), "~int32[]");
    EXPECT_EQ(Array(1.).aval(), "~float32[]");
    EXPECT_EQ(Array(true).aval(), "bool[]");
    EXPECT_EQ(jnp::ones(2).aval(), "float32[2]");
    EXPECT_EQ(jax::make_jaxpr([](Array x, Array y) { return x + y; })(1., jnp::ones(2, jnp::bfloat16)).str(),
              "{ lambda ; a:f32[] b:bf16[2]. let\n    c:bf16[] = convert_element_type[new_dtype=bfloat16 weak_type=False] a\n"
              "    d:bf16[2] = add c b\n  in (d,) }");
}
TEST(Arrays, PrintAsNumPy) {
    EXPECT_EQ(jnp::array({{1., 2.5}, {3., -4.}}).str(), "[[ 1.   2.5]\n [ 3.  -4. ]]");
    EXPECT_EQ(jnp::array({1, 20}).str(), "[ 1 20]");
    EXPECT_EQ(Array(0.5).str(), "0.5");
    EXPECT_EQ(jnp::array({true, false}).str(), "[ True False]");
    EXPECT_EQ(jnp::ones(2).repr(), "Array([1., 1.], dtype=float32)");
}
TEST(Behaviours, C_13_AValueInControlFlowIsAConcretizationError) {
    const auto f = jax::checkpoint([](Array x) { return x > 0 ? x : -x; });
    const std::string text = error_of([&] { f(1.); });
    EXPECT_NE(text.find("Attempted boolean conversion of traced array with shape bool[]"), std::string::npos) << text;
    EXPECT_NE(text.find("for checkpoint / remat."), std::string::npos) << text;
    EXPECT_NE(text.find("array_test.cpp"), std::string::npos) << text;
}
TEST(Arrays, AreIndexedWithoutBraces) {
    const Array x = jnp::arange(6).reshape({3, 2});
    EXPECT_EQ(x[2].str(), "[4 5]");
    EXPECT_EQ(x[Array(1)].str(), "[2 3]");
    EXPECT_EQ(x[jax::slice(1, jax::none)].str(), "[[2 3]\n [4 5]]");
    EXPECT_EQ((x[{jax::all, Array(-1)}].str()), "[1 3 5]");
    EXPECT_EQ((x[{Array(2), 0}].item<int>()), 4);
    const auto row = [](const Array& p, const Array& i) { return p[i]; };
    EXPECT_EQ(jax::make_jaxpr(row)(jnp::ones({3, 2}), jnp::arange(3)[1]).str(),  // JAX's text
              R"({ lambda ; a:f32[3,2] b:i32[]. let
    c:bool[] = lt b 0:i32[]
    d:i32[] = add b 3:i32[]
    e:i32[] = select_n c b d
    f:bool[] = lt 0:i32[] 0:i32[]
    g:i32[] = add 0:i32[] 2:i32[]
    h:i32[] = select_n f 0:i32[] g
    i:f32[1,2] = dynamic_slice[slice_sizes=(1, 2)] a e h
    j:f32[2] = squeeze[dimensions=(0,)] i
  in (j,) })");
}
TEST(Arrays, AlongAnAxisAndOfRealNumbers) {
    const Array x = jnp::arange(6).reshape({3, 2});
    EXPECT_EQ(jnp::sum(x, 0).str(), "[6 9]");
    EXPECT_EQ(jnp::max(x, -1).str(), "[1 3 5]");
    EXPECT_EQ(jnp::arange(3.).repr(), "Array([0., 1., 2.], dtype=float32)");
    EXPECT_EQ(jax::random::key(3).repr(), "Array((), dtype=key<fry>) overlaying:\n[0 3]");
    EXPECT_EQ(jax::random::split(jax::random::key(0)).str(),
              "Array((2,), dtype=key<fry>) overlaying:\n[[1797259609 2579123966]\n [ 928981903 3453687069]]");
    EXPECT_EQ(jnp::arange(1, 2, 0.25).str(), "[1.   1.25 1.5  1.75]");
    EXPECT_EQ(jax::lax::cumsum(jnp::arange(4), 0, true).str(), "[6 6 5 3]");
}
TEST(Errors, SayWhichArgumentsAValueDependsOn) {
    const auto f = jax::jit([](const Array& x, const Array& y, const Array&) { return Array((x + y).item<double>()); },
                            {.arg_names = {"x", "y", "z"}});
    const std::string text = error_of([&] { f(1., 2., 3.); });
    EXPECT_NE(text.find("This occurred in the item() method of jax.Array"), std::string::npos) << text;
    EXPECT_NE(text.find("because it depends on the values of the arguments x and y."), std::string::npos) << text;
    const Array closed_over(1.);
    const auto branch = jax::jit([&](const Array& x) { return closed_over > 0 ? x : -x; }, {.arg_names = {"x"}});
    const std::string of_none = error_of([&] { branch(3.); });
    EXPECT_EQ(of_none.find("argument x"), std::string::npos) << of_none;
    EXPECT_NE(of_none.find("This value became a tracer due to an operation on line"), std::string::npos) << of_none;
    EXPECT_EQ(error_of([] { jnp::ones(3) + jnp::ones(4); }), "add got incompatible shapes for broadcasting: (3,), (4,).");
}
TEST(Errors, OfLoopsStandInTheUsersLine) {
    try {
        jax::lax::while_loop([](Array x) { return x[0] < 3; }, [](Array x) { return jnp::concatenate({x, x}); }, jnp::ones(2));
        FAIL();
    } catch (const std::exception& e) {
        const auto info = jaxscope::error_info(e);
        ASSERT_TRUE(info);
        EXPECT_NE(info->file.find("array_test.cpp"), std::string::npos) << info->file;
    }
}
TEST(Arrays, GoThroughNumPysFiles) {
    const std::string path = testing::TempDir() + "jaxscope_array";
    const Array a = jnp::array({{1., 2.5}, {-3., 4.}});
    jnp::save(path, a);
    EXPECT_EQ(jnp::load(path + ".npy").repr(), a.repr());
    const Array z(std::vector<std::complex<float>>{{1, 2}, {3.5, 0}}, 2);
    jnp::save(path + ".npy", z);
    EXPECT_EQ(jnp::load(path + ".npy").repr(), "Array([1. +2.j, 3.5+0.j], dtype=complex64)");
    EXPECT_NE(error_of([&] { jnp::load(path + ".no"); }), "no error");
    Array gone = jnp::ones(2);
    gone.delete_buffer();
    EXPECT_EQ(error_of([&] { jnp::save(path, gone); }), "Array has been deleted with shape=float32[2].");
}
TEST(Tracing, ALeakedTracerIsCaughtWithItsLine) {
    Array leaked;
    jax::make_jaxpr([&](Array x) { return leaked = x * 2; })(1.);
    const std::string text = error_of([&] { leaked + 1; });
    EXPECT_NE(text.find("Encountered an unexpected tracer"), std::string::npos) << text;
    EXPECT_NE(text.find("array_test.cpp"), std::string::npos) << text;
    EXPECT_NE(text.find("traced for make_jaxpr"), std::string::npos) << text;
    jax::jit([&](Array x) { return leaked = x; })(1.);
    const std::string argument = error_of([&] { leaked + 1; });
    EXPECT_NE(argument.find("is an argument of the function"), std::string::npos) << argument;
}
TEST(Behaviours, B_01_ADonatedArgumentIsConsumedAndItsMemoryTaken) {
    const auto f = jax::jit([](Array x) { return x * 2; }, {.donate_argnums = {0}});
    const Array x = ones(3);
    const void* p = x.unsafe_buffer_pointer();
    const Array y = f(x);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(y.unsafe_buffer_pointer(), p);
    EXPECT_EQ(x.shape().str(), "(3,)");
    EXPECT_EQ(y.str(), "[2. 2. 2.]");
}
TEST(Behaviours, B_02_TouchingADonatedArrayNamesShapeAndType) {
    const Array x = ones(3);
    jax::jit(add_one, {.donate_argnums = {0}})(x);
    const std::string want = "Array has been deleted with shape=float32[3].";
    EXPECT_EQ(error_of([&] { x.to_vector(); }), want);
    EXPECT_EQ(error_of([&] { x + 1; }), want);
    EXPECT_EQ(error_of([&] { jax::jit(add_one)(x); }), want);
    EXPECT_EQ(error_of([&] { (void)x.repr(); }), want);
}
TEST(Behaviours, B_04_B_05_UnusableDonationsAreWarnedOfOncePerShape) {
    const auto f = jax::jit([](Array x, Array y) { return x.sum() + y.sum(); }, {.donate_argnums = {0, 1}});
    testing::internal::CaptureStderr();
    f(ones(2), jnp::ones({3, 4}, jnp::int32));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "UserWarning: Some donated buffers were not usable: float32[2], int32[3,4].\n"
              "See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n");
    testing::internal::CaptureStderr();
    f(ones(2), jnp::ones({3, 4}, jnp::int32));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    testing::internal::CaptureStderr();
    f(ones(3), jnp::ones({3, 4}, jnp::int32));
    EXPECT_NE(testing::internal::GetCapturedStderr().find("float32[3]"), std::string::npos);
}
TEST(Behaviours, B_07_WhatIsNeverUsedIsNotDonated) {
    for (const bool keep : {false, true}) {
        const Array x = ones(2), y = ones(2);
        jax::jit([](Array, Array b) { return b + 1; }, {.donate_argnums = {0}, .keep_unused = keep})(x, y);
        EXPECT_EQ(x.is_deleted(), keep);
    }
}
TEST(Behaviours, B_10_ADonationOfAnotherSizeIsLost) {
    const Array x = ones(4);
    jax::jit([](Array a) { return a.astype(jnp::int8).reshape({2, 2}); }, {.donate_argnums = {0}})(x);
    EXPECT_FALSE(x.is_deleted());
}
TEST(Behaviours, B_11_ADonatedArgumentMayBeReturned) {
    const auto f = jax::jit([](Array x, Array y) { return std::pair{x, y + 1}; }, {.donate_argnums = {0}});
    const Array x = ones(3);
    const auto [a, b] = f(x, x * 2);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(a.str(), "[1. 1. 1.]");
}
TEST(Behaviours, B_13_NamesDonateToo) {
    const auto g = jax::jit([](Array a, Array b) { return a + b; }, {.donate_argnames = {"b"}, .arg_names = {"a", "b"}});
    const Array x = ones(2), y = ones(2);
    g(x, y);
    EXPECT_FALSE(x.is_deleted());
    EXPECT_TRUE(y.is_deleted());
    const auto h = jax::jit([](Array a, Array b) { return a + b; }, {.donate_argnames = {"right"}});
    const Array u = ones(2), v = ones(2);
    h(u, jax::kw("right", v));
    EXPECT_FALSE(u.is_deleted());
    EXPECT_TRUE(v.is_deleted());
}
TEST(Behaviours, B_14_StaticArgumentsShiftNothing) {
    const auto f = jax::jit(
        [](int s, int t, Array c, Array d) {
            return std::pair{c + s, d + t};
        },
        {.donate_argnums = {3}, .static_argnums = {0, 1}});
    const Array c = ones(2), d = ones(3);
    f(1, 2, c, d);
    EXPECT_FALSE(c.is_deleted());
    EXPECT_TRUE(d.is_deleted());
}
TEST(Jit, OneBufferIsNotDonatedTwice) {
    const Array x = ones(2);
    const auto f = jax::jit([](Array a, Array b) { return std::pair{a + 1, b + 2}; }, {.donate_argnums = {0, 1}});
    EXPECT_NE(error_of([&] { f(x, x); }).find("Attempt to donate the same buffer twice"), std::string::npos);
    EXPECT_FALSE(x.is_deleted());
}
TEST(Behaviours, B_17_BatchingKeepsDonations) {
    const auto f = jax::vmap(jax::jit(add_one, {.donate_argnums = {0}}));
    EXPECT_NE(jax::make_jaxpr(f)(jnp::ones({3, 2})).str().find("donated_invars=(True,)"), std::string::npos);
}
TEST(Behaviours, B_22_KeysAreDonatedLikeArrays) {
    const auto move = jax::jit([](Array k) { return jax::random::split(k, 1)[0]; }, {.donate_argnums = {0}});
    const Array k = jax::random::key(0), k2 = move(k);
    EXPECT_TRUE(k.is_deleted());
    EXPECT_FALSE(k2.is_deleted());
    EXPECT_EQ(error_of([&] { jax::random::uniform(k); }), "Array has been deleted with shape=uint32[2].");
}
TEST(Behaviours, A_19_A_22_ArgumentNumbersAreChecked) {
    const auto two = [](Array a, Array) { return a; };
    EXPECT_EQ(error_of([&] { jax::jit(two, {.static_argnums = {2}})(1., 2.); }),
              "Jitted function has static_argnums=(2,), but only accepts 2 positional arguments.");
    EXPECT_EQ(error_of([&] { jax::jit(two, {.donate_argnums = {-3}})(1., 2.); }),
              "Jitted function has donate_argnums=(-3,), but only accepts 2 positional arguments.");
    EXPECT_EQ(
        error_of([&] { jax::jit([](Array x) { return x; }, {.donate_argnums = {0}, .static_argnums = {0}, .arg_names = {"x"}})(1.); }),
        "static_argnames and donate_argnames cannot intersect. Argument names {'x'} appear in both static_argnames and donate_argnames");
}
TEST(Jit, EachTraceHasItsReason) {
    int traces = 0;
    const auto f = jax::jit(
        [&](Array x, int n) {
            ++traces;
            return x * n;
        },
        {.static_argnums = {1}, .arg_names = {"x", "n"}});
    f(ones(2), 2), f(ones(2), 2), f(ones(3), 2), f(ones(3), 4);
    EXPECT_EQ(traces, 3);
    const std::vector<std::string> why = f.retraces();
    ASSERT_EQ(why.size(), 3u);
    EXPECT_EQ(why[0], "first call");
    EXPECT_EQ(why[1], "x: float32[3] after float32[2]");
    EXPECT_NE(why[2].find("another static value"), std::string::npos);
}
TEST(Behaviours, I_02_AnUpdateLoopKeepsItsBuffer) {
    const auto f = jax::jit([](Array x) { return jnp::power(x, 2); }, {.donate_argnums = {0}});
    Array x = jnp::full(3, 1.5);
    const void* p = x.unsafe_buffer_pointer();
    for (int i = 0; i < 3; ++i) x = f(x);
    EXPECT_EQ(x.str(), "[25.628906 25.628906 25.628906]");
    EXPECT_EQ(x.unsafe_buffer_pointer(), p);
}
TEST(Behaviours, D_02_D_07_E_01_ResidualsAreThoseOfJax) {
    const auto f = [](Array x, Array w, Array b) { return jnp::sin(jnp::matmul(x, w)) + b; };
    const auto rows =
        jax::saved_residuals(jax::checkpoint(f, {.policy = jax::policies::nothing_saveable}), ones(2), jnp::ones({2, 3}), ones(3));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].aval + " " + rows[0].source, "f32[2] from the argument args[0]");
    EXPECT_EQ(rows[1].aval + " " + rows[1].source, "f32[2,3] from the argument args[1]");
    const auto named = [](Array x) {
        const Array a = jax::checkpoint_name(jnp::sin(x), "a"), b = jax::checkpoint_name(jnp::sin(a), "b");
        return jnp::sin(b);
    };
    const auto saved = [&](std::vector<std::string> names) {
        return jax::saved_residuals(jax::checkpoint(named, {.policy = jax::policies::save_only_these_names(names)}), 1.).size();
    };
    EXPECT_EQ(saved({}), 1u);
    EXPECT_EQ(saved({"a"}), 2u);
    EXPECT_EQ(saved({"a", "b"}), 3u);
    EXPECT_EQ(saved({"zzz"}), 1u);
}
TEST(Behaviours, C_25_ArgumentsWithoutArraysMustBeStatic) {
    const auto f = [](Array x, bool flag) { return flag ? jnp::sin(x) : jnp::cos(x); };
    EXPECT_NE(error_of([&] { jax::checkpoint(f)(Array(1.), true); }).find("is not a valid JAX type"), std::string::npos);
    EXPECT_NEAR(jax::grad([&](Array x) { return jax::checkpoint(f, {.static_argnums = {1}})(x, true); })(1.).item<double>(), 0.5403023,
                1e-6);
    EXPECT_NEAR(jax::grad([&](Array x) { return jax::checkpoint(f, {.static_argnums = {-1}})(x, true); })(1.).item<double>(), 0.5403023,
                1e-6);
}
TEST(Behaviours, I_01_DoubleSine) {
    const auto [value, gradient] = jax::value_and_grad(jax::checkpoint([](Array x) { return jnp::sin(jnp::sin(x)); }))(2.);
    EXPECT_NEAR(value.item<double>(), 0.78907233, 1e-6);
    EXPECT_NEAR(gradient.item<double>(), -0.25563914, 1e-6);
}
TEST(Behaviours, C_26_IntegerInputsAreRefused) {
    const std::string text = error_of([] { jax::grad([](Array i, Array x) { return jnp::sin(x) * i; })(2, 1.); });
    EXPECT_NE(text.find("grad requires real- or complex-valued inputs"), std::string::npos) << text;
}

TEST(Arrays, AreMadeOfNumbersOfAnyTypeInARow) {
    const float raw[] = {1, 2, 3, 4};
    EXPECT_EQ(Array(std::span<const float>(raw), {2, 2}).repr(), "Array([[1., 2.],\n       [3., 4.]], dtype=float32)");
    EXPECT_EQ(Array(std::array<std::int64_t, 2>{5, -6}, 2).repr(), "Array([ 5, -6], dtype=int32)");
    EXPECT_EQ(Array(std::vector<std::int8_t>{1, -2}, 2).repr(), "Array([ 1, -2], dtype=int8)");
    EXPECT_EQ(Array(std::vector<std::uint32_t>{4000000000u}, 1).repr(), "Array([4000000000], dtype=uint32)");
    EXPECT_EQ(Array(std::array<bool, 2>{true, false}, 2).repr(), "Array([ True, False], dtype=bool)");
    EXPECT_EQ(Array({1.5, 2.5}, 2).repr(), "Array([1.5, 2.5], dtype=float32)");
    EXPECT_EQ(Array({1, 2, 3, 4}, {2, 2}).str(), "[[1 2]\n [3 4]]");
    EXPECT_EQ(error_of([] { Array(std::array<std::int64_t, 1>{std::int64_t{1} << 40}, 1); }),
              "Python int 1099511627776 too large to convert to int32");
    EXPECT_EQ(error_of([&] { Array(std::span<const float>(raw), 3); }), "cannot reshape array of size 4 into shape (3,)");
}

}  // namespace
