#include <algorithm>

#include "lax/elementwise_support.h"
#include "lax/families.h"
#include "lax/ops.h"
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
            .cost = elementwise_cost<>};
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
    const Value zeros = lax::zeros_like(b, b.aval(*first));
    Values cases;
    for (std::size_t i = 1; i < dx.size(); ++i) cases.push_back(dx[i].is_zero() ? zeros : dx[i]);
    return {lax::select_n(b, x[0], cases)};
}
void transpose_select(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const Value zeros = lax::zeros_like(b, b.aval(ct[0]));
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
/// Bounds as arrays of the operand's shape, for comparing.
Value between(Builder& b, const Values& x) {
    const Value above = lax::gt(b, x[1], lax::maybe_broadcast(b, x[0], b.aval(x[1])->shape));
    return b.bind1(kAnd, {above, lax::lt(b, x[1], lax::maybe_broadcast(b, x[2], b.aval(x[1])->shape))});
}
Values jvp_clamp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    const Dims& shape = op.in[1]->shape;
    Value low = Value::zero(), middle = Value::zero(), high = Value::zero();
    const auto masked = [&](Value condition, Value g) {
        const Value wide = lax::maybe_broadcast(b, g, shape);
        return lax::select(b, condition, wide, lax::zeros_like(b, b.aval(wide)));
    };
    if (!dx[0].is_zero()) low = masked(lax::gt(b, lax::maybe_broadcast(b, x[0], shape), x[1]), dx[0]);
    if (!dx[1].is_zero()) middle = masked(between(b, x), dx[1]);
    if (!dx[2].is_zero()) high = masked(lax::lt(b, lax::maybe_broadcast(b, x[2], shape), x[1]), dx[2]);
    return {sum_tangents(b, {low, middle, high})};
}
BatchResult batch_clamp(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    if (dims[0] == kNotMapped && dims[2] == kNotMapped && op.in[0]->shape.empty() && op.in[2]->shape.empty())
        return {{b.bind1(kClamp, x)}, {dims[1]}};
    Values in;
    for (std::size_t i = 0; i < 3; ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    for (const std::size_t bound : {0u, 2u})
        if (b.aval(in[bound])->shape != b.aval(in[1])->shape) in[bound] = lax::broadcast_in_dim(b, in[bound], b.aval(in[1])->shape, {0});
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
constinit const Primitive kSelectN{.name = "select_n",
                                   .abstract_eval = eval_select,
                                   .jvp = jvp_select,
                                   .transpose = transpose_select,
                                   .batch = batch_select,
                                   .lower = lower_select,
                                   .cost = elementwise_cost<>};
constinit const Primitive kClamp{.name = "clamp",
                                 .abstract_eval = eval_clamp,
                                 .jvp = jvp_clamp,
                                 .transpose = NoRule{"not linear: jvp emits the linear part as select_n"},
                                 .batch = batch_clamp,
                                 .lower = lower_clamp,
                                 .cost = elementwise_cost<2>};

std::span<const Primitive* const> compare_primitives() {
    static constexpr const Primitive* all[] = {&kEq, &kNe, &kLt, &kLe, &kGt, &kGe, &kSelectN, &kClamp};
    return all;
}

}  // namespace jaxscope
