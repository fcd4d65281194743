// SPDX-License-Identifier: Apache-2.0
#include "lax/shapes/partition_rules.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {

namespace {

constexpr int kWhole = PartitionRule::kWhole;

/// Dimensions in which the operand and the result differ.
Dims changed_dims(const Op& op) {
    Dims out;
    for (std::int64_t d = 0; d < op.in[0]->rank(); ++d)
        if (op.in[0]->shape[static_cast<std::size_t>(d)] != op.out[0]->shape[static_cast<std::size_t>(d)]) out.push_back(d);
    return out;
}

}  // namespace

PartitionRule partition_broadcast_in_dim(const Op& op) {
    const auto& p = op.as<BroadcastInDimParams>();
    PartitionRule rule;
    rule.out.push_back(new_factors(rule, op.out[0]->shape.size()));
    std::vector<int> in;
    for (std::size_t i = 0; i < p.broadcast_dimensions.size(); ++i) {
        const auto d = static_cast<std::size_t>(p.broadcast_dimensions[i]);
        in.push_back(op.in[0]->shape[i] == op.out[0]->shape[d] ? rule.out[0][d] : kWhole);
    }
    rule.in.push_back(in);
    for (std::size_t i = 1; i < op.in.size(); ++i) rule.in.push_back(whole_dims(op, i));
    rule.params = [](const Op& o, const std::vector<Dims>& out) { return with_result_shape(o, "shape", out); };
    return rule;
}

PartitionRule partition_reshape(const Op& op) {
    const auto& p = op.as<ReshapeParams>();
    const Dims& to = p.new_sizes;
    Dims order(op.in[0]->shape.size());  // in which its dimensions are read
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (p.dimensions) order = *p.dimensions;
    const Dims from = take(op.in[0]->shape, order);
    PartitionRule rule;
    rule.in.emplace_back(from.size(), kWhole);
    rule.out.emplace_back(to.size(), kWhole);
    rule.params = [](const Op& o, const std::vector<Dims>& out) { return with_result_shape(o, "new_sizes", out); };
    if (element_count(from) == 0) return rule;
    // Groups of dimensions with as many elements in both; unit dimensions stand for themselves.
    std::size_t i = 0, k = 0;
    while (i < from.size() && k < to.size()) {
        if (from[i] == 1 && to[k] != 1) {
            ++i;
            continue;
        }
        if (to[k] == 1 && from[i] != 1) {
            ++k;
            continue;
        }
        const std::size_t first = i, first_out = k;
        std::int64_t left = from[i++], right = to[k++];
        while (left != right) left < right ? left *= from[i++] : right *= to[k++];
        const bool alone = i == first + 1 && k == first_out + 1;
        const std::int64_t outer = std::min(from[first], to[first_out]), other = std::max(from[first], to[first_out]);
        if (!alone && other % outer != 0) continue;
        rule.in[0][static_cast<std::size_t>(order[first])] = rule.out[0][first_out] = rule.new_factor(alone ? 0 : outer);
    }
    return rule;
}

PartitionRule partition_squeeze(const Op& op) { return partition_reduction(op, op.as<SqueezeParams>().dimensions, Combine::Whole); }

PartitionRule partition_transpose(const Op& op) {
    PartitionRule rule;
    rule.in.push_back(new_factors(rule, op.in[0]->shape.size()));
    std::vector<int> out;
    for (const std::int64_t d : op.as<TransposeParams>().permutation) out.push_back(rule.in[0][static_cast<std::size_t>(d)]);
    rule.out.push_back(out);
    return rule;
}

PartitionRule partition_rev(const Op& op) { return partition_all_but(op, op.as<RevParams>().dimensions); }

PartitionRule partition_iota(const Op& op) {
    const auto& p = op.as<IotaParams>();
    PartitionRule rule;
    rule.out.push_back(new_factors(rule, p.shape.size()));
    rule.out[0][static_cast<std::size_t>(p.dimension)] = kWhole;
    rule.params = [](const Op& o, const std::vector<Dims>& out) { return with_result_shape(o, "shape", out); };
    return rule;
}

PartitionRule partition_pad(const Op& op) {
    const auto& p = op.as<PadParams>();
    Dims padded;
    for (std::size_t d = 0; d < p.padding_config.size(); ++d)
        if (!(p.padding_config[d] == PadDim{})) padded.push_back(static_cast<std::int64_t>(d));
    return partition_all_but(op, padded);
}

PartitionRule partition_concatenate(const Op& op) { return partition_all_but(op, {op.as<ConcatenateParams>().dimension}); }

PartitionRule partition_slice(const Op& op) {
    const auto& p = op.as<SliceParams>();
    Dims cut = changed_dims(op);
    for (std::size_t d = 0; d < p.start_indices.size(); ++d)
        if (p.strides && (*p.strides)[d] != 1 && !contains(cut, static_cast<std::int64_t>(d))) cut.push_back(static_cast<std::int64_t>(d));
    PartitionRule rule = partition_all_but(op, cut);
    rule.params = [](const Op& o, const std::vector<Dims>& out) {
        SliceParams local = o.as<SliceParams>();
        for (std::size_t d = 0; d < out[0].size(); ++d)
            if (o.in[0]->shape[d] == o.out[0]->shape[d]) local.limit_indices[d] = out[0][d];
        return make_params(local);
    };
    return rule;
}

PartitionRule partition_dynamic_slice(const Op& op) {
    PartitionRule rule = partition_all_but(op, changed_dims(op));
    rule.params = [](const Op& o, const std::vector<Dims>& out) { return with_result_shape(o, "slice_sizes", out); };
    return rule;
}

PartitionRule partition_dynamic_update_slice(const Op& op) {
    Dims moved;
    for (std::size_t d = 0; d < op.in[0]->shape.size(); ++d)
        if (op.in[0]->shape[d] != op.in[1]->shape[d]) moved.push_back(static_cast<std::int64_t>(d));
    return partition_all_but(op, moved);
}

namespace {

bool can_be_summed(AvalRef a) { return is_inexact(a->dtype) || (is_integer(a->dtype) && byte_size(a->dtype) >= 4); }

/// Can a device tell its own rows of a table by indices of this type?
bool tells_rows(DType index) { return is_signed_int(index) && byte_size(index) >= 4; }
Value constant_like(Builder& b, AvalRef type, std::int64_t v) { return lax::full(b, type, make_literal(AvalRef(type->dtype, {}), v)); }
Value nearest_inside(Builder& b, Value indices, std::int64_t size) {
    const AvalRef type = b.aval(indices);
    return lax::max(b, constant_like(b, type, 0), lax::min(b, indices, constant_like(b, type, size - 1)));
}
/// Numbers of rows as the device counts them that has the part with this number, of `rows` rows.
Value own_numbers(Builder& b, Value indices, Value part, std::int64_t rows) {
    const AvalRef type = b.aval(indices);
    const Value number = lax::convert_element_type(b, part, type->dtype);
    const Value first = lax::mul(b, number, make_literal(AvalRef(type->dtype, {}), rows));
    return lax::sub(b, indices, lax::broadcast_in_dim(b, first, type->shape, {}));
}
/// The dimension of a table whose rows are picked by number, one at a time; none where a device couldn't tell its own rows.
std::optional<std::size_t> picked_rows(const Op& op, const GatherParams& p) {
    if (!can_be_summed(op.in[0]) || !tells_rows(op.in[1]->dtype)) return std::nullopt;
    for (const std::int64_t d : p.dimension_numbers.start_index_map)
        if (const auto at = static_cast<std::size_t>(d); contains(p.dimension_numbers.collapsed_slice_dims, d) && op.in[0]->shape[at] > 1)
            return at;
    return std::nullopt;
}
/// Each device picks the rows that it has; zeros stand for the others.
Value gather_own_rows(Builder& b, const PartitionRule::Part& part) {
    GatherParams p = part.params->as<GatherParams>();
    const std::size_t d = *picked_rows(part.op, p);
    const auto& map = p.dimension_numbers.start_index_map;
    const std::int64_t column = std::find(map.begin(), map.end(), static_cast<std::int64_t>(d)) - map.begin();
    const std::int64_t rows = b.aval(part.in[0])->shape[d], all = part.op.in[0]->shape[d];
    const Value indices = part.in[1];
    const AvalRef type = b.aval(indices);
    const std::size_t last = type->shape.size() - 1;
    const auto columns = [&](std::int64_t begin, std::int64_t end) {
        Dims from(last + 1, 0), to = type->shape;
        from[last] = begin, to[last] = end;
        return lax::slice(b, indices, from, to);
    };
    const Value asked = columns(column, column + 1);
    const Value inside = nearest_inside(b, asked, all);
    const Value own = own_numbers(b, inside, *part.of_sum, rows);
    const Value here = nearest_inside(b, own, rows);
    // What lies outside of the table is filled by one device: by that which has the nearest row.
    const Value local =
        p.mode == OutOfBounds::FillOrDrop ? lax::select(b, lax::eq(b, asked, inside), here, constant_like(b, b.aval(asked), -1)) : here;
    const auto count = std::ssize(map);
    Values parts;
    if (column > 0) parts.push_back(columns(0, column));
    parts.push_back(local);
    if (column + 1 < count) parts.push_back(columns(column + 1, count));
    p.indices_are_sorted = p.unique_indices = false;
    const Value all_columns = parts.size() == 1 ? local : lax::concatenate(b, parts, static_cast<std::int64_t>(last));
    const Value picked = lax::gather(b, part.in[0], all_columns, p);
    Dims batch;
    for (std::int64_t k = 0; k < part.out->rank(); ++k)
        if (!contains(p.dimension_numbers.offset_dims, k)) batch.push_back(k);
    const Value has_it = lax::squeeze(b, lax::eq(b, own, here), {static_cast<std::int64_t>(last)});
    return lax::select(b, lax::broadcast_in_dim(b, has_it, part.out->shape, batch), picked, lax::zeros_like(b, part.out));
}
/// The dimension of a table whose rows are written by number, and by nothing else; none where a device couldn't tell its own rows.
std::optional<std::size_t> written_rows(const Op& op, const ScatterDims& s) {
    if (!tells_rows(op.in[1]->dtype) || s.scatter_dims_to_operand_dims.size() != 1) return std::nullopt;
    const std::int64_t d = s.scatter_dims_to_operand_dims[0];
    const auto at = static_cast<std::size_t>(d);
    return contains(s.inserted_window_dims, d) && op.in[0]->shape[at] > 1 ? std::optional(at) : std::nullopt;
}
/// Each device writes the rows that it has, and adds the updates that it has: where these are parts, the first to the operand, the others
/// to zeros.
Value scatter_own(Builder& b, const PartitionRule::Part& part) {
    ScatterParams p = part.params->as<ScatterParams>();
    const AvalRef operand = b.aval(part.in[0]);
    Value begun = part.in[0], indices = part.in[1];
    if (part.of_sum) {
        const Value is_first = lax::eq(b, *part.of_sum, make_literal(b.aval(*part.of_sum), std::int64_t{0}));
        begun = lax::select(b, lax::broadcast_in_dim(b, is_first, operand->shape, {}), begun, lax::zeros_like(b, operand));
    }
    if (part.place) {
        const std::size_t d = *written_rows(part.op, p.dimension_numbers);
        if (p.mode == OutOfBounds::Clip) indices = nearest_inside(b, indices, part.op.in[0]->shape[d]);
        indices = own_numbers(b, indices, *part.place, operand->shape[d]);
        // What others have lies outside of it.
        p.mode = OutOfBounds::FillOrDrop;
        p.indices_are_sorted = false;
    }
    // With the function that it combines or applies.
    return b.bind1(*part.op.prim, {begun, indices, part.in[2]}, make_params(p));
}

}  // namespace

PartitionRule partition_gather(const Op& op) {
    const auto& p = op.as<GatherParams>();
    const GatherDims& g = p.dimension_numbers;
    PartitionRule rule;
    rule.in = {whole_dims(op, 0), whole_dims(op, 1)};
    rule.out.emplace_back(op.out[0]->shape.size(), kWhole);
    const Dims windows = remaining(op.in[0]->rank(), g.collapsed_slice_dims, g.operand_batching_dims);
    for (std::size_t w = 0; w < windows.size() && w < g.offset_dims.size(); ++w) {
        const auto d = static_cast<std::size_t>(windows[w]);
        if (p.slice_sizes[d] == op.in[0]->shape[d] && op.in[0]->shape[d] > 1 && !contains(g.start_index_map, windows[w]))
            rule.in[0][d] = rule.out[0][static_cast<std::size_t>(g.offset_dims[w])] = rule.new_factor();
    }
    std::size_t batch = 0;
    for (std::int64_t k = 0; k < op.out[0]->rank(); ++k) {
        if (contains(g.offset_dims, k)) continue;
        int& factor = rule.out[0][static_cast<std::size_t>(k)];
        const auto at =
            std::find(g.start_indices_batching_dims.begin(), g.start_indices_batching_dims.end(), static_cast<std::int64_t>(batch));
        if (at == g.start_indices_batching_dims.end()) {
            factor = rule.new_factor();
        } else {  // row by row; padding's indices would lead anywhere, so parts are even
            const auto d =
                static_cast<std::size_t>(g.operand_batching_dims[static_cast<std::size_t>(at - g.start_indices_batching_dims.begin())]);
            factor = rule.in[0][d] = rule.new_factor(op.in[0]->shape[d]);
        }
        rule.in[1][batch++] = factor;
    }
    if (const auto rows = picked_rows(op, p)) {
        rule.in[0][*rows] = rule.new_factor();
        rule.combine = Combine::Sum;
        rule.part = gather_own_rows;
    }
    rule.params = [](const Op& o, const std::vector<Dims>& out) {
        GatherParams local = o.as<GatherParams>();
        const GatherDims& dims = local.dimension_numbers;
        const Dims window = remaining(o.in[0]->rank(), dims.collapsed_slice_dims, dims.operand_batching_dims);
        for (std::size_t w = 0; w < window.size(); ++w)
            local.slice_sizes[static_cast<std::size_t>(window[w])] = out[0][static_cast<std::size_t>(dims.offset_dims[w])];
        return make_params(local);
    };
    return rule;
}

PartitionRule partition_scatter(const Op& op) {
    const ScatterDims& s = op.as<ScatterParams>().dimension_numbers;
    PartitionRule rule;
    for (std::size_t i = 0; i < op.in.size(); ++i) rule.in.push_back(whole_dims(op, i));
    rule.out = {rule.in[0]};
    const auto one = [&](std::int64_t d, std::int64_t of_updates) {
        const auto at = static_cast<std::size_t>(d);
        return rule.in[0][at] = rule.out[0][at] = rule.in[2][static_cast<std::size_t>(of_updates)] = rule.new_factor(op.in[0]->shape[at]);
    };
    const Dims windows = remaining(op.in[0]->rank(), s.inserted_window_dims, s.operand_batching_dims);
    for (std::size_t w = 0; w < windows.size() && w < s.update_window_dims.size(); ++w) {
        const std::int64_t size = op.in[0]->shape[static_cast<std::size_t>(windows[w])];
        if (op.in[2]->shape[static_cast<std::size_t>(s.update_window_dims[w])] == size && size > 1 &&
            !contains(s.scatter_dims_to_operand_dims, windows[w]))
            one(windows[w], s.update_window_dims[w]);
    }
    const Dims rows = remaining(op.in[2]->rank(), s.update_window_dims);
    for (std::size_t b = 0; b < s.operand_batching_dims.size(); ++b) {
        const auto row = static_cast<std::size_t>(s.scatter_indices_batching_dims[b]);
        rule.in[1][row] = one(s.operand_batching_dims[b], rows.at(row));
    }
    if (op.prim == &kScatterAdd && can_be_summed(op.in[0])) {
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (rule.in[1][row] != kWhole) continue;
            const auto d = static_cast<std::size_t>(rows[row]);
            rule.in[1][row] = rule.in[2][d] = rule.new_factor(op.in[2]->shape[d]);
        }
        rule.combine = Combine::Sum;
        rule.part = scatter_own;
    }
    if (const auto d = written_rows(op, s)) {
        rule.placed = rule.in[0][*d] = rule.out[0][*d] = rule.new_factor(op.in[0]->shape[*d]);
        rule.part = scatter_own;
    }
    return rule;
}

}  // namespace jaxscope
