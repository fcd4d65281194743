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

/// Windows of an operand that is padded and dilated.
struct Windows {
    const Dims &sizes, &strides, &dilations;
};
/// Joins two runs of the window, the left one first; each is a list of arrays that go together.
using Join = std::function<Values(const Values& left, const Values& right)>;

/// Of each array `shape`'s positions from `start` on, `strides` apart.
Values cut(JaxprBuilder& b, const Values& x, const Dims& start, const Dims& shape, const Dims& strides) {
    Dims limit = start;
    for (std::size_t d = 0; d < shape.size(); ++d) limit[d] += shape[d] == 0 ? 0 : (shape[d] - 1) * strides[d] + 1;
    Values result;
    for (const Value v : x) result.push_back(lax::slice(b, v, start, limit, strides));
    return result;
}

/// piece(i) for each i of [first, behind), joined in halves.
template <class Piece>
Values joined(std::int64_t first, std::int64_t behind, const Join& join, const Piece& piece) {
    if (behind - first == 1) return piece(first);
    const std::int64_t middle = (first + behind) / 2;
    const Values left = joined(first, middle, join, piece);
    return join(left, joined(middle, behind, join, piece));
}

constexpr std::int64_t kFewTaps = 16;

/// Windows of few positions: all of them in one expression, in row-major order.
Values all_taps(JaxprBuilder& b, const Values& x, const Windows& w, const Dims& result, const Join& join) {
    return joined(0, element_count(w.sizes), join, [&](std::int64_t tap) {
        Dims start(result.size(), 0);
        for (std::size_t d = result.size(); d-- > 0; tap /= w.sizes[d]) start[d] = tap % w.sizes[d] * w.dilations[d];
        return cut(b, x, start, result, w.strides);
    });
}

/// Joins each window of dimension `d`, of which there are `count`: of runs of 1, 8, 64 positions as many as make up the window. Joining is
/// associative (sums, extrema, choices that prefer the left).
Values slide(JaxprBuilder& b, Values x, const Windows& w, std::size_t d, std::int64_t count, const Join& join) {
    constexpr std::int64_t kRuns = 8;
    const auto pieces = [&](std::int64_t from, std::int64_t apart, std::int64_t number, std::int64_t length, std::int64_t stride) {
        return joined(0, number, join, [&](std::int64_t i) {
            Dims start(w.sizes.size(), 0), shape = b.aval(x[0])->shape, strides(w.sizes.size(), 1);
            start[d] = from + i * apart, shape[d] = length, strides[d] = stride;
            return cut(b, x, start, shape, strides);
        });
    };
    Values result;
    std::int64_t covered = 0, length = b.aval(x[0])->shape[d];
    for (std::int64_t run = 1; run <= w.sizes[d]; run *= kRuns) {
        const std::int64_t apart = run * w.dilations[d];
        // All of it where few are left: the next runs are read once or twice only.
        const std::int64_t left = (w.sizes[d] - covered) / run, here = left < 2 * kRuns ? left : left % kRuns;
        if (here > 0) {
            const Values part = pieces(covered * w.dilations[d], apart, here, count, w.strides[d]);
            result = result.empty() ? part : join(result, part);
            covered += here * run;
        }
        if (covered == w.sizes[d]) break;
        length -= (kRuns - 1) * apart;
        x = pieces(0, apart, kRuns, length, 1);
    }
    return result;
}

/// Joins all windows: among equals the first in row-major order comes out.
Values slide_all(JaxprBuilder& b, Values x, const Windows& w, const Join& join) {
    Dims result = b.aval(x[0])->shape;
    for (std::size_t d = 0; d < result.size(); ++d) {
        const std::int64_t starts = result[d] - (w.sizes[d] - 1) * w.dilations[d];  // at stride 1
        result[d] = starts <= 0 ? 0 : (starts - 1) / w.strides[d] + 1;
    }
    if (element_count(result) == 0) return cut(b, x, Dims(result.size(), 0), result, w.strides);
    if (element_count(w.sizes) <= kFewTaps) return all_taps(b, x, w, result, join);
    for (std::size_t d = w.sizes.size(); d-- > 0;)
        if (w.sizes[d] > 1 || w.strides[d] > 1) x = slide(b, std::move(x), w, d, result[d], join);
    return x;
}

Value spread(JaxprBuilder& b, Value x, LiteralRef value, const PadPairs& padding, const Dims& dilation) {
    PadConfig config;
    bool changes = false;
    for (std::size_t d = 0; d < padding.size(); ++d) {
        config.push_back({padding[d].low, padding[d].high, dilation[d] - 1});
        changes = changes || config.back() != decltype(config)::value_type{};
    }
    return changes ? lax::pad(b, x, value, config) : x;
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
    const Values padded{spread(b, x, identity, p.padding, p.base_dilation)};
    return b.finish(slide_all(b, padded, {p.window_dimensions, p.window_strides, p.window_dilation}, join), op.prim->name.c_str());
}

JaxprPtr select_and_gather_expand(const Op& op) {
    const auto& p = op.as<SelectAndGatherParams>();
    const bool largest = selects_largest(p.select_prim);
    const DType dtype = op.in[1]->dtype;
    const LiteralRef identity = extremum_identity(dtype, largest), zero = make_literal(AvalRef(dtype, {}), 0.0);
    JaxprBuilder b;
    const Value tangents = b.add_input(op.in[0]), operand = b.add_input(op.in[1]);
    const Values padded{spread(b, operand, identity, p.padding, p.base_dilation), spread(b, tangents, zero, p.padding, p.base_dilation)};
    const Values chosen = slide_all(b, padded, {p.window_dimensions, p.window_strides, p.window_dilation}, choose(b, largest));
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
    const Values chosen = slide_all(b, {padded, positions}, {p.window_dimensions, p.window_strides, ones}, choose(b, largest));

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
