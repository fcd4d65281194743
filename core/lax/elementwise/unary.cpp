// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "ir/print/text_form.h"
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// Element-wise primitives of one operand whose rules are a line each (lax.py). jvp rules emit what JAX 0.10.2's emit, in its order.
namespace jaxscope {

namespace {

constexpr unsigned kFC = kFloatClass | kComplexClass;

/// AccuracyMode.HIGHEST asks some jvp rules for other formulas.
bool highest_accuracy(const Op& op) {
    const auto* e = op.as<AccuracyParams>().accuracy.get<Attr::Enum>();
    return e && e->member == Sym("HIGHEST");
}

/// jvp rules are `tangent = f(g, x, y)`: g the tangent, x the operand, y the result.
using UnaryDerivative = Value(Builder& b, const Op& op, Value g, Value x, Value y);
template <UnaryDerivative* kDerivative>
Values jvp_of_one(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    return {kDerivative(b, op, dx[0], x[0], y[0])};
}

Value one_of(Builder& b, Value x) { return lax::scalar_like(b, x, 1); }

Value d_exp(Builder& b, const Op&, Value g, Value, Value y) { return lax::mul(b, g, y); }
Value d_exp2(Builder& b, const Op&, Value g, Value x, Value y) {
    const Value log2 = lax::log(b, lax::constant(b, x, 2));
    return lax::mul(b, log2, lax::mul(b, g, y));
}
Value d_log(Builder& b, const Op&, Value g, Value x, Value) { return lax::div(b, g, x); }
Value d_log1p(Builder& b, const Op&, Value g, Value x, Value) { return lax::div(b, g, lax::add(b, x, one_of(b, x))); }
Value d_expm1(Builder& b, const Op& op, Value g, Value x, Value y) {
    if (highest_accuracy(op)) return lax::mul(b, g, b.bind1(kExp, {x}, op.params));
    return lax::mul(b, g, lax::add(b, y, one_of(b, y)));
}
Value d_tanh(Builder& b, const Op& op, Value g, Value x, Value y) {
    if (highest_accuracy(op)) {
        const Value left = b.bind1(kLogistic, {lax::mul(b, lax::constant(b, x, 2), x)}, op.params);
        const Value right = b.bind1(kLogistic, {lax::mul(b, lax::constant(b, x, -2), x)}, op.params);
        return lax::mul(b, g, lax::mul(b, lax::constant(b, x, 4), lax::mul(b, left, right)));
    }
    const Value sum = lax::add(b, g, lax::mul(b, g, y));
    return lax::mul(b, sum, lax::sub(b, one_of(b, x), y));
}
Value d_logistic(Builder& b, const Op& op, Value g, Value x, Value y) {
    if (highest_accuracy(op)) return lax::mul(b, g, lax::mul(b, y, lax::logistic(b, lax::neg(b, x))));
    return lax::mul(b, g, lax::mul(b, y, lax::sub(b, one_of(b, y), y)));
}
Value d_sin(Builder& b, const Op& op, Value g, Value x, Value) { return lax::mul(b, g, lax::cos(b, x, op.as<AccuracyParams>().accuracy)); }
Value d_cos(Builder& b, const Op& op, Value g, Value x, Value) {
    return lax::neg(b, lax::mul(b, g, lax::sin(b, x, op.as<AccuracyParams>().accuracy)));
}
Value d_tan(Builder& b, const Op&, Value g, Value x, Value y) {
    return lax::mul(b, g, lax::add(b, lax::constant(b, x, 1), lax::square(b, y)));
}
Value d_sqrt(Builder& b, const Op&, Value g, Value x, Value y) { return lax::mul(b, g, lax::div(b, lax::constant(b, x, 0.5), y)); }
Value d_rsqrt(Builder& b, const Op&, Value g, Value x, Value y) {
    const Value half = lax::constant(b, x, -0.5);
    return lax::mul(b, g, lax::mul(b, half, lax::div(b, y, x)));
}
Value d_cbrt(Builder& b, const Op&, Value g, Value x, Value y) {
    return lax::mul(b, g, lax::mul(b, lax::constant(b, x, 1.0 / 3), lax::integer_pow(b, y, -2)));
}
Value d_square(Builder& b, const Op&, Value g, Value x, Value) { return lax::mul(b, g, lax::mul(b, lax::constant(b, x, 2), x)); }
Value d_integer_pow(Builder& b, const Op& op, Value g, Value x, Value) {
    const std::int64_t n = op.as<IntegerPowParams>().y;
    if (n == 0) return lax::zeros_like(b, b.aval(g));
    if (n == 1) return g;
    const Value factor = lax::constant(b, x, static_cast<double>(n));
    return lax::mul(b, g, lax::mul(b, factor, n == 2 ? x : lax::integer_pow(b, x, n - 1)));
}
Value d_abs(Builder& b, const Op& op, Value g, Value x, Value y) {
    if (!is_complex(op.in[0]->dtype)) {
        const Value positive = lax::ge(b, x, lax::scalar_like(b, x, 0));
        return lax::select(b, positive, g, lax::neg(b, g));
    }
    const Value conjugate = lax::conj(b, x);
    const Value wide = lax::convert_element_type(b, y, op.in[0]->dtype);
    const Value is_zero = lax::eq(b, wide, lax::constant(b, wide, 0));
    const Value safe = lax::select(b, is_zero, lax::ones_like(b, b.aval(wide)), wide);
    return lax::real(b, lax::mul(b, g, lax::div(b, conjugate, safe)));
}

void transpose_neg(Builder& b, const Op&, const Values& ct, const Values& x, TransposeSink& sink) {
    if (x[0].is_linear() && !ct[0].is_zero()) sink.add(0, lax::neg(b, ct[0]));
}

Avals eval_is_finite(const Op& op) {
    const Dims shape = check_nary(op, 1, kFloatClass);
    return {standard_result(op, DType::Bool, shape)};
}
Avals eval_integer_pow(const Op& op) {
    const std::int64_t y = op.as<IntegerPowParams>().y;
    Avals out = eval_unary_in(op, kNumClass);
    if (y < 0 && is_integer(op.in[0]->dtype))
        throw Error(ErrorCode::TypeMismatch, fmt::format("Integers cannot be raised to negative powers, got integer_pow({}[{}], {})",
                                                         info(op.in[0]->dtype).name, fmt::join(op.in[0]->shape, ","), y));
    return out;
}
DType base_type(DType d) { return d == DType::C128 ? DType::F64 : d == DType::C64 ? DType::F32 : d; }
Avals eval_to_base(const Op& op) {
    const Dims shape = check_nary(op, 1, kComplexClass);
    return {standard_result(op, base_type(op.in[0]->dtype), shape)};
}
Avals eval_abs(const Op& op) {
    const Dims shape = check_nary(op, 1, kNumClass);
    if (is_unsigned_int(op.in[0]->dtype)) type_mismatch(op, "a signed integer, floating or complex dtype", info(op.in[0]->dtype).name);
    return {standard_result(op, base_type(op.in[0]->dtype), shape)};
}
Avals eval_round(const Op& op) {
    ParamReads::note("rounding_method");  // the kernel reads it
    return eval_unary<kFloatClass>(op);
}
Avals eval_conj(const Op& op) {
    ParamReads::note("input_dtype");
    ParamReads::note("_input_dtype");
    const Dims shape = check_nary(op, 1, kFC);
    const DType d = op.in[0]->dtype;
    if (byte_size(d) < 4) type_mismatch(op, "float32, float64 or a complex dtype", info(d).name);
    return {standard_result(op, is_complex(d) ? d : d == DType::F64 ? DType::C128 : DType::C64, shape)};
}

void transpose_real(Builder& b, const Op&, const Values& ct, const Values& x, TransposeSink& sink) {
    if (!x[0].is_linear() || ct[0].is_zero()) return;
    sink.add(0, lax::complex(b, ct[0], lax::constant(b, ct[0], 0)));
}
void transpose_imag(Builder& b, const Op&, const Values& ct, const Values& x, TransposeSink& sink) {
    if (!x[0].is_linear() || ct[0].is_zero()) return;
    const Value zero = lax::constant(b, ct[0], 0);
    sink.add(0, lax::complex(b, zero, lax::neg(b, ct[0])));
}
void transpose_conj(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (!x[0].is_linear() || ct[0].is_zero()) return;
    sink.add(0, is_complex(op.as<ConjParams>().input_dtype) ? lax::conj(b, ct[0]) : lax::real(b, ct[0]));
}

KScalar lower_round(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto* e = op.as<RoundParams>().rounding_method.get<Attr::Enum>();
    const bool even = e && e->member == Sym("TO_NEAREST_EVEN");
    return k.op(even ? KOp::RoundEven : KOp::RoundAway, load_stretched(k, op, 0, i));
}
KScalar lower_square(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar x = load_stretched(k, op, 0, i);
    return k.op(KOp::Mul, x, x);
}
/// By repeated squaring, as XLA does; the order of the products is JAX's _integer_pow.
KScalar lower_integer_pow(ElementBuilder& k, const Op& op, const KIndex& i) {
    const std::int64_t y = op.as<IntegerPowParams>().y;
    KScalar x = load_stretched(k, op, 0, i), result{};
    const DType d = op.in[0]->dtype;
    const KScalar one = is_inexact(d) ? k.constant(d, 1) : k.constant_int(d, 1);
    if (y == 0) return one;
    bool have = false;
    for (std::uint64_t n = static_cast<std::uint64_t>(y < 0 ? -y : y); n > 0; n >>= 1) {
        if (n & 1) {
            result = have ? k.op(KOp::Mul, result, x) : x;
            have = true;
        }
        if (n > 1) x = k.op(KOp::Mul, x, x);
    }
    return y < 0 ? k.op(KOp::Div, one, result) : result;
}
KScalar lower_conj(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar x = load_stretched(k, op, 0, i);
    if (is_complex(op.in[0]->dtype)) return k.op(KOp::Conj, x);
    return k.op(KOp::Complex, x, k.constant(op.in[0]->dtype, 0));
}

/// The common shape of the definitions below: value class, derivative, scalar at an index. All have the parameter `accuracy`.
template <unsigned kClasses, UnaryDerivative* kDerivative>
constexpr Primitive differentiable(const char* name, LowerFn* lower) {
    return {.name = name,
            .abstract_eval = eval_unary<kClasses>,
            .jvp = jvp_of_one<kDerivative>,
            .transpose = NoRule{"not linear: jvp emits the linear part as other primitives"},
            .batch = batch_unary,
            .lower = lower,
            .cost = elementwise_cost<kTranscendental>,
            .partition = partition_elementwise,
            .text = &kAccuracyText};
}
template <unsigned kClasses, KOp kOp>
constexpr Primitive piecewise_constant(const char* name) {
    return {.name = name,
            .abstract_eval = eval_unary<kClasses>,
            .jvp = jvp_zero,
            .transpose = NoRule{"its derivative is zero: nothing linear remains"},
            .batch = batch_unary,
            .lower = lower_unary<kOp>,
            .cost = elementwise_cost<>,
            .partition = partition_elementwise};
}

}  // namespace

constinit const Primitive kExp = differentiable<kFC, d_exp>("exp", lower_unary<KOp::Exp>);
constinit const Primitive kExp2 = differentiable<kFC, d_exp2>("exp2", lower_unary<KOp::Exp2>);
constinit const Primitive kLog = differentiable<kFC, d_log>("log", lower_unary<KOp::Log>);
constinit const Primitive kLog1p = differentiable<kFC, d_log1p>("log1p", lower_unary<KOp::Log1p>);
constinit const Primitive kExpm1 = differentiable<kFC, d_expm1>("expm1", lower_unary<KOp::Expm1>);
constinit const Primitive kTanh = differentiable<kFC, d_tanh>("tanh", lower_unary<KOp::Tanh>);
constinit const Primitive kLogistic = differentiable<kFC, d_logistic>("logistic", lower_unary<KOp::Logistic>);
// JAX has a rule of its own for linearizing sin; it keeps cos(x), as the jvp rule does.
constinit const Primitive kSin = differentiable<kFC, d_sin>("sin", lower_unary<KOp::Sin>);
constinit const Primitive kCos = differentiable<kFC, d_cos>("cos", lower_unary<KOp::Cos>);
constinit const Primitive kTan = differentiable<kFC, d_tan>("tan", lower_unary<KOp::Tan>);
constinit const Primitive kSqrt = differentiable<kFC, d_sqrt>("sqrt", lower_unary<KOp::Sqrt>);
constinit const Primitive kRsqrt = differentiable<kFC, d_rsqrt>("rsqrt", lower_unary<KOp::Rsqrt>);
constinit const Primitive kSign = piecewise_constant<kNumClass, KOp::Sign>("sign");
constinit const Primitive kFloor = piecewise_constant<kFloatClass, KOp::Floor>("floor");
constinit const Primitive kCeil = piecewise_constant<kFloatClass, KOp::Ceil>("ceil");
constinit const Primitive kNot = piecewise_constant<kBoolClass | kIntClass, KOp::Not>("not");

constinit const Primitive kNeg{.name = "neg",
                               .abstract_eval = eval_unary<kNumClass>,
                               .jvp = jvp_linear,
                               .transpose = transpose_neg,
                               .batch = batch_unary,
                               .lower = lower_unary<KOp::Neg>,
                               .cost = elementwise_cost<>,
                               .partition = partition_elementwise};
constinit const Primitive kRound{.name = "round",
                                 .abstract_eval = eval_round,
                                 .jvp = jvp_zero,
                                 .transpose = NoRule{"its derivative is zero: nothing linear remains"},
                                 .batch = batch_unary,
                                 .lower = lower_round,
                                 .cost = elementwise_cost<>,
                                 .partition = partition_elementwise};
constinit const Primitive kSquare{.name = "square",
                                  .abstract_eval = eval_unary<kNumClass>,
                                  .jvp = jvp_of_one<d_square>,
                                  .transpose = NoRule{"not linear: jvp emits the linear part as mul"},
                                  .batch = batch_unary,
                                  .lower = lower_square,
                                  .cost = elementwise_cost<>,
                                  .partition = partition_elementwise};
constinit const Primitive kIntegerPow{.name = "integer_pow",
                                      .abstract_eval = eval_integer_pow,
                                      .jvp = jvp_of_one<d_integer_pow>,
                                      .transpose = NoRule{"not linear: jvp emits the linear part as mul"},
                                      .batch = batch_unary,
                                      .lower = lower_integer_pow,
                                      .cost = elementwise_cost<2>,
                                      .partition = partition_elementwise};
constinit const Primitive kAbs{.name = "abs",
                               .abstract_eval = eval_abs,
                               .jvp = jvp_of_one<d_abs>,
                               .transpose = NoRule{"not linear: jvp emits the linear part as select_n"},
                               .batch = batch_unary,
                               .lower = lower_unary<KOp::Abs>,
                               .cost = elementwise_cost<>,
                               .partition = partition_elementwise};
constinit const Primitive kIsFinite{.name = "is_finite",
                                    .abstract_eval = eval_is_finite,
                                    .jvp = jvp_zero,
                                    .transpose = NoRule{"its derivative is zero: nothing linear remains"},
                                    .batch = batch_unary,
                                    .lower = lower_unary<KOp::IsFinite>,
                                    .cost = elementwise_cost<>,
                                    .partition = partition_elementwise};
constinit const Primitive kReal{.name = "real",
                                .abstract_eval = eval_to_base,
                                .jvp = jvp_linear,
                                .transpose = transpose_real,
                                .batch = batch_unary,
                                .lower = lower_unary<KOp::Real>,
                                .cost = elementwise_cost<>,
                                .partition = partition_elementwise};
constinit const Primitive kImag{.name = "imag",
                                .abstract_eval = eval_to_base,
                                .jvp = jvp_linear,
                                .transpose = transpose_imag,
                                .batch = batch_unary,
                                .lower = lower_unary<KOp::Imag>,
                                .cost = elementwise_cost<>,
                                .partition = partition_elementwise};
constinit const Primitive kConj{.name = "conj",
                                .abstract_eval = eval_conj,
                                .jvp = jvp_linear,
                                .transpose = transpose_conj,
                                .batch = batch_nary,
                                .lower = lower_conj,
                                .cost = elementwise_cost<>,
                                .partition = partition_elementwise};

namespace {
constexpr KFunction kCbrtFunction{"cbrt"};
}  // namespace
constinit const Primitive kPopulationCount = piecewise_constant<kIntClass, KOp::PopulationCount>("population_count");
constinit const Primitive kClz = piecewise_constant<kIntClass, KOp::Clz>("clz");
constinit const Primitive kCbrt = differentiable<kFloatClass, d_cbrt>("cbrt", lower_function<kCbrtFunction>);

std::span<const Primitive* const> unary_primitives() {
    static constexpr const Primitive* all[] = {
        &kNeg,    &kSign,       &kFloor,    &kCeil,     &kRound, &kExp,  &kExp2, &kLog,   &kLog1p,
        &kExpm1,  &kTanh,       &kLogistic, &kSin,      &kCos,   &kTan,  &kSqrt, &kRsqrt, &kCbrt,
        &kSquare, &kIntegerPow, &kAbs,      &kIsFinite, &kNot,   &kReal, &kImag, &kConj,  &kPopulationCount,
        &kClz};
    return all;
}

}  // namespace jaxscope
