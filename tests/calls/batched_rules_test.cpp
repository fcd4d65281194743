// vmap of a custom_vjp function, then its gradient: the batched rules answer, not the body.
#include <gtest/gtest.h>

#include <functional>

#include "calls/custom_rules.h"
#include "ir/print/printer.h"
#include "ir/type_check.h"
#include "lax/ops.h"
#include "transforms/batch.h"
#include "transforms/vjp.h"

namespace jaxscope {
namespace {

const AvalRef kScalar(DType::F32, {});

JaxprPtr scalars(std::size_t inputs, const std::function<Values(Builder&, const Values&)>& f) {
    JaxprBuilder b;
    Values x;
    for (std::size_t i = 0; i < inputs; ++i) x.push_back(b.add_input(kScalar));
    return b.finish(f(b, x));
}

TEST(BatchedRules, BackwardRuleSumsWhatHasNoAxis) {
    auto rules = std::make_shared<CustomRules>();
    CustomRule fwd, bwd;
    fwd.jaxpr = scalars(2, [](Builder& b, const Values& x) { return Values{lax::mul(b, x[0], x[1]), x[0], x[1]}; });
    fwd.input_forwards = {-1, -1};
    bwd.jaxpr = scalars(3, [](Builder& b, const Values& in) {
        return Values{lax::sin(b, lax::mul(b, in[2], in[1])), lax::mul(b, in[2], in[0])};
    });
    rules->rules = {fwd, bwd};
    CustomVjpParams p;
    p.call_jaxpr = {scalars(2, [](Builder& b, const Values& x) { return Values{lax::mul(b, x[0], x[1])}; }), true};
    p.fwd_jaxpr_thunk = Attr::Rule{rules, 0, "fwd"};
    p.bwd = Attr::Rule{rules, 1, "bwd"};
    JaxprBuilder b;
    const Value x = b.add_input(kScalar), y = b.add_input(kScalar);
    const JaxprPtr f = b.finish(b.emit(primitive("custom_vjp_call"), {x, y}, make_params(p), {kScalar}));

    const Vjp r = vjp(vmap(f, 4, {0, kNotMapped}, {0}), {true, true}, 1);
    check_jaxpr(*r.backward);
    EXPECT_EQ(to_text(*r.forward), "{ lambda ; a:f32[4] b:f32[]. let c:f32[4] = mul a b in (c, a, b) }");
    EXPECT_EQ(to_text(*r.backward),
              "{ lambda ; a:f32[4] b:f32[] c:f32[4]. let\n    d:f32[4] = mul c b\n    e:f32[4] = sin d\n    f:f32[4] = mul c a\n"
              "    g:f32[] = reduce_sum[axes=(0,) out_sharding=None] f\n  in (e, g) }");
}

}  // namespace
}  // namespace jaxscope
