// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/types/type_mesh.h"
#include "lax/dual.h"
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// Reductions over axes (lax.py).
namespace jaxscope {

namespace {

Dims checked_axes(const Op& op, const Dims& axes) {
    expect_arrays(op, 1);
    if (!distinct(axes) || !in_range(axes, op.in[0]->rank()))
        type_mismatch(op, "axes to be distinct dimensions of an operand of shape " + shape_text(op.in[0]->shape), shape_text(axes));
    return take(op.in[0]->shape, remaining(op.in[0]->rank(), axes));
}
void check_class(const Op& op, unsigned classes) {
    if (!in_class(op.in[0]->dtype, classes)) type_mismatch(op, "an operand of a dtype that it reduces", info(op.in[0]->dtype).name);
}

Avals eval_sum(const Op& op) {
    const Dims shape = checked_axes(op, op.as<ReduceSumParams>().axes);
    check_class(op, kNumClass);
    return {standard_result(op, op.in[0]->dtype, shape)};
}
template <unsigned kClasses>
Avals eval_reduce(const Op& op) {
    const Dims shape = checked_axes(op, op.as<ReduceParams>().axes);
    check_class(op, kClasses);
    return {standard_result(op, op.in[0]->dtype, shape)};
}
Avals eval_logical(const Op& op) {
    ParamReads::note("out_sharding");
    const Avals out = eval_reduce<kBoolClass | kIntClass>(op);
    return {strong(out[0])};
}
Avals eval_arg(const Op& op) {
    const auto& p = op.as<ArgReduceParams>();
    refuse_keys(op);
    const Dims shape = checked_axes(op, p.axes);
    if (p.axes.size() != 1 || op.in[0]->shape[static_cast<std::size_t>(p.axes[0])] < 1)
        type_mismatch(op, "one axis that isn't empty", shape_text(p.axes) + " of " + shape_text(op.in[0]->shape));
    if (!is_integer(p.index_dtype)) type_mismatch(op, "an integer index_dtype", info(p.index_dtype).name);
    return {AvalRef(p.index_dtype, shape)};
}

void transpose_sum(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero() || !x[0].is_linear()) return;
    const Dims& shape = op.in[0]->shape;
    sink.add(0, lax::broadcast_in_dim(b, ct[0], shape, remaining(op.in[0]->rank(), op.as<ReduceSumParams>().axes),
                                      explicit_sharding(*op.in[0])));
}

/// The tangent of the chosen elements, shared equally among ties (JAX's _reduce_chooser_jvp_rule).
Values jvp_chooser(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx) {
    const Dims& axes = op.as<ReduceParams>().axes;
    Dims shape = op.in[0]->shape;
    for (const std::int64_t a : axes) shape[static_cast<std::size_t>(a)] = 1;
    const Value chosen = lax::eq(b, x[0], lax::reshape(b, y[0], shape));
    const Value indicators = lax::convert_element_type(b, chosen, b.aval(dx[0])->dtype);
    const Value counts = lax::reduce_sum(b, indicators, axes);
    return {lax::div(b, lax::reduce_sum(b, lax::mul(b, dx[0], indicators), axes), counts)};
}

/// JAX differentiates products as a tree: reduced axes flattened to the front, then halves multiplied until one element is left.
PrimalsTangents jvp_prod(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const Dims &axes = op.as<ReduceParams>().axes, &from = op.in[0]->shape;
    const Dims kept = remaining(op.in[0]->rank(), axes), rest = take(from, kept);
    Dims permutation = axes;
    permutation.insert(permutation.end(), kept.begin(), kept.end());
    std::int64_t n = element_count(take(from, axes));
    const Value primal = lax::reshape(b, x[0], with_front(n, rest), permutation);
    Dual product{primal, lax::reshape(b, instantiate_tangent(b, dx[0], op.in[0]), with_front(n, rest), permutation)};
    const Value one = lax::constant(b, x[0], 1);
    if (n == 0) {
        const Value ones = lax::broadcast_in_dim(b, one, rest, {});
        return {{ones}, {lax::zeros_like(b, tangent_aval(b.aval(ones)))}};
    }
    for (; n > 1; n = (n + 1) / 2) {
        const std::int64_t half = (n + 1) / 2;
        const Dual first = slice_dual(b, product, 0, 0, half);
        Dual second = slice_dual(b, product, 0, half, n);
        PadConfig padding(rest.size() + 1);
        padding.front() = {0, 1, 0};
        if (n % 2 != 0) second = bind_dual(b, kPad, {second, constant_dual(one)}, make_params(PadParams{padding}));
        product = bind_dual(b, kMul, {first, second}, make_params(OutDtypeParams{}));
    }
    product = bind_dual(b, kSqueeze, {product}, make_params(SqueezeParams{{0}}));
    return {{product.primal}, {product.tangent}};
}

Dims shifted(const Dims& axes, int dim) {
    Dims out;
    for (const std::int64_t a : axes) out.push_back(a < dim ? a : a + 1);
    return out;
}
BatchResult batch_reduce(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    Dims axes;
    from_attr(*op.params->find("axes"), axes);
    axes = shifted(axes, dims[0]);
    const auto before = std::count_if(axes.begin(), axes.end(), [&](std::int64_t a) { return a < dims[0]; });
    return {{b.bind1(*op.prim, x, with_param(op.params, "axes", to_attr(axes)))}, {dims[0] - static_cast<int>(before)}};
}

template <ReduceKind kKind>
KernelSpec kernel_reduce(const Op& op) {
    Dims axes;
    from_attr(*op.params->find("axes"), axes);
    return {ReduceKernel{kKind, to_ints(axes)}};
}
template <Combine kCombine>
PartitionRule partition_reduce(const Op& op) {
    Dims axes;
    from_attr(*op.params->find("axes"), axes);
    return partition_reduction(op, axes, kCombine);
}
/// Of bools it is an extremum; of integers it goes bit by bit.
template <ReduceKind kKind>
PartitionRule partition_logical(const Op& op) {
    if (op.in[0]->dtype != DType::Bool || kKind == ReduceKind::Xor) return partition_reduce<Combine::Whole>(op);
    constexpr Combine kExtremum = kKind == ReduceKind::Or ? Combine::Max : Combine::Min;
    return partition_reduce<kExtremum>(op);
}
Cost cost_of_input(const Op& op) { return {static_cast<double>(op.in[0]->size()), 0}; }

template <unsigned kClasses, ReduceKind kKind>
constexpr Primitive extremum(const char* name) {
    return {.name = name,
            .abstract_eval = eval_reduce<kClasses>,
            .jvp = jvp_chooser,
            .transpose = NoRule{"not linear: jvp emits the linear part as reduce_sum"},
            .batch = batch_reduce,
            .kernel = kernel_reduce<kKind>,
            .cost = cost_of_input,
            .partition = partition_reduce < kKind == ReduceKind::Max ? Combine::Max : Combine::Min > };
}
template <ReduceKind kKind>
constexpr Primitive logical(const char* name) {
    return {.name = name,
            .abstract_eval = eval_logical,
            .jvp = jvp_zero,
            .transpose = NoRule{"its derivative is zero: nothing linear remains"},
            .batch = batch_reduce,
            .kernel = kernel_reduce<kKind>,
            .cost = cost_of_input,
            .partition = partition_logical<kKind>};
}
template <ReduceKind kKind>
constexpr Primitive arg_extremum(const char* name) {
    return {.name = name,
            .abstract_eval = eval_arg,
            .jvp = jvp_zero,
            .transpose = NoRule{"its derivative is zero: nothing linear remains"},
            .batch = batch_reduce,
            .kernel = kernel_reduce<kKind>,
            .cost = cost_of_input,
            .partition = partition_reduce<Combine::Whole>};
}

}  // namespace

constinit const Primitive kReduceSum{.name = "reduce_sum",
                                     .abstract_eval = eval_sum,
                                     .jvp = jvp_linear,
                                     .transpose = transpose_sum,
                                     .batch = batch_reduce,
                                     .kernel = kernel_reduce<ReduceKind::Sum>,
                                     .cost = cost_of_input,
                                     .partition = partition_reduce<Combine::Sum>};
constinit const Primitive kReduceProd{.name = "reduce_prod",
                                      .abstract_eval = eval_reduce<kNumClass>,
                                      .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
                                      .jvp_call = jvp_prod,
                                      .transpose = NoRule{"not linear: jvp emits a tree of products"},
                                      .batch = batch_reduce,
                                      .kernel = kernel_reduce<ReduceKind::Prod>,
                                      .cost = cost_of_input,
                                      .partition = partition_reduce<Combine::Whole>};
constinit const Primitive kReduceMax = extremum<kAnyClass, ReduceKind::Max>("reduce_max");
constinit const Primitive kReduceMin = extremum<kAnyClass, ReduceKind::Min>("reduce_min");
constinit const Primitive kReduceAnd = logical<ReduceKind::And>("reduce_and");
constinit const Primitive kReduceOr = logical<ReduceKind::Or>("reduce_or");
constinit const Primitive kReduceXor = logical<ReduceKind::Xor>("reduce_xor");
constinit const Primitive kArgMax = arg_extremum<ReduceKind::ArgMax>("argmax");
constinit const Primitive kArgMin = arg_extremum<ReduceKind::ArgMin>("argmin");

std::span<const Primitive* const> reduce_primitives() {
    static constexpr const Primitive* all[] = {&kReduceSum, &kReduceProd, &kReduceMax, &kReduceMin, &kReduceAnd,
                                               &kReduceOr,  &kReduceXor,  &kArgMax,    &kArgMin};
    return all;
}

}  // namespace jaxscope
