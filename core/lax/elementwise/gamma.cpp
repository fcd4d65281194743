// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"

// Relatives of the gamma function and Bessel functions (special.py). Those with series and continued fractions that take a different number
// of steps for each element run as routines.
namespace jaxscope {

namespace {

/// An operator of jax.numpy: a weakly typed operand beside a strongly typed one is converted first.
using Operator = Value(Builder& b, Value x, Value y);
Value promoted(Builder& b, Operator* op, Value x, Value y) {
    const auto strengthened = [&](Value v) { return lax::convert_element_type(b, v, b.aval(v)->dtype); };
    const bool weak_x = b.aval(x)->weak_type, weak_y = b.aval(y)->weak_type;
    if (weak_x && !weak_y) x = strengthened(x);
    if (weak_y && !weak_x) y = strengthened(y);
    return op(b, x, y);
}
Value strong_constant(Builder& b, Value like, double value) { return make_literal(AvalRef(b.aval(like)->dtype, {}), value); }
Value lgamma(Builder& b, Value x) { return b.bind1(kLgamma, {x}); }

/// Rules are `tangent = f(g, a, x)` per operand; the derivative with respect to the first one may be missing.
using PartialOfTwo = Value(Builder& b, Value g, Value a, Value x);
Value d_igamma_a(Builder& b, Value g, Value a, Value x) { return promoted(b, lax::mul, g, b.bind1(kIgammaGradA, {a, x})); }
Value d_igamma_x(Builder& b, Value g, Value a, Value x) {
    const Value negative = lax::neg(b, x);
    const Value lowered = promoted(b, lax::sub, a, lax::ones_like(b, b.aval(a)));
    const Value power = promoted(b, lax::mul, lowered, lax::log(b, x));
    const Value sum = promoted(b, lax::add, negative, power);
    return promoted(b, lax::mul, g, lax::exp(b, promoted(b, lax::sub, sum, lgamma(b, a))));
}
Value d_igammac_a(Builder& b, Value g, Value a, Value x) { return lax::neg(b, d_igamma_a(b, g, a, x)); }
Value d_igammac_x(Builder& b, Value g, Value a, Value x) { return lax::neg(b, d_igamma_x(b, g, a, x)); }
Value d_polygamma_m(Builder&, Value, Value, Value) {
    throw Error(ErrorCode::NotDifferentiable, "polygamma gradient with respect to m is not supported");
}
Value d_polygamma_x(Builder& b, Value g, Value m, Value x) {
    const Value raised = lax::add(b, m, lax::constant(b, m, 1));
    return promoted(b, lax::mul, g, b.bind1(kPolygamma, {raised, x}));
}
template <PartialOfTwo* kFirst, PartialOfTwo* kSecond>
Values jvp_of_two(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    const Value first = dx[0].is_zero() ? dx[0] : kFirst(b, dx[0], x[0], x[1]);
    const Value second = dx[1].is_zero() ? dx[1] : kSecond(b, dx[1], x[0], x[1]);
    return {sum_tangents(b, {first, second})};
}

Values jvp_betainc(Builder& b, const Op&, const Values& in, const Values&, const Values& dx) {
    if (!dx[0].is_zero() || !dx[1].is_zero())
        throw Error(ErrorCode::NotDifferentiable, "Betainc gradient with respect to a and b not supported.");
    const Value p = in[0], q = in[1], x = in[2], one = strong_constant(b, x, 1);
    const Value left = lgamma(b, p);
    const Value both = promoted(b, lax::add, left, lgamma(b, q));
    const Value log_beta = promoted(b, lax::sub, both, lgamma(b, promoted(b, lax::add, p, q)));
    const Value q_lowered = lax::sub(b, q, one);
    const Value upper = promoted(b, lax::mul, q_lowered, b.bind1(kLog1p, {lax::neg(b, x)}, make_params(AccuracyParams{})));
    const Value p_lowered = lax::sub(b, p, one);
    const Value lower = promoted(b, lax::mul, p_lowered, lax::log(b, x));
    const Value slope = lax::exp(b, promoted(b, lax::sub, promoted(b, lax::add, upper, lower), log_beta));
    return {promoted(b, lax::mul, slope, dx[2])};
}
Avals eval_betainc(const Op& op) {
    const Dims shape = check_nary(op, 3, kFloatClass);
    expect_same_dtype(op, 0, 3);
    return {standard_result(op, op.in[0]->dtype, shape)};
}

Values jvp_bessel_i0e(Builder& b, const Op&, const Values& x, const Values& y, const Values& dx) {
    const Value first = b.bind1(kBesselI1e, {x[0]});
    return {lax::mul(b, dx[0], lax::sub(b, first, lax::mul(b, lax::sign(b, x[0]), y[0])))};
}
Values jvp_bessel_i1e(Builder& b, const Op&, const Values& x, const Values& y, const Values& dx) {
    const AvalRef filled = b.aval(x[0]);  // weak as x is, unlike the bound
    const double eps = std::ldexp(1.0, -info(filled->dtype).mantissa_bits);
    const Value not_tiny = promoted(b, lax::gt, lax::abs(b, x[0]), strong_constant(b, x[0], eps));
    const Value safe = lax::select(b, not_tiny, x[0], lax::full(b, filled, eps));
    const Value zeroth = b.bind1(kBesselI0e, {safe});
    const Value sign = lax::sign(b, safe);
    const Value factor = lax::add(b, sign, lax::integer_pow(b, safe, -1));
    const Value slope = lax::sub(b, zeroth, lax::mul(b, y[0], factor));
    return {lax::mul(b, dx[0], lax::select(b, not_tiny, slope, lax::full(b, filled, 0.5)))};
}

template <AbstractEvalFn* kEval>
constexpr Primitive function(const char* name, Rule<JvpFn> jvp, Rule<LowerFn> lower = kRunsAsRoutine,
                             Rule<KernelFn> kernel = routine_kernel) {
    return {.name = name,
            .abstract_eval = kEval,
            .jvp = jvp,
            .transpose = NoRule{"not linear: jvp emits the linear part as mul"},
            .batch = batch_nary,
            .lower = lower,
            .kernel = kernel,
            .cost = elementwise_cost<kTranscendental>,
            .partition = partition_elementwise};
}
constexpr auto* kOne = eval_unary<kFloatClass>;
constexpr auto* kTwo = eval_binary<kFloatClass>;
constexpr KFunction kI0eFunction{"jaxscope_i0e", 40}, kI1eFunction{"jaxscope_i1e", 40};
constexpr NoRule kFused{"it is computed element by element"};

}  // namespace

constinit const Primitive kPolygamma = function<kTwo>("polygamma", jvp_of_two<d_polygamma_m, d_polygamma_x>);
constinit const Primitive kIgammaGradA = function<kTwo>("igamma_grad_a", NoRule{"JAX gives igamma_grad_a no derivative"});
constinit const Primitive kBesselI0e = function<kOne>("bessel_i0e", jvp_bessel_i0e, lower_function<kI0eFunction>, kFused);
constinit const Primitive kBesselI1e = function<kOne>("bessel_i1e", jvp_bessel_i1e, lower_function<kI1eFunction>, kFused);

constinit const Primitive kIgamma = function<kTwo>("igamma", jvp_of_two<d_igamma_a, d_igamma_x>);
constinit const Primitive kIgammac = function<kTwo>("igammac", jvp_of_two<d_igammac_a, d_igammac_x>);
constinit const Primitive kZeta = function<kTwo>("zeta", NoRule{"JAX gives zeta no derivative"});
constinit const Primitive kBetainc = function<eval_betainc>("regularized_incomplete_beta", jvp_betainc);
// A primitive until JAX 0.6; since then the derivative of random_gamma holds its loops, one sample after the other.
constinit const Primitive kRandomGammaGrad = function<kTwo>("random_gamma_grad", NoRule{"JAX gives random_gamma_grad no derivative"});

std::span<const Primitive* const> gamma_primitives() {
    static constexpr const Primitive* all[] = {&kPolygamma, &kIgammaGradA, &kBesselI0e, &kBesselI1e,      &kIgamma,
                                               &kIgammac,   &kZeta,        &kBetainc,   &kRandomGammaGrad};
    return all;
}

}  // namespace jaxscope
