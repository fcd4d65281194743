// SPDX-License-Identifier: Apache-2.0
#include "lax/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/registry.h"
#include "ir/types/manual_axes.h"
#include "ir/types/type_mesh.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/vary.h"

namespace jaxscope::lax {

namespace {

const ParamsRef& no_accuracy() {
    static const ParamsRef p = make_params(AccuracyParams{});
    return p;
}
Value accurate(Builder& b, const Primitive& p, Value x) { return b.bind1(p, {x}, no_accuracy()); }

}  // namespace

Value constant(Builder& b, Value like, double value) {
    const AvalRef a = b.aval(like);
    // beside a weakly typed scalar the constant is a Python number, which can't have one of the short dtypes
    const bool weak = a->weak_type && a->shape.empty() && (!is_float(a->dtype) || byte_size(a->dtype) >= 4);
    const LiteralRef rounded = make_literal(AvalRef(a->dtype, {}, weak), value);
    if (!weak || a->dtype != DType::F32 || rounded->real == value || std::isnan(value)) return rounded;
    Literal exact = *rounded;
    exact.text = Sym(python_float(value));  // JAX shows all its digits
    return LiteralRef(exact);
}

Value scalar_like(Builder& b, Value like, double value) {
    const AvalRef a = b.aval(like);
    return on_mesh(b, make_literal(AvalRef(a->dtype, {}, a->weak_type), value));
}

Value neg(Builder& b, Value x) { return b.bind1(kNeg, {x}); }
Value sign(Builder& b, Value x) { return b.bind1(kSign, {x}); }
Value floor(Builder& b, Value x) { return b.bind1(kFloor, {x}); }
Value abs(Builder& b, Value x) { return b.bind1(kAbs, {x}); }
Value exp(Builder& b, Value x) { return accurate(b, kExp, x); }
Value log(Builder& b, Value x) { return accurate(b, kLog, x); }
Value sin(Builder& b, Value x, Attr accuracy) { return b.bind1(kSin, {x}, make_params(AccuracyParams{std::move(accuracy)})); }
Value cos(Builder& b, Value x, Attr accuracy) { return b.bind1(kCos, {x}, make_params(AccuracyParams{std::move(accuracy)})); }
Value sinh(Builder& b, Value x) { return b.bind1(kSinh, {x}); }
Value cosh(Builder& b, Value x) { return b.bind1(kCosh, {x}); }
Value tanh(Builder& b, Value x) { return accurate(b, kTanh, x); }
Value logistic(Builder& b, Value x) { return accurate(b, kLogistic, x); }
Value sqrt(Builder& b, Value x) { return accurate(b, kSqrt, x); }
Value rsqrt(Builder& b, Value x) { return accurate(b, kRsqrt, x); }
Value square(Builder& b, Value x) { return b.bind1(kSquare, {x}); }
Value integer_pow(Builder& b, Value x, std::int64_t y) { return b.bind1(kIntegerPow, {x}, make_params(IntegerPowParams{y})); }
Value real(Builder& b, Value x) { return b.bind1(kReal, {x}); }
Value imag(Builder& b, Value x) { return b.bind1(kImag, {x}); }
Value conj(Builder& b, Value x) { return b.bind1(kConj, {x}, make_params(ConjParams{b.aval(x)->dtype})); }
Value complex(Builder& b, Value re, Value im) { return b.bind1(kComplex, {re, im}); }
Value logical_not(Builder& b, Value x) { return b.bind1(kNot, {x}); }
Value add(Builder& b, Value x, Value y) { return b.bind1(kAdd, {x, y}); }
Value sub(Builder& b, Value x, Value y) { return b.bind1(kSub, {x, y}); }
Value mul(Builder& b, Value x, Value y) {
    static const ParamsRef params = make_params(OutDtypeParams{});
    return b.bind1(kMul, {x, y}, params);
}
Value div(Builder& b, Value x, Value y) { return b.bind1(kDiv, {x, y}); }
Value pow(Builder& b, Value x, Value y) { return b.bind1(kPow, {x, y}); }
Value max(Builder& b, Value x, Value y) { return b.bind1(kMax, {x, y}); }
Value min(Builder& b, Value x, Value y) { return b.bind1(kMin, {x, y}); }
Value add_any(Builder& b, Value x, Value y) { return b.bind1(kAddAny, {x, y}); }
Value eq(Builder& b, Value x, Value y) { return b.bind1(kEq, {x, y}); }
Value ne(Builder& b, Value x, Value y) { return b.bind1(kNe, {x, y}); }
Value lt(Builder& b, Value x, Value y) { return b.bind1(kLt, {x, y}); }
Value le(Builder& b, Value x, Value y) { return b.bind1(kLe, {x, y}); }
Value gt(Builder& b, Value x, Value y) { return b.bind1(kGt, {x, y}); }
Value ge(Builder& b, Value x, Value y) { return b.bind1(kGe, {x, y}); }

Value select_n(Builder& b, Value which, const Values& cases) {
    Values in{which};
    in.insert(in.end(), cases.begin(), cases.end());
    return b.bind1(kSelectN, in);
}
Value select(Builder& b, Value pred, Value on_true, Value on_false) { return select_n(b, pred, {on_false, on_true}); }

Value convert_element_type(Builder& b, Value x, DType dtype, bool weak) {
    const AvalRef a = b.aval(x);
    if (a->dtype == dtype && a->weak_type == weak) return x;
    return b.bind1(kConvertElementType, {x}, make_params(ConvertParams{dtype, weak, {}}));
}
Value reduce_precision(Builder& b, Value x, int exponent_bits, int mantissa_bits) {
    return b.bind1(kReducePrecision, {x}, make_params(ReducePrecisionParams{exponent_bits, mantissa_bits}));
}

Value vary(Builder& b, Value x, const std::vector<Sym>& axes) {
    if (axes.empty()) return x;
    return b.bind1(*emitted_calls().vary, {x}, Params::make({{"axes", Attr::tuple(Attrs(axes.begin(), axes.end()))}}));
}
Value on_mesh(Builder& b, Value number) {
    const AvalRef a = b.aval(number);
    const Attr sharding = explicit_sharding(*a);
    if (sharding.is_none() || !a->is_array()) return number;
    return b.emit(*emitted_calls().reshard, {number}, Params::make({{"concrete_mesh", Attr()}, {"dst_sharding", sharding}}), {a}).front();
}
Value full(Builder& b, AvalRef aval, LiteralRef value) {
    const Value same = !aval->shape.empty() ? broadcast_in_dim(b, value, aval->shape, {}, explicit_sharding(*aval))
                       : types_have_mesh()  ? on_mesh(b, value)
                                            : b.folded(value);
    return varies(*aval) ? vary(b, same, varying_axes(*aval)) : same;
}
Value full(Builder& b, AvalRef aval, double value) { return full(b, aval, make_literal(AvalRef(aval->dtype, {}, aval->weak_type), value)); }
// JAX makes zeros of an aval without weak type; its _ones and _zeros of a value (full_like) keep it.
Value zeros_like(Builder& b, AvalRef aval) { return full(b, strong(aval), 0.0); }
Value ones_like(Builder& b, AvalRef aval) { return full(b, aval, 1.0); }

Value broadcast_in_dim(Builder& b, Value x, Dims shape, Dims broadcast_dimensions, Attr sharding) {
    if (b.aval(x)->shape == shape && !shape.empty()) return x;
    if (shape.empty()) return x;
    return b.bind1(kBroadcastInDim, {x},
                   make_params(BroadcastInDimParams{std::move(shape), std::move(broadcast_dimensions), std::move(sharding)}));
}
Value maybe_broadcast(Builder& b, Value x, const Dims& shape) {
    const Dims from = b.aval(x)->shape;
    if (from == shape) return x;
    if (from.empty()) return broadcast_in_dim(b, x, shape, {});
    Dims equal, squeezed;
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] == shape[i]) {
            equal.push_back(static_cast<std::int64_t>(i));
            squeezed.push_back(from[i]);
        }
    return broadcast_in_dim(b, reshape(b, x, squeezed), shape, equal);
}
Value reshape(Builder& b, Value x, Dims sizes, std::optional<Dims> dimensions, Attr sharding) {
    const AvalRef a = b.aval(x);
    if (dimensions && *dimensions == iota_dims(a->rank())) dimensions.reset();
    // JAX emits a reshape of a scalar to a scalar
    if (!sizes.empty() && a->shape == sizes && !dimensions) return x;
    return b.bind1(kReshape, {x}, make_params(ReshapeParams{std::move(sizes), std::move(dimensions), std::move(sharding)}));
}
Value squeeze(Builder& b, Value x, Dims dimensions) {
    if (dimensions.empty()) return x;
    std::sort(dimensions.begin(), dimensions.end());
    return b.bind1(kSqueeze, {x}, make_params(SqueezeParams{std::move(dimensions)}));
}
Value expand_dims(Builder& b, Value x, Dims dimensions) {
    if (dimensions.empty()) return x;
    const Dims from = b.aval(x)->shape;
    const auto rank = static_cast<std::int64_t>(from.size() + dimensions.size());
    std::sort(dimensions.begin(), dimensions.end());
    const Dims kept = remaining(rank, dimensions);
    Dims shape(static_cast<std::size_t>(rank), 1);
    for (std::size_t i = 0; i < kept.size(); ++i) shape[static_cast<std::size_t>(kept[i])] = from[i];
    return broadcast_in_dim(b, x, std::move(shape), kept);
}
Value transpose(Builder& b, Value x, Dims permutation) {
    if (permutation == iota_dims(std::ssize(permutation))) return x;
    return b.bind1(kTranspose, {x}, make_params(TransposeParams{std::move(permutation)}));
}
Value pad(Builder& b, Value x, Value padding_value, PadConfig config) {
    return b.bind1(kPad, {x, padding_value}, make_params(PadParams{std::move(config)}));
}
Value slice(Builder& b, Value x, Dims start, Dims limit, std::optional<Dims> strides) {
    const Dims& shape = b.aval(x)->shape;
    const auto all = [](const Dims& d, std::int64_t v) { return std::ranges::all_of(d, [v](std::int64_t i) { return i == v; }); };
    if (all(start, 0) && limit == shape && (!strides || all(*strides, 1))) return x;
    if (strides && all(*strides, 1)) strides.reset();
    return b.bind1(kSlice, {x}, make_params(SliceParams{std::move(start), std::move(limit), std::move(strides)}));
}
Value concatenate(Builder& b, const Values& parts, std::int64_t dimension) {
    if (parts.size() == 1) return parts[0];
    return b.bind1(kConcatenate, parts, make_params(ConcatenateParams{dimension}));
}

namespace {
/// What JAX reads outside where nobody says what.
Attr value_outside(DType type) {
    if (is_inexact(type)) return Attr(std::numeric_limits<double>::quiet_NaN());
    if (type == DType::Bool) return Attr(true);
    if (!is_integer(type)) return {};
    const std::int64_t bits = 8 * byte_size(type);
    if (is_signed_int(type)) return Attr(-1 - static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits)));
    return bits < 64 ? Attr((std::int64_t{1} << bits) - 1) : Attr();
}
}  // namespace

Value gather(Builder& b, Value operand, Value indices, GatherParams params) {
    if (params.mode != OutOfBounds::FillOrDrop)
        params.fill_value = Attr();
    else if (params.fill_value.is_none())
        params.fill_value = value_outside(b.aval(operand)->dtype);
    return b.bind1(kGather, {operand, indices}, make_params(params));
}

Value reduce_sum(Builder& b, Value x, Dims axes, Attr sharding) {
    return b.bind1(kReduceSum, {x}, make_params(ReduceSumParams{std::move(axes), std::move(sharding)}));
}
Value unbroadcast(Builder& b, AvalRef aval, Value x) {
    const Dims from = b.aval(x)->shape;
    if (from == aval->shape) return x;
    if (aval->shape.empty()) return reduce_sum(b, x, iota_dims(std::ssize(from)));
    Dims stretched;
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] != aval->shape[i]) stretched.push_back(static_cast<std::int64_t>(i));
    return reshape(b, reduce_sum(b, x, stretched), aval->shape, {}, explicit_sharding(*aval));
}

}  // namespace jaxscope::lax
