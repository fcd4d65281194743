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
template <unsigned kClasses, ReduceKind kKind, bool kLogSumExp = false>
constexpr Primitive nonlinear(const char* name) {
    return {.name = name,
            .abstract_eval = eval_cumulative<kClasses>,
            .jvp = NoRule{"not written: JAX differentiates it as an associative scan"},
            .transpose = NoRule{"not linear"},
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
constinit const Primitive kCumProd = nonlinear<kNumClass, ReduceKind::Prod>("cumprod");
constinit const Primitive kCumMax = nonlinear<kNumClass, ReduceKind::Max>("cummax");
constinit const Primitive kCumMin = nonlinear<kNumClass, ReduceKind::Min>("cummin");
constinit const Primitive kCumLogSumExp = nonlinear<kFloatClass, ReduceKind::Sum, true>("cumlogsumexp");

std::span<const Primitive* const> cumulative_primitives() {
    static constexpr const Primitive* all[] = {&kCumSum, &kCumProd, &kCumMax, &kCumMin, &kCumLogSumExp};
    return all;
}

}  // namespace jaxscope
