// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ir/print/text_form.h"
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// Conversions, and primitives that are the identity for values but mean something to transformations (name, optimization_barrier, ...).
namespace jaxscope {

namespace {

// ---- convert_element_type

Avals eval_convert(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<ConvertParams>();
    Aval a = *op.in[0];
    if (a.dtype != p.new_dtype && (is_key(a.dtype) || is_key(p.new_dtype)))
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("Cannot convert_element_type from {} to {}", info(a.dtype).name, info(p.new_dtype).name));
    a.dtype = p.new_dtype;
    a.weak_type = p.weak_type;
    return {a};
}
Values jvp_convert(Builder& b, const Op& op, const Values&, const Values&, const Values& dx) {
    const auto& p = op.as<ConvertParams>();
    if (!is_inexact(p.new_dtype)) return {Value::zero()};
    return {b.bind1(kConvertElementType, {dx[0]}, op.params)};
}
void transpose_convert(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero() || !x[0].is_linear() || !is_inexact(op.in[0]->dtype)) return;
    sink.add(0, lax::convert_element_type(b, ct[0], op.in[0]->dtype, op.in[0]->weak_type));
}
/// As NumPy converts it; not where its answer depends on the machine (a float that no such integer has).
std::optional<LiteralRef> converted(const Literal& l, AvalRef to) {
    const DType from = l.aval->dtype;
    if (to->dtype == DType::Bool) return make_literal(to, std::int64_t{l.integer != 0 || l.real != 0 || l.imag != 0});
    if (is_complex(to->dtype) && is_inexact(from)) return make_literal(to, std::complex<double>(l.real, l.imag));
    if (is_inexact(to->dtype)) return is_inexact(from) ? make_literal(to, l.real) : make_literal(to, l.integer);
    const int bits = static_cast<int>(8 * byte_size(to->dtype));
    if (is_inexact(from)) {
        if (!(std::abs(l.real) < std::ldexp(1.0, bits - 1))) return std::nullopt;
        return make_literal(to, static_cast<std::int64_t>(l.real));
    }
    if (bits < 8 || bits > 64) return std::nullopt;
    const auto low = static_cast<std::uint64_t>(l.integer) << (64 - bits) >> (64 - bits);
    const bool negative = is_signed_int(to->dtype) && bits < 64 && (low >> (bits - 1) & 1) != 0;
    return make_literal(to, static_cast<std::int64_t>(negative ? low - (std::uint64_t{1} << bits) : low));
}

/// A literal is converted at once. (JAX also forwards what has the type already. Texts don't show weak types, so there it can't be told;
/// rules that convert take care of it.)
std::optional<Value> fold_convert(Builder& b, const Op& op, Value x) {
    const auto& p = op.as<ConvertParams>();
    const AvalRef from = op.in[0];
    if (const auto literal = b.literal_of(x); literal && from->shape.empty() && !is_key(from->dtype) && !is_key(p.new_dtype)) {
        const AvalRef to(p.new_dtype, {}, p.weak_type);
        const Literal& l = **literal;
        if (const auto value = converted(l, to)) return b.folded(*value);
        return std::nullopt;
    }
    return std::nullopt;
}
KScalar lower_convert(ElementBuilder& k, const Op& op, const KIndex& i) { return k.convert(k.load(0, i), op.out[0]->dtype); }

// ---- bitcast_convert_type: a dtype of another width adds or takes a last dimension

Avals eval_bitcast(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<BitcastParams>();
    const DType old = op.in[0]->dtype;
    if (old != p.new_dtype && !(in_class(old, kIntClass | kFloatClass) && in_class(p.new_dtype, kIntClass | kFloatClass)))
        type_mismatch(op, "one dtype, or integer and floating ones", std::string(info(old).name) + " and " + info(p.new_dtype).name);
    Dims shape = op.in[0]->shape;
    const std::int64_t from = byte_size(op.in[0]->dtype), to = byte_size(p.new_dtype);
    if (from > to && to > 0) {
        shape.push_back(from / to);
    } else if (from < to) {
        if (shape.empty() || from == 0 || shape.back() != to / from)
            type_mismatch(op, "a last dimension of " + std::to_string(from ? to / from : 0), shape_text(shape));
        shape.pop_back();
    }
    return {AvalRef(p.new_dtype, shape)};
}
KScalar lower_bitcast(ElementBuilder& k, const Op& op, const KIndex& i) {
    const DType from = op.in[0]->dtype, to = op.out[0]->dtype;
    const std::int64_t from_bytes = byte_size(from), to_bytes = byte_size(to);
    if (from_bytes == to_bytes) return k.bitcast(k.load(0, i), to);
    const auto unsigned_of = [](std::int64_t bytes) {
        return bytes == 1 ? DType::U8 : bytes == 2 ? DType::U16 : bytes == 4 ? DType::U32 : DType::U64;
    };
    const DType wide = unsigned_of(std::max(from_bytes, to_bytes)), narrow = unsigned_of(std::min(from_bytes, to_bytes));
    const std::int64_t bits = 8 * std::min(from_bytes, to_bytes);
    if (from_bytes > to_bytes) {
        KIndex outer = i;
        const KScalar part = outer.at.back();
        outer.at.pop_back();
        const KScalar shift = k.op(KOp::Mul, k.convert(part, wide), k.constant_int(wide, bits));
        return k.bitcast(k.convert(k.op(KOp::ShrLogical, k.bitcast(k.load(0, outer), wide), shift), narrow), to);
    }
    KScalar joined = k.constant_int(wide, 0);
    for (std::int64_t part = 0; part < to_bytes / from_bytes; ++part) {
        KIndex inner = i;
        inner.at.push_back(k.index(part));
        const KScalar piece = k.convert(k.bitcast(k.load(0, inner), narrow), wide);
        joined = k.op(KOp::Or, joined, k.op(KOp::Shl, piece, k.constant_int(wide, part * bits)));
    }
    return k.bitcast(joined, to);
}

// ---- reduce_precision

Avals eval_reduce_precision(const Op& op) {
    const auto& p = op.as<ReducePrecisionParams>();
    if (p.exponent_bits < 1) type_mismatch(op, "positive exponent_bits", std::to_string(p.exponent_bits));
    if (p.mantissa_bits < 0) type_mismatch(op, "non-negative mantissa_bits", std::to_string(p.mantissa_bits));
    return eval_unary_in(op, kFloatClass);
}
void transpose_same(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (!ct[0].is_zero() && x[0].is_linear()) sink.add(0, b.bind1(*op.prim, {ct[0]}, op.params));
}
/// With the value's own widths, as remat inserts it, nothing changes. Else the mantissa is rounded to nearest even, exponents out of range
/// go to infinity and to zero.
KScalar lower_reduce_precision(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto& p = op.as<ReducePrecisionParams>();
    const DType d = op.in[0]->dtype;
    const KScalar x = k.load(0, i);
    const auto& facts = info(d);
    if (p.exponent_bits >= facts.exponent_bits && p.mantissa_bits >= facts.mantissa_bits) return x;
    const DType bits_type = d == DType::F64 ? DType::U64 : DType::U32;
    const DType wide = d == DType::F64 ? DType::F64 : DType::F32;
    const int mantissa = info(wide).mantissa_bits, exponent = info(wide).exponent_bits;
    const auto c = [&](std::uint64_t v) { return k.constant_int(bits_type, static_cast<std::int64_t>(v)); };
    const KScalar value = k.convert(x, wide);
    KScalar bits = k.bitcast(value, bits_type);
    const std::uint64_t sign_mask = std::uint64_t{1} << (mantissa + exponent);
    const KScalar sign = k.op(KOp::And, bits, c(sign_mask));
    if (p.mantissa_bits < mantissa) {
        const std::uint64_t last = std::uint64_t{1} << (mantissa - p.mantissa_bits);
        const KScalar odd = k.op(KOp::And, k.op(KOp::ShrLogical, bits, c(static_cast<std::uint64_t>(mantissa - p.mantissa_bits))), c(1));
        bits = k.op(KOp::Add, bits, k.op(KOp::Add, odd, c(last / 2 - 1)));
        bits = k.op(KOp::And, bits, c(~(last - 1)));
    }
    if (p.exponent_bits < exponent) {
        const std::uint64_t bias = (std::uint64_t{1} << (exponent - 1)) - 1, small_bias = (std::uint64_t{1} << (p.exponent_bits - 1)) - 1;
        const std::uint64_t field = ((std::uint64_t{1} << exponent) - 1) << mantissa;
        const KScalar e = k.op(KOp::And, bits, c(field));
        const KScalar too_large = k.op(KOp::Gt, e, c((bias + small_bias) << mantissa));
        const KScalar too_small = k.op(KOp::Le, e, c((bias - small_bias) << mantissa));
        bits = k.select(too_small, sign, k.select(too_large, k.op(KOp::Or, sign, c(field)), bits));
    }
    const KScalar is_nan = k.op(KOp::Ne, value, value);
    return k.convert(k.select(is_nan, value, k.bitcast(bits, wide)), d);
}

// ---- identities

Avals eval_same(const Op& op) { return op.in; }
/// Refs and tokens are copied too.
Avals eval_identity(const Op& op) {
    if (op.in.size() != 1) type_mismatch(op, "1 operands", std::to_string(op.in.size()));
    return op.in;
}
Avals eval_name(const Op& op) {
    ParamReads::note("name");
    return eval_identity(op);
}
Values jvp_name(Builder&, const Op&, const Values&, const Values&, const Values& dx) { return {dx[0]}; }  // the tangent has no name
KScalar lower_same(ElementBuilder& k, const Op&, const KIndex& i) { return k.load(0, i); }

PrimalsTangents jvp_barrier(Builder& b, const Op& op, const Values& x, const Values& dx) {
    Values tangents;
    for (std::size_t i = 0; i < x.size(); ++i) tangents.push_back(instantiate_tangent(b, dx[i], op.in[i]));
    Values primals = b.bind(kOptimizationBarrier, x, op.params);
    return {std::move(primals), b.bind(kOptimizationBarrier, tangents, op.params)};
}
void transpose_barrier(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    Values cts;
    for (std::size_t i = 0; i < ct.size(); ++i) cts.push_back(ct[i].is_zero() ? lax::zeros_like(b, tangent_aval(op.in[i])) : ct[i]);
    const Values out = b.bind(kOptimizationBarrier, cts, op.params);
    for (std::size_t i = 0; i < out.size(); ++i) sink.add(i, out[i]);
}
/// Its values are its operands.
JaxprPtr expand_barrier(const Op& op) {
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    return b.finish(x, "optimization_barrier");
}
BatchResult batch_barrier(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {b.bind(kOptimizationBarrier, x, op.params), dims};
}

constexpr Primitive identity(const char* name) {
    return {.name = name,
            .abstract_eval = eval_identity,
            .jvp = jvp_linear,
            .transpose = transpose_same,
            .batch = batch_unary,
            .lower = lower_same,
            .cost = data_movement_cost,
            .partition = partition_elementwise,
            .view = always_a_view};
}

/// Booleans are one byte of value 0 or 1, whatever bits they are made of.
bool bitcast_is_view(const Op& op) {
    const DType from = op.in[0]->dtype, to = op.out[0]->dtype;
    return byte_size(from) == byte_size(to) && from != DType::Bool && to != DType::Bool;
}

constexpr HiddenParam kConvertHidden[] = {{"sharding", text_form::always, text_form::none}};
constexpr TextForm kConvertText{.hidden = kConvertHidden};

}  // namespace

constinit const Primitive kConvertElementType{.name = "convert_element_type",
                                              .abstract_eval = eval_convert,
                                              .fold = fold_convert,
                                              .jvp = jvp_convert,
                                              .transpose = transpose_convert,
                                              .batch = batch_unary,
                                              .lower = lower_convert,
                                              .cost = elementwise_cost<>,
                                              .partition = partition_elementwise,
                                              .text = &kConvertText};
constinit const Primitive kBitcastConvertType{
    .name = "bitcast_convert_type",
    .abstract_eval = eval_bitcast,
    .jvp = jvp_zero,
    .transpose = NoRule{"its derivative is zero: nothing linear remains"},
    .batch =
        [](Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
            // JAX leaves the axis where it is, which fails for one in last place that the cast would consume
            if (dims[0] < op.in[0]->rank() || op.in[0]->rank() == op.out[0]->rank()) return batch_unary(b, op, x, dims, size);
            return BatchResult{{b.bind1(*op.prim, {batch_to_front(b, x[0], dims[0], size)}, op.params)}, {0}};
        },
    .lower = lower_bitcast,
    .cost = data_movement_cost,
    .partition = partition_elementwise,
    .view = bitcast_is_view};
constinit const Primitive kReducePrecision{.name = "reduce_precision",
                                           .abstract_eval = eval_reduce_precision,
                                           .jvp = jvp_linear,
                                           .transpose = transpose_same,
                                           .batch = batch_unary,
                                           .lower = lower_reduce_precision,
                                           .cost = data_movement_cost,
                                           .partition = partition_elementwise,
                                           .residual = ResidualLabel::Operand};
constinit const Primitive kName{.name = "name",
                                .abstract_eval = eval_name,
                                .jvp = jvp_name,
                                .transpose = NoRule{"Transpose rule (for reverse-mode differentiation) for 'name' not implemented"},
                                .batch = batch_unary,
                                .lower = lower_same,
                                .cost = data_movement_cost,
                                .partition = partition_elementwise,
                                .view = always_a_view,
                                .residual = ResidualLabel::Name};
constinit const Primitive kStopGradient{.name = "stop_gradient",
                                        .abstract_eval = eval_identity,
                                        .jvp = jvp_zero,
                                        .transpose = NoRule{"its derivative is zero: nothing linear remains"},
                                        .batch = batch_unary,
                                        .lower = lower_same,
                                        .cost = data_movement_cost,
                                        .partition = partition_elementwise,
                                        .view = always_a_view};
constinit const Primitive kCopy = identity("copy");
constinit const Primitive kCopyP = identity("copy_p");
constinit const Primitive kOptimizationBarrier{.name = "optimization_barrier",
                                               .abstract_eval = eval_same,
                                               .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
                                               .jvp_call = jvp_barrier,
                                               .transpose = transpose_barrier,
                                               .batch = batch_barrier,
                                               .lower = NoRule{"the executor keeps it as a border that nothing is merged across"},
                                               .expand = expand_barrier,
                                               .cost = data_movement_cost,
                                               .partition = partition_one_to_one,
                                               .flow = Flow::Barrier};

std::span<const Primitive* const> convert_primitives() {
    static constexpr const Primitive* all[] = {
        &kConvertElementType, &kBitcastConvertType, &kReducePrecision, &kName, &kStopGradient, &kCopy, &kCopyP, &kOptimizationBarrier};
    return all;
}

}  // namespace jaxscope
