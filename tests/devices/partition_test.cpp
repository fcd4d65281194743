// Programs cut for devices compute what they compute whole: functions of every family of primitives, under random specs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include <jaxscope/jax.h>

#include "lax/reductions/windows.h"
#include "support/sample_seed.h"
#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace lax = jaxscope::jax::lax;
namespace jnp = jax::numpy;
using jax::Array;
using jax::none;
using P = jax::PartitionSpec;
using Tree = jax::PartsTree;

namespace {

using Function = std::function<Array(const Array&, const Array&)>;
struct Case {
    const char* name;
    Function f;
};

/// Of two arrays of 8 x 8.
const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"elementwise", [](const Array& x, const Array& y) { return jnp::tanh(x) * y + jnp::where(x > y, x, 2.0); }},
        {"product", [](const Array& x, const Array& y) { return jnp::matmul(x, y); }},
        {"mlp", [](const Array& x, const Array& y) { return jnp::matmul(jnp::tanh(jnp::matmul(x, y)), y); }},
        {"normalised", [](const Array& x, const Array& y) { return (x - x.mean()) / jnp::sqrt((x * x).sum() + 1.0) + y; }},
        {"softmax", [](const Array& x, const Array& y) { return jax::nn::softmax(jnp::matmul(x, y)); }},
        {"transposed",
         [](const Array& x, const Array& y) {
             return jnp::transpose(x) + y.reshape({4, 2, 8}).reshape({8, 8});
         }},
        {"reshaped",
         [](const Array& x, const Array& y) {
             return jnp::matmul(x.reshape({4, 16}), y.reshape({16, 4}));
         }},
        {"sliced",
         [](const Array& x, const Array& y) {
             return x[{jax::slice(1, 7), jax::all}] * y[{jax::slice(0, 6), jax::all}];
         }},
        {"joined",
         [](const Array& x, const Array& y) {
             return jnp::concatenate({x, y * 2.0}, 0);
         }},
        {"sorted", [](const Array& x, const Array& y) { return jnp::sort(x) + jnp::cumsum(y, 1); }},
        {"extrema", [](const Array& x, const Array& y) { return jnp::matmul(x, y).max() - y.min(); }},
        {"gradient",
         [](const Array& x, const Array& y) {
             return jax::grad([&](const Array& w) { return jnp::sin(jnp::matmul(jnp::tanh(jnp::matmul(x, w)), y)).sum(); })(y);
         }},
        {"constrained",
         [](const Array& x, const Array& y) {
             return jax::with_sharding_constraint(jnp::sin(x), P{4, 1}) * y;
         }},
        {"remat",
         [](const Array& x, const Array& y) {
             return jax::grad([&](const Array& w) {
                 return jax::checkpoint([&](const Array& v) { return jnp::sin(jnp::matmul(x, jnp::cos(v))); })(w).sum();
             })(y);
         }},
    };
    return all;
}
/// Sizes that no number of devices divides: inner values are padded.
const std::vector<Case>& uneven_cases() {
    static const std::vector<Case> all{
        {"rows",
         [](const Array& x, const Array& y) {
             const Array part = jax::with_sharding_constraint(x[{jax::slice(0, 7), jax::all}] + 1.0, P{4, 1});
             return jnp::matmul(jnp::transpose(part), jnp::exp(part)).sum() + (part * part).max() + jnp::matmul(part, y).min();
         }},
        {"columns",
         [](const Array& x, const Array& y) {
             const Array part = jax::with_sharding_constraint(jnp::matmul(x, y)[{jax::all, jax::slice(0, 5)}], P{2, 2});
             return jnp::matmul(1.0 / part, jnp::transpose(part)) + part.sum();
         }},
        {"narrow extrema",  // of negative and of positive numbers: zeros as padding would be seen
         [](const Array& x, const Array& y) {
             const auto part = [](const Array& a) {
                 return jax::with_sharding_constraint(a[{jax::slice(0, 7), jax::all}].astype(jax::dtype::int4), P{4, 1});
             };
             return part(x * 4 - 8).max(0).astype(jnp::float32) + part(y * 4 + 1).min().astype(jnp::float32);
         }},
    };
    return all;
}

void expect_equal(const Array& found, const Array& wanted, const std::string& what) {
    ASSERT_EQ(found.aval(), wanted.aval()) << what;
    const std::vector<double> a = found.to_vector(), b = wanted.to_vector();
    double scale = 1;
    for (const double v : b) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5 * scale) << what << ", element " << i;
}
/// Without the constraints, which hold inside of sharded_jit alone: there they are the identity.
Array whole(const Function& f, const Array& x, const Array& y) {
    return jax::jit([&](const Array& a, const Array& b) { return f(a, b); })(x, y);
}

class PartitionTest : public testing::Test {
protected:
    void SetUp() override { jax::set_virtual_devices(8); }
    void TearDown() override { jax::set_virtual_devices(0); }
    static Array random(std::mt19937& rng) {
        std::vector<float> v(64);
        for (float& e : v) e = std::uniform_real_distribution<float>(0.2f, 1.5f)(rng);
        return Array(v, {8, 8});
    }
};

TEST_F(PartitionTest, RandomSpecsGiveTheSameValues) {
    std::mt19937 rng(jaxscope::seed_of_sample());
    const std::vector<Tree> specs{P{4, 1}, P{1, 4}, P{2, 2}, none};
    const int rounds = std::getenv("JAXSCOPE_FULL") ? 16 : 2;
    const Array x = random(rng), y = random(rng);
    for (const Case& c : cases()) {
        const Array wanted = whole(c.f, x, y);
        for (int i = 0; i < rounds; ++i) {
            const auto pick = [&] { return std::uniform_int_distribution<std::size_t>(0, specs.size() - 1)(rng); };
            const std::size_t a = pick(), b = pick();
            const auto f = jax::sharded_jit(c.f, Tree::tuple({specs[a], specs[b]}), none, {.num_partitions = 4});
            expect_equal(f(x, y), wanted, c.name + (" under " + std::to_string(a) + ", " + std::to_string(b)));
        }
    }
}
TEST_F(PartitionTest, UnevenPartsArePaddedAndNobodySeesThePadding) {
    std::mt19937 rng(1);
    const Array x = random(rng), y = random(rng);
    for (const Case& c : uneven_cases()) {
        const auto f = jax::sharded_jit(c.f, none, none, {.num_partitions = 4});
        expect_equal(f(x, y), whole(c.f, x, y), c.name);
        const std::vector<std::string> findings = f.report(x, y).findings;
        EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const std::string& s) { return s.find("padded") == 0; })) << c.name;
    }
}
TEST_F(PartitionTest, PaddingOfNarrowExtremaIsANumberOfTheirType) {
    using jaxscope::DType;
    const auto padding = [](DType d) {
        return std::pair{jaxscope::extremum_identity(d, true)->integer, jaxscope::extremum_identity(d, false)->integer};
    };
    EXPECT_EQ(padding(DType::S4), (std::pair<std::int64_t, std::int64_t>(-8, 7)));
    EXPECT_EQ(padding(DType::U4), (std::pair<std::int64_t, std::int64_t>(0, 15)));
    EXPECT_EQ(padding(DType::S2), (std::pair<std::int64_t, std::int64_t>(-2, 1)));
    EXPECT_EQ(padding(DType::S8), (std::pair<std::int64_t, std::int64_t>(-128, 127)));
}
TEST_F(PartitionTest, AProductOverCutRowsSumsItsPartsAndHoldsAFraction) {
    const Array x = jnp::ones({8, 64}), w = jnp::ones({64, 8});
    const auto f =
        jax::sharded_jit([](const Array& a, const Array& b) { return jnp::matmul(a, b); }, Tree::tuple({P{1, 8}, P{8, 1}}), none);
    f(x, w);
    const jax::ShardingReport r = f.report(x, w);
    ASSERT_EQ(r.collectives.size(), 1u);
    EXPECT_EQ(r.collectives[0], "psum over 8 devices: 448 bytes for dot_general");
    EXPECT_TRUE(r.findings.empty());
    // 8 x 8 of each operand, and the result twice: before and after the sum.
    ASSERT_EQ(r.peak_bytes.size(), 8u);
    for (const std::int64_t peak : r.peak_bytes) EXPECT_LE(peak, 4 * 256 + 64);
    EXPECT_NE(r.program.find("f32[8,8] = dot_general"), std::string::npos) << r.program;
}
// Bodies are cut by programs of their own: what stands in them binds as it would outside.
TEST_F(PartitionTest, ConstraintsInBodiesOfLoopsAndBranchesBind) {
    const auto halved = [](const Array& v) { return jax::with_sharding_constraint(v * 2.0, P{2, 2}); };
    const std::vector<std::pair<const char*, std::function<Array(const Array&)>>> bodies{
        {"scan",
         [=](const Array& a) {
             return lax::fori_loop(
                 0, 3, [=](const Array&, const Array& c) { return halved(c); }, a);
         }},
        {"while", [=](const Array& a) { return lax::while_loop([](const Array& c) { return jnp::sum(c) < 1e3; }, halved, a); }},
        {"cond", [=](const Array& a) {
             return lax::cond(
                 jnp::sum(a) > 0.0, halved, [](const Array& v) { return -v; }, a);
         }}};
    const Array x = jnp::ones({8, 8});
    for (const auto& [name, f] : bodies) {
        const auto cut = jax::sharded_jit(f, none, none, {.num_partitions = 4});
        expect_equal(cut(x), jax::jit([&](const Array& a) { return f(a); })(x), name);
        EXPECT_NE(cut.report(x).program.find("f32[4,4] = mul"), std::string::npos) << name << ": " << cut.report(x).program;
    }
}
TEST_F(PartitionTest, PartsOfNarrowProductsAreRoundedOnce) {
    const Array x = jnp::array(std::vector<double>{256, 1, 1, 1, 1, 1, 1, 1}, jnp::bfloat16);
    const auto f =
        jax::sharded_jit([](const Array& a, const Array& b) { return jnp::matmul(a, b); }, Tree::tuple({P{1, 8}, P{8, 1}}), none);
    EXPECT_EQ(f(x.reshape({1, 8}), jnp::astype(jnp::ones({8, 1}), jnp::bfloat16)).to_vector(), std::vector<double>{264});
}
TEST_F(PartitionTest, WhatNoRuleCutsIsGatheredAndSaid) {
    const auto f = jax::sharded_jit([](const Array& a) { return jnp::sort(a); }, P{1, 4}, P{1, 4});
    std::mt19937 rng(1);
    const Array x = random(rng);
    expect_equal(f(x), jnp::sort(x), "sort");
    const std::vector<std::string> findings = f.report(x).findings;
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0], "computed-whole: sort of f32[8,8] cut as P(None, 'd0'): 192 bytes");
}
TEST_F(PartitionTest, SumsAreTheSameEveryTime) {
    std::mt19937 rng(7);
    const Array x = random(rng) / 3.0;
    const auto f = jax::sharded_jit([](const Array& a) { return jnp::exp(a).sum(); }, P{8, 1}, none);
    const double first = f(x).to_vector()[0];
    for (int i = 0; i < 20; ++i) ASSERT_EQ(f(x).to_vector()[0], first);
}

}  // namespace
