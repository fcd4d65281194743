// SPDX-License-Identifier: Apache-2.0
#include "ir/print/text_form.h"
#include "ir/types/element.h"
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"

// Element-wise primitives of two operands (lax.py). One operand may be a scalar where the other is an array: jvp rules then broadcast the
// tangent of the scalar, transposition sums over what was broadcast.
namespace jaxscope {

namespace {

/// jvp rules are `f(g, x, y, ans)` per operand, summed with add_any.
using Partial = Value(Builder& b, const Op& op, Value g, Value x, Value y, Value ans);
template <Partial* kLeft, Partial* kRight>
Values jvp_of(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    const Value left = dx[0].is_zero() ? dx[0] : kLeft(b, op, dx[0], x[0], x[1], y[0]);
    const Value right = dx[1].is_zero() ? dx[1] : kRight(b, op, dx[1], x[0], x[1], y[0]);
    return {sum_tangents(b, {left, right})};
}

Values jvp_add(Builder& b, const Op& op, const Values&, const Values&, const Values& dx) {
    if (dx[0].is_zero()) return {lax::maybe_broadcast(b, dx[1], op.out[0]->shape)};
    if (dx[1].is_zero()) return {lax::maybe_broadcast(b, dx[0], op.out[0]->shape)};
    return {lax::add(b, dx[0], dx[1])};
}
Values jvp_sub(Builder& b, const Op& op, const Values&, const Values&, const Values& dx) {
    if (dx[0].is_zero()) return {lax::maybe_broadcast(b, lax::neg(b, dx[1]), op.out[0]->shape)};
    if (dx[1].is_zero()) return {lax::maybe_broadcast(b, dx[0], op.out[0]->shape)};
    return {lax::sub(b, dx[0], dx[1])};
}
void transpose_add(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    // As in JAX, both cotangents are computed, also where one operand turns out to be known.
    for (std::size_t i = 0; i < 2; ++i) {
        const Value sum = lax::unbroadcast(b, op.in[i], ct[0]);
        if (x[i].is_linear()) sink.add(i, sum);
    }
}
void transpose_sub(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const Value left = lax::unbroadcast(b, op.in[0], ct[0]);
    const Value right = lax::unbroadcast(b, op.in[1], lax::neg(b, ct[0]));
    if (x[0].is_linear()) sink.add(0, left);
    if (x[1].is_linear()) sink.add(1, right);
}
void transpose_add_any(Builder&, const Op&, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    for (std::size_t i = 0; i < 2; ++i)
        if (x[i].is_linear()) sink.add(i, ct[0]);
}

Avals eval_mul(const Op& op) {
    const Attr& out = op.as<OutDtypeParams>().out_dtype;
    const DType* wide = out.get<DType>();
    if (!wide && !out.is_none()) wrong_attr(out, "a dtype or None for out_dtype");
    if (!wide) return eval_binary_in(op, kNumClass);
    const Dims shape = check_nary(op, 2, kNumClass);
    return {standard_result(op, *wide, shape)};
}
KScalar lower_mul(ElementBuilder& k, const Op& op, const KIndex& i) {
    const DType d = op.out[0]->dtype;
    const KScalar x = load_stretched(k, op, 0, i), y = load_stretched(k, op, 1, i);
    return k.op(KOp::Mul, op.in[0]->dtype == d ? x : k.convert(x, d), op.in[1]->dtype == d ? y : k.convert(y, d));
}
Values jvp_mul(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    const Value left = dx[0].is_zero() ? dx[0] : b.bind1(kMul, {dx[0], x[1]}, op.params);
    const Value right = dx[1].is_zero() ? dx[1] : b.bind1(kMul, {x[0], dx[1]}, op.params);
    return {sum_tangents(b, {left, right})};
}
void transpose_mul(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    // With an out_dtype, the cotangent takes the operand's dtype again.
    const std::size_t linear = x[0].is_linear() ? 0 : 1;
    const ParamsRef params = op.as<OutDtypeParams>().out_dtype.is_none() ? op.params : make_params(OutDtypeParams{op.in[linear]->dtype});
    const Value product = linear == 0 ? b.bind1(kMul, {ct[0], x[1]}, params) : b.bind1(kMul, {x[0], ct[0]}, params);
    sink.add(linear, lax::unbroadcast(b, op.in[linear], product));
}

Value d_div_left(Builder& b, const Op&, Value g, Value, Value y, Value) { return lax::div(b, g, y); }
Value d_div_right(Builder& b, const Op&, Value g, Value x, Value y, Value) {
    const Value product = lax::mul(b, lax::neg(b, g), x);
    return lax::mul(b, product, lax::integer_pow(b, y, -2));
}
void transpose_div(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    sink.add(0, lax::unbroadcast(b, op.in[0], lax::div(b, ct[0], x[1])));
}

Value d_rem_left(Builder& b, const Op& op, Value g, Value, Value, Value) { return lax::maybe_broadcast(b, g, op.out[0]->shape); }
Value d_rem_right(Builder& b, const Op&, Value g, Value x, Value y, Value) {
    const Value negative = lax::neg(b, g);
    const Value direction = lax::sign(b, lax::div(b, x, y));
    return lax::mul(b, negative, lax::mul(b, direction, lax::floor(b, lax::abs(b, lax::div(b, x, y)))));
}

/// 1 where x alone is the result, 1/2 where both are, 0 elsewhere (JAX's _balanced_eq).
Value balanced(Builder& b, Value x, Value ans, Value y) {
    const AvalRef a = b.aval(ans);
    const auto filled = [&](double v) { return lax::full(b, a, v); };
    const Value is_x = lax::eq(b, x, ans);
    const Value ones = filled(1), zeros = filled(0);
    const Value numerator = lax::select(b, is_x, ones, zeros);
    const Value is_y = lax::eq(b, y, ans);
    const Value twos = filled(2), one_more = filled(1);
    return lax::div(b, numerator, lax::select(b, is_y, twos, one_more));
}
Value d_extremum_left(Builder& b, const Op&, Value g, Value x, Value y, Value ans) { return lax::mul(b, g, balanced(b, x, ans, y)); }
Value d_extremum_right(Builder& b, const Op&, Value g, Value x, Value y, Value ans) { return lax::mul(b, g, balanced(b, y, ans, x)); }

Value without_zeros(Builder& b, Value x) {
    const Value is_zero = lax::eq(b, x, lax::constant(b, x, 0));
    return lax::select(b, is_zero, lax::ones_like(b, b.aval(x)), x);
}
Value d_pow_left(Builder& b, const Op& op, Value g, Value x, Value y, Value) {
    const bool integer_power = is_integer(op.in[1]->dtype);
    const DType d = op.in[0]->dtype;
    x = lax::convert_element_type(b, x, d);
    y = lax::convert_element_type(b, y, d);
    if (!integer_power) {
        const Value lowered = lax::sub(b, y, lax::ones_like(b, b.aval(y)));
        return lax::mul(b, g, lax::mul(b, y, lax::pow(b, x, lowered)));
    }
    x = lax::maybe_broadcast(b, x, op.out[0]->shape);
    y = lax::maybe_broadcast(b, y, op.out[0]->shape);
    const Value is_zero = lax::eq(b, y, lax::constant(b, y, 0));
    const Value zeros = lax::full(b, b.aval(y), 0.0);
    const Value safe = without_zeros(b, y);
    const Value slope = lax::mul(b, safe, lax::pow(b, x, lax::sub(b, y, lax::ones_like(b, b.aval(y)))));
    return lax::mul(b, g, lax::select(b, is_zero, zeros, slope));
}
Value d_pow_right(Builder& b, const Op& op, Value g, Value x, Value, Value ans) {
    const Value slope = lax::mul(b, lax::log(b, without_zeros(b, x)), ans);
    return lax::convert_element_type(b, lax::mul(b, g, slope), op.in[1]->dtype);
}
Value squared_norm(Builder& b, Value x, Value y) {
    const Value square = lax::square(b, x);
    return lax::add(b, square, lax::square(b, y));
}
Value d_atan2_left(Builder& b, const Op&, Value g, Value x, Value y, Value) {
    return lax::mul(b, g, lax::div(b, y, squared_norm(b, x, y)));
}
Value d_atan2_right(Builder& b, const Op&, Value g, Value x, Value y, Value) {
    const Value negative = lax::neg(b, x);
    return lax::mul(b, g, lax::div(b, negative, squared_norm(b, x, y)));
}

Avals eval_pow(const Op& op) {
    const Dims shape = check_nary(op, 2, kNumClass);
    const DType x = op.in[0]->dtype, y = op.in[1]->dtype;
    if (!is_inexact(x) || (x != y && !is_integer(y)))
        type_mismatch(op, "an inexact first argument and a second one of its dtype or of an integer dtype",
                      std::string(info(x).name) + " and " + info(y).name);
    return {standard_result(op, x, shape)};
}
KScalar lower_pow(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar x = load_stretched(k, op, 0, i), y = load_stretched(k, op, 1, i);
    return k.op(KOp::Pow, x, op.in[1]->dtype == op.in[0]->dtype ? y : k.convert(y, op.in[0]->dtype));
}

Avals eval_complex(const Op& op) {
    const Dims shape = check_nary(op, 2, kFloatClass);
    expect_same_dtype(op, 0, 2);
    if (op.in[0]->dtype != DType::F32 && op.in[0]->dtype != DType::F64) type_mismatch(op, "float32 or float64", info(op.in[0]->dtype).name);
    return {standard_result(op, op.in[0]->dtype == DType::F64 ? DType::C128 : DType::C64, shape)};
}
void transpose_complex(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    if (x[0].is_linear()) sink.add(0, lax::unbroadcast(b, op.in[0], lax::real(b, ct[0])));
    if (x[1].is_linear()) sink.add(1, lax::unbroadcast(b, op.in[1], lax::imag(b, lax::neg(b, ct[0]))));
}

Avals eval_add_any(const Op& op) {
    expect_arrays(op, 2);
    expect_same_dtype(op, 0, 2);
    if (op.in[0]->shape != op.in[1]->shape)
        type_mismatch(op, "operands of shape " + shape_text(op.in[0]->shape), shape_text(op.in[1]->shape));
    return {op.in[0]};
}
/// The mapped axis of the second operand moves to, or appears at, that of the first.
BatchResult batch_add_any(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const int to = dims[1] == kNotMapped ? dims[0] : dims[1];
    Values in = x;
    for (std::size_t i = 0; i < 2; ++i)
        in[i] = dims[i] == kNotMapped
                    ? lax::broadcast_in_dim(b, x[i], inserted(op.in[i]->shape, to, size), remaining(op.in[i]->rank() + 1, {to}))
                    : moveaxis(b, x[i], dims[i], to);
    return {{b.bind1(kAddAny, in)}, {to}};
}
KScalar lower_add_any(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar x = load_stretched(k, op, 0, i);
    return k.op(op.in[0]->dtype == DType::Bool ? KOp::Or : KOp::Add, x, load_stretched(k, op, 1, i));
}

/// x * y >> 64 of unsigned numbers, from the four products of their halves.
KScalar high_half(ElementBuilder& k, KScalar x, KScalar y) {
    const auto number = [&](std::int64_t v) { return k.constant_int(DType::U64, v); };
    const auto low = [&](KScalar v) { return k.op(KOp::And, v, number(0xffffffff)); };
    const auto high = [&](KScalar v) { return k.op(KOp::ShrLogical, v, number(32)); };
    const KScalar low_high = k.op(KOp::Mul, low(x), high(y)), high_low = k.op(KOp::Mul, high(x), low(y));
    KScalar carry = k.op(KOp::Add, low(low_high), low(high_low));
    carry = k.op(KOp::Add, carry, high(k.op(KOp::Mul, low(x), low(y))));
    const KScalar crosswise = k.op(KOp::Add, high(low_high), k.op(KOp::Add, high(high_low), high(carry)));
    return k.op(KOp::Add, k.op(KOp::Mul, high(x), high(y)), crosswise);
}
/// The upper half of the product, which has twice as many bits (lax.py, _mulhi_impl).
KScalar lower_mulhi(ElementBuilder& k, const Op& op, const KIndex& i) {
    const DType d = op.in[0]->dtype;
    const KScalar x = load_stretched(k, op, 0, i), y = load_stretched(k, op, 1, i);
    const bool is_signed = is_signed_int(d);
    if (const int bits = bit_width(d); bits < 64) {
        const DType wide = bits < 32 ? (is_signed ? DType::S32 : DType::U32) : (is_signed ? DType::S64 : DType::U64);
        const KScalar product = k.op(KOp::Mul, k.convert(x, wide), k.convert(y, wide));
        return k.convert(k.op(is_signed ? KOp::ShrArithmetic : KOp::ShrLogical, product, k.constant_int(wide, bits)), d);
    }
    const KScalar high = k.convert(high_half(k, k.convert(x, DType::U64), k.convert(y, DType::U64)), d);
    if (!is_signed) return high;
    // A negative x was taken for x + 2^64, which added y to the upper half; likewise y.
    const auto sign = [&](KScalar v) { return k.op(KOp::ShrArithmetic, v, k.constant_int(d, 63)); };
    return k.op(KOp::Add, high, k.op(KOp::Add, k.op(KOp::Mul, sign(x), y), k.op(KOp::Mul, sign(y), x)));
}

template <unsigned kClasses>
constexpr Primitive integer_operation(const char* name, LowerFn* lower) {
    return {.name = name,
            .abstract_eval = eval_binary<kClasses>,
            .jvp = jvp_zero,
            .transpose = NoRule{"its derivative is zero: nothing linear remains"},
            .batch = batch_nary,
            .lower = lower,
            .cost = elementwise_cost<>,
            .partition = partition_elementwise};
}
template <unsigned kClasses, Partial* kLeft, Partial* kRight, KOp kOp, int kFlops>
constexpr Primitive differentiable(const char* name) {
    return {.name = name,
            .abstract_eval = eval_binary<kClasses>,
            .jvp = jvp_of<kLeft, kRight>,
            .transpose = NoRule{"not linear: jvp emits the linear part as other primitives"},
            .batch = batch_nary,
            .lower = lower_binary<kOp>,
            .cost = elementwise_cost<kFlops>,
            .partition = partition_elementwise};
}

constexpr HiddenParam kMulHidden[] = {{"out_dtype", text_form::if_none, text_form::none}};
constexpr TextForm kMulText{.hidden = kMulHidden};

}  // namespace

constinit const Primitive kAdd{.name = "add",
                               .abstract_eval = eval_binary<kNumClass>,
                               .jvp = jvp_add,
                               .transpose = transpose_add,
                               .batch = batch_nary,
                               .lower = lower_binary<KOp::Add>,
                               .cost = elementwise_cost<>,
                               .partition = partition_elementwise};
constinit const Primitive kSub{.name = "sub",
                               .abstract_eval = eval_binary<kNumClass>,
                               .jvp = jvp_sub,
                               .transpose = transpose_sub,
                               .batch = batch_nary,
                               .lower = lower_binary<KOp::Sub>,
                               .cost = elementwise_cost<>,
                               .partition = partition_elementwise};
constinit const Primitive kMul{.name = "mul",
                               .abstract_eval = eval_mul,
                               .jvp = jvp_mul,
                               .transpose = transpose_mul,
                               .batch = batch_nary,
                               .lower = lower_mul,
                               .cost = elementwise_cost<>,
                               .partition = partition_elementwise,
                               .text = &kMulText};
constinit const Primitive kDiv{.name = "div",
                               .abstract_eval = eval_binary<kNumClass>,
                               .jvp = jvp_of<d_div_left, d_div_right>,
                               .transpose = transpose_div,
                               .batch = batch_nary,
                               .lower = lower_binary<KOp::Div>,
                               .cost = elementwise_cost<>,
                               .partition = partition_elementwise};
constinit const Primitive kAddAny{.name = "add_any",
                                  .abstract_eval = eval_add_any,
                                  .jvp = jvp_linear,
                                  .transpose = transpose_add_any,
                                  .batch = batch_add_any,
                                  .lower = lower_add_any,
                                  .cost = elementwise_cost<>,
                                  .partition = partition_elementwise};
constinit const Primitive kRem = differentiable<kIntClass | kFloatClass, d_rem_left, d_rem_right, KOp::Rem, 1>("rem");
constinit const Primitive kMax = differentiable<kAnyClass, d_extremum_left, d_extremum_right, KOp::Max, 1>("max");
constinit const Primitive kMin = differentiable<kAnyClass, d_extremum_left, d_extremum_right, KOp::Min, 1>("min");
constinit const Primitive kAtan2 =
    differentiable<kFloatClass | kComplexClass, d_atan2_left, d_atan2_right, KOp::Atan2, kTranscendental>("atan2");
constinit const Primitive kPow{.name = "pow",
                               .abstract_eval = eval_pow,
                               .jvp = jvp_of<d_pow_left, d_pow_right>,
                               .transpose = NoRule{"not linear: jvp emits the linear part as mul"},
                               .batch = batch_nary,
                               .lower = lower_pow,
                               .cost = elementwise_cost<kTranscendental>,
                               .partition = partition_elementwise};
constinit const Primitive kComplex{.name = "complex",
                                   .abstract_eval = eval_complex,
                                   .jvp = jvp_linear,
                                   .transpose = transpose_complex,
                                   .batch = batch_nary,
                                   .lower = lower_binary<KOp::Complex>,
                                   .cost = elementwise_cost<>,
                                   .partition = partition_elementwise};
constinit const Primitive kNextAfter{.name = "nextafter",
                                     .abstract_eval = eval_binary<kFloatClass>,
                                     .jvp = NoRule{"JAX gives nextafter no derivative"},
                                     .transpose = NoRule{"not linear"},
                                     .batch = batch_nary,
                                     .lower = lower_binary<KOp::NextAfter>,
                                     .cost = elementwise_cost<>,
                                     .partition = partition_elementwise};
constinit const Primitive kAnd = integer_operation<kBoolClass | kIntClass>("and", lower_binary<KOp::And>);
constinit const Primitive kOr = integer_operation<kBoolClass | kIntClass>("or", lower_binary<KOp::Or>);
constinit const Primitive kXor = integer_operation<kBoolClass | kIntClass>("xor", lower_binary<KOp::Xor>);
constinit const Primitive kShiftLeft = integer_operation<kIntClass>("shift_left", lower_binary<KOp::Shl>);
constinit const Primitive kShiftRightLogical = integer_operation<kIntClass>("shift_right_logical", lower_binary<KOp::ShrLogical>);
constinit const Primitive kShiftRightArithmetic = integer_operation<kIntClass>("shift_right_arithmetic", lower_binary<KOp::ShrArithmetic>);

constinit const Primitive kMulHi = integer_operation<kIntClass>("mulhi", lower_mulhi);

std::span<const Primitive* const> binary_primitives() {
    static constexpr const Primitive* all[] = {&kAdd,
                                               &kSub,
                                               &kMul,
                                               &kDiv,
                                               &kRem,
                                               &kMax,
                                               &kMin,
                                               &kPow,
                                               &kAtan2,
                                               &kNextAfter,
                                               &kAnd,
                                               &kOr,
                                               &kXor,
                                               &kShiftLeft,
                                               &kShiftRightLogical,
                                               &kShiftRightArithmetic,
                                               &kMulHi,
                                               &kComplex,
                                               &kAddAny};
    return all;
}

}  // namespace jaxscope
