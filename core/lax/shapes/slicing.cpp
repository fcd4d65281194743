// SPDX-License-Identifier: Apache-2.0
#include "lax/shapes/slicing.h"

#include <algorithm>

#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/partition_rules.h"

namespace jaxscope {
namespace {

// ---- slice

Avals slice_eval(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<SliceParams>();
    const Dims& from = op.in[0]->shape;
    const std::size_t rank = from.size();
    if (p.start_indices.size() != rank || p.limit_indices.size() != rank || (p.strides && p.strides->size() != rank))
        type_mismatch(op, "a start, a limit and a stride for each operand dimension", shape_text(p.start_indices));
    Dims shape;
    for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t start = p.start_indices[d], limit = p.limit_indices[d], stride = p.strides ? (*p.strides)[d] : 1;
        if (start < 0 || limit < start || from[d] < limit)
            type_mismatch(op, "0 <= start <= limit <= size in dimension " + std::to_string(d),
                          std::to_string(start) + " and " + std::to_string(limit) + " in " + shape_text(from));
        if (stride < 1) type_mismatch(op, "strides of 1 and more", std::to_string(stride));
        shape.push_back((limit - start) / stride + ((limit - start) % stride != 0));
    }
    return {standard_result(op, op.in[0]->dtype, shape)};
}

void slice_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (ct[0].is_zero() || !sink.wanted(0)) return;
    const auto& p = op.as<SliceParams>();
    const AvalRef t = b.aval(ct[0]);
    PadConfig config;
    for (std::size_t d = 0; d < t->shape.size(); ++d) {
        const std::int64_t stride = p.strides ? (*p.strides)[d] : 1;
        // Where the last element read stood, plus one: beyond it the slice left a remainder that the limit counts and it never read.
        const bool unit = !p.strides || std::ranges::all_of(*p.strides, [](std::int64_t s) { return s == 1; });
        const std::int64_t read = t->shape[d] == 0 ? 0 : 1 + (t->shape[d] - 1) * stride;
        const std::int64_t limit = unit ? p.limit_indices[d] : p.start_indices[d] + read;
        config.push_back({p.start_indices[d], op.in[0]->shape[d] - limit, stride - 1});
    }
    sink.add(0, lax::pad(b, ct[0], make_literal(AvalRef(t->dtype, {}), 0.0), config));
}

BatchResult slice_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    auto p = op.as<SliceParams>();
    p.start_indices = inserted(p.start_indices, dims[0], 0);
    p.limit_indices = inserted(p.limit_indices, dims[0], size);
    if (p.strides) p.strides = inserted(*p.strides, dims[0], 1);
    return {{b.bind1(kSlice, x, make_params(p))}, {dims[0]}};
}

KScalar slice_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto& p = op.as<SliceParams>();
    KIndex from = i;
    for (std::size_t d = 0; d < from.at.size(); ++d) {
        if (p.strides && (*p.strides)[d] != 1) from.at[d] = k.op(KOp::Mul, from.at[d], k.index((*p.strides)[d]));
        if (p.start_indices[d] != 0) from.at[d] = k.op(KOp::Add, from.at[d], k.index(p.start_indices[d]));
    }
    return k.load(0, from);
}

// ---- dynamic_slice and dynamic_update_slice

void check_start_indices(const Op& op, std::size_t first) {
    if (op.in.size() != first + op.in[0]->shape.size())
        type_mismatch(op, "a start index for each operand dimension", std::to_string(op.in.size() - first));
    for (std::size_t i = first; i < op.in.size(); ++i)
        if (!op.in[i]->shape.empty() || !is_integer(op.in[i]->dtype) || op.in[i]->dtype != op.in[first]->dtype)
            type_mismatch(op, "start indices to be scalars of one integer dtype", to_text(op.in[i]));
}

Avals dynamic_slice_eval(const Op& op) {
    expect_arrays_at_least(op, 1);
    check_start_indices(op, 1);
    const Dims& sizes = op.as<DynamicSliceParams>().slice_sizes;
    const Dims& from = op.in[0]->shape;
    if (sizes.size() != from.size()) type_mismatch(op, "a size for each operand dimension", shape_text(sizes));
    for (std::size_t d = 0; d < from.size(); ++d)
        if (sizes[d] < 0 || sizes[d] > from[d])
            type_mismatch(op, "slice sizes from 0 to the operand's", shape_text(sizes) + " of " + shape_text(from));
    return {result_like_input(op, 0, op.in[0]->dtype, sizes)};
}

/// JAX applies the slice to the tangent first, so the rule makes both applications.
PrimalsTangents dynamic_slice_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx) {
    Values in = x;
    in[0] = dx[0];
    const Value tangent = dx[0].is_zero() ? dx[0] : b.bind1(*op.prim, in, op.params);
    return {b.bind(*op.prim, x, op.params), {tangent}};
}

void dynamic_slice_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero() || !sink.wanted(0)) return;
    Values in{lax::zeros_like(b, strong(op.in[0])), ct[0]};
    in.insert(in.end(), x.begin() + 1, x.end());
    sink.add(0, b.bind1(kDynamicUpdateSlice, in, make_params(DynamicUpdateSliceParams{})));
}

/// The start indices as one index vector for each batch element, so that a gather or scatter can take them.
struct IndexVectors {
    Value indices;
    int dim;
};
IndexVectors index_vectors(Builder& b, const Values& x, const std::vector<int>& dims, std::size_t first, std::int64_t size) {
    const bool mapped = std::any_of(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end(), [](int d) { return d != kNotMapped; });
    if (first == x.size()) {
        auto none = std::make_shared<ArrayConst>();
        none->aval = AvalRef(DType::S32, {0});
        return {b.constant(none), kNotMapped};
    }
    Values parts;
    for (std::size_t i = first; i < x.size(); ++i)
        parts.push_back(mapped ? lax::broadcast_in_dim(b, x[i], {size, 1}, dims[i] == kNotMapped ? Dims{} : Dims{0})
                               : lax::broadcast_in_dim(b, x[i], {1}, {}));
    return {lax::concatenate(b, parts, mapped ? 1 : 0), mapped ? 0 : kNotMapped};
}

BatchResult dynamic_slice_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Dims& sizes = op.as<DynamicSliceParams>().slice_sizes;
    const Dims all = iota_dims(std::ssize(sizes));
    const IndexVectors index = index_vectors(b, x, dims, 1, size);
    GatherParams p{.dimension_numbers = {.offset_dims = all,
                                         .collapsed_slice_dims = {},
                                         .start_index_map = all,
                                         .operand_batching_dims = {},
                                         .start_indices_batching_dims = {}}};
    p.slice_sizes = sizes;
    p.mode = OutOfBounds::Clip;
    p.unique_indices = p.indices_are_sorted = true;
    return gather_batch(b, x[0], dims[0], index.indices, index.dim, p);
}

KScalar dynamic_slice_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    KIndex from;
    for (std::size_t d = 0; d < i.at.size(); ++d) {
        const std::int64_t starts = op.in[0]->shape[d] - op.out[0]->shape[d] + 1;
        const KScalar start = starts == 1 ? k.index(0) : k.clamp_index(position(k, k.load(static_cast<int>(d) + 1, KIndex{})), starts);
        from.at.push_back(k.op(KOp::Add, start, i.at[d]));
    }
    return k.load(0, from);
}

Avals dynamic_update_slice_eval(const Op& op) {
    expect_arrays_at_least(op, 2);
    check_start_indices(op, 2);
    expect_same_dtype(op, 0, 2);
    const Dims &operand = op.in[0]->shape, &update = op.in[1]->shape;
    bool fits = operand.size() == update.size();
    for (std::size_t d = 0; fits && d < operand.size(); ++d) fits = update[d] <= operand[d];
    if (!fits) type_mismatch(op, "an update that fits into the operand", shape_text(update) + " for " + shape_text(operand));
    return {standard_result(op, op.in[0]->dtype, operand)};
}

Values dynamic_update_slice_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    if (dx[0].is_zero() && dx[1].is_zero()) return {Value::zero()};
    Values in = x;
    in[0] = instantiate_tangent(b, dx[0], op.in[0]);
    in[1] = instantiate_tangent(b, dx[1], op.in[1]);
    return b.bind(*op.prim, in, op.params);
}

void dynamic_update_slice_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const Values starts(x.begin() + 2, x.end());
    const auto with_starts = [&](Values in) {
        in.insert(in.end(), starts.begin(), starts.end());
        return in;
    };
    // JAX makes the zeros whether or not the operand's cotangent needs them.
    const Value zeros = lax::zeros_like(b, AvalRef(b.aval(ct[0])->dtype, op.in[1]->shape));
    if (x[0].is_linear()) sink.add(0, b.bind1(kDynamicUpdateSlice, with_starts({ct[0], zeros}), op.params));
    if (x[1].is_linear()) sink.add(1, b.bind1(kDynamicSlice, with_starts({ct[0]}), make_params(DynamicSliceParams{op.in[1]->shape})));
}

BatchResult dynamic_update_slice_batch(Builder& b, const Op&, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Dims all = iota_dims(b.aval(x[1])->rank() - (dims[1] == kNotMapped ? 0 : 1));
    const IndexVectors index = index_vectors(b, x, dims, 2, size);
    ScatterParams p{.dimension_numbers = {.update_window_dims = all,
                                          .inserted_window_dims = {},
                                          .scatter_dims_to_operand_dims = all,
                                          .operand_batching_dims = {},
                                          .scatter_indices_batching_dims = {}}};
    p.indices_are_sorted = p.unique_indices = true;
    p.mode = OutOfBounds::Clip;
    return scatter_batch(b, kScatter, {x[0], index.indices, x[1]}, {dims[0], index.dim, dims[1]}, p, size);
}

KernelSpec dynamic_update_slice_kernel(const Op&) { return {DynamicUpdateSliceKernel{}}; }

}  // namespace

// Rules of slicing.py, JAX 0.10.2.

constinit const Primitive kSlice{
    .name = "slice",
    .abstract_eval = slice_eval,
    .jvp = jvp_linear,
    .transpose = slice_transpose,
    .batch = slice_batch,
    .lower = slice_lower,
    .cost = data_movement_cost,
    .partition = partition_slice,
};

constinit const Primitive kDynamicSlice{
    .name = "dynamic_slice",
    .abstract_eval = dynamic_slice_eval,
    .jvp = NoRule{"the tangent's slice comes first: see jvp_call"},
    .jvp_call = dynamic_slice_jvp_call,
    .transpose = dynamic_slice_transpose,
    .batch = dynamic_slice_batch,
    .lower = dynamic_slice_lower,
    .cost = data_movement_cost,
    .partition = partition_dynamic_slice,
};

constinit const Primitive kDynamicUpdateSlice{
    .name = "dynamic_update_slice",
    .abstract_eval = dynamic_update_slice_eval,
    .jvp = dynamic_update_slice_jvp,
    .transpose = dynamic_update_slice_transpose,
    .batch = dynamic_update_slice_batch,
    .lower = NoRule{"runs as a kernel, in place when it may"},
    .kernel = dynamic_update_slice_kernel,
    .cost = data_movement_cost,
    .partition = partition_dynamic_update_slice,
};

std::span<const Primitive* const> slicing_primitives() {
    static constexpr const Primitive* all[] = {&kSlice, &kDynamicSlice, &kDynamicUpdateSlice};
    return all;
}

}  // namespace jaxscope
