// What depends on values: debug_nans and debug_infs, error_if, sets and parts whose sizes come from them; and arguments that are given as
// one number or one name, functions with some of their arguments, models that are set to inference.
#include <gtest/gtest.h>
#include <jaxscope/jax.h>

#include <cmath>
#include <string>

#include "trace/error_of.h"

namespace {

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;

TEST(DebugNans, NamesThePrimitiveAndItsLine) {
    const auto logarithm = [](Array x) { return jnp::log(x) + 1; };
    EXPECT_EQ(error_of([&] { logarithm(Array(-1.)); }), "no error");
    const jax::debug_nans scope;
    const std::string in_log = "invalid value (nan) encountered in log";
    EXPECT_EQ(error_of([&] { jnp::log(Array(-1.)); }), in_log);
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { jnp::log(Array(-1.)); }), std::to_string(__LINE__));
    EXPECT_EQ(error_of([&] { jax::jit(logarithm)(Array(-1.)); }), in_log);
    EXPECT_EQ(error_of([&] { jax::vmap(logarithm)(jnp::array({1., -1.})); }), in_log);
    EXPECT_EQ(error_of([&] { jax::jit(jax::vmap(logarithm))(jnp::array({1., -1.})); }), in_log);
    EXPECT_EQ(error_of([&] { jax::grad([](Array x) { return jnp::sqrt(x) * 0.; })(Array(0.)); }), "invalid value (nan) encountered in mul");
    EXPECT_EQ(error_of([&] { jnp::zeros({2}) / 0.; }), "invalid value (nan) encountered in div");
    EXPECT_EQ(error_of([&] {
                  const auto body = [](Array c, lax::Nothing) { return std::pair(jnp::log(c), lax::Nothing{}); };
                  jax::jit([&](Array x) { return lax::scan(body, x, lax::Nothing{}, {.length = 2}).first; })(Array(-1.));
              }),
              "invalid value (nan) encountered in scan");
    // A value that nobody gets is none, under jit.
    const auto chosen = [](Array x) { return jnp::where(x > 0, jnp::log(x), 0.); };
    EXPECT_EQ(error_of([&] { chosen(Array(-1.)); }), in_log);
    EXPECT_EQ(jax::jit(chosen)(Array(-1.)).item(), 0.);
    EXPECT_NE(error_of([&] { jax::jit([](Array x) { return x; })(Array(std::nan(""))); }).find("did not produce invalid values"),
              std::string::npos);
    EXPECT_EQ(error_of([&] { 1 / jnp::zeros({2}); }), "no error");
}
TEST(DebugNans, InfinitiesAndTheOldValue) {
    {
        const jax::debug_infs scope;
        EXPECT_EQ(error_of([&] { 1 / jnp::zeros({2}); }), "invalid value (inf) encountered in div");
        EXPECT_EQ(error_of([&] { jax::jit([](Array x) { return 1 / x; })(jnp::zeros({2})); }), "invalid value (inf) encountered in div");
        EXPECT_TRUE(jax::config::debug_infs(true));
    }
    EXPECT_FALSE(jax::config::debug_infs(false));
    EXPECT_EQ(error_of([&] { 1 / jnp::zeros({2}); }), "no error");
}
TEST(DebugNans, DonatedArraysAreGoneAllTheSame) {
    const jax::debug_nans scope;
    Array x = jnp::ones({3});
    const Array y = jax::jit([](Array a) { return a * 2.; }, {.donate_argnums = 0})(x);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(y.to_vector(), (std::vector<double>{2, 2, 2}));
}

TEST(ErrorIf, ThrowsWhereItHolds) {
    const Array x = jnp::array({1., -1.});
    EXPECT_EQ(error_of([&] { jax::error_if(x, x < 0, "x must be >= 0"); }), "x must be >= 0");
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { jax::error_if(x, x < 0, "x must be >= 0"); }), std::to_string(__LINE__));
    EXPECT_EQ(jax::error_if(x, x > 5, "large").to_vector(), x.to_vector());
    const auto checked = jax::jit([](Array a) { return jax::error_if(a, a < 0, "x must be >= 0") * 2.; });
    EXPECT_EQ(checked(jnp::array({1., 2.})).to_vector(), (std::vector<double>{2, 4}));
    EXPECT_NE(error_of([&] { checked(x); }).find("x must be >= 0"), std::string::npos);
    const auto branched = jax::jit([](Array a, Array i) { return jax::branched_error_if(a, a.sum() < 5, i, {"first", "second"}); });
    EXPECT_NE(error_of([&] { branched(x, Array(1)); }).find("second"), std::string::npos);
    const auto mapped = jax::jit(jax::vmap([](Array a) { return jax::error_if(a, a < 0, "negative"); }));
    EXPECT_NE(error_of([&] { mapped(x); }).find("negative"), std::string::npos);
    EXPECT_EQ(mapped(jnp::array({1., 2.})).to_vector(), (std::vector<double>{1, 2}));
    EXPECT_EQ(jax::grad([](Array a) { return (jax::error_if(a, a < 0, "negative") * 3.).sum(); })(jnp::array({1., 2.})).to_vector(),
              (std::vector<double>{3, 3}));
    EXPECT_EQ(error_of([&] { jax::error_if(std::vector<Array>(), true, "nothing"); }), "No arrays to thread error on to.");
}

TEST(KnownSizes, SetsAndParts) {
    const Array a = jnp::array({3, 1, 2, 3}), b = jnp::array({3, 4, 1});
    const auto numbers = [](std::initializer_list<double> list) { return std::vector<double>(list); };
    EXPECT_EQ(jnp::intersect1d(a, b).to_vector(), numbers({1, 3}));
    EXPECT_EQ(jnp::setdiff1d(a, b).to_vector(), numbers({2}));
    EXPECT_EQ(jnp::setxor1d(a, b).to_vector(), numbers({2, 4}));
    EXPECT_EQ(jnp::compress(a > 2, a).to_vector(), numbers({3, 3}));
    EXPECT_EQ(jnp::extract(a > 1, a).to_vector(), numbers({3, 2, 3}));
    EXPECT_EQ(jnp::delete_(a, jnp::array({0, 0, -1}), {}).to_vector(), numbers({1, 2}));
    EXPECT_EQ(jnp::delete_(a, a > 2, {}).to_vector(), numbers({1, 2}));
    const Array padded = jnp::array({0, 0, 1, 0, 2, 0});
    EXPECT_EQ(jnp::trim_zeros(padded).to_vector(), numbers({1, 0, 2}));
    EXPECT_EQ(jnp::trim_zeros(padded, "f").to_vector(), numbers({1, 0, 2, 0}));
    EXPECT_EQ(jnp::trim_zeros(jnp::zeros({3})).size(), 0);
    const Array found = jnp::sort(jnp::real(jnp::roots(jnp::array({0., 1., -3., 2.}))));
    EXPECT_NEAR(found[0].item(), 1, 1e-5);
    EXPECT_NEAR(found[1].item(), 2, 1e-5);
    EXPECT_EQ(error_of([&] { jnp::delete_(a, jnp::array({9}), {}); }), "index 9 is out of bounds for axis 0 with size 4");
}

TEST(OneArgument, ByNumberOrName) {
    Array x = jnp::ones({2}), y = jnp::ones({2});
    jax::jit([](Array a) { return a + 1; }, {.donate_argnums = 0})(x);
    jax::jit([](Array a) { return a + 1; }, {.donate_argnames = "a", .arg_names = "a"})(y);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_TRUE(y.is_deleted());
}

Array scaled(const Array& by, const Array& x) { return by * x; }
TEST(Partial, IsATreeOfItsArguments) {
    const jax::tree_util::Partial twice(scaled, Array(2.));
    EXPECT_EQ(twice(Array(3.)).item(), 6.);
    EXPECT_EQ(jax::tree_leaves(twice).size(), 1u);
    EXPECT_EQ(jax::jit([](const auto& f, Array x) { return f(x); })(twice, Array(4.)).item(), 8.);
    EXPECT_EQ(jax::grad([](const auto& f) { return f(Array(5.)); })(twice).func.value.function, scaled);
    const auto other = [](const Array& by, const Array& x) { return by + x; };
    const auto call = jax::jit([](Array x, const auto& f) { return f(x); });
    EXPECT_EQ(call(Array(1.), twice).item(), 2.);
    EXPECT_EQ(call(Array(1.), jax::Partial(other, Array(2.))).item(), 3.);
    EXPECT_EQ(call(Array(1.), jax::Partial(&jnp::add, Array(2.))).item(), 3.);
    EXPECT_EQ(call(Array(4.), jax::Partial(&jnp::multiply, Array(2.))).item(), 8.);
}

struct Dropout {
    double p;
    bool inference = false;
};
struct Registered {
    Array w;
    jax::Static<bool> inference;
    JAXSCOPE_PYTREE(Registered, w, inference)
};
struct Model {
    Array w;
    Dropout first;
    std::vector<Dropout> more;
    Registered last;
};
TEST(Inference, IsSetEverywhere) {
    const Model m{jnp::ones({2}), {0.5}, {{0.1}, {0.2}}, {jnp::ones({1}), {false}}};
    const Model still = jax::tree_inference(m, true);
    EXPECT_TRUE(still.first.inference && still.more[0].inference && still.more[1].inference && still.last.inference.value);
    EXPECT_EQ(still.first.p, 0.5);
    EXPECT_FALSE(m.first.inference);
    EXPECT_FALSE(jax::nn::inference_mode(still, false).more[1].inference);
}

TEST(NoArray, IsToldWithTheLine) {
    const Array none;
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { none.shape(); }), std::to_string(__LINE__));
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { none.shape(0); }), std::to_string(__LINE__));
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { none.ndim(); }), std::to_string(__LINE__));
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { none.dtype(); }), std::to_string(__LINE__));
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { none.size(); }), std::to_string(__LINE__));
    EXPECT_EQ(place_of_error("checked_values_test.cpp", [&] { none.aval(); }), std::to_string(__LINE__));
}

TEST(Solves, AreRefusedAsInJax) {
    const Array b = jnp::ones({3});
    const auto identity = [](Array x) { return x; };
    const auto solve = [](const auto&, Array c) { return c; };
    EXPECT_EQ(error_of([&] { lax::custom_linear_solve([](Array x) { return x.sum(); }, b, solve); }),
              "matvec() output shapes must match b, got [()] and [(3,)]");
    EXPECT_EQ(lax::custom_linear_solve(identity, b, solve).to_vector(), b.to_vector());
    EXPECT_NE(error_of([&] {
                  jax::grad([&](Array c) { return lax::custom_linear_solve(identity, c, solve).sum(); })(b);
              }).find("transpose_solve"),
              std::string::npos);
}

}  // namespace
