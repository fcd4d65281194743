// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// Special functions of one operand (special.py).
namespace jaxscope {

namespace {

constexpr double kSqrtPi = 1.7724538509055159;  // the root of the double nearest to pi

/// 2/sqrt(pi) exp(-x^2) g, with JAX's order of products.
Value gaussian(Builder& b, Value g, Value x, double factor) {
    const Value bell = lax::exp(b, lax::neg(b, lax::square(b, x)));
    return lax::mul(b, lax::constant(b, x, factor), lax::mul(b, g, bell));
}
Values jvp_erf(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) { return {gaussian(b, dx[0], x[0], 2 / kSqrtPi)}; }
Values jvp_erfc(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    return {gaussian(b, dx[0], x[0], -2 / kSqrtPi)};
}
Values jvp_erf_inv(Builder& b, const Op&, const Values& x, const Values& y, const Values& dx) {
    return {lax::mul(b, lax::constant(b, x[0], kSqrtPi / 2), lax::mul(b, dx[0], lax::exp(b, lax::square(b, y[0]))))};
}
Values jvp_digamma(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    return {lax::mul(b, dx[0], b.bind1(kPolygamma, {lax::constant(b, x[0], 1), x[0]}))};
}
Values jvp_lgamma(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    return {lax::mul(b, dx[0], b.bind1(kDigamma, {x[0]}))};
}

constexpr Primitive function(const char* name, Rule<JvpFn> jvp, LowerFn* lower) {
    return {.name = name,
            .abstract_eval = eval_unary<kFloatClass>,
            .jvp = jvp,
            .transpose = NoRule{"not linear: jvp emits the linear part as mul"},
            .batch = batch_unary,
            .lower = lower,
            .cost = elementwise_cost<kTranscendental>,
            .partition = partition_elementwise};
}

constexpr KFunction kErfcFunction{"erfc"}, kLgammaFunction{"jaxscope_lgamma", 40}, kDigammaFunction{"jaxscope_digamma", 40};

}  // namespace

constinit const Primitive kErf = function("erf", jvp_erf, lower_unary<KOp::Erf>);
constinit const Primitive kErfc = function("erfc", jvp_erfc, lower_function<kErfcFunction>);
constinit const Primitive kErfInv = function("erf_inv", jvp_erf_inv, lower_unary<KOp::ErfInv>);
constinit const Primitive kLgamma = function("lgamma", jvp_lgamma, lower_function<kLgammaFunction>);
constinit const Primitive kDigamma = function("digamma", jvp_digamma, lower_function<kDigammaFunction>);

std::span<const Primitive* const> special_primitives() {
    static constexpr const Primitive* all[] = {&kErf, &kErfc, &kErfInv, &kLgamma, &kDigamma};
    return all;
}

}  // namespace jaxscope
