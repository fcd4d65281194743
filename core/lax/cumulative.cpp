#include "lax/dual.h"
#include "lax/elementwise_params.h"
#include "lax/elementwise_support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// cumsum and kin along one axis (control_flow/loops.py).
namespace jaxscope {

namespace {

template <unsigned kClasses>
Avals eval_cumulative(const Op& op) {
    const auto& p = op.as<CumulativeParams>();
    const Dims shape = check_nary(op, 1, kClasses);
    if (p.axis < 0 || p.axis >= op.in[0]->rank())
        type_mismatch(op, "an axis of an operand of shape " + shape_text(op.in[0]->shape), std::to_string(p.axis));
    return {standard_result(op, op.in[0]->dtype, shape)};
}
void transpose_cumsum(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero() || !x[0].is_linear()) return;
    CumulativeParams p = op.as<CumulativeParams>();
    p.reverse = !p.reverse;
    sink.add(0, b.bind1(kCumSum, {ct[0]}, make_params(p)));
}
BatchResult batch_cumulative(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    CumulativeParams p = op.as<CumulativeParams>();
    if (p.axis >= dims[0]) ++p.axis;
    return {{b.bind1(*op.prim, x, make_params(p))}, {dims[0]}};
}
template <ReduceKind kKind, bool kLogSumExp>
KernelSpec kernel_cumulative(const Op& op) {
    const auto& p = op.as<CumulativeParams>();
    return {CumulativeKernel{kKind, kLogSumExp, static_cast<int>(p.axis), p.reverse}};
}
// ---- Forward mode: JAX differentiates an associative scan (associative_scan, loops.py)

Dual combine(Builder& b, const Primitive& prim, const Dual& x, const Dual& y) {
    return bind_dual(b, prim, {x, y}, &prim == &kMul ? make_params(OutDtypeParams{}) : ParamsRef{});
}
/// even[0], odd[0], even[1], ...: both spread out with zeros and added.
Dual interleave(Builder& b, const Dual& even, const Dual& odd, std::int64_t axis) {
    const auto at = static_cast<std::size_t>(axis);
    const Dims& shape = b.aval(even.primal)->shape;
    const bool equal = shape[at] == b.aval(odd.primal)->shape[at];
    PadConfig even_padding(shape.size()), odd_padding(shape.size());
    even_padding[at] = {0, equal ? 1 : 0, 1};
    odd_padding[at] = {1, equal ? 0 : 1, 1};
    const auto spread = [&](const Dual& x, PadConfig padding) {
        return bind_dual(b, kPad, {x, constant_dual(lax::constant(b, x.primal, 0))}, make_params(PadParams{std::move(padding)}));
    };
    const Dual left = spread(even, std::move(even_padding));
    return bind_dual(b, kAdd, {left, spread(odd, std::move(odd_padding))});
}
/// Pairs are combined and scanned (that gives the odd elements), the even elements follow from the odd ones before them. `level[i]` is
/// the sequence after i halvings; levels are worked off from the shortest to the longest.
Dual scanned(Builder& b, const Primitive& prim, const Dual& elements, std::int64_t axis) {
    const auto count = [&](const Dual& x) { return b.aval(x.primal)->shape[static_cast<std::size_t>(axis)]; };
    Duals level{elements};
    while (count(level.back()) >= 2) {
        const std::int64_t n = count(level.back());
        const Dual first = slice_dual(b, level.back(), axis, 0, n - 1, 2);
        level.push_back(combine(b, prim, first, slice_dual(b, level.back(), axis, 1, n, 2)));
    }
    Dual odd = level.back();
    for (level.pop_back(); !level.empty(); level.pop_back()) {
        const Dual x = level.back();
        const std::int64_t n = count(x);
        const Dual before = n % 2 == 0 ? slice_dual(b, odd, axis, 0, count(odd) - 1) : odd;
        const Dual even = combine(b, prim, before, slice_dual(b, x, axis, 2, n, 2));
        const Dual head = slice_dual(b, x, axis, 0, 1);
        odd = interleave(b, bind_dual(b, kConcatenate, {head, even}, make_params(ConcatenateParams{axis})), odd, axis);
    }
    return odd;
}
template <const Primitive& kCombine>
PrimalsTangents jvp_scan(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const auto& p = op.as<CumulativeParams>();
    const auto reversed = [&](const Dual& v) { return p.reverse ? bind_dual(b, kRev, {v}, make_params(RevParams{{p.axis}})) : v; };
    const Dual out = reversed(scanned(b, kCombine, reversed({x[0], instantiate_tangent(b, dx[0], op.in[0])}), p.axis));
    return {{out.primal}, {out.tangent}};
}

template <unsigned kClasses, ReduceKind kKind, bool kLogSumExp = false>
constexpr Primitive nonlinear(const char* name, Rule<JvpCallFn> jvp) {
    return {.name = name,
            .abstract_eval = eval_cumulative<kClasses>,
            .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
            .jvp_call = jvp,
            .transpose = NoRule{"not linear: jvp emits an associative scan"},
            .batch = batch_cumulative,
            .kernel = kernel_cumulative<kKind, kLogSumExp>,
            .cost = elementwise_cost<>};
}

}  // namespace

constinit const Primitive kCumSum{.name = "cumsum",
                                  .abstract_eval = eval_cumulative<kNumClass>,
                                  .jvp = jvp_linear,
                                  .transpose = transpose_cumsum,
                                  .batch = batch_cumulative,
                                  .kernel = kernel_cumulative<ReduceKind::Sum, false>,
                                  .cost = elementwise_cost<>};
constinit const Primitive kCumProd = nonlinear<kNumClass, ReduceKind::Prod>("cumprod", jvp_scan<kMul>);
constinit const Primitive kCumMax = nonlinear<kNumClass, ReduceKind::Max>("cummax", jvp_scan<kMax>);
constinit const Primitive kCumMin = nonlinear<kNumClass, ReduceKind::Min>("cummin", jvp_scan<kMin>);
constinit const Primitive kCumLogSumExp = nonlinear<kFloatClass, ReduceKind::Sum, true>(
    "cumlogsumexp", NoRule{"not written: JAX differentiates a scan of logaddexp, whose custom_jvp is above this family"});

std::span<const Primitive* const> cumulative_primitives() {
    static constexpr const Primitive* all[] = {&kCumSum, &kCumProd, &kCumMax, &kCumMin, &kCumLogSumExp};
    return all;
}

}  // namespace jaxscope
