// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "calls/control_flow.h"
#include "calls/families.h"
#include "calls/reductions/window_fold.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/split_builder.h"

// reduce (lax.py of JAX 0.10.2): lax.reduce with a function of the user's own; sums, maxima and the like are primitives of their own.
namespace jaxscope {

namespace {

struct GeneralReduceParams {
    Attr::JaxprRef jaxpr;  ///< scalars (accumulators, elements) -> accumulators
    Dims dimensions;
    static constexpr auto kFields =
        std::tuple(field("jaxpr", &GeneralReduceParams::jaxpr), field("dimensions", &GeneralReduceParams::dimensions));
};

Avals reduce_abstract_eval(const Op& op) {
    ParamReads::note("computation");  // the function that was traced to `jaxpr`
    const GeneralReduceParams& p = op.as<GeneralReduceParams>();
    const std::size_t n = op.in.size() / 2;
    if (n == 0 || op.in.size() != 2 * n || p.jaxpr.jaxpr->num_invars != 2 * n || p.jaxpr.jaxpr->outvars.size() != n)
        throw Error(ErrorCode::TypeMismatch, "reduce: expected as many operands as initial values and a function of two of each, found " +
                                                 std::to_string(op.in.size()) + " inputs");
    Avals out;
    for (std::size_t i = 0; i < n; ++i) {
        const Aval &x = *op.in[i], &init = *op.in[n + i];
        if (x.shape != op.in.front()->shape || init.rank() != 0 || x.dtype != init.dtype || !in_range(p.dimensions, x.rank()) ||
            !distinct(p.dimensions))
            throw Error(ErrorCode::TypeMismatch,
                        "reduce: expected operands of one shape with all dimensions reduced and scalar initial values "
                        "of their dtypes, found " +
                            types_text(op.in));
        out.emplace_back(x.dtype, take(x.shape, remaining(x.rank(), p.dimensions)), x.weak_type && init.weak_type);
    }
    return out;
}

/// The reduction as a tree, from operands (reduced dimensions flattened, in front) and initial values: halves are combined until one is
/// left. What JAX differentiates.
JaxprPtr reduction_tree(const JaxprPtr& body, const Avals& operands, const Avals& inits) {
    JaxprBuilder b;
    Values xs, init;
    for (const AvalRef a : operands) xs.push_back(b.add_input(a));
    for (const AvalRef a : inits) init.push_back(b.add_input(a));
    const Dims shape = operands.front()->shape;
    for (std::int64_t n = shape.front(); n > 1; n = (n + 1) / 2) {
        const std::int64_t half = (n + 1) / 2;
        const Dims ones(shape.size(), 1);  // strides of 1 are given, as by slice_in_dim
        Dims limit = shape, start(shape.size(), 0), half_shape = shape;
        half_shape.front() = half;
        Values both;
        limit.front() = half;
        for (const Value x : xs) both.push_back(b.bind1(kSlice, {x}, make_params(SliceParams{start, limit, ones})));
        start.front() = half;
        limit.front() = n;
        for (std::size_t i = 0; i < xs.size(); ++i) {
            const Value x = b.bind1(kSlice, {xs[i]}, make_params(SliceParams{start, limit, ones}));
            PadConfig padding(shape.size());
            padding.front() = {0, 2 * half - n, 0};
            both.push_back(n == 2 * half ? x : lax::pad(b, x, init[i], padding));
        }
        xs = eval_jaxpr(b, *on_arrays(body, half_shape), both);
    }
    Values out;
    for (std::size_t i = 0; i < xs.size(); ++i)
        out.push_back(shape.front() == 0 ? lax::broadcast_in_dim(b, init[i], erased(shape, 0), {}) : lax::squeeze(b, xs[i], {0}));
    return b.finish(out, body->name);
}

struct Flattened {
    Dims permutation, shape;
};
Flattened flattened(const Op& op) {
    const Dims &in = op.in.front()->shape, &reduced = op.as<GeneralReduceParams>().dimensions;
    const Dims kept = remaining(static_cast<std::int64_t>(in.size()), reduced);
    return {joined(reduced, kept), with_front(element_count(take(in, reduced)), take(in, kept))};
}
JaxprPtr tree_of(const Op& op) {
    Avals operands;
    const std::size_t n = op.in.size() / 2;
    for (std::size_t i = 0; i < n; ++i) operands.push_back(with_shape(op.in[i], flattened(op).shape));
    return reduction_tree(op.as<GeneralReduceParams>().jaxpr.jaxpr, operands, rest(op.in, n));
}

PrimalsTangents reduce_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const std::size_t n = x.size() / 2;
    for (std::size_t i = n; i < dx.size(); ++i)
        if (!dx[i].is_zero())
            throw Error(ErrorCode::NotDifferentiable,
                        "Gradient of general lax.reduce with non-zero tangents for initial values to reduction not implemented")
                .at(op.source.loc());
    const Flattened f = flattened(op);
    Values in, tangents;
    for (std::size_t i = 0; i < n; ++i) in.push_back(lax::reshape(b, x[i], f.shape, f.permutation));
    for (std::size_t i = 0; i < n; ++i) tangents.push_back(lax::reshape(b, instantiate_zero(b, dx[i], op.in[i]), f.shape, f.permutation));
    const JvpJaxpr& tree = jvp_jaxpr(tree_of(op), joined(Flags(n, true), Flags(n, false)), true);
    const Values out = eval_jaxpr(b, *tree.jaxpr, joined(in, rest(x, n), tangents));
    return {part(out, 0, n), rest(out, n)};
}

BatchResult reduce_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const std::size_t n = x.size() / 2;
    if (std::any_of(dims.begin() + static_cast<std::ptrdiff_t>(n), dims.end(), [](int d) { return d != kNotMapped; }))
        throw Error(ErrorCode::NoRule, "vmap of reduce with mapped initial values is not implemented, in JAX neither");
    Values in;
    for (std::size_t i = 0; i < n; ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    const ParamsRef params = with_param(op.params, "dimensions", to_attr(plus(op.as<GeneralReduceParams>().dimensions, 1)));
    return {b.bind(*op.prim, joined(in, rest(x, n)), params), std::vector<int>(n, 0)};
}

/// The reduced dimensions in windows of at most `limit`, side by side; the last one overhangs as with JAX's padding "SAME".
ReduceWindowParams blocks(const Dims& shape, const Dims& reduced, std::int64_t limit) {
    const Dims ones(shape.size(), 1);
    ReduceWindowParams w{.base_dilation = ones,
                         .padding = PadPairs(shape.size()),
                         .window_dilation = ones,
                         .window_dimensions = ones,
                         .window_strides = ones};
    for (const std::int64_t axis : reduced) {
        const auto d = static_cast<std::size_t>(axis);
        const std::int64_t size = std::min(shape[d], limit), missing = (size - shape[d] % size) % size;
        w.window_dimensions[d] = w.window_strides[d] = size;
        w.padding[d] = {missing / 2, missing - missing / 2};
    }
    return w;
}

/// What XLA's CPU compiler computes: a fold of each result's elements in row-major order. Reductions of one operand it first makes smaller
/// by windows of 32 (TreeReductionRewriter), and the initial value counts in each of them: JAX leaves open what a value that isn't the
/// function's identity does, and users see this.
JaxprPtr reduce_expand(const Op& op) {
    JaxprBuilder b;
    const auto& p = op.as<GeneralReduceParams>();
    const std::size_t n = op.in.size() / 2;
    Values in;
    for (const AvalRef a : op.in) in.push_back(b.add_input(a));
    Values x = part(in, 0, n);
    const Values init = rest(in, n);
    const auto shape = [&] { return b.aval(x.front())->shape; };
    const std::int64_t kept = op.out.front()->size();
    if (kept == op.in.front()->size() || element_count(take(shape(), p.dimensions)) == 0) {
        // One element for each result: XLA keeps it as it is, without the initial value.
        for (std::size_t i = 0; i < n; ++i)
            x[i] = kept == op.in[i]->size() ? lax::reshape(b, x[i], op.out[i]->shape)
                                            : lax::broadcast_in_dim(b, init[i], op.out[i]->shape, {});
        return b.finish(x);
    }
    // Not sums: XLA adds the initial value once a block.
    if (const PlainReduction* r = plain_reduction(*p.jaxpr.jaxpr); r && &r->combine != &kAdd) {
        const Value of_all = b.bind1(r->reduce, x, make_params(ReduceParams{p.dimensions}));
        return b.finish({b.bind1(r->combine, {lax::broadcast_in_dim(b, init[0], op.out[0]->shape, {}), of_all})});
    }
    constexpr std::int64_t kWindow = 32;
    const auto large = [&](std::int64_t d) { return shape()[static_cast<std::size_t>(d)] > kWindow; };
    while (n == 1 && std::any_of(p.dimensions.begin(), p.dimensions.end(), large))
        x = fold_windows(b, p.jaxpr.jaxpr, x, init, blocks(shape(), p.dimensions, kWindow));
    x = fold_windows(b, p.jaxpr.jaxpr, x, init, blocks(shape(), p.dimensions, std::numeric_limits<std::int64_t>::max()));
    for (std::size_t i = 0; i < n; ++i) x[i] = lax::reshape(b, x[i], op.out[i]->shape);
    return b.finish(x);
}

Cost reduce_cost(const Op& op) {
    return {static_cast<double>(op.in.front()->size()) * static_cast<double>(count_equations(*op.as<GeneralReduceParams>().jaxpr.jaxpr)),
            total_bytes(op)};
}

}  // namespace

constinit const Primitive kGeneralReduce{
    .name = "reduce",
    .abstract_eval = reduce_abstract_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = reduce_jvp,
    .transpose = NoRule{"JAX has none either: its derivative is a tree of the function's own equations"},
    .batch = reduce_batch,
    .lower = NoRule{"expands to a scan over its elements"},
    .kernel = NoRule{"expands to a scan over its elements"},
    .expand = reduce_expand,
    .cost = reduce_cost,
};

std::span<const Primitive* const> general_reduce_primitives() {
    static constexpr const Primitive* all[] = {&kGeneralReduce};
    return all;
}

}  // namespace jaxscope
