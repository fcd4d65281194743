// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums, sorting, and how the norm of a vector comes of them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::axes_of;
using detail::iota_of;
using detail::made;
using detail::number_of;
using detail::ravel_of;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

std::int64_t count_over(const Dims& shape, const Dims& axes) {
    std::int64_t n = 1;
    for (const std::int64_t a : axes) n *= shape[static_cast<std::size_t>(a)];
    return n;
}
Value reduce(Builder& b, const Primitive& p, Value x, const Dims& axes) {
    if (&p == &kReduceSum) return b.bind1(p, {x}, make_params(ReduceSumParams{axes}));
    return b.bind1(p, {x}, make_params(ReduceParams{axes}));
}
Value keep(Builder& b, Value r, const Dims& axes, bool keepdims) { return keepdims ? cl::expand_dims(b, r, axes) : r; }
/// Numbers of sixteen bits are summed and multiplied in 32.
D wide(D type) { return type == D::F16 || type == D::BF16 ? D::F32 : type; }
Value reduced(Builder& b, const Primitive& p, Value x, const Reduction& over) {
    const D type = b.aval(x)->dtype;
    const bool sums = &p == &kReduceSum || &p == &kReduceProd;
    x = cl::convert_element_type(b, x, sums ? wide(type) : type);  // strongly typed, as all reductions take it
    const Dims axes = axes_of(over.axis, b.aval(x)->rank());
    return cl::convert_element_type(b, keep(b, reduce(b, p, x, axes), axes, over.keepdims), type);
}
/// With a mask: what doesn't count is the reduction's neutral number.
Value masked(Builder& b, const Values& v, Value x, double neutral) {
    if (v.size() < 2) return x;
    return detail::where_call(b, v[1], x, number_of(b.aval(x)->dtype, neutral));
}
/// The mask, if there is one, is laid over what is summed.
Value masked_reduction(Builder& b, const Primitive& p, const Values& v, Value x, double neutral, const Reduction& over) {
    if (v.size() < 2) return reduced(b, p, x, over);
    const D type = b.aval(x)->dtype;
    const Value numbers = cl::convert_element_type(b, x, wide(type));
    return cl::convert_element_type(b, reduced(b, p, masked(b, v, numbers, neutral), over), type);
}
/// The array, and the mask if there is one.
std::vector<Operand> operands(const char* name, const Operand& x, const Reduction& over) {
    std::vector<Operand> in{x};
    if (!over.where.has_value()) return in;
    if (over.where.dtype() != dtype::bool_)
        throw Error(ErrorCode::TypeMismatch, fmt::format("jnp.{}: where must be None or a boolean array; got where.dtype=dtype('{}').",
                                                         name, info(static_cast<D>(over.where.dtype())).name))
            .at({x.where.file, x.where.line, 0});
    in.emplace_back(over.where, x.where.file, x.where.line, x.where.function);
    return in;
}
Array reduction_of(const char* name, const Operand& x, const Reduction& over, const std::function<Value(Builder&, const Values&)>& f) {
    return detail::apply(operands(name, x, over), x.where, [&](Builder& b, const Values& v) { return Values{f(b, v)}; }).front();
}
void no_mask(const char* name, const Operand& x, const Reduction& over) {
    if (!over.where.has_value()) return;
    throw Error(ErrorCode::BadUsage, fmt::format("reduction operation {} does not have an identity, so to use a where mask one has to "
                                                 "specify 'initial'",
                                                 name))
        .at({x.where.file, x.where.line, 0})
        .advise("put the least or the largest number there: jnp::where(mask, x, -jnp::inf)");
}
/// Sums of truth values are counts.
Value summable(Builder& b, Value x) { return b.aval(x)->dtype == D::Bool ? cl::convert_element_type(b, x, D::S32) : x; }
Value truth(Builder& b, Value x) { return b.aval(x)->dtype == D::Bool ? x : cl::convert_element_type(b, x, D::Bool); }
std::string reduction_key(const Reduction& over) {
    return fmt::format("{} {} {}", over.axis.given, Shape(over.axis.axes).str(), over.keepdims);
}

Value variance(Builder& b, const Value& a, const Value& ddof, const Spread& over) {
    const Value given = detail::inexact_operand(b, a);
    const D type = b.aval(given)->dtype;
    const Value x = cl::convert_element_type(b, given, wide(type));
    const Dims shape = b.aval(x)->shape, axes = axes_of(over.axis, b.aval(x)->rank());
    const auto n = static_cast<double>(count_over(shape, axes));
    const Value total = cl::expand_dims(b, reduce(b, kReduceSum, x, axes), axes);
    const Value mean = cl::div(b, total, cl::constant(b, x, n));
    const Value centred = cl::square(b, cl::sub(b, x, mean));
    const Value less = cl::convert_element_type(b, ddof, b.aval(x)->dtype);
    const Value normaliser = cl::sub(b, cl::constant(b, x, n), less);
    const Value sum = keep(b, reduce(b, kReduceSum, centred, axes), axes, over.keepdims);
    const Value result = cl::convert_element_type(b, cl::div(b, sum, normaliser), type);
    const Value positive = cl::gt(b, normaliser, cl::constant(b, normaliser, 0));
    return jitted(b, "_where", "", {positive, result, make_literal(AvalRef(D::F32, {}, true), NAN)}, [](Builder& i, const Values& w) {
        const Value nan = cl::convert_element_type(i, w[2], i.aval(w[1])->dtype);
        return cl::select(i, w[0], w[1], detail::broadcast_to(i, nan, i.aval(w[1])->shape));
    });
}
std::string spread_key(const Spread& over) { return reduction_key({.axis = over.axis, .keepdims = over.keepdims}); }
Value var_call(Builder& b, Value x, Value ddof, const Spread& over) {
    return jitted(b, "_var", spread_key(over), {x, ddof}, [&](Builder& i, const Values& w) { return variance(i, w[0], w[1], over); });
}
Value cumulative(Builder& b, const Primitive& p, Value x, const Axes& axis) {
    if (!axis.given) x = ravel_of(b, x);
    const std::int64_t a = axis.given ? detail::axis_in(axis.axes.front(), b.aval(x)->rank()) : 0;
    return b.bind1(p, {x}, make_params(CumulativeParams{a, false}));
}
Array cumulative_of(const Primitive& p, const Operand& x, const Axes& axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, &p == &kCumSum ? "cumsum" : "cumprod", fmt::format("{}{}", axis.given, Shape(axis.axes).str()), v,
                      [&](Builder& i, const Values& w) { return cumulative(i, p, detail::strong_operand(i, summable(i, w[0])), axis); });
    });
}
Array arg_of(const Primitive& p, const Operand& x, const Axes& axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Value a = axis.given ? v[0] : ravel_of(b, v[0]);
        const std::int64_t d = axis.given ? detail::axis_in(axis.axes.front(), b.aval(a)->rank()) : 0;
        return b.bind1(p, {a}, make_params(ArgReduceParams{{d}, D::S32}));
    });
}

}  // namespace

namespace numpy {

#define JAXSCOPE_REDUCTION(name, prim, operand, neutral)                                                                        \
    Array name(const Operand& x, const Reduction& over) {                                                                       \
        return reduction_of(#name, x, over,                                                                                     \
                            [&](Builder& b, const Values& v) { return masked_reduction(b, prim, v, operand, neutral, over); }); \
    }
JAXSCOPE_REDUCTION(sum, kReduceSum, summable(b, v[0]), 0)
JAXSCOPE_REDUCTION(prod, kReduceProd, summable(b, v[0]), 1)
JAXSCOPE_REDUCTION(any, kReduceOr, truth(b, v[0]), 0)
JAXSCOPE_REDUCTION(all, kReduceAnd, truth(b, v[0]), 1)
#undef JAXSCOPE_REDUCTION
Array max(const Operand& x, const Reduction& over) {
    no_mask("max", x, over);
    return apply1({x}, [&](Builder& b, const Values& v) { return reduced(b, kReduceMax, v[0], over); });
}
Array min(const Operand& x, const Reduction& over) {
    no_mask("min", x, over);
    return apply1({x}, [&](Builder& b, const Values& v) { return reduced(b, kReduceMin, v[0], over); });
}
Array amax(const Operand& x, const Reduction& over) { return max(x, over); }
Array amin(const Operand& x, const Reduction& over) { return min(x, over); }
Array mean(const Operand& x, const Reduction& over) {
    return reduction_of("mean", x, over, [&](Builder& b, const Values& v) {
        const Value given = detail::inexact_operand(b, summable(b, v[0]));
        const D type = b.aval(given)->dtype;
        const Value a = cl::convert_element_type(b, given, wide(type));
        const Dims shape = b.aval(a)->shape;
        if (v.size() > 1) {
            const Value counts = cl::convert_element_type(b, detail::broadcast_to(b, v[1], shape), D::S32);
            const Value count = reduced(b, kReduceSum, cl::convert_element_type(b, counts, wide(type)), over);
            const Value total = reduced(b, kReduceSum, masked(b, v, a, 0), over);
            return cl::convert_element_type(b, cl::div(b, total, count), type);
        }
        const double n = static_cast<double>(count_over(shape, axes_of(over.axis, b.aval(a)->rank())));
        const Value s = reduced(b, kReduceSum, a, over);
        return cl::convert_element_type(b, cl::div(b, s, cl::constant(b, s, n)), type);
    });
}
Array var(const Operand& x, const Spread& over) {
    return apply1({x, Operand(over.ddof)}, [&](Builder& b, const Values& v) { return var_call(b, v[0], v[1], over); });
}
Array std(const Operand& x, const Spread& over) {
    return apply1({x, Operand(over.ddof)}, [&](Builder& b, const Values& v) {
        return jitted(b, "_std", spread_key(over), v,
                      [&](Builder& i, const Values& w) { return cl::sqrt(i, var_call(i, w[0], w[1], over)); });
    });
}
Array ptp(const Operand& x, const Reduction& over) {
    no_mask("ptp", x, over);
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "_ptp", reduction_key(over), v, [&](Builder& i, const Values& w) {
            const Value top = reduced(i, kReduceMax, w[0], over);
            return cl::sub(i, top, reduced(i, kReduceMin, w[0], over));
        });
    });
}
Array count_nonzero(const Operand& x, const Axes& axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "count_nonzero", reduction_key({axis}), v, [&](Builder& i, const Values& w) {
            const Value nonzero = cl::ne(i, w[0], cl::constant(i, w[0], 0));
            return reduced(i, kReduceSum, cl::convert_element_type(i, nonzero, D::S32), {axis});
        });
    });
}
Array argmax(const Operand& x, const Axes& axis) { return arg_of(kArgMax, x, axis); }
Array argmin(const Operand& x, const Axes& axis) { return arg_of(kArgMin, x, axis); }
Array cumsum(const Operand& x, const Axes& axis) { return cumulative_of(kCumSum, x, axis); }
Array cumprod(const Operand& x, const Axes& axis) { return cumulative_of(kCumProd, x, axis); }
Array array_equal(const Operand& x, const Operand& y) { return all(equal(x, y)); }
Array allclose(const Operand& x, const Operand& y) { return all(isclose(x, y)); }

Array sort(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "sort", fmt::format("{}", axis), v, [&](Builder& i, const Values& w) {
            return i.bind1(kSort, w, make_params(SortParams{detail::axis_in(axis, i.aval(w[0])->rank()), true, 1}));
        });
    });
}
Array argsort(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "argsort", fmt::format("{}", axis), v, [&](Builder& i, const Values& w) {
            const std::int64_t a = detail::axis_in(axis, i.aval(w[0])->rank());
            const Value at = iota_of(i, D::S32, i.aval(w[0])->shape, a);
            return i.bind(kSort, {w[0], at}, make_params(SortParams{a, true, 1}))[1];
        });
    });
}
Array diff(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "diff", fmt::format("{}", axis), v, [&](Builder& i, const Values& w) {
            const Dims shape = i.aval(w[0])->shape;
            const auto a = static_cast<std::size_t>(detail::axis_in(axis, i.aval(w[0])->rank()));
            Dims start(shape.size(), 0), limit = shape;
            start[a] = 1;
            const Value upper = i.bind1(kSlice, w, make_params(SliceParams{start, limit}));
            start[a] = 0, limit[a] -= 1;
            return cl::sub(i, upper, i.bind1(kSlice, w, make_params(SliceParams{start, limit})));
        });
    });
}

namespace linalg {
Array norm(const Operand& x, const Reduction& over) {
    detail::refuse_mask("norm", x, over, "put zeros there: jnp::where(mask, x, 0.)");
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "norm", reduction_key(over), v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            return cl::sqrt(i, reduced(i, kReduceSum, cl::mul(i, a, a), over));
        });
    });
}
}  // namespace linalg

}  // namespace numpy

namespace lax {

std::pair<Array, Array> sort_key_val(const Operand& keys, const Operand& values, std::int64_t dimension) {
    const Operand in[] = {keys, values};
    std::vector<Array> r = detail::apply(in, keys.where, [&](Builder& b, const Values& v) {
        return b.bind(kSort, v, make_params(SortParams{detail::axis_in(dimension, b.aval(v[0])->rank()), true, 1}));
    });
    return {r[0], r[1]};
}

namespace {
void check_reduced(AvalRef a, const Dims& axes) {
    for (const std::int64_t d : axes)
        if (d < 0 || d >= a->rank())
            detail::refuse(
                fmt::format("reduction axes {} contains out-of-bounds indices for {}.", Shape(axes).str(), detail::long_aval(a)));
    detail::check_distinct_axes(axes, "'axes' of reduction");
}
}  // namespace

Array reduce_sum(const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        check_reduced(b.aval(v[0]), axes.vector());
        return reduce(b, kReduceSum, v[0], axes.vector());
    });
}
Array reduce_max(const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        check_reduced(b.aval(v[0]), axes.vector());
        return reduce(b, kReduceMax, v[0], axes.vector());
    });
}
Array sort(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return b.bind1(kSort, v, make_params(SortParams{detail::axis_in(axis, b.aval(v[0])->rank()), true, 1}));
    });
}
std::pair<Array, Array> top_k(const Operand& x, std::int64_t k) {
    std::vector<Array> r = detail::apply({&x, 1}, x.where, [&](Builder& b, const Values& v) {
        return b.bind(kTopK, v, make_params(TopKParams{b.aval(v[0])->rank() - 1, k}));
    });
    return {r[0], r[1]};
}

}  // namespace lax

}  // namespace jaxscope::jax
