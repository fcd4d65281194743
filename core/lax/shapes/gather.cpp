// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "lax/families.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/partition_rules.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

void check_gather_dims(const Op& op, const GatherParams& p) {
    const GatherDims& g = p.dimension_numbers;
    const Aval &operand = *op.in[0], &indices = *op.in[1];
    const std::int64_t index_rank = indices.rank() - 1;
    const auto require = [&](bool holds, const char* expected, const Dims& found) {
        if (!holds) type_mismatch(op, expected, shape_text(found));
    };
    if (index_rank < 0 || !is_integer(indices.dtype)) type_mismatch(op, "integer indices of rank 1 and more", to_text(op.in[1]));
    require(sorted_distinct_in(g.offset_dims, std::ssize(g.offset_dims) + index_rank), "sorted offset_dims of the result", g.offset_dims);
    require(
        distinct(g.start_index_map) && in_range(g.start_index_map, operand.rank()) && std::ssize(g.start_index_map) == indices.shape.back(),
        "start_index_map to name an operand dimension for each element of an index vector", g.start_index_map);
    require(sorted_distinct_in(g.collapsed_slice_dims, operand.rank()), "sorted collapsed_slice_dims of the operand",
            g.collapsed_slice_dims);
    require(sorted_distinct_in(g.operand_batching_dims, operand.rank()) && disjoint(g.operand_batching_dims, g.collapsed_slice_dims) &&
                disjoint(g.operand_batching_dims, g.start_index_map),
            "sorted operand_batching_dims that are neither collapsed nor indexed", g.operand_batching_dims);
    require(distinct(g.start_indices_batching_dims) && in_range(g.start_indices_batching_dims, index_rank) &&
                g.start_indices_batching_dims.size() == g.operand_batching_dims.size() &&
                take(indices.shape, g.start_indices_batching_dims) == take(operand.shape, g.operand_batching_dims),
            "start_indices_batching_dims that pair with operand_batching_dims", g.start_indices_batching_dims);
    require(std::ssize(p.slice_sizes) == operand.rank() &&
                p.slice_sizes.size() == g.offset_dims.size() + g.collapsed_slice_dims.size() + g.operand_batching_dims.size(),
            "a slice size for each operand dimension, each offset, collapsed or batching", p.slice_sizes);
    for (std::size_t d = 0; d < p.slice_sizes.size(); ++d) {
        const std::int64_t at = static_cast<std::int64_t>(d), size = p.slice_sizes[d];
        require(indices.size() == 0 || (0 <= size && size <= operand.shape[d]), "slice sizes from 0 to the operand's", p.slice_sizes);
        require(!contains(g.collapsed_slice_dims, at) || size == 1, "slice size 1 in collapsed dimensions", p.slice_sizes);
        require(!contains(g.operand_batching_dims, at) || size == 0 || size == 1, "slice size 0 or 1 in batching dimensions",
                p.slice_sizes);
    }
}

Dims window_dims(const GatherDims& g, std::int64_t operand_rank) {
    return remaining(operand_rank, g.collapsed_slice_dims, g.operand_batching_dims);
}

Avals gather_eval(const Op& op) {
    expect_arrays(op, 2);
    const auto& p = op.as<GatherParams>();
    check_gather_dims(op, p);
    const GatherDims& g = p.dimension_numbers;
    const Dims windows = take(p.slice_sizes, window_dims(g, op.in[0]->rank()));
    const std::int64_t rank = std::ssize(g.offset_dims) + op.in[1]->rank() - 1;
    Dims shape;
    auto window = windows.begin();
    auto batch = op.in[1]->shape.begin();
    for (std::int64_t d = 0; d < rank; ++d) shape.push_back(contains(g.offset_dims, d) ? *window++ : *batch++);
    return {result_like_input(op, 0, op.in[0]->dtype, shape)};
}

Values gather_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    if (dx[0].is_zero()) return {Value::zero()};
    GatherParams p = op.as<GatherParams>();
    p.fill_value = Attr(0);
    return {lax::gather(b, dx[0], x[1], p)};
}

void gather_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<GatherParams>();
    const Value zeros = lax::zeros_like(b, AvalRef(b.aval(ct[0])->dtype, op.in[0]->shape));
    ScatterParams s{.dimension_numbers = inverse_scatter(p.dimension_numbers)};
    s.indices_are_sorted = p.indices_are_sorted;
    s.unique_indices = p.unique_indices;
    s.mode = p.mode;
    sink.add(0, lax::scatter(b, kScatterAdd, zeros, x[1], ct[0], s));
}

BatchResult gather_batch_rule(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return gather_batch(b, x[0], dims[0], x[1], dims[1], op.as<GatherParams>());
}

/// JAX's fill value where none is given: NaN, the smallest signed or the largest unsigned number, True.
KScalar fill_scalar(ElementBuilder& k, const Attr& fill, DType dtype) {
    if (const auto* n = fill.get<std::int64_t>()) return k.convert(k.constant_int(DType::S64, *n), dtype);
    if (const auto* v = fill.get<double>()) return k.convert(k.constant(DType::F64, *v), dtype);
    if (const auto* v = fill.get<bool>()) return k.convert(k.constant_int(DType::Bool, *v), dtype);
    if (is_inexact(dtype)) return k.convert(k.constant(DType::F64, std::numeric_limits<double>::quiet_NaN()), dtype);
    if (dtype == DType::Bool) return k.constant_int(dtype, 1);
    const int bits = dtype == DType::S2 || dtype == DType::U2 ? 2 : dtype == DType::S4 || dtype == DType::U4 ? 4 : 8 * info(dtype).bytes;
    if (is_signed_int(dtype)) return k.constant_int(dtype, std::numeric_limits<std::int64_t>::min() >> (64 - bits));
    return k.constant_int(dtype, static_cast<std::int64_t>(std::numeric_limits<std::uint64_t>::max() >> (64 - bits)));
}

/// Start of the window in each operand dimension, for the batch element that result index `i` belongs to; not yet checked.
std::vector<KScalar> window_starts(ElementBuilder& k, const Op& op, const GatherDims& g, const KIndex& i) {
    KIndex batch;
    for (std::size_t d = 0; d < i.at.size(); ++d)
        if (!contains(g.offset_dims, static_cast<std::int64_t>(d))) batch.at.push_back(i.at[d]);
    std::vector<KScalar> starts(op.in[0]->shape.size(), k.index(0));
    for (std::size_t n = 0; n < g.start_index_map.size(); ++n) {
        KIndex at = batch;
        at.at.push_back(k.index(static_cast<std::int64_t>(n)));
        starts[static_cast<std::size_t>(g.start_index_map[n])] = position(k, k.load(1, at));
    }
    for (std::size_t n = 0; n < g.operand_batching_dims.size(); ++n)
        starts[static_cast<std::size_t>(g.operand_batching_dims[n])] = batch.at[static_cast<std::size_t>(g.start_indices_batching_dims[n])];
    return starts;
}

/// Out of bounds: filled (FILL_OR_DROP) or clamped so that the whole window lies inside; PROMISE_IN_BOUNDS clamps as XLA does.
KScalar gather_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto& p = op.as<GatherParams>();
    const GatherDims& g = p.dimension_numbers;
    const bool fills = p.mode == OutOfBounds::FillOrDrop;
    if (op.in[0]->size() == 0) return fills ? fill_scalar(k, p.fill_value, op.out[0]->dtype) : k.constant(op.out[0]->dtype, 0);
    KIndex from{window_starts(k, op, g, i)};
    KScalar inside = k.constant_int(DType::Bool, 1);
    for (const std::int64_t dim : g.start_index_map) {
        const auto d = static_cast<std::size_t>(dim);
        const std::int64_t last = op.in[0]->shape[d] - p.slice_sizes[d];
        if (fills) {
            inside = k.op(KOp::And, inside, k.op(KOp::Ge, from.at[d], k.index(0)));
            inside = k.op(KOp::And, inside, k.op(KOp::Le, from.at[d], k.index(last)));
        } else {
            from.at[d] = k.clamp_index(from.at[d], last + 1);
        }
    }
    const Dims windows = window_dims(g, op.in[0]->rank());
    for (std::size_t n = 0; n < windows.size(); ++n) {
        KScalar& at = from.at[static_cast<std::size_t>(windows[n])];
        at = k.op(KOp::Add, at, i.at[static_cast<std::size_t>(g.offset_dims[n])]);
    }
    return fills ? k.masked_load(0, from, inside, fill_scalar(k, p.fill_value, op.out[0]->dtype)) : k.load(0, from);
}

}  // namespace

BatchResult gather_batch(Builder& b, Value operand, int operand_dim, Value indices, int indices_dim, GatherParams p) {
    GatherDims& g = p.dimension_numbers;
    if (operand_dim != kNotMapped) {
        operand = moveaxis(b, operand, operand_dim, 0);
        g.collapsed_slice_dims = plus(g.collapsed_slice_dims, 1);
        g.operand_batching_dims = plus(g.operand_batching_dims, 1);
        g.start_index_map = plus(g.start_index_map, 1);
    }
    g.offset_dims = plus(g.offset_dims, 1);
    if (indices_dim == kNotMapped) {  // the batch axis is one more window dimension, taken whole
        g.offset_dims = with_front(0, g.offset_dims);
        p.slice_sizes = with_front(b.aval(operand)->shape[0], p.slice_sizes);
        return {{lax::gather(b, operand, indices, p)}, {0}};
    }
    indices = moveaxis(b, indices, indices_dim, 0);
    g.start_indices_batching_dims = plus(g.start_indices_batching_dims, 1);
    if (operand_dim == kNotMapped) {  // several index lists into one array need not be sorted or distinct together
        p.unique_indices = p.indices_are_sorted = false;
        return {{lax::gather(b, operand, indices, p)}, {0}};
    }
    g.operand_batching_dims = with_front(0, g.operand_batching_dims);
    g.start_indices_batching_dims = with_front(0, g.start_indices_batching_dims);
    p.slice_sizes = with_front(b.aval(operand)->shape[0] == 0 ? 0 : 1, p.slice_sizes);
    return {{lax::gather(b, operand, indices, p)}, {0}};
}

// Rules of slicing.py, JAX 0.10.2.
constinit const Primitive kGather{
    .name = "gather",
    .abstract_eval = gather_eval,
    .jvp = gather_jvp,
    .transpose = gather_transpose,
    .batch = gather_batch_rule,
    .lower = gather_lower,
    .cost = data_movement_cost,
    .partition = partition_gather,
};

std::span<const Primitive* const> gather_primitives() {
    static constexpr const Primitive* all[] = {&kGather};
    return all;
}

}  // namespace jaxscope
