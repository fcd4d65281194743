// SPDX-License-Identifier: Apache-2.0
#include "lax/params/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/kernel_builder.h"
#include "ir/types/manual_axes.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/reductions/along_axis.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

// ---- sort

Avals sort_eval(const Op& op) {
    expect_arrays_at_least(op, 1);
    const auto& p = op.as<SortParams>();
    const Dims& shape = op.in[0]->shape;
    if (!in_range({p.dimension}, op.in[0]->rank())) type_mismatch(op, "a dimension of " + shape_text(shape), std::to_string(p.dimension));
    if (p.num_keys < 1 || p.num_keys > std::ssize(op.in))
        type_mismatch(op, "1 key or more, at most one for each operand", std::to_string(p.num_keys));
    for (const AvalRef a : op.in)
        if (a->shape != shape) type_mismatch(op, "operands of one shape", shape_text(shape) + " and " + shape_text(a->shape));
    refuse_keys(op, static_cast<std::size_t>(p.num_keys));
    return op.in;
}

/// In the body of a shard_map each result varies as its own operand does: the places that JAX's rule sorts along aren't made to vary.
Values sorted_together(Builder& b, const Values& operands, const ParamsRef& params) {
    if (!ManualScope::current()) return b.bind(kSort, operands, params);
    Avals types;
    for (const Value v : operands) types.push_back(b.aval(v));
    return b.emit(kSort, operands, params, types);
}
/// The values are sorted together with their positions, and tangents follow the positions: hence a new application.
PrimalsTangents sort_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const std::int64_t dimension = op.as<SortParams>().dimension;
    const Dims shape = op.in[0]->shape;
    const auto rank = std::ssize(shape);
    Values operands = x;
    operands.push_back(
        b.bind1(kIota, {}, make_params(IotaParams{.dtype = index_dtype_unsigned(shape), .shape = shape, .dimension = dimension})));
    Values sorted = sorted_together(b, operands, op.params);
    const Value positions = lax::expand_dims(b, sorted.back(), {rank});
    sorted.pop_back();
    Values tangents;
    for (const Value t : dx) tangents.push_back(t.is_zero() ? t : lax::gather(b, t, positions, along_axis(rank, dimension)));
    return {sorted, tangents};
}

BatchResult sort_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    auto p = op.as<SortParams>();
    const std::size_t first = static_cast<std::size_t>(std::ranges::find_if(dims, [](int d) { return d != kNotMapped; }) - dims.begin());
    const int at = dims[first];
    const Dims shape = b.aval(x[first])->shape;
    Values operands;
    for (std::size_t n = 0; n < x.size(); ++n)
        operands.push_back(dims[n] == kNotMapped ? lax::broadcast_in_dim(b, x[n], shape, erased(iota_dims(std::ssize(shape)), at))
                                                 : moveaxis(b, x[n], dims[n], at));
    p.dimension += at <= p.dimension;
    Values out = b.bind(kSort, operands, make_params(p));
    return {out, std::vector<int>(out.size(), at)};
}

KernelSpec sort_kernel(const Op& op) {
    const auto& p = op.as<SortParams>();
    return {SortKernel{static_cast<int>(p.dimension), static_cast<int>(p.num_keys), p.is_stable}};
}

/// n log2 n comparisons along the dimension, for each key.
Cost sort_cost(const Op& op) {
    const auto& p = op.as<SortParams>();
    const auto n = static_cast<double>(op.in[0]->shape[static_cast<std::size_t>(p.dimension)]);
    const double comparisons = static_cast<double>(op.in[0]->size()) * std::log2(std::max(n, 1.0));
    return {.flops = comparisons * static_cast<double>(p.num_keys), .bytes = total_bytes(op)};
}

// ---- top_k

TopKParams top_k_params(const Op& op) {
    TopKParams p = op.as<TopKParams>();
    if (p.axis == -1 && !op.params->find("axis")) p.axis = static_cast<std::int64_t>(op.in[0]->rank()) - 1;
    return p;
}

Avals top_k_eval(const Op& op) {
    expect_arrays(op, 1);
    const TopKParams p = top_k_params(op);
    Dims shape = op.in[0]->shape;
    if (is_complex(op.in[0]->dtype)) type_mismatch(op, "an ordered dtype", info(op.in[0]->dtype).name);
    if (!in_range({p.axis}, op.in[0]->rank())) type_mismatch(op, "an axis of " + shape_text(shape), std::to_string(p.axis));
    std::int64_t& size = shape[static_cast<std::size_t>(p.axis)];
    if (p.k < 0 || p.k > size) type_mismatch(op, "k from 0 to " + std::to_string(size), std::to_string(p.k));
    if (size - 1 > std::numeric_limits<std::int32_t>::max())
        type_mismatch(op, "an axis that int32 positions can count", std::to_string(size));
    size = p.k;
    return {with_shape(op.in[0], shape), with_dtype(with_shape(op.in[0], shape), DType::S32)};
}

Values top_k_jvp(Builder& b, const Op& op, const Values&, const Values& y, const Values& dx) {
    if (dx[0].is_zero()) return {Value::zero(), Value::zero()};
    const Dims shape = b.aval(y[1])->shape;
    const auto rank = std::ssize(shape);
    const Value positions = lax::reshape(b, y[1], inserted(shape, rank, 1));
    return {lax::gather(b, dx[0], positions, along_axis(rank, top_k_params(op).axis)), Value::zero()};
}

BatchResult top_k_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    TopKParams p = top_k_params(op);
    p.axis += dims[0] <= p.axis;
    return {b.bind(kTopK, x, make_params(p)), {dims[0], dims[0]}};
}

Cost top_k_cost(const Op& op) {
    const double k = static_cast<double>(std::max<std::int64_t>(op.as<TopKParams>().k, 2));
    return {.flops = static_cast<double>(op.in[0]->size()) * std::log2(k), .bytes = total_bytes(op)};
}

PartitionRule partition_sort(const Op& op) { return partition_all_but(op, {op.as<SortParams>().dimension}); }

}  // namespace

// Rules of lax.py, JAX 0.10.2.

constinit const Primitive kSort{
    .name = "sort",
    .abstract_eval = sort_eval,
    .jvp = NoRule{"the values are sorted again with their positions: see jvp_call"},
    .jvp_call = sort_jvp_call,
    .transpose = NoRule{"not linear: jvp emits gathers"},
    .batch = sort_batch,
    .lower = NoRule{"runs as a kernel"},
    .kernel = sort_kernel,
    .cost = sort_cost,
    .partition = partition_sort,
};

constinit const Primitive kTopK{
    .name = "top_k",
    .abstract_eval = top_k_eval,
    .jvp = top_k_jvp,
    .transpose = NoRule{"not linear: jvp emits a gather"},
    .batch = top_k_batch,
    .lower = kRunsAsRoutine,
    .kernel = routine_kernel,
    .cost = top_k_cost,
};

std::span<const Primitive* const> sort_primitives() {
    static constexpr const Primitive* all[] = {&kSort, &kTopK};
    return all;
}

}  // namespace jaxscope
