// Behaviours F-43 to F-47 and I-05: jaxprs split, pruned and transposed by hand, with JAX 0.10.2's texts as written there.
#include <jaxscope/partial_eval.h>

#include "trace/behaviours.h"

namespace {
namespace pe = jax::interpreters::partial_eval;
using Flags = std::vector<bool>;

jax::Jaxpr two_sines() {
    return jax::make_jaxpr([](Array x, Array y) { return std::pair{jnp::sin(x), jnp::sin(jnp::sin(x)) * y}; })(1., 2.);
}
jax::Jaxpr sine_beside() {
    return jax::make_jaxpr([](Array x, Array y) { return std::pair{jnp::sin(x), y}; })(1., 2.);
}
}  // namespace

TEST(Behaviours, F_43_NothingSaveableStartsFromTheInputsAgain) {
    const pe::Split s = pe::partial_eval_jaxpr_custom(two_sines(), {false, true}, {true, true}, false, false,
                                                      [](const jax::Application&) { return false; });
    EXPECT_EQ(s.known.str(), R"({ lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = sin a
    _:f32[] = sin c
  in (b,) })");
    EXPECT_EQ(s.staged.str(), R"({ lambda ; a:f32[] b:f32[]. let
    c:f32[] = sin a
    d:f32[] = sin a
    e:f32[] = sin d
    f:f32[] = mul e b
  in (c, f) })");
    EXPECT_EQ(s.out_unknowns, (Flags{false, true}));
    EXPECT_EQ(s.out_inst, (Flags{true, true}));
    EXPECT_EQ(s.num_res, 0u);
}
TEST(Behaviours, F_44_WhatCrossesIsAResidual) {
    const pe::Split s =
        pe::partial_eval_jaxpr_custom(two_sines(), {false, true}, {true, true}, false, false, policies::everything_saveable);
    EXPECT_EQ(s.known.str(), R"({ lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = sin a
    d:f32[] = sin c
  in (b, d) })");
    EXPECT_EQ(s.staged.str(), "{ lambda ; a:f32[] b:f32[] c:f32[]. let d:f32[] = mul a c in (d,) }");
    EXPECT_EQ(s.out_unknowns, (Flags{false, true}));
    EXPECT_EQ(s.out_inst, (Flags{false, true}));
    EXPECT_EQ(s.num_res, 1u);
}
TEST(Behaviours, F_46_ResultsAskedForAsUnknownOrInstantiated) {
    const auto asked = [](bool unknown, bool inst) {
        const pe::Split s = pe::partial_eval_jaxpr_custom(sine_beside(), {false, true}, true, unknown, inst, policies::everything_saveable);
        return std::tuple{jax::out_avals(s.known).size(), jax::out_avals(s.staged).size(), s.out_unknowns, s.out_inst, s.num_res};
    };
    EXPECT_EQ(asked(false, false), (std::tuple{1u, 1u, Flags{false, true}, Flags{false, true}, 0u}));
    EXPECT_EQ(asked(false, true), (std::tuple{2u, 2u, Flags{false, true}, Flags{true, true}, 1u}));
    EXPECT_EQ(asked(true, true), (std::tuple{1u, 2u, Flags{true, true}, Flags{true, true}, 1u}));
}
TEST(Behaviours, F_47_DeadCarriesOfAScanGo) {
    using Carry = std::tuple<Array, Array, Array>;
    const auto f = [](Array a, Array b, Array c) {
        const auto step = [](Carry s, lax::Nothing) {
            const auto& [x, y, z] = s;
            return std::pair(Carry{x + y, y * 2., jnp::sin(z)}, x);
        };
        return lax::scan(step, Carry{a, b, c}, lax::Nothing{}, {.length = 3});
    };
    const jax::Jaxpr j = jax::make_jaxpr(f)(1., 2., 3.);
    const auto used = [&](Flags outputs) {
        const pe::Used d = pe::dce_jaxpr(j, outputs);
        const jax::JaxprEqn scan = jax::eqns(d.jaxpr).at(0);
        return std::tuple{d.used_inputs, scan.param("num_carry"), scan.outvars.size()};
    };
    EXPECT_EQ(used({true, false, false, false}), (std::tuple{Flags{true, true, false}, "2", 2u}));
    EXPECT_EQ(used({false, true, false, false}), (std::tuple{Flags{false, true, false}, "1", 1u}));
    EXPECT_EQ(used({false, false, false, true}), (std::tuple{Flags{true, true, false}, "2", 3u}));
}
TEST(Behaviours, I_05_TransposingAllOrNothing) {
    const jax::Jaxpr j = jax::make_jaxpr([](Array x, Array y) { return x * 2. + y; })(1., 2.);
    const jax::ad_checkpoint::Transposed both = jax::ad_checkpoint::transpose_jaxpr(j, true, false);
    EXPECT_EQ(both.jaxpr.str(), "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b, a) }");
    EXPECT_EQ(both.in_zeros, (Flags{false, false}));
    const jax::ad_checkpoint::Transposed none = jax::ad_checkpoint::transpose_jaxpr(j, {true, false}, true);
    EXPECT_EQ(none.jaxpr.str(), "{ lambda ; a:f32[]. let  in () }");
    EXPECT_EQ(none.in_zeros, (Flags{true}));
}

TEST(Split, FlagsOfAnotherNumberAreRefused) {
    EXPECT_EQ(error_of([] { pe::dce_jaxpr(two_sines(), {true}); }), "dce_jaxpr: used_outputs has 1 flag, the jaxpr has 2 results");
    EXPECT_EQ(error_of([] {
                  pe::partial_eval_jaxpr_custom(two_sines(), {false, true, true}, true, false, false, policies::everything_saveable);
              }),
              "partial_eval_jaxpr_custom: in_unknowns has 3 flags, the jaxpr has 2 inputs");
    EXPECT_EQ(error_of([] {
                  pe::partial_eval_jaxpr_custom(two_sines(), {false, true}, {true, false}, false, false, policies::everything_saveable);
              }),
              "partial_eval_jaxpr_custom: input 1 is unknown and not in in_inst, so that neither half has it");
    EXPECT_EQ(
        error_of([] { jax::ad_checkpoint::transpose_jaxpr(two_sines(), true, false); }).rfind("expected a function that is linear", 0), 0u);
}
TEST(Split, EquationsCanBeRead) {
    const jax::Jaxpr j =
        jax::make_jaxpr(jax::checkpoint([](Array x) { return jnp::sin(x); }, under(policies::dots_saveable)))(jnp::ones(3));
    ASSERT_EQ(jax::eqns(j).size(), 1u);
    const jax::JaxprEqn remat = jax::eqns(j)[0];
    EXPECT_EQ(remat.primitive, "remat2");
    EXPECT_EQ(remat.invars, Lines{"f32[3]"});
    EXPECT_EQ(remat.param("prevent_cse"), "True");
    EXPECT_EQ(remat.param("nothing of this name"), "");
    ASSERT_EQ(remat.jaxprs.size(), 1u);
    EXPECT_EQ(remat.jaxprs[0].first, "jaxpr");
    EXPECT_EQ(jax::eqns(remat.jaxprs[0].second)[0].primitive, "sin");
    EXPECT_NE(jax::eqns(remat.jaxprs[0].second)[0].source.find("behaviours_split_test.cpp"), std::string::npos);
}
