// SPDX-License-Identifier: Apache-2.0
#include "lax/shapes/partition_rules.h"

#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/rule_support.h"

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
    const Dims &from = op.in[0]->shape, &to = p.new_sizes;
    PartitionRule rule;
    rule.in.emplace_back(from.size(), kWhole);
    rule.out.emplace_back(to.size(), kWhole);
    rule.params = [](const Op& o, const std::vector<Dims>& out) { return with_result_shape(o, "new_sizes", out); };
    if (p.dimensions || element_count(from) == 0) return rule;
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
        rule.in[0][first] = rule.out[0][first_out] = rule.new_factor(alone ? 0 : outer);
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
        if (!contains(g.start_indices_batching_dims, static_cast<std::int64_t>(batch)))
            rule.in[1][batch] = rule.out[0][static_cast<std::size_t>(k)] = rule.new_factor();
        ++batch;
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

}  // namespace jaxscope
