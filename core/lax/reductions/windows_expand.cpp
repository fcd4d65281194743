// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <limits>

#include "ir/builder.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/reductions/windows.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

/// A step along one dimension: `size` positions, `dilation` apart, from every `stride`-th start.
struct Slide {
    std::int64_t dimension, size, stride, dilation;
};
/// Joins two runs of the window, the left one first; each is a list of arrays that go together.
using Join = std::function<Values(const Values& left, const Values& right)>;

Values cut(JaxprBuilder& b, const Values& x, std::int64_t dimension, std::int64_t start, std::int64_t count, std::int64_t stride) {
    Values result;
    for (const Value v : x) {
        const Dims shape = b.aval(v)->shape;
        const auto d = static_cast<std::size_t>(dimension);
        Dims from(shape.size(), 0), limit = shape, strides(shape.size(), 1);
        from[d] = count == 0 ? 0 : start;
        limit[d] = count == 0 ? 0 : start + (count - 1) * stride + 1;
        strides[d] = stride;
        result.push_back(lax::slice(b, v, from, limit, strides));
    }
    return result;
}

/// Joins each window of one dimension. Runs double in length, so that a window of n positions takes about log2(n) joins: joining is
/// associative (sums, extrema, choices that prefer the left).
Values slide(JaxprBuilder& b, Values x, const Slide& s, const Join& join) {
    const auto d = static_cast<std::size_t>(s.dimension);
    std::int64_t length = b.aval(x[0])->shape[d];
    const std::int64_t starts = length - (s.size - 1) * s.dilation;  // at stride 1
    if (starts <= 0) return cut(b, x, s.dimension, 0, 0, 1);
    Values result;
    std::int64_t covered = 0;
    for (std::int64_t run = 1; run <= s.size; run *= 2) {
        if (s.size & run) {
            const Values piece = cut(b, x, s.dimension, covered * s.dilation, starts, 1);
            result = result.empty() ? piece : join(result, piece);
            covered += run;
        }
        if (run * 2 > s.size) break;
        length -= run * s.dilation;
        const Values left = cut(b, x, s.dimension, 0, length, 1);
        x = join(left, cut(b, x, s.dimension, run * s.dilation, length, 1));
    }
    return s.stride == 1 ? result : cut(b, result, s.dimension, 0, (starts - 1) / s.stride + 1, s.stride);
}

/// All dimensions, the last one first: among equals the first in row-major order then comes out.
Values slide_all(JaxprBuilder& b, Values x, const Dims& sizes, const Dims& strides, const Dims& dilations, const Join& join) {
    for (std::size_t d = sizes.size(); d-- > 0;)
        x = slide(b, std::move(x), {static_cast<std::int64_t>(d), sizes[d], strides[d], dilations[d]}, join);
    return x;
}

Value spread(JaxprBuilder& b, Value x, LiteralRef value, const PadPairs& padding, const Dims& dilation) {
    PadConfig config;
    for (std::size_t d = 0; d < padding.size(); ++d) config.push_back({padding[d].low, padding[d].high, dilation[d] - 1});
    return lax::pad(b, x, value, config);
}

/// Keeps of (key, payload) pairs the one whose key wins, the left one among equals.
Join choose(JaxprBuilder& b, bool largest) {
    return [&b, largest](const Values& left, const Values& right) -> Values {
        const Value keep = largest ? lax::ge(b, left[0], right[0]) : lax::le(b, left[0], right[0]);
        return {lax::select(b, keep, left[0], right[0]), lax::select(b, keep, left[1], right[1])};
    };
}

}  // namespace

LiteralRef extremum_identity(DType dtype, bool largest) {
    const AvalRef scalar(dtype, {});
    if (is_inexact(dtype))
        return make_literal(scalar, largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
    if (dtype == DType::Bool) return make_literal(scalar, std::int64_t{largest ? 0 : 1});
    const int bits = dtype == DType::S2 || dtype == DType::U2 ? 2 : dtype == DType::S4 || dtype == DType::U4 ? 4 : 8 * info(dtype).bytes;
    if (is_signed_int(dtype)) {
        const std::int64_t lowest = std::numeric_limits<std::int64_t>::min() >> (64 - bits);
        return make_literal(scalar, largest ? lowest : -(lowest + 1));
    }
    const auto highest = static_cast<std::int64_t>(std::numeric_limits<std::uint64_t>::max() >> (64 - bits));
    return make_literal(scalar, largest ? std::int64_t{0} : highest);
}

bool is_window_op(const Primitive& prim) {
    return prim.expand.fn == reduce_window_expand || prim.expand.fn == select_and_gather_expand ||
           prim.expand.fn == select_and_scatter_expand;
}

JaxprPtr reduce_window_expand(const Op& op) {
    const auto& p = op.as<ReduceWindowParams>();
    const Primitive& combine = op.prim == &kReduceWindowSum ? kAdd : op.prim == &kReduceWindowMax ? kMax : kMin;
    const DType dtype = op.in[0]->dtype;
    const LiteralRef identity =
        op.prim == &kReduceWindowSum ? make_literal(AvalRef(dtype, {}), 0.0) : extremum_identity(dtype, op.prim == &kReduceWindowMax);
    JaxprBuilder b;
    const Value x = b.add_input(op.in[0]);
    const Join join = [&](const Values& l, const Values& r) { return b.bind(combine, {l[0], r[0]}); };
    return b.finish(
        slide_all(b, {spread(b, x, identity, p.padding, p.base_dilation)}, p.window_dimensions, p.window_strides, p.window_dilation, join),
        op.prim->name.c_str());
}

JaxprPtr select_and_gather_expand(const Op& op) {
    const auto& p = op.as<SelectAndGatherParams>();
    const bool largest = selects_largest(p.select_prim);
    const DType dtype = op.in[1]->dtype;
    const LiteralRef identity = extremum_identity(dtype, largest), zero = make_literal(AvalRef(dtype, {}), 0.0);
    JaxprBuilder b;
    const Value tangents = b.add_input(op.in[0]), operand = b.add_input(op.in[1]);
    const Values chosen =
        slide_all(b, {spread(b, operand, identity, p.padding, p.base_dilation), spread(b, tangents, zero, p.padding, p.base_dilation)},
                  p.window_dimensions, p.window_strides, p.window_dilation, choose(b, largest));
    // The reduction starts from the identity with tangent 0, which also wins over elements that equal it.
    const AvalRef shape = b.aval(chosen[0]);
    const Value start = lax::full(b, shape, identity);
    const Value none = largest ? lax::ge(b, start, chosen[0]) : lax::le(b, start, chosen[0]);
    return b.finish({lax::select(b, none, lax::zeros_like(b, shape), chosen[1])}, op.prim->name.c_str());
}

JaxprPtr select_and_scatter_expand(const Op& op) {
    const auto& p = op.as<SelectAndScatterParams>();
    const bool largest = selects_largest(p.select_prim);
    const Dims ones(p.window_dimensions.size(), 1);
    JaxprBuilder b;
    const Value source = b.add_input(op.in[0]), operand = b.add_input(op.in[1]);
    const DType dtype = op.in[0]->dtype;
    const Value padded = spread(b, operand, extremum_identity(dtype, largest), p.padding, ones);
    const Dims shape = b.aval(padded)->shape;
    const std::int64_t count = element_count(shape);
    const DType index = count > std::numeric_limits<std::int32_t>::max() ? DType::S64 : DType::S32;
    const Value positions = lax::reshape(b, b.bind1(kIota, {}, make_params(IotaParams{.dtype = index, .shape = {count}})), shape);
    const Values chosen = slide_all(b, {padded, positions}, p.window_dimensions, p.window_strides, ones, choose(b, largest));

    const std::int64_t n = op.in[0]->size();
    const ScatterParams flat{.dimension_numbers = {.update_window_dims = {},
                                                   .inserted_window_dims = {0},
                                                   .scatter_dims_to_operand_dims = {0},
                                                   .operand_batching_dims = {},
                                                   .scatter_indices_batching_dims = {}}};
    const Value zeros = lax::zeros_like(b, AvalRef(dtype, {count}));
    const bool boolean = dtype == DType::Bool;  // a sum of booleans is their disjunction to XLA
    const Value spread_out =
        lax::scatter(b, boolean ? kScatterMax : kScatterAdd, zeros, lax::reshape(b, chosen[1], {n, 1}), lax::reshape(b, source, {n}), flat);
    PadConfig crop;
    for (const auto& [low, high] : p.padding) crop.push_back({-low, -high, 0});
    const LiteralRef nothing = boolean ? extremum_identity(dtype, true) : make_literal(AvalRef(dtype, {}), 0.0);
    const Value result = lax::pad(b, lax::reshape(b, spread_out, shape), nothing, crop);
    return b.finish({result}, op.prim->name.c_str());
}

}  // namespace jaxscope
