// Splitting and dead code on small jaxprs: behaviours F-29 to F-46, with the jaxprs of JAX 0.10.2 as written there.
#include <gtest/gtest.h>

#include "calls/remat/remat.h"
#include "ir/interpret.h"
#include "ir/print/printer.h"
#include "ir/type_check.h"
#include "lax/ops.h"
#include "transforms/dce.h"
#include "transforms/linearize.h"
#include "transforms/partial_eval.h"
#include "transforms/residuals.h"
#include "transforms/transpose.h"
#include "transforms/vjp.h"

namespace jaxscope {
namespace {

const AvalRef kScalar(DType::F32, {});

/// lambda x, y: (sin(x), sin(sin(x)) * y)
JaxprPtr two_sines() {
    JaxprBuilder b;
    const Value x = b.add_input(kScalar), y = b.add_input(kScalar);
    const Value first = lax::sin(b, x), again = lax::sin(b, x), second = lax::sin(b, again);
    return b.finish({first, lax::mul(b, second, y)});
}

using Flags = std::vector<bool>;

TEST(Transpose, RefusesWhatIsNotLinear) {  // a custom rule may say that it is
    for (const bool divides : {false, true}) {
        JaxprBuilder b;
        const Value t = b.add_input(kScalar);
        const JaxprPtr j = b.finish({divides ? lax::div(b, t, t) : lax::mul(b, t, t)});
        try {
            transpose_jaxpr(j, {true}, {true});
            ADD_FAILURE();
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ErrorCode::NotDifferentiable);
        }
    }
}

TEST(PartialEvalCustom, F43NothingSaveable) {
    const CustomPartialEval r = partial_eval_jaxpr_custom(two_sines(), {false, true}, {true, true}, false, false, PolicyQuery{});
    EXPECT_EQ(r.num_residuals, 0);
    EXPECT_EQ(r.unknown_out, (Flags{false, true}));
    EXPECT_EQ(r.inst_out, (Flags{true, true}));
    EXPECT_EQ(to_text(*r.known), "{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n    c:f32[] = sin a\n    _:f32[] = sin c\n  in (b,) }");
    EXPECT_EQ(to_text(*r.staged),
              "{ lambda ; a:f32[] b:f32[]. let\n    c:f32[] = sin a\n    d:f32[] = sin a\n    e:f32[] = sin d\n"
              "    f:f32[] = mul e b\n  in (c, f) }");
}

TEST(PartialEvalCustom, F44EverythingSaveable) {
    const CustomPartialEval r =
        partial_eval_jaxpr_custom(two_sines(), {false, true}, {true, true}, false, false, PolicyQuery::everything());
    EXPECT_EQ(r.num_residuals, 1);
    EXPECT_EQ(r.inst_out, (Flags{false, true}));
    EXPECT_EQ(to_text(*r.known), "{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n    c:f32[] = sin a\n    d:f32[] = sin c\n  in (b, d) }");
    EXPECT_EQ(to_text(*r.staged), "{ lambda ; a:f32[] b:f32[] c:f32[]. let d:f32[] = mul a c in (d,) }");
}

TEST(PartialEvalCustom, APolicyParsedAgainIsTheSamePolicy) {
    const JaxprPtr j = two_sines();
    const auto known = [&](const char* policy, SourceRef place = {}) {
        return partial_eval_jaxpr_custom(j, {false, true}, {true, true}, false, false, PolicyQuery{parse_policy(policy), place}).known;
    };
    EXPECT_EQ(known("save_only_these_names(a, b)"), known("save_only_these_names('a', 'b')"));
    EXPECT_NE(known("save_only_these_names(a, b)"), known("save_only_these_names(a)"));
    EXPECT_NE(known("dots_saveable"), known("nothing_saveable"));
    EXPECT_NE(known("dots_saveable"), known("dots_saveable", Source{Traceback{{}, "elsewhere.py:1:0"}, {}}))
        << "what offloads stands where the policy is in force";
}

TEST(PartialEvalCustom, F46EnsuredOutputs) {
    JaxprBuilder b;
    const Value x = b.add_input(kScalar), y = b.add_input(kScalar);
    const JaxprPtr j = b.finish({lax::sin(b, x), y});
    struct Expect {
        bool unknown, inst;
        std::size_t known_outs, staged_outs;
        Flags unknown_out, inst_out;
        int residuals;
    };
    for (const Expect& e :
         {Expect{false, false, 1, 1, {false, true}, {false, true}, 0}, Expect{false, true, 2, 2, {false, true}, {true, true}, 1},
          Expect{true, true, 1, 2, {true, true}, {true, true}, 1}}) {
        const CustomPartialEval r = partial_eval_jaxpr_custom(j, {false, true}, {true, true}, e.unknown, e.inst, PolicyQuery::everything());
        EXPECT_EQ(r.known->outvars.size(), e.known_outs);
        EXPECT_EQ(r.staged->outvars.size(), e.staged_outs);
        EXPECT_EQ(r.unknown_out, e.unknown_out);
        EXPECT_EQ(r.inst_out, e.inst_out);
        EXPECT_EQ(r.num_residuals, e.residuals);
    }
}

TEST(Dce, F29GoesIntoCheckpointedBodies) {
    JaxprBuilder b;
    const Value x = b.add_input(kScalar), y = b.add_input(kScalar);
    const JaxprPtr j = checkpoint(b.finish({lax::sin(b, x), lax::cos(b, y)}), nullptr);
    const DceJaxpr d = dce_jaxpr(j, {true, false});
    EXPECT_EQ(d.used_inputs, (Flags{true, false}));
    EXPECT_EQ(to_text(*d.jaxpr),
              "{ lambda ; a:f32[]. let\n    b:f32[] = remat2[\n      differentiated=False\n"
              "      jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }\n      policy=None\n      prevent_cse=True\n"
              "    ] a\n  in (b,) }");
    const JaxprPtr whole = dce_jaxpr(j, {true, true}).jaxpr;
    EXPECT_NE(whole, j) << "nothing to drop, and another object all the same: so it is in JAX";
    EXPECT_EQ(to_text(*whole), to_text(*j));
    EXPECT_EQ(whole, dce_jaxpr(j, {true, true}).jaxpr) << "but one for all who ask";
}

TEST(Dce, F31AnEquationWithoutInputsStays) {
    JaxprBuilder b;
    const Value x = b.add_input(kScalar);
    const Value zeros = lax::broadcast_in_dim(b, make_literal(kScalar, 0.0), {2}, {});
    const JaxprPtr j = checkpoint(b.finish({x, zeros}), nullptr);
    const DceJaxpr d = dce_jaxpr(j, {false, true});
    EXPECT_EQ(d.jaxpr->eqns.size(), 1u);
    EXPECT_EQ(d.used_inputs, Flags{false});
}

TEST(Linearize, SharedBodiesAreTransformedOnce) {
    const JaxprPtr j = two_sines();
    EXPECT_EQ(linearize_jaxpr(j, {true, true}).primal, linearize_jaxpr(j, {true, true}).primal);
    EXPECT_NE(linearize_jaxpr(j, {true, false}).primal, linearize_jaxpr(j, {true, true}).primal);
}

TEST(Linearize, RefusalsNameTheEquation) {
    JaxprBuilder b;
    const Value x = b.add_input(kScalar);
    b.source = Source{Traceback{{Frame{"model.py", "loss", 41, 4, 41, 9, true}}, "model.py:41:4 (loss)"}, {}};
    const Value y = b.emit(primitive("somebodys_kernel"), {x}, {}, {kScalar}).front();
    const JaxprPtr j = b.finish({y});
    try {
        value_and_grad(j, {true});
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::UnknownPrimitive);
        EXPECT_STREQ(e.fact(), "Differentiation rule for 'somebodys_kernel' not implemented");
        EXPECT_EQ(e.loc.line, 41);
        EXPECT_EQ(e.context.back(), "linearizing eqn 0: somebodys_kernel");
    }
}

TEST(Grad, C26RefusesIntegersInJaxsWords) {
    JaxprBuilder b;
    const Value i = b.add_input(AvalRef(DType::S32, {})), x = b.add_input(kScalar);
    const JaxprPtr j = b.finish({lax::mul(b, lax::sin(b, x), lax::convert_element_type(b, i, DType::F32))});
    try {
        grad(j, {true, false});
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.fact(),
                     "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32. If you "
                     "want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True.");
    }
    // vjp gives float0 instead.
    EXPECT_EQ(vjp(j, {true, true}, 1).backward->out_avals()[0]->dtype, DType::Float0);
}

TEST(ReplacePolicy, EverySiteOrOne) {
    JaxprBuilder b;
    const Value x = b.add_input(kScalar);
    const JaxprPtr body = checkpoint(b.finish({lax::sin(b, lax::sin(b, x))}), nullptr);
    JaxprBuilder outer;
    Value v = outer.add_input(kScalar);
    for (int i = 0; i < 2; ++i) v = inline_jaxpr(outer, *body, {}, {v}).front();
    const JaxprPtr j = outer.finish({v});
    const PolicyPtr all = parse_policy("everything_saveable");
    const auto policy_of = [](const Jaxpr& of, std::size_t i) { return of.eqns[i].params->as<RematParams>().policy; };
    int sites = 0;
    const JaxprPtr both = replace_policy(
        j, [](const Eqn&) { return true; }, all, &sites);
    const JaxprPtr second = replace_policy(
        j, [&](const Eqn& e) { return &e == &j->eqns[1]; }, all);
    EXPECT_EQ(sites, 2);
    EXPECT_TRUE(policy_of(*both, 0) && policy_of(*both, 1));
    EXPECT_TRUE(!policy_of(*second, 0) && policy_of(*second, 1));
    EXPECT_EQ(policy_of(*j, 0), nullptr) << "the original stays";
    EXPECT_EQ(saved_residuals(both, {}).rows.size(), 4u);
    EXPECT_EQ(saved_residuals(j, {}).rows.size(), 2u);
}

TEST(Vjp, ForwardGivesOutputsThenResiduals) {
    const JaxprPtr j = two_sines();
    const Vjp v = vjp(j, {true, true}, 2);
    check_jaxpr(*v.forward);
    check_jaxpr(*v.backward);
    EXPECT_EQ(v.forward->outvars.size(), 2 + v.num_residuals);
    EXPECT_EQ(v.backward->num_invars, v.num_residuals + 2);
    EXPECT_EQ(v.backward->outvars.size(), 2u);
}

}  // namespace
}  // namespace jaxscope
