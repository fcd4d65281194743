// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/sort.h"
#include "lax/reductions/along_axis.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

// approx_max_k and approx_min_k (ann.py of JAX 0.10.2).
namespace jaxscope {

namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }
/// How many candidates are left of `n`: XLA's ApproxTopKReductionOutputSize, which folds tiles of TPU lanes onto each other by
/// powers of two for as long as the recall allows.
std::int64_t candidates(const Op& op, const ApproxTopKParams& p, std::int64_t n) {
    const std::int64_t tile = op.in[0]->rank() == 1 ? 1024 : 128;
    if (n <= tile) return n;
    const std::int64_t logical = p.input_size_override >= 0 ? p.input_size_override : n;
    if (logical < n) type_mismatch(op, "an input size of at least " + std::to_string(n), std::to_string(logical));
    if (p.k == 1) return tile;
    if (p.recall_target <= 0 || p.recall_target > 1) type_mismatch(op, "a recall target in (0, 1]", std::to_string(p.recall_target));
    const double recall = static_cast<float>(p.recall_target);
    if (!(recall < 1)) return n;
    const double wanted = std::max((1.0 - static_cast<double>(p.k)) / std::log(recall), static_cast<double>(tile));
    if (wanted >= static_cast<double>(logical)) return n;
    const auto log2_floor = std::bit_width(static_cast<std::uint64_t>(logical / static_cast<std::int64_t>(wanted))) - 1;
    if (log2_floor == 0) return n;
    const std::int64_t tiles = divided_up(n, tile);
    const auto log2_ceil = std::bit_width(static_cast<std::uint64_t>(tiles - 1));
    return divided_up(tiles, std::int64_t{1} << std::min(log2_floor, log2_ceil)) * tile;
}
Avals eval_approx_top_k(const Op& op) {
    expect_arrays(op, 1);
    ApproxTopKParams p = op.as<ApproxTopKParams>();
    Dims shape = op.in[0]->shape;
    if (p.dimension < 0) p.dimension += std::ssize(shape);
    if (!is_float(op.in[0]->dtype)) type_mismatch(op, "a floating dtype", info(op.in[0]->dtype).name);
    if (!in_range({p.dimension}, op.in[0]->rank())) type_mismatch(op, "a dimension of " + shape_text(shape), std::to_string(p.dimension));
    std::int64_t& size = shape[static_cast<std::size_t>(p.dimension)];
    if (p.k <= 0 || p.k > size) type_mismatch(op, "k from 1 to " + std::to_string(size), std::to_string(p.k));
    size = p.aggregate ? p.k : candidates(op, p, size);
    return {with_shape(op.in[0], shape), with_dtype(with_shape(op.in[0], shape), DType::S32)};
}

std::int64_t dimension_of(const Op& op) {
    const std::int64_t d = op.as<ApproxTopKParams>().dimension;
    return d < 0 ? d + op.in[0]->rank() : d;
}

/// The tangents at the positions that were found, by jnp.take_along_axis.
Values approx_top_k_jvp(Builder& b, const Op& op, const Values&, const Values& y, const Values& dx) {
    if (dx[0].is_zero()) return {Value::zero(), Value::zero()};
    const std::int64_t d = dimension_of(op), rank = op.in[0]->rank(), size = op.in[0]->shape[static_cast<std::size_t>(d)];
    const Value tangent = jitted(b, "take_along_axis", std::to_string(d), {dx[0], y[1]}, [&](Builder& inner, const Values& v) {
        const auto number = [](std::int64_t n) { return Value(make_literal(AvalRef(DType::S32, {}), n)); };
        const Value negative = lax::lt(inner, v[1], number(0)), shifted = lax::add(inner, v[1], number(size));
        const Value at = lax::select_n(inner, negative, {v[1], shifted});
        GatherParams g = along_axis(rank, d);
        g.mode = OutOfBounds::FillOrDrop;
        return lax::gather(inner, v[0], lax::reshape(inner, at, inserted(inner.aval(at)->shape, rank, 1)), g);
    });
    return {tangent, Value::zero()};
}

BatchResult approx_top_k_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    ApproxTopKParams p = op.as<ApproxTopKParams>();
    p.dimension = dimension_of(op);
    p.dimension += dims[0] <= p.dimension;
    return {b.bind(*op.prim, x, make_params(p)), {dims[0], dims[0]}};
}

Cost approx_top_k_cost(const Op& op) {
    const auto n = static_cast<double>(op.in[0]->shape[static_cast<std::size_t>(dimension_of(op))]);
    return {.flops = static_cast<double>(op.in[0]->size()) * std::log2(std::max(n, 2.0)), .bytes = total_bytes(op)};
}

}  // namespace

// XLA's CPU backend sorts all and keeps the first of them: exact.
constinit const Primitive kApproxTopK{.name = "approx_top_k",
                                      .abstract_eval = eval_approx_top_k,
                                      .jvp = approx_top_k_jvp,
                                      .transpose = NoRule{"not linear: jvp emits a gather"},
                                      .batch = approx_top_k_batch,
                                      .lower = kRunsAsRoutine,
                                      .kernel = routine_kernel,
                                      .cost = approx_top_k_cost};

std::span<const Primitive* const> approx_top_k_primitives() {
    static constexpr const Primitive* all[] = {&kApproxTopK};
    return all;
}

}  // namespace jaxscope
