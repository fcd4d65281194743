// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <mutex>
#include <unordered_map>

#include "ir/program.h"
#include "ir/registry.h"
#include "lax/dual.h"
#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
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

using CombineDuals = Dual(Builder& b, const Dual& x, const Dual& y);
template <const Primitive& kPrim>
Dual combine(Builder& b, const Dual& x, const Dual& y) {
    return bind_dual(b, kPrim, {x, y}, &kPrim == &kMul ? make_params(OutDtypeParams{}) : ParamsRef{});
}

/// log(exp(x) + exp(y)) as JAX's function of that name (lax/other.py), for real types.
JaxprPtr logaddexp_body(AvalRef a) {
    JaxprBuilder b;
    const Value x = b.add_input(a), y = b.add_input(a);
    const Value larger = lax::max(b, x, y), delta = lax::sub(b, x, y), is_nan = lax::ne(b, delta, delta), sum = lax::add(b, x, y);
    const Value small = lax::exp(b, lax::neg(b, lax::abs(b, delta)));
    const Value stable = lax::add(b, larger, b.bind1(kLog1p, {small}, make_params(AccuracyParams{})));
    return b.finish({lax::select(b, is_nan, sum, stable)}, "logaddexp");
}
Value share_of(Builder& b, const Dual& x, Value out) {
    const auto finite = [&](Value v) {
        const Value at_infinity = lax::eq(b, v, make_literal(AvalRef(b.aval(v)->dtype, {}), std::numeric_limits<double>::infinity()));
        return lax::select(b, at_infinity, lax::zeros_like(b, b.aval(v)), v);
    };
    const Value here = finite(x.primal);
    const Value share = lax::exp(b, lax::sub(b, here, finite(out)));
    return lax::mul(b, x.tangent, share);
}
std::shared_ptr<const CustomRules> logaddexp_rules(AvalRef a);
/// The call and, behind it, what its custom_jvp rule makes of the tangents.
Dual logaddexp(Builder& b, const Dual& x, const Dual& y) {
    const AvalRef a = strong(b.aval(x.primal));
    const ParamsRef params = Params::make({{"call_jaxpr", Attr(Attr::JaxprRef{logaddexp_body(a), true})},
                                           {"jvp_jaxpr_fun", Attr(Attr::Rule{logaddexp_rules(a), 0, "_logaddexp_jvp"})},
                                           {"num_consts", Attr(std::int64_t{0})},
                                           {"symbolic_zeros", Attr(false)}});
    const Value out = b.emit(*emitted_calls().custom_jvp, {x.primal, y.primal}, params, {a}).front();
    const Value from_x = share_of(b, x, out);
    return {out, lax::add(b, from_x, share_of(b, y, out))};
}
/// Its table of rules, one for each type: the rule uses the function, so the table is there before its jaxpr is.
std::shared_ptr<const CustomRules> logaddexp_rules(AvalRef a) {
    static std::recursive_mutex guard;
    static auto& tables = *new std::unordered_map<AvalRef, std::shared_ptr<CustomRules>>;
    const std::lock_guard lock(guard);
    std::shared_ptr<CustomRules>& table = tables[a];
    if (table) return table;
    const std::shared_ptr<CustomRules> made = table = std::make_shared<CustomRules>();
    made->rules.resize(1);
    CustomRule& rule = made->rules.front();
    rule.kind = "custom_jvp";
    rule.function = "_logaddexp_jvp";
    rule.avals = {a, a};
    rule.perturbed = {true, true};
    rule.out_zeros = {false};
    JaxprBuilder b;
    const Value x = b.add_input(a), y = b.add_input(a), dx = b.add_input(a), dy = b.add_input(a);
    const Dual out = logaddexp(b, {x, dx}, {y, dy});
    rule.jaxpr = b.finish({out.primal, out.tangent}, "_logaddexp_jvp");
    return made;
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
Dual scanned(Builder& b, CombineDuals* combine, const Dual& elements, std::int64_t axis) {
    const auto count = [&](const Dual& x) { return b.aval(x.primal)->shape[static_cast<std::size_t>(axis)]; };
    Duals level{elements};
    while (count(level.back()) >= 2) {
        const std::int64_t n = count(level.back());
        const Dual first = slice_dual(b, level.back(), axis, 0, n - 1, 2);
        level.push_back(combine(b, first, slice_dual(b, level.back(), axis, 1, n, 2)));
    }
    Dual odd = level.back();
    for (level.pop_back(); !level.empty(); level.pop_back()) {
        const Dual x = level.back();
        const std::int64_t n = count(x);
        const Dual before = n % 2 == 0 ? slice_dual(b, odd, axis, 0, count(odd) - 1) : odd;
        const Dual even = combine(b, before, slice_dual(b, x, axis, 2, n, 2));
        const Dual head = slice_dual(b, x, axis, 0, 1);
        odd = interleave(b, bind_dual(b, kConcatenate, {head, even}, make_params(ConcatenateParams{axis})), odd, axis);
    }
    return odd;
}
template <CombineDuals* kCombine>
PrimalsTangents jvp_scan(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const auto& p = op.as<CumulativeParams>();
    const auto reversed = [&](const Dual& v) { return p.reverse ? bind_dual(b, kRev, {v}, make_params(RevParams{{p.axis}})) : v; };
    const Dual out = reversed(scanned(b, kCombine, reversed({x[0], instantiate_tangent(b, dx[0], op.in[0])}), p.axis));
    return {{out.primal}, {out.tangent}};
}

PartitionRule partition_cumulative(const Op& op) { return partition_all_but(op, {op.as<CumulativeParams>().axis}); }

template <unsigned kClasses, ReduceKind kKind, bool kLogSumExp = false>
constexpr Primitive nonlinear(const char* name, Rule<JvpCallFn> jvp) {
    return {.name = name,
            .abstract_eval = eval_cumulative<kClasses>,
            .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
            .jvp_call = jvp,
            .transpose = NoRule{"not linear: jvp emits an associative scan"},
            .batch = batch_cumulative,
            .kernel = kernel_cumulative<kKind, kLogSumExp>,
            .cost = elementwise_cost<>,
            .partition = partition_cumulative};
}

}  // namespace

constinit const Primitive kCumSum{.name = "cumsum",
                                  .abstract_eval = eval_cumulative<kNumClass>,
                                  .jvp = jvp_linear,
                                  .transpose = transpose_cumsum,
                                  .batch = batch_cumulative,
                                  .kernel = kernel_cumulative<ReduceKind::Sum, false>,
                                  .cost = elementwise_cost<>,
                                  .partition = partition_cumulative};
constinit const Primitive kCumProd = nonlinear<kNumClass, ReduceKind::Prod>("cumprod", jvp_scan<combine<kMul>>);
constinit const Primitive kCumMax = nonlinear<kNumClass, ReduceKind::Max>("cummax", jvp_scan<combine<kMax>>);
constinit const Primitive kCumMin = nonlinear<kNumClass, ReduceKind::Min>("cummin", jvp_scan<combine<kMin>>);
constinit const Primitive kCumLogSumExp = nonlinear<kFloatClass, ReduceKind::Sum, true>("cumlogsumexp", jvp_scan<logaddexp>);

std::span<const Primitive* const> cumulative_primitives() {
    static constexpr const Primitive* all[] = {&kCumSum, &kCumProd, &kCumMax, &kCumMin, &kCumLogSumExp};
    return all;
}

}  // namespace jaxscope
