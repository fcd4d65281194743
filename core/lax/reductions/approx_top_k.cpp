#include <bit>
#include <cmath>

#include "lax/families.h"
#include "lax/rule_support.h"

// approx_max_k and approx_min_k (ann.py of JAX 0.10.2).
namespace jaxscope {

namespace {

struct ApproxTopKParams {
    std::int64_t k = 0, dimension = 0, input_size_override = -1;
    double recall_target = 1;
    bool aggregate = true;
    static constexpr auto kFields =
        std::tuple(field("k", &ApproxTopKParams::k), field("reduction_dimension", &ApproxTopKParams::dimension),
                   field("recall_target", &ApproxTopKParams::recall_target), field("aggregate_to_topk", &ApproxTopKParams::aggregate),
                   field("reduction_input_size_override", &ApproxTopKParams::input_size_override));
};
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

constinit const Primitive kApproxTopK =
    typed_only("approx_top_k", eval_approx_top_k, "the candidates that XLA's approximation keeps are not computed: top_k is exact");

}  // namespace

std::span<const Primitive* const> approx_top_k_primitives() {
    static constexpr const Primitive* all[] = {&kApproxTopK};
    return all;
}

}  // namespace jaxscope
