// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.h"
#include "ir/kernel_builder.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/partition_rules.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {

namespace {

std::string config_text(const PadConfig& config) {
    std::string text;
    for (const PadDim& d : config) text += (text.empty() ? "" : ", ") + shape_text({d.low, d.high, d.interior});
    return text;
}

constexpr std::int64_t kMaxPadding = std::int64_t{1} << 40;  // far beyond any buffer, far from overflow in sums

Avals pad_eval(const Op& op) {
    expect_arrays(op, 2);
    if (op.in[0]->dtype != op.in[1]->dtype)
        throw Error(ErrorCode::TypeMismatch, std::string("pad operand and padding_value must be same dtype: got ") +
                                                 info(op.in[0]->dtype).name + " and " + info(op.in[1]->dtype).name + ".");
    const PadConfig& config = op.as<PadParams>().padding_config;
    const Dims& from = op.in[0]->shape;
    if (!op.in[1]->shape.empty()) type_mismatch(op, "a scalar padding value", to_text(op.in[1]));
    if (config.size() != from.size()) type_mismatch(op, "padding for each operand dimension", std::to_string(config.size()));
    Dims shape;
    for (std::size_t d = 0; d < from.size(); ++d) {
        const auto [low, high, interior] = config[d];
        if (interior < 0 || std::max({std::abs(low), std::abs(high), interior}) > kMaxPadding)
            type_mismatch(op, "interior padding of 0 and more, and none beyond 2^40", config_text(config));
        const std::int64_t dilated = from[d] == 0 ? 0 : checked_add(checked_mul(from[d] - 1, interior + 1), 1);
        shape.push_back(dilated + low + high);
        if (shape.back() < 0) type_mismatch(op, "a result with dimensions of 0 and more", shape_text(shape));
    }
    return {standard_result(op, op.in[0]->dtype, shape)};
}

/// Values inside come back by cropping and striding; what fell on the padding is the rest of the cotangent's sum.
void pad_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const AvalRef t = b.aval(ct[0]);
    PadConfig crop;
    Dims strides;
    for (const PadDim& d : op.as<PadParams>().padding_config) {
        crop.push_back({-d.low, -d.high, 0});
        strides.push_back(d.interior + 1);
    }
    const Value cropped = lax::pad(b, ct[0], make_literal(AvalRef(t->dtype, {}), 0.0), crop);
    const Dims limits = b.aval(cropped)->shape;
    // Bound as it is: JAX takes no shortcut here even where the slice is the whole.
    const Value operand = b.bind1(kSlice, {cropped}, make_params(SliceParams{Dims(limits.size(), 0), limits, strides}));
    const auto total = [&](Value v) { return b.bind1(kReduceSum, {v}, make_params(ReduceSumParams{iota_dims(t->rank())})); };
    if (x[0].is_linear()) sink.add(0, operand);
    if (x[1].is_linear()) {
        const Value all = total(ct[0]);
        sink.add(1, lax::sub(b, all, total(operand)));
    }
}

BatchResult pad_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const bool mapped = dims[0] != kNotMapped;
    const Value operand = mapped ? x[0] : batch_to_front(b, x[0], kNotMapped, size);
    const int at = mapped ? dims[0] : 0;
    PadConfig config = op.as<PadParams>().padding_config;
    config.insert(config.begin() + at, PadDim{});
    if (dims[1] == kNotMapped) return {{lax::pad(b, operand, x[1], config)}, {at}};
    // A padding value for each batch element: pad with zeros, and choose by a mask padded in the same way.
    const AvalRef aval = b.aval(operand);
    const Value padded = lax::pad(b, operand, make_literal(AvalRef(aval->dtype, {}), 0.0), config);
    const Value ones = lax::full(b, AvalRef(DType::Bool, aval->shape), make_literal(AvalRef(DType::Bool, {}), std::int64_t{1}));
    const Value mask = lax::pad(b, ones, make_literal(AvalRef(DType::Bool, {}), std::int64_t{0}), config);
    const Value values = lax::broadcast_in_dim(b, x[1], b.aval(padded)->shape, {at});
    return {{lax::select_n(b, mask, {values, padded})}, {at}};
}

KScalar pad_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const PadConfig& config = op.as<PadParams>().padding_config;
    const KScalar padding = k.load(1, KIndex{});
    if (op.in[0]->size() == 0) return padding;
    KIndex from;
    KScalar inside = k.constant_int(DType::Bool, 1);
    const auto require = [&](KScalar condition) { inside = k.op(KOp::And, inside, condition); };
    for (std::size_t d = 0; d < config.size(); ++d) {
        const auto [low, high, interior] = config[d];
        KScalar at = low == 0 ? i.at[d] : k.op(KOp::Sub, i.at[d], k.index(low));
        if (low > 0) require(k.op(KOp::Ge, at, k.index(0)));
        if (interior > 0) {
            const KScalar step = k.index(interior + 1);
            require(k.op(KOp::Eq, k.op(KOp::Rem, at, step), k.index(0)));
            at = k.op(KOp::Div, at, step);
        }
        if (high > 0) require(k.op(KOp::Lt, at, k.index(op.in[0]->shape[d])));
        from.at.push_back(at);
    }
    return k.masked_load(0, from, inside, padding);
}

}  // namespace

constinit const Primitive kPad{
    .name = "pad",
    .abstract_eval = pad_eval,
    .jvp = jvp_linear,
    .transpose = pad_transpose,
    .batch = pad_batch,
    .lower = pad_lower,
    .cost = data_movement_cost,
    .partition = partition_pad,
};

}  // namespace jaxscope
