// SPDX-License-Identifier: Apache-2.0
#include "lax/params/shapes.h"

#include <algorithm>

#include "base/checked.h"
#include "ir/kernel_builder.h"
#include "ir/print/text_form.h"
#include "ir/types/manual_axes.h"
#include "ir/types/type_mesh.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/partition_rules.h"

namespace jaxscope {
namespace {

// ---- broadcast_in_dim

Avals broadcast_in_dim_eval(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<BroadcastInDimParams>();
    const Dims& from = op.in[0]->shape;
    const Dims& at = p.broadcast_dimensions;
    if (at.size() != from.size()) type_mismatch(op, "one entry of broadcast_dimensions for each operand dimension", shape_text(at));
    if (!in_range(at, static_cast<std::int64_t>(p.shape.size())) || !distinct(at))
        type_mismatch(op, "broadcast_dimensions to be distinct dimensions of " + shape_text(p.shape), shape_text(at));
    for (std::size_t d = 0; d < from.size(); ++d)
        if (from[d] != 1 && from[d] != p.shape[static_cast<std::size_t>(at[d])])
            type_mismatch(op, "operand dimensions of size 1 or of the result's size",
                          shape_text(from) + " for " + shape_text(p.shape) + " along " + shape_text(at));
    return {standard_result(op, op.in[0]->dtype, p.shape)};
}

std::optional<Value> broadcast_in_dim_fold(Builder&, const Op& op, Value x) {
    const auto& p = op.as<BroadcastInDimParams>();
    return p.shape == op.in[0]->shape && p.sharding.is_none() ? std::optional(x) : std::nullopt;
}

void broadcast_in_dim_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero() || !x[0].is_linear()) return;
    const auto& p = op.as<BroadcastInDimParams>();
    Dims unit_dims, kept;
    for (std::size_t d = 0; d < p.broadcast_dimensions.size(); ++d) {
        if (op.in[0]->shape[d] == 1)
            unit_dims.push_back(static_cast<std::int64_t>(d));
        else
            kept.push_back(p.broadcast_dimensions[d]);
    }
    const Dims axes = remaining(static_cast<std::int64_t>(p.shape.size()), kept);
    Aval summed_to = *op.in[0];
    if (types_have_mesh()) {
        auto spec = explicit_spec(*op.in[0]);
        spec.resize(op.in[0]->shape.size());
        for (std::size_t d = unit_dims.size(); d-- > 0;) spec.erase(spec.begin() + static_cast<std::ptrdiff_t>(unit_dims[d]));
        summed_to.shape = take(op.in[0]->shape, remaining(op.in[0]->rank(), unit_dims));
        summed_to = *with_explicit_spec(summed_to, spec);
    }
    const Value summed = lax::reduce_sum(b, ct[0], axes, explicit_sharding(summed_to));
    // The identity in all programs that JAX's own functions make: their broadcast_dimensions ascend.
    const Value ordered = lax::transpose(b, summed, argsort(argsort(kept)));
    sink.add(0, lax::expand_dims(b, ordered, unit_dims));
}

BatchResult broadcast_in_dim_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const auto& p = op.as<BroadcastInDimParams>();
    const Value front = moveaxis(b, x[0], dims[0], 0);
    return {{lax::broadcast_in_dim(b, front, with_front(size, p.shape), with_front(0, plus(p.broadcast_dimensions, 1)))}, {0}};
}

KScalar broadcast_in_dim_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto& p = op.as<BroadcastInDimParams>();
    KIndex from;
    for (std::size_t d = 0; d < p.broadcast_dimensions.size(); ++d)
        from.at.push_back(op.in[0]->shape[d] == 1 ? k.index(0) : i.at[static_cast<std::size_t>(p.broadcast_dimensions[d])]);
    return k.load(0, from);
}

// ---- reshape and squeeze

/// Positions in a row-major array of shape `to` of the elements at `i` in one of shape `from`. Runs of dimensions that line up pass
/// through, so that index arithmetic is left only where dimensions are really merged or split.
KIndex reshaped_index(ElementBuilder& k, const KIndex& i, const Dims& from, const Dims& to) {
    KIndex result;
    result.at.assign(to.size(), k.index(0));
    if (element_count(to) == 0) return result;
    std::size_t f = 0, t = 0;
    while (true) {
        while (f < from.size() && from[f] == 1) ++f;
        while (t < to.size() && to[t] == 1) ++t;
        if (f == from.size() || t == to.size()) return result;
        const std::size_t first_to = t;
        KScalar linear = i.at[f];
        std::int64_t size_from = from[f++], size_to = to[t++];
        while (size_from != size_to) {
            if (size_from < size_to) {
                if (from[f] != 1) linear = k.op(KOp::Add, k.op(KOp::Mul, linear, k.index(from[f])), i.at[f]);
                size_from *= from[f++];
            } else {
                size_to *= to[t++];
            }
        }
        std::size_t left = t;
        while (left-- > first_to + 1) {
            if (to[left] == 1) continue;
            result.at[left] = k.op(KOp::Rem, linear, k.index(to[left]));
            linear = k.op(KOp::Div, linear, k.index(to[left]));
        }
        result.at[first_to] = linear;
    }
}

Avals reshape_eval(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<ReshapeParams>();
    const Dims& from = op.in[0]->shape;
    if (std::ranges::any_of(p.new_sizes, [](std::int64_t d) { return d < 0; }))
        type_mismatch(op, "new_sizes of 0 and more", shape_text(p.new_sizes));
    if (element_count(from) != element_count(p.new_sizes))
        type_mismatch(op, "as many elements as " + shape_text(from) + " has", shape_text(p.new_sizes));
    if (p.dimensions && (p.dimensions->size() != from.size() || !distinct(*p.dimensions) || !in_range(*p.dimensions, op.in[0]->rank())))
        type_mismatch(op, "dimensions to be a permutation of the operand's", shape_text(*p.dimensions));
    return {standard_result(op, op.in[0]->dtype, p.new_sizes)};
}

void reshape_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<ReshapeParams>();
    const Dims& shape = op.in[0]->shape;
    if (!p.dimensions) return sink.add(0, lax::reshape(b, ct[0], shape, {}, explicit_sharding(*op.in[0])));
    const Value permuted = lax::reshape(b, ct[0], take(shape, *p.dimensions));
    sink.add(0, lax::transpose(b, permuted, argsort(*p.dimensions)));
}

BatchResult reshape_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const auto& p = op.as<ReshapeParams>();
    const Value front = moveaxis(b, x[0], dims[0], 0);
    if (!p.dimensions) return {{lax::reshape(b, front, with_front(size, p.new_sizes))}, {0}};
    return {{lax::reshape(b, front, with_front(size, p.new_sizes), with_front(0, plus(*p.dimensions, 1)))}, {0}};
}

KScalar reshape_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto& p = op.as<ReshapeParams>();
    const Dims& shape = op.in[0]->shape;
    if (!p.dimensions) return k.load(0, reshaped_index(k, i, p.new_sizes, shape));
    const KIndex permuted = reshaped_index(k, i, p.new_sizes, take(shape, *p.dimensions));
    KIndex from;
    from.at.resize(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) from.at[static_cast<std::size_t>((*p.dimensions)[d])] = permuted.at[d];
    return k.load(0, from);
}

Avals squeeze_eval(const Op& op) {
    expect_arrays(op, 1);
    const Dims& dims = op.as<SqueezeParams>().dimensions;
    const Dims& shape = op.in[0]->shape;
    if (!distinct(dims) || !in_range(dims, op.in[0]->rank()))
        type_mismatch(op, "distinct dimensions of an operand of shape " + shape_text(shape), shape_text(dims));
    for (const std::int64_t d : dims)
        if (shape[static_cast<std::size_t>(d)] != 1)
            type_mismatch(op, "dimensions of size 1", shape_text(dims) + " of " + shape_text(shape));
    return {standard_result(op, op.in[0]->dtype, take(shape, remaining(op.in[0]->rank(), dims)))};
}

void squeeze_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!ct[0].is_zero()) sink.add(0, lax::expand_dims(b, ct[0], op.as<SqueezeParams>().dimensions));
}

BatchResult squeeze_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {{lax::squeeze(b, moveaxis(b, x[0], dims[0], 0), plus(op.as<SqueezeParams>().dimensions, 1))}, {0}};
}

KScalar squeeze_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const Dims kept = remaining(op.in[0]->rank(), op.as<SqueezeParams>().dimensions);
    KIndex from;
    from.at.assign(op.in[0]->shape.size(), k.index(0));
    for (std::size_t d = 0; d < kept.size(); ++d) from.at[static_cast<std::size_t>(kept[d])] = i.at[d];
    return k.load(0, from);
}

// ---- transpose and rev

Avals transpose_eval(const Op& op) {
    expect_arrays(op, 1);
    const Dims& permutation = op.as<TransposeParams>().permutation;
    const Dims& shape = op.in[0]->shape;
    if (permutation.size() != shape.size() || !distinct(permutation) || !in_range(permutation, op.in[0]->rank()))
        type_mismatch(op, "a permutation of the dimensions of " + shape_text(shape), shape_text(permutation));
    return {standard_result(op, op.in[0]->dtype, take(shape, permutation))};
}

void transpose_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!ct[0].is_zero()) sink.add(0, lax::transpose(b, ct[0], argsort(op.as<TransposeParams>().permutation)));
}

BatchResult transpose_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {{lax::transpose(b, x[0], with_front(dims[0], bump(op.as<TransposeParams>().permutation, dims[0])))}, {0}};
}

KScalar transpose_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const Dims& permutation = op.as<TransposeParams>().permutation;
    KIndex from;
    from.at.resize(permutation.size());
    for (std::size_t d = 0; d < permutation.size(); ++d) from.at[static_cast<std::size_t>(permutation[d])] = i.at[d];
    return k.load(0, from);
}

Avals rev_eval(const Op& op) {
    expect_arrays(op, 1);
    const Dims& dims = op.as<RevParams>().dimensions;
    if (!distinct(dims) || !in_range(dims, op.in[0]->rank()))
        type_mismatch(op, "distinct dimensions of an operand of shape " + shape_text(op.in[0]->shape), shape_text(dims));
    return {standard_result(op, op.in[0]->dtype, op.in[0]->shape)};
}

void rev_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!ct[0].is_zero()) sink.add(0, b.bind1(kRev, ct, op.params));
}

BatchResult rev_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {{b.bind1(kRev, x, make_params(RevParams{bump(op.as<RevParams>().dimensions, dims[0])}))}, {dims[0]}};
}

KScalar rev_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    KIndex from = i;
    for (const std::int64_t d : op.as<RevParams>().dimensions) {
        const auto at = static_cast<std::size_t>(d);
        from.at[at] = k.op(KOp::Sub, k.index(op.in[0]->shape[at] - 1), i.at[at]);
    }
    return k.load(0, from);
}

// ---- iota and tile

Avals iota_eval(const Op& op) {
    expect_arrays(op, 0);
    const auto& p = op.as<IotaParams>();
    if (!is_integer(p.dtype) && !is_inexact(p.dtype)) type_mismatch(op, "a numeric dtype", info(p.dtype).name);
    if (!in_range({p.dimension}, static_cast<std::int64_t>(p.shape.size())))
        type_mismatch(op, "a dimension of " + shape_text(p.shape), std::to_string(p.dimension));
    return {standard_result(op, p.dtype, p.shape)};
}

KScalar iota_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto& p = op.as<IotaParams>();
    return k.convert(i.at[static_cast<std::size_t>(p.dimension)], p.dtype);
}

Avals tile_eval(const Op& op) {
    expect_arrays(op, 1);
    const Dims& reps = op.as<TileParams>().reps;
    if (reps.size() != op.in[0]->shape.size()) type_mismatch(op, "one repetition count for each dimension", shape_text(reps));
    Dims shape = op.in[0]->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = checked_mul(shape[d], reps[d]);
    return {with_shape(op.in[0], shape)};
}

void tile_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const Dims& reps = op.as<TileParams>().reps;
    Dims split, axes;
    for (std::size_t d = 0; d < reps.size(); ++d) {
        axes.push_back(static_cast<std::int64_t>(split.size()));
        split.insert(split.end(), {reps[d], op.in[0]->shape[d]});
    }
    sink.add(0, lax::reduce_sum(b, lax::reshape(b, ct[0], split), axes));
}

BatchResult tile_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {{b.bind1(kTile, x, make_params(TileParams{inserted(op.as<TileParams>().reps, dims[0], 1)}))}, {dims[0]}};
}

KScalar tile_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    KIndex from = i;
    for (std::size_t d = 0; d < from.at.size(); ++d)
        if (op.as<TileParams>().reps[d] != 1) from.at[d] = k.op(KOp::Rem, i.at[d], k.index(op.in[0]->shape[d]));
    return k.load(0, from);
}

bool reshape_is_view(const Op& op) {
    const Attr* dimensions = op.params->find("dimensions");
    return !dimensions || dimensions->is_none();
}

Attr shape_of_result(const ReadEqn& e) { return e.out.empty() ? Attr() : to_attr(e.out[0]->shape); }
constexpr HiddenParam kBroadcastHidden[] = {{"broadcast_dimensions", text_form::if_empty, text_form::empty_tuple},
                                            {"shape", text_form::always, shape_of_result},
                                            {"sharding", text_form::always, text_form::none}};
constexpr TextForm kBroadcastText{.hidden = kBroadcastHidden};

}  // namespace

// Rules of lax.py, JAX 0.10.2. All are linear in their operand: the tangent takes the same way as the value.

constinit const Primitive kBroadcastInDim{
    .name = "broadcast_in_dim",
    .abstract_eval = broadcast_in_dim_eval,
    .fold = broadcast_in_dim_fold,
    .jvp = jvp_linear,
    .transpose = broadcast_in_dim_transpose,
    .batch = broadcast_in_dim_batch,
    .lower = broadcast_in_dim_lower,
    .cost = data_movement_cost,
    .partition = partition_broadcast_in_dim,
    .text = &kBroadcastText,
};

constinit const Primitive kReshape{
    .name = "reshape",
    .abstract_eval = reshape_eval,
    .jvp = jvp_linear,
    .transpose = reshape_transpose,
    .batch = reshape_batch,
    .lower = reshape_lower,
    .cost = data_movement_cost,
    .partition = partition_reshape,
    .view = reshape_is_view,
};

constinit const Primitive kSqueeze{
    .name = "squeeze",
    .abstract_eval = squeeze_eval,
    .jvp = jvp_linear,
    .transpose = squeeze_transpose,
    .batch = squeeze_batch,
    .lower = squeeze_lower,
    .cost = data_movement_cost,
    .partition = partition_squeeze,
    .view = always_a_view,
};

constinit const Primitive kTranspose{
    .name = "transpose",
    .abstract_eval = transpose_eval,
    .jvp = jvp_linear,
    .transpose = transpose_transpose,
    .batch = transpose_batch,
    .lower = transpose_lower,
    .cost = data_movement_cost,
    .partition = partition_transpose,
};

constinit const Primitive kRev{
    .name = "rev",
    .abstract_eval = rev_eval,
    .jvp = jvp_linear,
    .transpose = rev_transpose,
    .batch = rev_batch,
    .lower = rev_lower,
    .cost = data_movement_cost,
    .partition = partition_rev,
};

constinit const Primitive kIota{
    .name = "iota",
    .abstract_eval = iota_eval,
    .jvp = NoRule{"has no inputs, so no tangent reaches it"},
    .transpose = NoRule{"has no inputs"},
    .batch = NoRule{"has no inputs, so no batch axis reaches it"},
    .lower = iota_lower,
    .cost = data_movement_cost,
    .partition = partition_iota,
};

constinit const Primitive kTile{
    .name = "tile",
    .abstract_eval = tile_eval,
    .jvp = jvp_linear,
    .transpose = tile_transpose,
    .batch = tile_batch,
    .lower = tile_lower,
    .cost = data_movement_cost,
};

std::span<const Primitive* const> shape_primitives() {
    static constexpr const Primitive* all[] = {&kBroadcastInDim, &kReshape, &kSqueeze, &kTranspose, &kRev, &kIota, &kTile, &kPad};
    return all;
}

}  // namespace jaxscope
