// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lax/elementwise/support.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// Comparisons, select_n and clamp (lax.py).
namespace jaxscope {

namespace {

template <unsigned kClasses>
Avals eval_compare(const Op& op) {
    const Dims shape = check_nary(op, 2, kClasses);
    expect_same_dtype(op, 0, 2);
    Aval a = *standard_result(op, DType::Bool, shape);
    return {a};
}
template <unsigned kClasses, KOp kOp>
constexpr Primitive comparison(const char* name) {
    return {.name = name,
            .abstract_eval = eval_compare<kClasses>,
            .jvp = jvp_zero,
            .transpose = NoRule{"its derivative is zero: nothing linear remains"},
            .batch = batch_nary,
            .lower = lower_binary<kOp>,
            .cost = elementwise_cost<>,
            .partition = partition_elementwise};
}

// ---- Total order: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN

enum class Total : std::uint8_t { Eq, Lt, Le };
template <Total kTotal>
KScalar lower_total(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar x = load_stretched(k, op, 0, i), y = load_stretched(k, op, 1, i);
    if (kTotal == Total::Lt) return k.op(KOp::LtTotal, x, y);
    const KScalar not_above = k.op(KOp::Not, k.op(KOp::LtTotal, y, x));
    return kTotal == Total::Le ? not_above : k.op(KOp::And, not_above, k.op(KOp::Not, k.op(KOp::LtTotal, x, y)));
}
template <Total kTotal>
constexpr Primitive total_comparison(const char* name) {
    Primitive p = comparison<kOrderedClass, KOp::Lt>(name);
    p.lower = lower_total<kTotal>;
    return p;
}

// ---- select_n: cases[which]

Avals eval_select(const Op& op) {
    expect_arrays_at_least(op, 2);
    const Aval& which = *op.in[0];
    for (std::size_t i = 2; i < op.in.size(); ++i)
        if (op.in[i]->shape != op.in[1]->shape)
            type_mismatch(op, "cases of one shape", shape_text(op.in[1]->shape) + " and " + shape_text(op.in[i]->shape));
    if (!which.shape.empty() && which.shape != op.in[1]->shape)
        type_mismatch(op, "a scalar `which` or one of the cases' shape", shape_text(which.shape));
    expect_same_dtype(op, 1, op.in.size() - 1);
    if (which.dtype != DType::Bool && !is_integer(which.dtype)) type_mismatch(op, "a boolean or integer `which`", info(which.dtype).name);
    if (which.dtype == DType::Bool && op.in.size() > 3)
        type_mismatch(op, "at most two cases with a boolean `which`", std::to_string(op.in.size() - 1));
    Aval out = *op.in[1];
    out.weak_type = std::all_of(op.in.begin() + 1, op.in.end(), [](AvalRef a) { return a->weak_type; });
    return {out};
}
Values jvp_select(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    const auto first = std::find_if(dx.begin() + 1, dx.end(), [](Value v) { return !v.is_zero(); });
    if (first == dx.end()) return {Value::zero()};
    const Value zeros = lax::full(b, b.aval(*first), 0.0);  // as the value, its weak type too
    Values cases;
    for (std::size_t i = 1; i < dx.size(); ++i) cases.push_back(dx[i].is_zero() ? zeros : dx[i]);
    return {lax::select_n(b, x[0], cases)};
}
void transpose_select(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const Value zeros = lax::full(b, b.aval(ct[0]), 0.0);
    for (std::size_t i = 1; i < x.size(); ++i) {
        if (!x[i].is_linear()) continue;
        if (op.in[0]->dtype == DType::Bool)
            sink.add(i, i == 1 ? lax::select(b, x[0], zeros, ct[0]) : lax::select(b, x[0], ct[0], zeros));
        else
            sink.add(i, lax::select(b, lax::eq(b, x[0], lax::constant(b, x[0], static_cast<double>(i - 1))), ct[0], zeros));
    }
}
BatchResult batch_select(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const bool cases_agree = std::all_of(dims.begin() + 1, dims.end(), [&](int d) { return d == dims[1]; });
    const auto shape_of = [&](Value v) { return b.aval(v)->shape; };
    if (cases_agree && dims[0] == dims[1]) {
        Values in = x;
        if (shape_of(x[0]) != shape_of(x[1])) in[0] = lax::broadcast_in_dim(b, x[0], shape_of(x[1]), {dims[0]});
        return {{b.bind1(kSelectN, in)}, {dims[0]}};
    }
    if (dims[0] == kNotMapped && shape_of(x[0]).empty() && cases_agree) return {{b.bind1(kSelectN, x)}, {dims[1]}};
    Values in{shape_of(x[0]).empty() ? x[0] : batch_to_front(b, x[0], dims[0], size)};
    for (std::size_t i = 1; i < x.size(); ++i)
        in.push_back(op.in[1]->shape.empty() && dims[i] == kNotMapped && cases_agree ? x[i] : batch_to_front(b, x[i], dims[i], size));
    const std::size_t which_rank = shape_of(in[0]).size(), case_rank = shape_of(in[1]).size();
    if (which_rank > 0 && which_rank < case_rank) in[0] = lax::broadcast_in_dim(b, in[0], shape_of(in[1]), {0});
    if (which_rank > case_rank)
        for (std::size_t i = 1; i < in.size(); ++i) in[i] = lax::broadcast_in_dim(b, in[i], shape_of(in[0]), {});
    return {{b.bind1(kSelectN, in)}, {0}};
}
KScalar lower_select(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar which = op.in[0]->shape.empty() ? k.load(0, {}) : k.load(0, i);
    KScalar result = k.load(1, i);
    if (op.in[0]->dtype == DType::Bool) return op.in.size() == 2 ? result : k.select(which, k.load(2, i), result);
    // XLA clamps an integer `which` into the cases.
    for (std::size_t c = 2; c < op.in.size(); ++c) {
        const KScalar reached = k.op(KOp::Ge, which, k.constant_int(op.in[0]->dtype, static_cast<std::int64_t>(c) - 1));
        result = k.select(reached, k.load(static_cast<int>(c), i), result);
    }
    return result;
}

// ---- clamp(min, x, max)

Avals eval_clamp(const Op& op) {
    expect_arrays(op, 3);
    for (const std::size_t bound : {0u, 2u})
        if (!op.in[bound]->shape.empty() && op.in[bound]->shape != op.in[1]->shape)
            type_mismatch(op, "bounds that are scalars or have the operand's shape " + shape_text(op.in[1]->shape),
                          shape_text(op.in[bound]->shape));
    expect_same_dtype(op, 0, 3);
    return {standard_result(op, op.in[1]->dtype, op.in[1]->shape)};
}
/// The tangent of whichever of the three is the result. As in JAX, tangents of scalar bounds beside an array are refused (by select_n).
Values jvp_clamp(Builder& b, const Op&, const Values& x, const Values&, const Values& dx) {
    const Value low = x[0], middle = x[1], high = x[2];
    const auto both = [&](Value p, Value q) { return b.bind1(kAnd, {p, q}); };
    const auto masked = [&](Value condition, Value g) { return lax::select(b, condition, g, lax::full(b, b.aval(middle), 0.0)); };
    Value d_low = dx[0], d_middle = dx[1], d_high = dx[2];
    if (!d_low.is_zero()) {
        const Value above = lax::gt(b, low, middle);
        d_low = masked(both(above, lax::lt(b, low, high)), d_low);
    }
    if (!d_middle.is_zero()) {
        const Value above = lax::gt(b, middle, low);
        d_middle = masked(both(above, lax::lt(b, middle, high)), d_middle);
    }
    if (!d_high.is_zero()) d_high = masked(lax::lt(b, high, middle), d_high);
    return {sum_tangents(b, {d_low, d_middle, d_high})};
}
BatchResult batch_clamp(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const bool scalar_bounds = op.in[0]->shape.empty() && op.in[2]->shape.empty();
    if (dims[0] == dims[1] && dims[2] == dims[1]) {
        Values in = x;
        if (scalar_bounds && !op.in[1]->shape.empty())
            for (const std::size_t bound : {0u, 2u}) in[bound] = lax::broadcast_in_dim(b, x[bound], b.aval(x[1])->shape, {dims[1]});
        if (b.aval(in[0])->shape == b.aval(in[2])->shape) return {{b.bind1(kClamp, in)}, {dims[1]}};
    }
    if (scalar_bounds && dims[0] == kNotMapped && dims[2] == kNotMapped) return {{b.bind1(kClamp, x)}, {dims[1]}};
    Values in = x;
    for (const std::size_t i : {0u, 2u, 1u})
        if (!b.aval(x[i])->shape.empty()) in[i] = batch_to_front(b, x[i], dims[i], size);
    const auto rank = [&](std::size_t i) { return b.aval(in[i])->rank(); };
    for (const std::size_t bound : {0u, 2u})
        if (rank(bound) == 0 && rank(1) > 0) in[bound] = lax::broadcast_in_dim(b, in[bound], b.aval(in[1])->shape, {});
    for (const std::size_t bound : {0u, 2u})
        if (rank(bound) > 0 && rank(bound) < rank(1)) in[bound] = lax::broadcast_in_dim(b, in[bound], b.aval(in[1])->shape, {0});
    if (rank(1) < std::max(rank(0), rank(2))) {
        // a scalar that isn't mapped between bounds that are
        const Dims shape = b.aval(in[rank(0) > 0 ? 0 : 2])->shape;
        for (Value& v : in) v = lax::maybe_broadcast(b, v, shape);
    }
    return {{b.bind1(kClamp, in)}, {0}};
}
KScalar lower_clamp(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar low = load_stretched(k, op, 0, i), x = load_stretched(k, op, 1, i);
    return k.op(KOp::Min, k.op(KOp::Max, low, x), load_stretched(k, op, 2, i));
}

}  // namespace

constinit const Primitive kEq = comparison<kAnyClass | kKeyClass, KOp::Eq>("eq");
constinit const Primitive kNe = comparison<kAnyClass | kKeyClass, KOp::Ne>("ne");
constinit const Primitive kLt = comparison<kOrderedClass, KOp::Lt>("lt");
constinit const Primitive kLe = comparison<kOrderedClass, KOp::Le>("le");
constinit const Primitive kGt = comparison<kOrderedClass, KOp::Gt>("gt");
constinit const Primitive kGe = comparison<kOrderedClass, KOp::Ge>("ge");
constinit const Primitive kEqTo = total_comparison<Total::Eq>("eq_to");
constinit const Primitive kLtTo = total_comparison<Total::Lt>("lt_to");
constinit const Primitive kLeTo = total_comparison<Total::Le>("le_to");
constinit const Primitive kSelectN{.name = "select_n",
                                   .abstract_eval = eval_select,
                                   .jvp = jvp_select,
                                   .transpose = transpose_select,
                                   .batch = batch_select,
                                   .lower = lower_select,
                                   .cost = elementwise_cost<>,
                                   .partition = partition_elementwise};
constinit const Primitive kClamp{.name = "clamp",
                                 .abstract_eval = eval_clamp,
                                 .jvp = jvp_clamp,
                                 .transpose = NoRule{"not linear: jvp emits the linear part as select_n"},
                                 .batch = batch_clamp,
                                 .lower = lower_clamp,
                                 .cost = elementwise_cost<2>,
                                 .partition = partition_elementwise};

std::span<const Primitive* const> compare_primitives() {
    static constexpr const Primitive* all[] = {&kEq, &kNe, &kLt, &kLe, &kGt, &kGe, &kEqTo, &kLtTo, &kLeTo, &kSelectN, &kClamp};
    return all;
}

}  // namespace jaxscope
