// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums, sorting, and how the norm of a vector comes of them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

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
#include "lax/routine_primitives.h"
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
/// One family of reductions: what it reduces by, how two results are joined, the number that changes nothing.
struct Family {
    const char* name;
    const Primitive& over;
    const Primitive& join;
    double neutral;
    const Primitive* of_truth = nullptr;  ///< and of truth values, by which it is joined as well
    bool promotes_integers = false, sums = false;
};
const Family kSum{"sum", kReduceSum, kAdd, 0, &kReduceOr, true, true};
const Family kProd{"prod", kReduceProd, kMul, 1, &kReduceAnd, true, true};
const Family kLargest{"max", kReduceMax, kMax, -INFINITY};
const Family kLeast{"min", kReduceMin, kMin, INFINITY};
const Family kAny{"any", kReduceOr, kOr, 0, &kReduceOr};
const Family kAll{"all", kReduceAnd, kAnd, 1, &kReduceAnd};

/// What a reduction is given besides its array.
struct Along {
    Axes axis = {};
    bool keepdims = false;
    AsType dtype = {};
};
struct Given {
    Value x;
    std::optional<Value> mask = {}, initial = {};
};

Value reduce(Builder& b, const Primitive& p, Value x, const Dims& axes) {
    if (&p == &kReduceSum) return b.bind1(p, {x}, make_params(ReduceSumParams{axes}));
    return b.bind1(p, {x}, make_params(ReduceParams{axes}));
}
/// Numbers of sixteen bits are summed and multiplied in 32.
D wide(D type) { return type == D::F16 || type == D::BF16 ? D::F32 : type; }
/// Sums of small integers are of 32 bits, as counts of truth values are.
D wide_integer(D type) {
    if (type == D::Bool || type == D::S4 || type == D::S8 || type == D::S16 || type == D::S2) return D::S32;
    return type == D::U4 || type == D::U8 || type == D::U16 || type == D::U2 ? D::U32 : type;
}
Value reduced(Builder& b, const Family& f, const Given& g, const Along& over) {
    const D given = b.aval(g.x)->dtype;
    const D type = over.dtype.given ? static_cast<D>(over.dtype.type) : f.promotes_integers ? wide_integer(given) : given;
    Value x = f.sums && given == D::Bool ? cl::convert_element_type(b, g.x, D::S32) : g.x;
    x = cl::convert_element_type(b, x, f.sums && !over.dtype.given ? wide(type) : type);  // strongly typed
    const D made = b.aval(x)->dtype;
    const bool truth = made == D::Bool && f.of_truth;
    if (g.mask) x = detail::where_call(b, *g.mask, x, detail::neutral_of(made, f.neutral));
    const Dims axes = axes_of(over.axis, b.aval(x)->rank());
    Value r = reduce(b, truth ? *f.of_truth : f.over, x, axes);
    if (g.initial) {
        const Value first = cl::convert_element_type(b, *g.initial, made);
        if (!b.aval(first)->shape.empty())
            detail::refuse("initial value must be a scalar. Got array of shape " + Shape(b.aval(first)->shape).str());
        r = b.bind1(!truth ? f.join : f.of_truth == &kReduceOr ? kOr : kAnd, {first, r});
    }
    if (over.keepdims) r = cl::expand_dims(b, r, axes);
    return cl::convert_element_type(b, r, type);
}
void check_mask(const char* name, const Operand& x, const Array& mask) {
    if (mask.has_value() && mask.dtype() != dtype::bool_)
        detail::refuse_at(x.where, ErrorCode::TypeMismatch,
                          fmt::format("jnp.{}: where must be None or a boolean array; got where.dtype=dtype('{}').", name,
                                      info(static_cast<D>(mask.dtype())).name),
                          "compare first: {.where = x > 0}");
}
/// The array, its mask and the number that is begun with, as far as they are given.
Array with_given(const char* name, const Operand& x, const Array& mask, const Array& initial,
                 const std::function<Value(Builder&, const Given&)>& f) {
    check_mask(name, x, mask);
    std::vector<Operand> in{x};
    for (const Array* a : {&initial, &mask})
        if (a->has_value()) in.emplace_back(*a, x.where.file, x.where.line, x.where.function);
    return detail::apply(in, x.where,
                         [&](Builder& b, const Values& v) {
                             Given g{v[0]};
                             if (initial.has_value()) g.initial = v[1];
                             if (mask.has_value()) g.mask = v.back();
                             return Values{f(b, g)};
                         })
        .front();
}
Array sum_of(const Family& f, const Operand& x, const Summation& over) {
    return with_given(f.name, x, over.where, over.initial, [&](Builder& b, const Given& g) {
        return reduced(b, f, g, {over.axis, over.keepdims, over.dtype});
    });
}
Array extremum_of(const Family& f, const Operand& x, const Extremum& over) {
    if (over.where.has_value() && !over.initial.has_value())
        detail::refuse_at(x.where, ErrorCode::BadUsage,
                          fmt::format("reduction operation {} does not have an identity, so to use a where mask one has to "
                                      "specify 'initial'",
                                      f.name),
                          "give {.initial = ..., .where = mask}");
    return with_given(f.name, x, over.where, over.initial, [&](Builder& b, const Given& g) {
        const Dims shape = b.aval(g.x)->shape, axes = axes_of(over.axis, b.aval(g.x)->rank());
        if (!g.initial && count_over(shape, axes) == 0)
            detail::refuse(fmt::format("zero-size array to reduction operation {} which has no identity", f.name));
        return reduced(b, f, g, {over.axis, over.keepdims, {}});
    });
}
Array truth_of(const Family& f, const Operand& x, const Reduction& over) {
    return with_given(f.name, x, over.where, {}, [&](Builder& b, Given g) {
        if (is_complex(b.aval(g.x)->dtype)) g.x = cl::real(b, g.x);
        g.x = cl::convert_element_type(b, g.x, D::Bool);
        return reduced(b, f, g, {over.axis, over.keepdims, {}});
    });
}
/// How many elements a mean is of: a number, or what the mask lets through.
Value count_of(Builder& b, const Given& g, const Along& over, D type) {
    const AvalRef a = b.aval(g.x);
    if (!g.mask) return number_of(type, static_cast<double>(count_over(a->shape, axes_of(over.axis, a->rank()))));
    return reduced(b, kSum, {detail::broadcast_to(b, *g.mask, a->shape)}, {over.axis, over.keepdims, static_cast<dtype>(type)});
}
Value mean_of(Builder& b, const Given& g, const Along& over) {
    const D type = over.dtype.given ? static_cast<D>(over.dtype.type) : detail::inexact(b.aval(g.x)->dtype);
    const D made = over.dtype.given ? type : wide(type);
    const Value count = count_of(b, g, over, made);
    const Value total = reduced(b, kSum, g, {over.axis, over.keepdims, static_cast<dtype>(made)});
    return cl::convert_element_type(b, cl::div(b, total, count), type);
}

std::string type_key(const AsType& type) { return type.given ? std::string(info(static_cast<D>(type.type)).name) : ""; }
std::string reduction_key(const Axes& axis, bool keepdims) { return fmt::format("{} {} {}", axis.given, Shape(axis.axes).str(), keepdims); }
std::string spread_key(const Spread& over) { return reduction_key(over.axis, over.keepdims) + type_key(over.dtype); }

Value variance(Builder& b, const Given& g, const Value& ddof, const Spread& over) {
    const auto [made, type] = detail::variance_types(b.aval(g.x)->dtype, over.dtype);
    const Value x = cl::convert_element_type(b, g.x, made);
    const Value mean = mean_of(b, {x, g.mask}, {over.axis, true, static_cast<dtype>(made)});
    Value centred = cl::sub(b, x, mean);
    centred = is_complex(made) ? cl::real(b, cl::mul(b, centred, cl::conj(b, centred))) : cl::square(b, centred);
    const D real = b.aval(centred)->dtype;
    const Value count = count_of(b, {x, g.mask}, {over.axis, over.keepdims, {}}, real);
    const Value normaliser = cl::sub(b, count, cl::convert_element_type(b, ddof, real));
    const Value sum = reduced(b, kSum, {centred, g.mask}, {over.axis, over.keepdims, static_cast<dtype>(real)});
    const Value result = cl::convert_element_type(b, cl::div(b, sum, normaliser), type);
    const Value positive = cl::gt(b, normaliser, cl::constant(b, normaliser, 0));
    return detail::where_call(b, positive, result, make_literal(AvalRef(D::F32, {}, true), NAN));
}
/// Operands: the array, `ddof`, the mask if there is one.
Value var_call(Builder& b, const Values& v, const Spread& over) {
    return jitted(b, "_var", spread_key(over), v, [&](Builder& i, const Values& w) {
        return variance(i, {w[0], w.size() > 2 ? std::optional(w[2]) : std::nullopt}, w[1], over);
    });
}
Array spread_of(const char* name, const Operand& x, const Spread& over, const std::function<Value(Builder&, const Values&)>& f) {
    check_mask(name, x, over.where);
    std::vector<Operand> in{x, Operand(over.ddof)};
    if (over.where.has_value()) in.emplace_back(over.where, x.where.file, x.where.line, x.where.function);
    return detail::apply(in, x.where, [&](Builder& b, const Values& v) { return Values{f(b, v)}; }).front();
}
Value cumulative(Builder& b, const Primitive& p, Value x, const Running& along) {
    const Axes& axis = along.axis;
    if (!axis.given) x = ravel_of(b, x);
    const std::int64_t a = axis.given ? detail::axis_in(axis.axes.front(), b.aval(x)->rank()) : 0;
    const D given = b.aval(x)->dtype;
    D type = along.dtype.given ? static_cast<D>(along.dtype.type) : given == D::Bool ? D::S32 : given;
    const D result = type;
    if (type == D::Bool) {
        if (given != D::Bool) x = cl::ne(b, x, cl::constant(b, x, 0));
        type = D::S32;
    }
    x = cl::convert_element_type(b, x, type);
    return cl::convert_element_type(b, b.bind1(p, {x}, make_params(CumulativeParams{a, false})), result);
}
Array cumulative_of(const Primitive& p, const Operand& x, const Running& along) {
    const std::string key = fmt::format("{}{}{}", along.axis.given, Shape(along.axis.axes).str(), type_key(along.dtype));
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, &p == &kCumSum ? "cumsum" : "cumprod", key, v,
                      [&](Builder& i, const Values& w) { return cumulative(i, p, w[0], along); });
    });
}
Value reversed(Builder& b, Value x, std::int64_t axis) { return b.bind1(kRev, {x}, make_params(RevParams{{axis}})); }
Array arg_of(const Primitive& p, const Operand& x, const Axes& axis, bool keepdims) {
    if (axis.axes.size() > 1) detail::refuse("'tuple' object cannot be interpreted as an integer");
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        const Value a = axis.given ? v[0] : ravel_of(b, v[0]);
        const std::int64_t d = axis.given ? detail::axis_in(axis.axes.front(), rank) : 0;
        if (b.aval(a)->shape[static_cast<std::size_t>(d)] == 0)
            detail::refuse(fmt::format("attempt to get arg{} of an empty sequence", &p == &kArgMax ? "max" : "min"));
        detail::refuse_without_order(&p == &kArgMax ? "gt" : "lt", b.aval(a)->dtype);
        const Value at = b.bind1(p, {a}, make_params(ArgReduceParams{{d}, D::S32}));
        return keepdims ? cl::expand_dims(b, at, axis.given ? Dims{d} : axes_of({}, rank)) : at;
    });
}

}  // namespace

std::pair<D, D> detail::variance_types(D given, const AsType& wanted) {
    const auto real = [](D t) { return t == D::C64 ? D::F32 : t == D::C128 ? D::F64 : t; };
    if (!wanted.given) {
        const D inexact = detail::inexact(given);
        return {wide(inexact), real(inexact)};
    }
    const D type = static_cast<D>(wanted.type);
    if (is_complex(given) && !is_complex(type))
        detail::refuse(
            "jax.numpy.var does not yet support real dtype parameters when computing the variance of an array of complex values. "
            "The semantics of numpy.var seem unclear in this case. Please comment on https://github.com/jax-ml/jax/issues/2283 if "
            "this behavior is important to you.");
    return {wide(type), type};
}
Value detail::neutral_of(D type, double v) {
    if (type == D::Bool) return number_of(type, v > 0 ? 1 : 0);
    if (is_inexact(type) || std::isfinite(v)) return number_of(type, v);
    const numpy::IntInfo i = numpy::iinfo(static_cast<dtype>(type));
    return make_literal(AvalRef(type, {}), v > 0 ? i.max : i.min);
}
Value detail::summed_over(Builder& b, Value x, const Dims& axes, bool keepdims) {
    return reduced(b, kSum, {x}, {Axes(axes), keepdims, {}});
}

namespace numpy {

Array sum(const Operand& x, const Summation& over) { return sum_of(kSum, x, over); }
Array prod(const Operand& x, const Summation& over) { return sum_of(kProd, x, over); }
Array any(const Operand& x, const Reduction& over) { return truth_of(kAny, x, over); }
Array all(const Operand& x, const Reduction& over) { return truth_of(kAll, x, over); }
Array max(const Operand& x, const Extremum& over) { return extremum_of(kLargest, x, over); }
Array min(const Operand& x, const Extremum& over) { return extremum_of(kLeast, x, over); }
Array amax(const Operand& x, const Extremum& over) { return max(x, over); }
Array amin(const Operand& x, const Extremum& over) { return min(x, over); }
Array mean(const Operand& x, const Averaging& over) {
    return with_given("mean", x, over.where, {}, [&](Builder& b, const Given& g) {
        return mean_of(b, g, {over.axis, over.keepdims, over.dtype});
    });
}
Array var(const Operand& x, const Spread& over) {
    return spread_of("var", x, over, [&](Builder& b, const Values& v) { return var_call(b, v, over); });
}
Array std(const Operand& x, const Spread& over) {
    if (over.dtype.given && !is_inexact(static_cast<D>(over.dtype.type)))
        detail::refuse_at(x.where, ErrorCode::TypeMismatch,
                          std::string("dtype argument to jnp.std must be inexact; got ") + info(static_cast<D>(over.dtype.type)).name);
    return spread_of("std", x, over, [&](Builder& b, const Values& v) {
        return jitted(b, "_std", spread_key(over), v, [&](Builder& i, const Values& w) { return cl::sqrt(i, var_call(i, w, over)); });
    });
}
Array ptp(const Operand& x, const Reduction& over) {
    detail::refuse_mask("ptp", x, over, "put a number of the array there: jnp::where(mask, x, x[0])");
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "_ptp", reduction_key(over.axis, over.keepdims), v, [&](Builder& i, const Values& w) {
            const Along along{over.axis, over.keepdims, {}};
            const Value top = reduced(i, kLargest, {w[0]}, along);
            return cl::sub(i, top, reduced(i, kLeast, {w[0]}, along));
        });
    });
}
Array count_nonzero(const Operand& x, const Axes& axis, bool keepdims) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "count_nonzero", reduction_key(axis, keepdims), v, [&](Builder& i, const Values& w) {
            const Value nonzero = cl::ne(i, w[0], cl::constant(i, w[0], 0));
            return reduced(i, kSum, {cl::convert_element_type(i, nonzero, D::S32)}, {axis, keepdims, {}});
        });
    });
}
Array argmax(const Operand& x, const Axes& axis, bool keepdims) { return arg_of(kArgMax, x, axis, keepdims); }
Array argmin(const Operand& x, const Axes& axis, bool keepdims) { return arg_of(kArgMin, x, axis, keepdims); }
Array cumsum(const Operand& x, const Running& along) { return cumulative_of(kCumSum, x, along); }
Array cumprod(const Operand& x, const Running& along) { return cumulative_of(kCumProd, x, along); }
namespace {
/// The elements summed (or multiplied) up, behind what that begins with.
Array cumulation(const char* what, const Primitive& p, const Operand& x, const Cumulation& along) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const AvalRef given = b.aval(v[0]);
        if (given->rank() == 0)
            detail::refuse(fmt::format(
                "The input must be non-scalar to take a cumulative {}, however a scalar value or scalar array was given.", what));
        if (!along.axis.given && given->rank() > 1)
            detail::refuse(
                fmt::format("The input array has rank {}, however axis was not set to an explicit value. The axis argument is only "
                            "optional for one-dimensional arrays.",
                            given->rank()));
        const std::int64_t axis = along.axis.given ? detail::axis_in(along.axis.axes.front(), given->rank()) : 0;
        const bool sums = &p == &kCumSum;
        const Running running{axis, along.dtype};
        const auto run = [&](Builder& i, const Values& w) { return cumulative(i, p, w[0], running); };
        Value out = sums ? jitted(b, "_cumsum_with_promotion", fmt::format("{} {}", axis, type_key(along.dtype)), v, run) : run(b, v);
        if (!along.include_initial) return out;
        Dims first = given->shape;
        first[static_cast<std::size_t>(axis)] = 1;
        const Value begin = cl::broadcast_in_dim(b, detail::number_of(b.aval(out)->dtype, sums ? 0 : 1), first, {});
        return cl::concatenate(b, {begin, out}, axis);
    });
}
}  // namespace
Array cumulative_sum(const Operand& x, const Cumulation& along) { return cumulation("sum", kCumSum, x, along); }
Array cumulative_prod(const Operand& x, const Cumulation& along) { return cumulation("product", kCumProd, x, along); }

Array sort(const Operand& x, std::int64_t axis, const Sorting& how) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "sort", fmt::format("{} {} {}", axis, how.stable, how.descending), v, [&](Builder& i, const Values& w) {
            const std::int64_t a = detail::axis_in(axis, i.aval(w[0])->rank());
            const Value up = i.bind1(kSort, w, make_params(SortParams{a, how.stable, 1}));
            return how.descending ? reversed(i, up, a) : up;
        });
    });
}
Array argsort(const Operand& x, std::int64_t axis, const Sorting& how) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "argsort", fmt::format("{} {} {}", axis, how.stable, how.descending), v, [&](Builder& i, const Values& w) {
            const std::int64_t a = detail::axis_in(axis, i.aval(w[0])->rank());
            Value keys = w[0], at = iota_of(i, D::S32, i.aval(keys)->shape, a);
            // Equal ones keep their order when the result is turned round.
            if (how.descending && how.stable) keys = reversed(i, keys, a), at = reversed(i, at, a);
            at = i.bind(kSort, {keys, at}, make_params(SortParams{a, how.stable, 1}))[1];
            return how.descending ? reversed(i, at, a) : at;
        });
    });
}
namespace {
Value neighbours_apart(Builder& i, Value x, std::size_t axis) {
    Dims start(i.aval(x)->shape.size(), 0), limit = i.aval(x)->shape;
    start[axis] = std::min<std::int64_t>(1, limit[axis]);
    const Value upper = i.bind1(kSlice, {x}, make_params(SliceParams{start, limit}));
    start[axis] = 0, limit[axis] = std::max<std::int64_t>(limit[axis] - 1, 0);
    const Value lower = i.bind1(kSlice, {x}, make_params(SliceParams{start, limit}));
    return i.aval(x)->dtype == D::Bool ? cl::ne(i, upper, lower) : cl::sub(i, upper, lower);
}
}  // namespace
Array diff(const Operand& x, std::int64_t n, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        if (n < 0) detail::refuse(fmt::format("order must be non-negative but got {}", n));
        return jitted(b, "diff", fmt::format("{} {}", n, axis), v, [&](Builder& i, const Values& w) {
            const auto a = static_cast<std::size_t>(detail::axis_in(axis, i.aval(w[0])->rank()));
            Value out = w[0];
            for (std::int64_t k = 0; k < n; ++k) out = neighbours_apart(i, out, a);
            return out;
        });
    });
}

namespace linalg {
Array norm(const Operand& x, const Reduction& over) {
    detail::refuse_mask("norm", x, over, "put zeros there: jnp::where(mask, x, 0.)");
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "norm", reduction_key(over.axis, over.keepdims), v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            return cl::sqrt(i, reduced(i, kSum, {cl::mul(i, a, a)}, {over.axis, over.keepdims, {}}));
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
namespace {
std::pair<Array, Array> approximate(const Operand& x, std::int64_t k, const Approximation& how, bool largest) {
    ApproxTopKParams p;
    p.k = k;
    p.dimension = how.reduction_dimension;
    p.input_size_override = how.reduction_input_size_override;
    p.recall_target = how.recall_target;
    p.aggregate = how.aggregate_to_topk;
    p.is_max_k = largest;
    std::vector<Array> r =
        detail::apply({&x, 1}, x.where, [&](Builder& b, const Values& v) { return b.bind(kApproxTopK, v, make_params(p)); });
    return {r[0], r[1]};
}
}  // namespace
std::pair<Array, Array> approx_max_k(const Operand& x, std::int64_t k, const Approximation& how) { return approximate(x, k, how, true); }
std::pair<Array, Array> approx_min_k(const Operand& x, std::int64_t k, const Approximation& how) { return approximate(x, k, how, false); }

}  // namespace lax

}  // namespace jaxscope::jax
