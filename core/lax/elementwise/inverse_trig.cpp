// SPDX-License-Identifier: Apache-2.0
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// Inverse trigonometric and hyperbolic functions (lax.py).
namespace jaxscope {

namespace {

using InverseDerivative = Value(Builder& b, Value g, Value x);
template <InverseDerivative* kDerivative>
Values jvp_of_inverse(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    return {kDerivative(b, dx[0], x[0])};
}

Value d_asin(Builder& b, Value g, Value x) { return lax::mul(b, g, lax::rsqrt(b, lax::sub(b, lax::constant(b, x, 1), lax::square(b, x)))); }
Value d_acos(Builder& b, Value g, Value x) {
    return lax::mul(b, g, lax::neg(b, lax::rsqrt(b, lax::sub(b, lax::constant(b, x, 1), lax::square(b, x)))));
}
Value d_atan(Builder& b, Value g, Value x) { return lax::div(b, g, lax::add(b, lax::constant(b, x, 1), lax::square(b, x))); }
Value d_sinh(Builder& b, Value g, Value x) { return lax::mul(b, g, lax::cosh(b, x)); }
Value d_cosh(Builder& b, Value g, Value x) { return lax::mul(b, g, lax::sinh(b, x)); }
Value d_asinh(Builder& b, Value g, Value x) {
    return lax::mul(b, g, lax::rsqrt(b, lax::add(b, lax::square(b, x), lax::scalar_like(b, x, 1))));
}
Value d_acosh(Builder& b, Value g, Value x) {
    return lax::mul(b, g, lax::rsqrt(b, lax::sub(b, lax::square(b, x), lax::scalar_like(b, x, 1))));
}
Value d_atanh(Builder& b, Value g, Value x) {
    const Value left = lax::integer_pow(b, lax::add(b, lax::scalar_like(b, x, 1), x), -1);
    return lax::mul(b, left, lax::div(b, g, lax::sub(b, lax::scalar_like(b, x, 1), x)));
}

template <InverseDerivative* kDerivative, KOp kOp>
constexpr Primitive function(const char* name) {
    return {.name = name,
            .abstract_eval = eval_unary<kFloatClass | kComplexClass>,
            .jvp = jvp_of_inverse<kDerivative>,
            .transpose = NoRule{"not linear: jvp emits the linear part as other primitives"},
            .batch = batch_unary,
            .lower = lower_unary<kOp>,
            .cost = elementwise_cost<kTranscendental>,
            .partition = partition_elementwise};
}

}  // namespace

constinit const Primitive kAsin = function<d_asin, KOp::Asin>("asin");
constinit const Primitive kAcos = function<d_acos, KOp::Acos>("acos");
constinit const Primitive kAtan = function<d_atan, KOp::Atan>("atan");
constinit const Primitive kSinh = function<d_sinh, KOp::Sinh>("sinh");
constinit const Primitive kCosh = function<d_cosh, KOp::Cosh>("cosh");
constinit const Primitive kAsinh = function<d_asinh, KOp::Asinh>("asinh");
constinit const Primitive kAcosh = function<d_acosh, KOp::Acosh>("acosh");
constinit const Primitive kAtanh = function<d_atanh, KOp::Atanh>("atanh");

std::span<const Primitive* const> inverse_trig_primitives() {
    static constexpr const Primitive* all[] = {&kAsin, &kAcos, &kAtan, &kSinh, &kCosh, &kAsinh, &kAcosh, &kAtanh};
    return all;
}

}  // namespace jaxscope
