// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>

#include "ir/builder.h"
#include "ir/registry.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/partition_rules.h"
#include "lax/shapes/scatter_jvp.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {

GatherDims inverse_gather(const ScatterDims& d) {
    return {.offset_dims = d.update_window_dims,
            .collapsed_slice_dims = d.inserted_window_dims,
            .start_index_map = d.scatter_dims_to_operand_dims,
            .operand_batching_dims = d.operand_batching_dims,
            .start_indices_batching_dims = d.scatter_indices_batching_dims};
}

ScatterDims inverse_scatter(const GatherDims& d) {
    return {.update_window_dims = d.offset_dims,
            .inserted_window_dims = d.collapsed_slice_dims,
            .scatter_dims_to_operand_dims = d.start_index_map,
            .operand_batching_dims = d.operand_batching_dims,
            .scatter_indices_batching_dims = d.start_indices_batching_dims};
}

Dims scatter_window_sizes(const ScatterDims& dims, int operand_rank, const Dims& updates) {
    Dims sizes;
    std::size_t window = 0;
    for (int d = 0; d < operand_rank; ++d) {
        const bool single = contains(dims.inserted_window_dims, d) || contains(dims.operand_batching_dims, d);
        sizes.push_back(single ? 1 : updates[static_cast<std::size_t>(dims.update_window_dims[window++])]);
    }
    return sizes;
}
namespace {

// ---- Types

/// Dimension numbers that fit operand and indices and each other, as for the gather that reads the same windows.
void check_scatter_dims(const Op& op, const ScatterDims& s) {
    const Aval &operand = *op.in[0], &indices = *op.in[1], &updates = *op.in[2];
    const auto require = [&](bool holds, const char* expected, const Dims& found) {
        if (!holds) type_mismatch(op, expected, shape_text(found));
    };
    const std::int64_t index_rank = indices.rank() - 1;
    if (index_rank < 0 || !is_integer(indices.dtype)) type_mismatch(op, "integer indices of rank 1 and more", to_text(op.in[1]));
    require(updates.rank() == index_rank + std::ssize(s.update_window_dims),
            "updates with a dimension for each of the indices and of the windows", updates.shape);
    require(sorted_distinct_in(s.update_window_dims, updates.rank()), "sorted update_window_dims of the updates", s.update_window_dims);
    require(sorted_distinct_in(s.inserted_window_dims, operand.rank()), "sorted inserted_window_dims of the operand",
            s.inserted_window_dims);
    require(distinct(s.scatter_dims_to_operand_dims) && in_range(s.scatter_dims_to_operand_dims, operand.rank()) &&
                std::ssize(s.scatter_dims_to_operand_dims) == indices.shape.back(),
            "scatter_dims_to_operand_dims to name an operand dimension for each element of an index vector",
            s.scatter_dims_to_operand_dims);
    require(sorted_distinct_in(s.operand_batching_dims, operand.rank()) && disjoint(s.operand_batching_dims, s.inserted_window_dims) &&
                disjoint(s.operand_batching_dims, s.scatter_dims_to_operand_dims),
            "sorted operand_batching_dims that are neither inserted nor indexed", s.operand_batching_dims);
    require(distinct(s.scatter_indices_batching_dims) && in_range(s.scatter_indices_batching_dims, index_rank) &&
                s.scatter_indices_batching_dims.size() == s.operand_batching_dims.size() &&
                take(indices.shape, s.scatter_indices_batching_dims) == take(operand.shape, s.operand_batching_dims),
            "scatter_indices_batching_dims that pair with operand_batching_dims", s.scatter_indices_batching_dims);
    require(std::ssize(s.update_window_dims) + std::ssize(s.inserted_window_dims) + std::ssize(s.operand_batching_dims) == operand.rank(),
            "each operand dimension in a window, inserted or batching", operand.shape);
}

Avals scatter_eval(const Op& op) {
    expect_arrays(op, 3);
    const ScatterDims& s = op.as<ScatterParams>().dimension_numbers;
    check_scatter_dims(op, s);
    const Aval &operand = *op.in[0], &indices = *op.in[1], &updates = *op.in[2];
    if (operand.dtype != updates.dtype)
        type_mismatch(op, "updates of the operand's dtype", std::string(info(operand.dtype).name) + " and " + info(updates.dtype).name);
    const Dims limits = take(operand.shape, remaining(operand.rank(), s.inserted_window_dims, s.operand_batching_dims));
    const Dims windows = take(updates.shape, s.update_window_dims);
    for (std::size_t d = 0; d < windows.size(); ++d)
        if (windows[d] > limits[d])
            type_mismatch(op, "windows that fit into the operand", shape_text(windows) + " for " + shape_text(limits));
    const Dims scattered = take(updates.shape, remaining(updates.rank(), s.update_window_dims));
    const Dims index_shape = erased(indices.shape, indices.rank() - 1);
    if (scattered != index_shape)
        type_mismatch(op, "one update for each index vector", shape_text(scattered) + " for " + shape_text(index_shape));
    return {result_like_input(op, 0, operand.dtype, operand.shape)};
}

// ---- Transposition and batching

/// The windows of `source` at the scatter's indices.
Value read_windows(Builder& b, const Op& op, const ScatterParams& p, Value source, Value indices) {
    GatherParams g{.dimension_numbers = inverse_gather(p.dimension_numbers)};
    g.slice_sizes = scatter_window_sizes(p.dimension_numbers, op.in[0]->rank(), op.in[2]->shape);
    g.mode = p.mode;
    g.fill_value = Attr(0);
    return lax::gather(b, source, indices, g);
}

void scatter_addsub_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    if (x[0].is_linear()) sink.add(0, ct[0]);
    if (!x[2].is_linear()) return;
    const Value windows = read_windows(b, op, op.as<ScatterParams>(), ct[0], x[1]);
    sink.add(2, op.prim == &kScatterSub ? lax::neg(b, windows) : windows);
}

void scatter_mul_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<ScatterParams>();
    if (x[0].is_linear()) sink.add(0, lax::scatter(b, kScatterMul, ct[0], x[1], x[2], p));
    if (!x[2].is_linear()) return;
    require_unique_indices(op);
    sink.add(2, read_windows(b, op, p, lax::mul(b, ct[0], x[0]), x[1]));
}

void scatter_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    ScatterParams p = op.as<ScatterParams>();
    require_unique_indices(op);
    if (ct[0].is_zero()) return;
    const AvalRef t = b.aval(ct[0]);
    if (x[0].is_linear()) {  // what was overwritten has no part in the result
        p.unique_indices = true;
        sink.add(0, lax::scatter(b, kScatter, ct[0], x[1], lax::zeros_like(b, AvalRef(t->dtype, op.in[2]->shape)), p));
    }
    if (x[2].is_linear()) sink.add(2, read_windows(b, op, p, ct[0], x[1]));
}

BatchResult scatter_batch_rule(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    return scatter_batch(b, *op.prim, x, dims, op.as<ScatterParams>(), size);
}

// ---- Running

KernelSpec scatter_kernel(const Op& op) {
    const auto& p = op.as<ScatterParams>();
    const ScatterDims& s = p.dimension_numbers;
    using Kind = ScatterKernel::Kind;
    JAXSCOPE_ASSERT(op.prim != &kScatter || p.update_jaxpr.is_none());  // it expands
    ScatterKernel k{};
    k.kind = op.prim == &kScatterAdd   ? Kind::Add
             : op.prim == &kScatterMul ? Kind::Mul
             : op.prim == &kScatterMin ? Kind::Min
             : op.prim == &kScatterMax ? Kind::Max
                                       : Kind::Set;
    k.update_window_dims = to_ints(s.update_window_dims);
    k.inserted_window_dims = to_ints(s.inserted_window_dims);
    k.scatter_dims_to_operand_dims = to_ints(s.scatter_dims_to_operand_dims);
    k.operand_batching_dims = to_ints(s.operand_batching_dims);
    k.scatter_indices_batching_dims = to_ints(s.scatter_indices_batching_dims);
    k.mode = p.mode;
    return {k};
}

/// scatter_apply is a scatter with a function; null: it overwrites.
JaxprPtr scatter_expand(const Op& op) {
    return op.as<ScatterParams>().update_jaxpr.is_none() ? nullptr : emitted_calls().scatter_apply(op);
}

JaxprPtr scatter_sub_expand(const Op& op) {
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    return b.finish({lax::scatter(b, kScatterAdd, x[0], x[1], lax::neg(b, x[2]), op.as<ScatterParams>())}, "scatter_sub");
}

/// One operation for each update that is combined; the operand is copied, updates read and written.
Cost scatter_cost(const Op& op) {
    const bool combines = op.prim != &kScatter;
    return {.flops = combines ? static_cast<double>(op.in[2]->size()) : 0, .bytes = total_bytes(op)};
}

/// `{ lambda ; a b. let c = add a b in (c,) }`: one object for each primitive and dtype, as JAX caches it.
JaxprPtr combining_jaxpr(const Primitive& combine, DType dtype) {
    static std::mutex mutex;
    static std::map<std::pair<const Primitive*, DType>, JaxprPtr> made;
    std::lock_guard lock(mutex);
    JaxprPtr& j = made[{&combine, dtype}];
    if (!j) {
        JaxprBuilder b;
        const AvalRef scalar(dtype, {});
        const Value x = b.add_input(scalar), y = b.add_input(scalar);
        j = b.finish(b.bind(combine, {x, y}), combine.name.c_str());
    }
    return j;
}
const Primitive* combined_by(const Primitive& scatter) {
    return &scatter == &kScatterAdd   ? &kAdd
           : &scatter == &kScatterSub ? &kSub
           : &scatter == &kScatterMul ? &kMul
           : &scatter == &kScatterMin ? &kMin
           : &scatter == &kScatterMax ? &kMax
                                      : nullptr;
}

}  // namespace

Value lax::scatter(Builder& b, const Primitive& prim, Value operand, Value indices, Value updates, ScatterParams params) {
    const Primitive* combine = combined_by(prim);
    params.update_consts = Attr::tuple({});
    params.update_jaxpr = combine ? Attr(Attr::JaxprRef{combining_jaxpr(*combine, b.aval(operand)->dtype), false}) : Attr();
    return b.bind1(prim, {operand, indices, updates}, make_params(params));
}

ParamsRef scatter_anew(const Primitive& prim, const ParamsRef& params) {
    const Primitive* combine = combined_by(prim);
    const Attr* update = combine ? params->find("update_jaxpr") : nullptr;
    const auto* ref = update ? update->get<Attr::JaxprRef>() : nullptr;
    if (!ref || ref->jaxpr->num_invars != 2) return params;
    const DType dtype = ref->jaxpr->aval(ref->jaxpr->invar(0))->dtype;
    return with_param(params, "update_jaxpr", Attr(Attr::JaxprRef{combining_jaxpr(*combine, dtype), ref->closed}));
}

BatchResult scatter_batch(Builder& b, const Primitive& prim, const Values& x, const std::vector<int>& dims, ScatterParams p,
                          std::int64_t size) {
    const Value operand = batch_to_front(b, x[0], dims[0], size);
    const Value updates = batch_to_front(b, x[2], dims[2], size);
    ScatterDims& s = p.dimension_numbers;
    s.inserted_window_dims = plus(s.inserted_window_dims, 1);
    s.update_window_dims = plus(s.update_window_dims, 1);
    s.operand_batching_dims = plus(s.operand_batching_dims, 1);
    s.scatter_dims_to_operand_dims = plus(s.scatter_dims_to_operand_dims, 1);
    if (dims[1] == kNotMapped) {  // the batch axis is one more window dimension, written whole
        s.update_window_dims = with_front(0, s.update_window_dims);
        return {{b.bind1(prim, {operand, x[1], updates}, make_params(p))}, {0}};
    }
    const Value indices = moveaxis(b, x[1], dims[1], 0);
    s.operand_batching_dims = with_front(0, s.operand_batching_dims);
    s.scatter_indices_batching_dims = with_front(0, plus(s.scatter_indices_batching_dims, 1));
    return {{b.bind1(prim, {operand, indices, updates}, make_params(p))}, {0}};
}

// Rules of slicing.py, JAX 0.10.2.

constinit const Primitive kScatter{
    .name = "scatter",
    .abstract_eval = scatter_eval,
    .jvp = NoRule{"overlapping updates change the primal result too: see jvp_call"},
    .jvp_call = scatter_jvp_call,
    .transpose = scatter_transpose,
    .batch = scatter_batch_rule,
    .lower = NoRule{"runs as a kernel"},
    .kernel = scatter_kernel,
    .expand = scatter_expand,
    .cost = scatter_cost,
    .partition = partition_scatter,
};

constinit const Primitive kScatterAdd{
    .name = "scatter-add",
    .abstract_eval = scatter_eval,
    .jvp = scatter_addsub_jvp,
    .transpose = scatter_addsub_transpose,
    .batch = scatter_batch_rule,
    .lower = NoRule{"runs as a kernel"},
    .kernel = scatter_kernel,
    .cost = scatter_cost,
    .partition = partition_scatter,
};

constinit const Primitive kScatterSub{
    .name = "scatter-sub",
    .abstract_eval = scatter_eval,
    .jvp = scatter_addsub_jvp,
    .transpose = scatter_addsub_transpose,
    .batch = scatter_batch_rule,
    .lower = NoRule{"expands to scatter-add"},
    .expand = scatter_sub_expand,
    .cost = scatter_cost,
};

constinit const Primitive kScatterMul{
    .name = "scatter-mul",
    .abstract_eval = scatter_eval,
    .jvp = scatter_mul_jvp,
    .transpose = scatter_mul_transpose,
    .batch = scatter_batch_rule,
    .lower = NoRule{"runs as a kernel"},
    .kernel = scatter_kernel,
    .cost = scatter_cost,
    .partition = partition_scatter,
};

constinit const Primitive kScatterMin{
    .name = "scatter-min",
    .abstract_eval = scatter_eval,
    .jvp = scatter_extremal_jvp,
    .transpose = NoRule{"not linear: jvp emits scatter-add"},
    .batch = scatter_batch_rule,
    .lower = NoRule{"runs as a kernel"},
    .kernel = scatter_kernel,
    .cost = scatter_cost,
    .partition = partition_scatter,
};

constinit const Primitive kScatterMax{
    .name = "scatter-max",
    .abstract_eval = scatter_eval,
    .jvp = scatter_extremal_jvp,
    .transpose = NoRule{"not linear: jvp emits scatter-add"},
    .batch = scatter_batch_rule,
    .lower = NoRule{"runs as a kernel"},
    .kernel = scatter_kernel,
    .cost = scatter_cost,
    .partition = partition_scatter,
};

std::span<const Primitive* const> scatter_primitives() {
    static constexpr const Primitive* all[] = {&kScatter, &kScatterAdd, &kScatterSub, &kScatterMul, &kScatterMin, &kScatterMax};
    return all;
}

}  // namespace jaxscope
