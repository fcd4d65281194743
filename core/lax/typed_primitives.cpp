// Primitives that JAX ships and jaxscope types, but neither differentiates nor runs unless a rule says so: each says what is missing.
// Result types as in JAX 0.10.2: random.py, lax/parallel.py, lax/linalg.py, lax/windowed_reductions.py, debugging.py, experimental/sparse.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "ir/builder.h"
#include "lax/elementwise/params.h"
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {

namespace {

/// A value of `dims` out of any sequence of integers; refuses another parameter.
Dims dims_of(const Op& op, const Attr* a, const char* what) {
    Dims out;
    if (!a) type_mismatch(op, what, "none");
    from_attr(*a, out);
    if (std::any_of(out.begin(), out.end(), [](std::int64_t d) { return d < 0; })) type_mismatch(op, what, shape_text(out));
    return out;
}
void expect_inputs(const Op& op, std::size_t n) {
    if (op.in.size() != n) type_mismatch(op, std::to_string(n) + " operands", std::to_string(op.in.size()));
}

// ---- Random numbers

Avals eval_random_gamma(const Op& op) {
    expect_inputs(op, 2);
    if (!op.in[0]->is_array() || !is_key(op.in[0]->dtype)) type_mismatch(op, "a typed key", to_text(op.in[0]));
    const Dims &key = op.in[0]->shape, &alpha = op.in[1]->shape;
    if (!is_float(op.in[1]->dtype)) type_mismatch(op, "a floating dtype", info(op.in[1]->dtype).name);
    if (key.size() > alpha.size() || !std::equal(key.begin(), key.end(), alpha.begin()))
        type_mismatch(op, "keys for leading dimensions of " + shape_text(alpha), shape_text(key));
    return {with_shape(op.in[1], alpha)};
}
Avals eval_iota_2x32(const Op& op) {
    expect_inputs(op, 0);
    const AvalRef half(DType::U32, dims_of(op, op.params->find("shape"), "a shape"));
    return {half, half};
}

// ---- Platforms, devices, callbacks

Avals eval_platform_index(const Op& op) {
    expect_inputs(op, 0);
    return {AvalRef(DType::S32, {})};
}
/// Which branch of platform_dependent runs here: the one for "cpu", else the default one (None).
JaxprPtr expand_platform_index(const Op& op) {
    const Attr* platforms = op.params->find("platforms");
    const auto* branches = platforms ? platforms->get_seq() : nullptr;
    std::optional<std::int64_t> chosen;
    for (std::size_t i = branches ? branches->items.size() : 0; i-- > 0;) {
        const Attr& names = branches->items[i];
        const auto* list = names.get_seq();
        const bool cpu = list && std::any_of(list->items.begin(), list->items.end(),
                                             [](const Attr& name) { return name.get<Sym>() && *name.get<Sym>() == Sym("cpu"); });
        if (cpu || (names.is_none() && !chosen)) chosen = static_cast<std::int64_t>(i);
    }
    if (!chosen) throw Error(ErrorCode::CannotRun, "expected a branch for the CPU in parameter platforms");
    JaxprBuilder b;
    return b.finish({Value(make_literal(AvalRef(DType::S32, {}), *chosen))}, "platform_index");
}

Avals eval_axis_index(const Op& op) {
    expect_inputs(op, 0);
    return {AvalRef(DType::S32, {})};
}
Avals eval_same(const Op& op) {
    Avals out;
    for (const AvalRef a : op.in) out.push_back(a);
    return out;
}
// ---- psum, pmax, pmin: over axes of the operand (numbers) as a reduction; over axes of a mesh the type stays

struct Axes {
    Dims positional;
    bool named = false;
};
Axes axes_of(const Op& op) {
    Axes out;
    const Attr* a = op.params->find("axes");
    const Attr::Seq* s = a ? a->get_seq() : nullptr;
    if (!s) type_mismatch(op, "axes", "none");
    for (const Attr& axis : s->items) {
        if (const auto* n = axis.get<std::int64_t>())
            out.positional.push_back(*n);
        else
            out.named = true;
    }
    return out;
}
Avals eval_all_reduce(const Op& op) {
    const Axes axes = axes_of(op);
    Avals out;
    for (const AvalRef a : op.in) {
        if (!a->is_array()) type_mismatch(op, "arrays", to_text(a));
        std::vector<bool> gone(a->shape.size());
        for (const std::int64_t axis : axes.positional) {
            if (axis < 0 || axis >= static_cast<std::int64_t>(a->shape.size()) || gone[static_cast<std::size_t>(axis)])
                type_mismatch(op, "distinct axes of " + shape_text(a->shape), std::to_string(axis));
            gone[static_cast<std::size_t>(axis)] = true;
        }
        Dims shape;
        for (std::size_t d = 0; d < gone.size(); ++d)
            if (!gone[d]) shape.push_back(a->shape[d]);
        out.push_back(with_shape(a, shape));
    }
    return out;
}
JaxprPtr reduced(const Op& op, const Primitive& reduce, bool sum) {
    const Axes axes = axes_of(op);
    if (axes.named)
        throw Error(ErrorCode::CannotRun, std::string("expected axes of the operand, found axes of a mesh in ") + op.prim->name)
            .at(op.source.loc());
    JaxprBuilder b;
    Values out, in;
    for (const AvalRef a : op.in) in.push_back(b.add_input(a));
    for (const Value v : in)
        out.push_back(sum ? lax::reduce_sum(b, v, axes.positional)
                          : b.bind1(reduce, {v}, make_params(ReduceParams{.axes = axes.positional})));
    return b.finish(out, op.prim->name);
}
JaxprPtr expand_psum(const Op& op) { return reduced(op, kReduceSum, true); }
JaxprPtr expand_pmax(const Op& op) { return reduced(op, kReduceMax, false); }
JaxprPtr expand_pmin(const Op& op) { return reduced(op, kReduceMin, false); }

ParamsRef over_axes(const Op& op, const Dims& positional) {
    Attrs axes;
    const Attr* before = op.params->find("axes");
    if (const Attr::Seq* s = before ? before->get_seq() : nullptr)
        for (const Attr& a : s->items)
            if (!a.get<std::int64_t>()) axes.push_back(a);
    for (const std::int64_t axis : positional) axes.emplace_back(axis);
    return with_param(op.params, "axes", Attr::tuple(std::move(axes)));
}
/// Axes of the operand are spread out again; over axes of a mesh the cotangents are summed once more, all in one psum.
void transpose_psum(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    const Dims summed = axes_of(op).positional;
    Values spread;
    std::vector<std::size_t> operands;
    for (std::size_t i = 0; i < ct.size(); ++i) {
        if (ct[i].is_zero() || !sink.wanted(i)) continue;
        operands.push_back(i);
        const Dims kept = remaining(op.in[i]->rank(), summed);
        spread.push_back(summed.empty() ? ct[i] : lax::broadcast_in_dim(b, ct[i], op.in[i]->shape, kept));
    }
    if (operands.empty()) return;
    const Values out = b.bind(*op.prim, spread, over_axes(op, {}));
    for (std::size_t k = 0; k < operands.size(); ++k) sink.add(operands[k], out[k]);
}
/// Over axes of a mesh each operand keeps its batch axis; else the axes count from the front, so that the batch axes of all operands go
/// there.
BatchResult batch_all_reduce(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Dims axes = axes_of(op).positional;
    if (axes.empty()) return {b.bind(*op.prim, x, op.params), dims};
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    return {b.bind(*op.prim, in, over_axes(op, plus(axes, 1))), std::vector<int>(x.size(), 0)};
}

// ---- Approximate top_k (ann.py)

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

// ---- Tridiagonal systems

Avals eval_tridiagonal_solve(const Op& op) {
    expect_arrays(op, 4);
    expect_same_dtype(op, 0, 4);
    const Dims& b = op.in[3]->shape;
    if (!is_inexact(op.in[3]->dtype)) type_mismatch(op, "a floating dtype", info(op.in[3]->dtype).name);
    if (b.size() < 2) type_mismatch(op, "right-hand sides of rank 2 or more", shape_text(b));
    const Dims diagonal(b.begin(), b.end() - 1);
    for (std::size_t i = 0; i < 3; ++i)
        if (op.in[i]->shape != diagonal) type_mismatch(op, "diagonals of " + shape_text(diagonal), shape_text(op.in[i]->shape));
    return {with_shape(op.in[3], b)};
}

// ---- jax.experimental.sparse: data [batch..., nse, dense...], indices [batch..., nse, sparse dimensions]

Dims sparse_shape(const Op& op, const char* param) {
    const Attr* info = op.params->find(param);
    const Attr::Record* r = info ? info->get_record() : nullptr;
    for (std::size_t i = 0; r && i < r->fields.size(); ++i)
        if (r->fields[i].first == Sym("shape")) return dims_of(op, &r->fields[i].second, "a shape");
    type_mismatch(op, "SparseInfo(shape=...)", "none");
}
/// Refuses data and indices that are none of a sparse array of `shape`.
void expect_sparse(const Op& op, const Dims& shape) {
    const Dims &data = op.in[0]->shape, &indices = op.in[1]->shape;
    if (!is_integer(op.in[1]->dtype) || indices.size() < 2) type_mismatch(op, "integer indices of rank 2 or more", to_text(op.in[1]));
    const std::size_t batch = indices.size() - 2;
    const auto sparse = static_cast<std::size_t>(indices.back());
    if (indices.back() < 0 || batch + sparse > shape.size() || data.size() != shape.size() - sparse + 1)
        type_mismatch(op, "data and indices of an array of " + shape_text(shape), shape_text(data) + " and " + shape_text(indices));
}
Avals eval_bcoo_todense(const Op& op) {
    expect_arrays(op, 2);
    const Dims shape = sparse_shape(op, "spinfo");
    expect_sparse(op, shape);
    return {with_shape(op.in[0], shape)};
}
Avals eval_bcoo_dot_general(const Op& op) {
    expect_arrays(op, 3);
    const Dims lhs = sparse_shape(op, "lhs_spinfo"), rhs = op.in[2]->shape;
    expect_sparse(op, lhs);
    const Attr* numbers = op.params->find("dimension_numbers");
    Dims sides[2][2];  // contracted and batch, of the left and right
    const Attr::Seq* pair = numbers ? numbers->get_seq() : nullptr;
    for (std::size_t kind = 0; kind < 2; ++kind) {
        const Attr::Seq* both = pair && pair->items.size() == 2 ? pair->items[kind].get_seq() : nullptr;
        if (!both || both->items.size() != 2) type_mismatch(op, "dimension numbers ((contracted), (batch))", "others");
        for (std::size_t side = 0; side < 2; ++side) sides[kind][side] = dims_of(op, &both->items[side], "dimensions");
    }
    Dims out;
    const auto size_of = [&](const Dims& shape, std::int64_t d) {
        if (d >= static_cast<std::int64_t>(shape.size())) type_mismatch(op, "a dimension of " + shape_text(shape), std::to_string(d));
        return shape[static_cast<std::size_t>(d)];
    };
    for (std::size_t kind = 0; kind < 2; ++kind) {
        if (sides[kind][0].size() != sides[kind][1].size()) type_mismatch(op, "pairs of dimensions", "one without the other");
        for (std::size_t i = 0; i < sides[kind][0].size(); ++i)
            if (size_of(lhs, sides[kind][0][i]) != size_of(rhs, sides[kind][1][i]))
                type_mismatch(op, "dimensions of one size", shape_text(lhs) + " and " + shape_text(rhs));
    }
    for (const std::int64_t d : sides[1][0]) out.push_back(size_of(lhs, d));
    const Dims* shapes[2] = {&lhs, &rhs};
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t d = 0; d < shapes[side]->size(); ++d) {
            const auto is = [&](const Dims& which) {
                return std::find(which.begin(), which.end(), static_cast<std::int64_t>(d)) != which.end();
            };
            if (!is(sides[0][side]) && !is(sides[1][side])) out.push_back((*shapes[side])[d]);
        }
    DType d = op.in[0]->dtype;
    if (const Attr* preferred = op.params->find("preferred_element_type"); preferred && !preferred->is_none()) from_attr(*preferred, d);
    return {with_dtype(with_shape(op.in[0], out), d)};
}
Avals eval_bcoo_transpose(const Op& op) {
    expect_arrays(op, 2);
    const Dims shape = sparse_shape(op, "spinfo"), order = dims_of(op, op.params->find("permutation"), "a permutation");
    expect_sparse(op, shape);
    Dims sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t d = 0; d < sorted.size(); ++d)
        if (sorted.size() != shape.size() || sorted[d] != static_cast<std::int64_t>(d))
            type_mismatch(op, "a permutation of the dimensions of " + shape_text(shape), shape_text(order));
    // Batch, sparse and dense dimensions each stay among themselves.
    const std::size_t batch = op.in[1]->shape.size() - 2, sparse = static_cast<std::size_t>(op.in[1]->shape.back());
    Dims data = op.in[0]->shape, indices = op.in[1]->shape;
    for (std::size_t d = 0; d < batch; ++d) {
        const auto from = static_cast<std::size_t>(order[d]);
        if (from >= batch) type_mismatch(op, "batch dimensions in front", shape_text(order));
        data[d] = op.in[0]->shape[from];
        indices[d] = op.in[1]->shape[from];
    }
    for (std::size_t d = batch + sparse; d < order.size(); ++d) {
        const auto from = static_cast<std::size_t>(order[d]);
        if (from < batch + sparse) type_mismatch(op, "dense dimensions at the end", shape_text(order));
        data[d - sparse + 1] = op.in[0]->shape[from - sparse + 1];
    }
    return {with_shape(op.in[0], data), with_shape(op.in[1], indices)};
}

// ---- Definitions

constexpr Primitive typed(const char* name, AbstractEvalFn* eval, const char* why) {
    return {.name = name, .abstract_eval = eval, .jvp = NoRule{why}, .transpose = NoRule{why}, .batch = NoRule{why}, .lower = NoRule{why}};
}
constexpr const char* kMesh = "a collective over devices: jaxscope runs programs on one";
constexpr const char* kSparse = "rules of jax.experimental.sparse are not written";
constexpr const char* kGamma = "JAX draws each sample in a loop of its own, and maps its derivative sample by sample: not written";

constinit const Primitive kRandomGamma = typed("random_gamma", eval_random_gamma, kGamma);
constinit const Primitive kIota2x32 = typed("iota_2x32_shape", eval_iota_2x32, "its 64-bit counts in two halves are not written");
constinit const Primitive kPlatformIndex{.name = "platform_index",
                                         .abstract_eval = eval_platform_index,
                                         .jvp = NoRule{"it has no inputs"},
                                         .transpose = NoRule{"it has no inputs"},
                                         .batch = NoRule{"it has no inputs"},
                                         .lower = NoRule{"expands to a number"},
                                         .expand = expand_platform_index};
constinit const Primitive kAxisIndex = typed("axis_index", eval_axis_index, kMesh);
constinit const Primitive kPpermute = typed("ppermute", eval_same, kMesh);

constexpr Primitive all_reduce(const char* name, ExpandFn* expand) {
    Primitive p = typed(name, eval_all_reduce, kMesh);
    p.batch = batch_all_reduce;
    p.expand = expand;
    return p;
}
constexpr Primitive sum_reduce(const char* name, ExpandFn* expand) {
    Primitive p = all_reduce(name, expand);
    p.jvp = jvp_linear;
    p.transpose = transpose_psum;
    return p;
}
constinit const Primitive kPsum = sum_reduce("psum", expand_psum);
constinit const Primitive kPmax = all_reduce("pmax", expand_pmax);
constinit const Primitive kPmin = all_reduce("pmin", expand_pmin);
constinit const Primitive kApproxTopK =
    typed("approx_top_k", eval_approx_top_k, "the candidates that XLA's approximation keeps are not computed: top_k is exact");
constinit const Primitive kTridiagonalSolve = typed("tridiagonal_solve", eval_tridiagonal_solve, "LAPACK's gtsv is not called");
constinit const Primitive kBcooTodense = typed("bcoo_todense", eval_bcoo_todense, kSparse);
constinit const Primitive kBcooTranspose = typed("bcoo_transpose", eval_bcoo_transpose, kSparse);
constinit const Primitive kBcooDotGeneral = typed("bcoo_dot_general", eval_bcoo_dot_general, kSparse);

}  // namespace

std::span<const Primitive* const> typed_primitives() {
    static constexpr const Primitive* all[] = {&kRandomGamma, &kIota2x32,      &kPlatformIndex, &kAxisIndex,  &kPpermute,
                                               &kPsum,        &kPmax,          &kPmin,          &kApproxTopK, &kTridiagonalSolve,
                                               &kBcooTodense, &kBcooTranspose, &kBcooDotGeneral};
    return all;
}

}  // namespace jaxscope
