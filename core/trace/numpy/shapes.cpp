// SPDX-License-Identifier: Apache-2.0
// jax.numpy: reductions, shapes, new arrays.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "ir/types/element.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

Dims axes_of(const Axes& a, std::int64_t rank) {
    Dims out;
    if (!a.given)
        for (std::int64_t i = 0; i < rank; ++i) out.push_back(i);
    for (const std::int64_t x : a.axes) out.push_back(detail::axis_in(x, rank));
    detail::check_distinct_axes(out, "'axis'");
    std::sort(out.begin(), out.end());
    return out;
}
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
Value reduced(Builder& b, const Primitive& p, Value x, const Reduction& over) {
    x = detail::strong_operand(b, x);  // as all reductions take it
    const Dims axes = axes_of(over.axis, b.aval(x)->rank());
    return keep(b, reduce(b, p, x, axes), axes, over.keepdims);
}
/// Sums of truth values are counts.
Value summable(Builder& b, Value x) { return b.aval(x)->dtype == D::Bool ? cl::convert_element_type(b, x, D::S32) : x; }
Value truth(Builder& b, Value x) { return b.aval(x)->dtype == D::Bool ? x : cl::convert_element_type(b, x, D::Bool); }
Value ravel_of(Builder& b, Value x) { return cl::reshape(b, x, {b.aval(x)->size()}); }
std::string reduction_key(const Reduction& over) {
    return fmt::format("{} {} {}", over.axis.given, Shape(over.axis.axes).str(), over.keepdims);
}

Value variance(Builder& b, const Value& a, const Value& ddof, const Reduction& over) {
    const Value x = detail::strong_operand(b, detail::inexact_operand(b, a));
    const Dims shape = b.aval(x)->shape, axes = axes_of(over.axis, b.aval(x)->rank());
    const auto n = static_cast<double>(count_over(shape, axes));
    const Value total = cl::expand_dims(b, reduce(b, kReduceSum, x, axes), axes);
    const Value mean = cl::div(b, total, cl::constant(b, x, n));
    const Value centred = cl::square(b, cl::sub(b, x, mean));
    const Value less = cl::convert_element_type(b, ddof, b.aval(x)->dtype);
    const Value normaliser = cl::sub(b, cl::constant(b, x, n), less);
    const Value sum = keep(b, reduce(b, kReduceSum, centred, axes), axes, over.keepdims);
    const Value result = cl::div(b, sum, normaliser);
    const Value positive = cl::gt(b, normaliser, cl::constant(b, normaliser, 0));
    return jitted(b, "_where", "", {positive, result, make_literal(AvalRef(D::F32, {}, true), NAN)}, [](Builder& i, const Values& w) {
        const Value nan = cl::convert_element_type(i, w[2], i.aval(w[1])->dtype);
        return cl::select(i, w[0], w[1], detail::broadcast_to(i, nan, i.aval(w[1])->shape));
    });
}
Value var_call(Builder& b, Value x, Value ddof, const Reduction& over) {
    return jitted(b, "_var", reduction_key(over), {x, ddof}, [&](Builder& i, const Values& w) { return variance(i, w[0], w[1], over); });
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
Value iota_of(Builder& b, D type, const Dims& shape, std::int64_t dimension) {
    return b.bind1(kIota, {}, make_params(IotaParams{type, shape, dimension}));
}
Array made(const Where& where, const std::function<Value(Builder&)>& f) {
    return apply1({}, where, [&](Builder& b, const Values&) { return f(b); });
}
Value number_of(D type, double v, bool weak = false) {
    const AvalRef a(type, {}, weak);
    return is_inexact(type) ? make_literal(a, v) : make_literal(a, static_cast<std::int64_t>(v));
}

}  // namespace

namespace numpy {

#define JAXSCOPE_REDUCTION(name, prim, operand)                                                           \
    Array name(const Operand& x, const Reduction& over) {                                                 \
        return apply1({x}, [&](Builder& b, const Values& v) { return reduced(b, prim, operand, over); }); \
    }
JAXSCOPE_REDUCTION(sum, kReduceSum, summable(b, v[0]))
JAXSCOPE_REDUCTION(prod, kReduceProd, summable(b, v[0]))
JAXSCOPE_REDUCTION(max, kReduceMax, v[0])
JAXSCOPE_REDUCTION(min, kReduceMin, v[0])
JAXSCOPE_REDUCTION(any, kReduceOr, truth(b, v[0]))
JAXSCOPE_REDUCTION(all, kReduceAnd, truth(b, v[0]))
#undef JAXSCOPE_REDUCTION
Array mean(const Operand& x, const Reduction& over) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Value a = detail::inexact_operand(b, v[0]);
        const double n = static_cast<double>(count_over(b.aval(a)->shape, axes_of(over.axis, b.aval(a)->rank())));
        const Value s = reduced(b, kReduceSum, a, over);
        return cl::div(b, s, cl::constant(b, s, n));
    });
}
Array var(const Operand& x, const Reduction& over) {
    return apply1({x, Operand(0)}, [&](Builder& b, const Values& v) { return var_call(b, v[0], v[1], over); });
}
Array std(const Operand& x, const Reduction& over) {
    return apply1({x, Operand(0)}, [&](Builder& b, const Values& v) {
        return jitted(b, "_std", reduction_key(over), v,
                      [&](Builder& i, const Values& w) { return cl::sqrt(i, var_call(i, w[0], w[1], over)); });
    });
}
Array ptp(const Operand& x, const Reduction& over) {
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

Array reshape(const Operand& x, const Shape& shape) {
    return apply1({x},
                  [&](Builder& b, const Values& v) { return cl::reshape(b, v[0], detail::reshaped(b.aval(v[0])->shape, shape.vector())); });
}
Array ravel(const Operand& x) { return reshape(x, {-1}); }
Array transpose(const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims order;
        for (const std::int64_t a : axes) order.push_back(detail::axis_in(a, b.aval(v[0])->rank()));
        detail::check_transpose(b.aval(v[0])->shape, order);
        return cl::transpose(b, v[0], order);
    });
}
Array transpose(const Operand& x) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims order;
        for (std::int64_t i = b.aval(v[0])->rank(); i-- > 0;) order.push_back(i);
        return cl::transpose(b, v[0], order);
    });
}
Array moveaxis(const Operand& x, std::int64_t from, std::int64_t to) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank(), f = detail::axis_in(from, rank), t = detail::axis_in(to, rank);
        Dims order;
        for (std::int64_t i = 0; i < rank; ++i)
            if (i != f) order.push_back(i);
        order.insert(order.begin() + t, f);
        return cl::transpose(b, v[0], order);
    });
}
Array swapaxes(const Operand& x, std::int64_t p, std::int64_t q) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims order = axes_of({}, b.aval(v[0])->rank());
        std::swap(order[static_cast<std::size_t>(detail::axis_in(p, b.aval(v[0])->rank()))],
                  order[static_cast<std::size_t>(detail::axis_in(q, b.aval(v[0])->rank()))]);
        return cl::transpose(b, v[0], order);
    });
}
Array expand_dims(const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return cl::expand_dims(b, v[0], detail::expanded_dims(b.aval(v[0])->rank(), axes.vector()));
    });
}
Array squeeze(const Operand& x, const Axes& axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims ones;
        const Dims& shape = b.aval(v[0])->shape;
        for (std::size_t i = 0; i < shape.size() && !axis.given; ++i)
            if (shape[i] == 1) ones.push_back(static_cast<std::int64_t>(i));
        return cl::squeeze(b, v[0], axis.given ? detail::squeezed_dims(shape, axis.axes) : ones);
    });
}
Array broadcast_to(const Operand& x, const Shape& shape) {
    return apply1({x}, [&](Builder& b, const Values& v) { return detail::broadcast_to(b, v[0], shape.vector()); });
}
namespace {
Array joined_by(const Arrays& parts, const char* verb, const Where& where, const std::function<Value(Builder&, const Values&)>& f) {
    if (parts.empty())
        throw Error(ErrorCode::BadUsage, fmt::format("Need at least one array to {}.", verb)).at({where.file, where.line, 0});
    std::vector<Operand> in;
    for (const Array& a : parts) in.emplace_back(a, where.file, where.line, where.function);
    return detail::apply(in, where,
                         [&](Builder& b, const Values& v) {
                             Avals avals;
                             for (const Value x : v) avals.push_back(b.aval(x));
                             const detail::Promoted to = detail::promoted_type(avals);
                             Values same;
                             for (const Value x : v) same.push_back(detail::converted(b, x, to.type, to.weak));
                             return Values{f(b, same)};
                         })
        .front();
}
Value joined_along(Builder& b, const Values& v, std::int64_t axis) {
    if (b.aval(v[0])->rank() == 0) detail::refuse("Zero-dimensional arrays cannot be concatenated.");
    const std::int64_t at = detail::axis_in(axis, b.aval(v[0])->rank());
    detail::check_concatenate(b, v, at);
    return cl::concatenate(b, v, at);
}
}  // namespace
Array concatenate(const Arrays& parts, std::int64_t axis, Where where) {
    return joined_by(parts, "concatenate", where, [&](Builder& b, const Values& v) { return joined_along(b, v, axis); });
}
Array stack(const Arrays& parts, std::int64_t axis, Where where) {
    return joined_by(parts, "stack", where, [&](Builder& b, const Values& v) {
        const std::vector<Dims> shapes = detail::shapes_of(b, v);
        for (const Dims& s : shapes)
            if (s.size() != shapes[0].size())
                detail::refuse("Cannot stack arrays with different numbers of dimensions: got " + detail::shape_list(shapes) + ".");
        for (const Dims& s : shapes)
            if (s != shapes[0]) detail::refuse("All input arrays must have the same shape. Got " + detail::shape_list(shapes) + ".");
        return b.bind1(kStack, v, make_params(StackParams{detail::axis_in(axis, b.aval(v[0])->rank() + 1)}));
    });
}
namespace {
Array joined_at_least(const Arrays& parts, const char* name, std::int64_t rank, std::int64_t axis, const Where& where) {
    return joined_by(parts, "concatenate", where, [&](Builder& b, const Values& v) {
        Values same;
        for (const Value x : v)
            same.push_back(jitted(b, name, "", {x}, [&](Builder& i, const Values& w) {
                Dims lead;
                for (std::int64_t d = 0; d < rank - i.aval(w[0])->rank(); ++d) lead.push_back(d);
                return lead.empty() ? w[0] : cl::expand_dims(i, w[0], lead);
            }));
        return joined_along(b, same, axis);
    });
}
}  // namespace
Array vstack(const Arrays& parts, Where where) { return joined_at_least(parts, "atleast_2d", 2, 0, where); }
Array hstack(const Arrays& parts, Where where) {
    return joined_at_least(parts, "atleast_1d", 1, !parts.empty() && parts.front().ndim() > 1 ? 1 : 0, where);
}
namespace {
/// Sizes of the parts along a dimension. `equal`: parts that a number asks for.
Dims part_sizes(std::int64_t n, const Sections& into, bool equal) {
    Dims sizes;
    if (into.cut) {
        std::int64_t from = 0;
        for (const std::int64_t at : into.positions) sizes.push_back(at - std::exchange(from, at));
        sizes.push_back(n - from);
        if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s < 0; }))
            detail::refuse("Sizes passed to split must be nonnegative, got " + detail::list_text(sizes));
        return sizes;
    }
    // Python's own error for a division by zero says nothing of sections.
    if (into.count <= 0) detail::refuse(fmt::format("split: expected a number of sections above zero, found {}", into.count));
    const std::int64_t rest = n % into.count;
    if (equal && rest != 0) detail::refuse(fmt::format("array split does not result in an equal division: rest is {}", rest));
    for (std::int64_t k = 0; k < into.count; ++k) sizes.push_back(n / into.count + (k < rest));
    return sizes;
}
Arrays parted(const Operand& x, const Sections& into, std::int64_t axis, bool equal) {
    return detail::apply({&x, 1}, x.where, [&](Builder& b, const Values& v) {
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank());
        const Dims sizes = part_sizes(b.aval(v[0])->shape[static_cast<std::size_t>(a)], into, equal);
        return b.bind(kSplit, v, make_params(SplitParams{sizes, a}));
    });
}
}  // namespace
Arrays split(const Operand& x, const Sections& sections, std::int64_t axis) { return parted(x, sections, axis, true); }
Arrays array_split(const Operand& x, const Sections& sections, std::int64_t axis) { return parted(x, sections, axis, false); }
Array tile(const Operand& x, const Shape& reps) {
    detail::check_nonnegative("tile reps", reps.vector());
    return apply1({x}, [&](Builder& b, const Values& v) { return b.bind1(kTile, v, make_params(TileParams{reps.vector()})); });
}
Array repeat(const Operand& x, std::int64_t repeats, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims shape = b.aval(v[0])->shape;
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank());
        Dims wide = shape, dims;
        wide.insert(wide.begin() + a + 1, repeats);
        detail::check_nonnegative("broadcast_in_dim shape", wide);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i) dims.push_back(i + (i > a));
        shape[static_cast<std::size_t>(a)] *= repeats;
        return cl::reshape(b, cl::broadcast_in_dim(b, v[0], wide, dims), shape);
    });
}
namespace {
Value rolled(Builder& b, Value x, std::int64_t shift, std::int64_t axis) {
    return jitted(b, "_roll_static", fmt::format("{} {}", shift, axis), {x}, [&](Builder& i, const Values& w) {
        const Dims shape = i.aval(w[0])->shape;
        const auto a = static_cast<std::size_t>(axis);
        const std::int64_t n = shape[a], s = n ? ((-shift % n) + n) % n : 0;
        if (s == 0) return w[0];
        Dims start(shape.size(), 0), limit = shape;
        const Dims strides(shape.size(), 1);
        start[a] = s;
        const Value front = i.bind1(kSlice, w, make_params(SliceParams{start, limit, strides}));
        start[a] = 0, limit[a] = s;
        return cl::concatenate(i, {front, i.bind1(kSlice, w, make_params(SliceParams{start, limit, strides}))}, axis);
    });
}
}  // namespace
Array roll(const Operand& x, std::int64_t shift, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) { return rolled(b, v[0], shift, detail::axis_in(axis, b.aval(v[0])->rank())); });
}
Array roll(const Operand& x, std::int64_t shift) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape;
        return cl::reshape(b, rolled(b, ravel_of(b, v[0]), shift, 0), shape);
    });
}
Array pad(const Operand& x, std::int64_t width) {
    if (width < 0) throw Error(ErrorCode::BadUsage, "index can't contain negative values").at({x.where.file, x.where.line, 0});
    return apply1({x, Operand(0)}, [&](Builder& b, const Values& v) {
        return jitted(b, "_pad", fmt::format("{}", width), v, [&](Builder& i, const Values& w) {
            const Value fill = cl::convert_element_type(i, w[1], i.aval(w[0])->dtype);
            return cl::pad(i, w[0], fill, PadConfig(i.aval(w[0])->shape.size(), PadDim{width, width, 0}));
        });
    });
}
namespace {
Array triangle(const Operand& x, bool lower, std::int64_t k) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, lower ? "tril" : "triu", fmt::format("{}", k), v, [&](Builder& i, const Values& w) {
            const Dims shape = i.aval(w[0])->shape;
            if (shape.size() < 2) detail::refuse(fmt::format("Argument to jax.numpy.{} must be at least 2D", lower ? "tril" : "triu"));
            const Dims last(shape.end() - 2, shape.end());
            const Value rows = cl::add(i, iota_of(i, D::S32, last, 0), number_of(D::S32, static_cast<double>(lower ? k : k - 1)));
            const Value mask = detail::broadcast_to(i, cl::ge(i, rows, iota_of(i, D::S32, last, 1)), shape);
            const Value zeros = cl::full(i, i.aval(w[0]), 0.0);
            return lower ? cl::select(i, mask, w[0], zeros) : cl::select(i, mask, zeros, w[0]);
        });
    });
}
}  // namespace
Array tril(const Operand& x, std::int64_t k) { return triangle(x, true, k); }
Array triu(const Operand& x, std::int64_t k) { return triangle(x, false, k); }
namespace {
Array flipped(const Operand& x, const Dims* axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims dims = axes ? *axes : axes_of({}, b.aval(v[0])->rank());
        return jitted(b, "_flip", Shape(dims).str(), v,
                      [&](Builder& i, const Values& w) { return i.bind1(kRev, w, make_params(RevParams{dims})); });
    });
}
const Dims kFirst{0}, kSecond{1};
}  // namespace
Array flip(const Operand& x) { return flipped(x, nullptr); }
Array flipud(const Operand& x) { return flipped(x, &kFirst); }
Array fliplr(const Operand& x) { return flipped(x, &kSecond); }

Array full(const Shape& shape, const Operand& value) {
    return apply1({value}, [&](Builder& b, const Values& v) { return detail::broadcast_to(b, v[0], shape.vector()); });
}
Array zeros(const Shape& shape, dtype type, Where where) {
    return made(where, [&](Builder& b) { return detail::broadcast_to(b, number_of(static_cast<D>(type), 0), shape.vector()); });
}
Array ones(const Shape& shape, dtype type, Where where) {
    return made(where, [&](Builder& b) { return detail::broadcast_to(b, number_of(static_cast<D>(type), 1), shape.vector()); });
}
Array empty(const Shape& shape, dtype type, Where where) { return zeros(shape, type, where); }
namespace {
Array like(const Operand& x, const std::function<Value(Builder&, AvalRef)>& f) {
    return apply1({x}, [&](Builder& b, const Values& v) { return f(b, b.aval(v[0])); });
}
}  // namespace
Array zeros_like(const Operand& x) {
    return like(x, [](Builder& b, AvalRef a) { return detail::broadcast_to(b, number_of(a->dtype, 0, a->weak_type), a->shape); });
}
Array ones_like(const Operand& x) {
    return like(x, [](Builder& b, AvalRef a) { return detail::broadcast_to(b, number_of(a->dtype, 1, a->weak_type), a->shape); });
}
Array full_like(const Operand& x, const Operand& value) {
    return apply1({x, value}, [](Builder& b, const Values& v) {
        const AvalRef a = b.aval(v[0]);
        return detail::broadcast_to(b, detail::converted(b, v[1], a->dtype, a->weak_type), a->shape);
    });
}
Array arange(std::int64_t stop, Where where) {
    return made(where, [&](Builder& b) { return iota_of(b, D::S32, {std::max<std::int64_t>(stop, 0)}, 0); });
}
Array arange(std::int64_t start, std::int64_t stop, Where where) {
    // JAX counts from a start that isn't zero without a step.
    return made(where, [&](Builder& b) {
        const Value x = iota_of(b, D::S32, {std::max<std::int64_t>(stop - start, 0)}, 0);
        return start == 0 ? x : cl::add(b, number_of(D::S32, static_cast<double>(start)), x);
    });
}
Array arange(std::int64_t start, std::int64_t stop, std::int64_t step, Where where) {
    if (step == 0) throw Error(ErrorCode::BadUsage, "arange: step is zero").at({where.file, where.line, 0});
    return made(where, [&](Builder& b) {
        const std::int64_t gap = stop - start, n = gap / step + (gap % step != 0 && (gap < 0) == (step < 0));
        Value x = iota_of(b, D::S32, {std::max<std::int64_t>(n, 0)}, 0);
        x = cl::mul(b, number_of(D::S32, static_cast<double>(step)), x);
        return cl::add(b, number_of(D::S32, static_cast<double>(start)), x);
    });
}
Array linspace(double start, double stop, std::int64_t num, Where where) {
    if (num < 0)
        throw Error(ErrorCode::BadUsage, fmt::format("Number of samples, {}, must be non-negative.", num)).at({where.file, where.line, 0});
    return made(where, [&](Builder& b) {
        return jitted(b, "_linspace", fmt::format("{}", num), {detail::literal_of(Operand(start)), detail::literal_of(Operand(stop))},
                      [&](Builder& i, const Values& w) {
                          const Value from = cl::convert_element_type(i, w[0], D::F32), to = cl::convert_element_type(i, w[1], D::F32);
                          if (num == 0) return detail::broadcast_to(i, number_of(D::F32, 0), {0});
                          if (num == 1) return cl::reshape(i, from, {1});
                          const Value parts = number_of(D::F32, static_cast<double>(num - 1));
                          cl::div(i, cl::sub(i, to, from), parts);
                          const Value step = cl::div(i, iota_of(i, D::F32, {num - 1}, 0), parts);
                          const Value wide = cl::reshape(i, from, {1});
                          const Value low = cl::mul(i, wide, cl::sub(i, number_of(D::F32, 1), step));
                          const Value high = cl::mul(i, cl::reshape(i, to, {1}), step);
                          const Value inner = cl::add(i, low, high);
                          return cl::concatenate(i, {inner, cl::broadcast_in_dim(i, to, {1}, {})}, 0);
                      });
    });
}
Array eye(std::int64_t n, dtype type, Where where) {
    if (n < 0)
        throw Error(ErrorCode::BadUsage, fmt::format("negative dimensions are not allowed, got {} and None", n))
            .at({where.file, where.line, 0});
    return made(where, [&](Builder& b) {
        const Value rows = iota_of(b, D::S32, {n, n}, 0), columns = iota_of(b, D::S32, {n, n}, 1);
        return cl::convert_element_type(b, cl::eq(b, cl::add(b, rows, number_of(D::S32, 0)), columns), static_cast<D>(type));
    });
}
Array identity(std::int64_t n, dtype type, Where where) { return eye(n, type, where); }
Array asarray(const Operand& x) {
    return apply1({x}, [](Builder&, const Values& v) { return v[0]; });
}
Array array(const Operand& x) { return asarray(x); }

namespace {
void gather_nested(const Nested& n, std::size_t depth, Dims& shape, std::vector<double>& out, bool& real, bool& boolean) {
    if (!n.is_list) {
        real = real || n.real, boolean = boolean && n.boolean;
        return out.push_back(n.value);
    }
    if (depth == shape.size()) shape.push_back(static_cast<std::int64_t>(n.items.size()));
    if (shape[depth] != static_cast<std::int64_t>(n.items.size()))
        throw Error(ErrorCode::BadInput, "setting an array element with a sequence. The requested array has an inhomogeneous shape");
    for (const Nested& i : n.items) gather_nested(i, depth + 1, shape, out, real, boolean);
}
Array from_nested(std::initializer_list<Nested> list, const dtype* type) {
    Nested root(0);
    root.items = std::vector<Nested>(list);
    root.is_list = true;
    Dims shape;
    std::vector<double> values;
    bool real = false, boolean = true;
    gather_nested(root, 0, shape, values, real, boolean);
    auto a = std::make_shared<ArrayConst>();
    const D t = type ? static_cast<D>(*type) : real || values.empty() ? D::F32 : boolean ? D::Bool : D::S32;
    a->aval = AvalRef(t, shape);
    if (a->aval->size() != static_cast<std::int64_t>(values.size()))
        throw Error(ErrorCode::BadInput, "setting an array element with a sequence. The requested array has an inhomogeneous shape");
    a->data.resize(static_cast<std::size_t>(a->aval->bytes()));
    for (std::size_t i = 0; i < values.size(); ++i)
        store_element(t, a->data.data() + static_cast<std::int64_t>(i) * byte_size(t),
                      Element{static_cast<std::int64_t>(values[i]), {values[i], 0}});
    return detail::concrete(std::move(a));
}
}  // namespace
Array array(std::initializer_list<Nested> list) { return from_nested(list, nullptr); }
Array array(std::initializer_list<Nested> list, dtype type) { return from_nested(list, &type); }

namespace linalg {
Array norm(const Operand& x, const Reduction& over) {
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

namespace {
void check_reduced(AvalRef a, const Dims& axes) {
    for (const std::int64_t d : axes)
        if (d < 0 || d >= a->rank())
            detail::refuse(
                fmt::format("reduction axes {} contains out-of-bounds indices for {}.", Shape(axes).str(), detail::long_aval(a)));
    detail::check_distinct_axes(axes, "'axes' of reduction");
}
}  // namespace

Array full(const Shape& shape, const Operand& value) { return numpy::full(shape, value); }
Array iota(dtype type, std::int64_t size, Where where) {
    return made(where, [&](Builder& b) { return iota_of(b, static_cast<D>(type), {size}, 0); });
}
Array expand_dims(const Operand& x, const Shape& axes) { return numpy::expand_dims(x, axes); }
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
Array detail::arange_of(double start, double stop, double step, bool has_step, const Where& where) {
    if (has_step && step == 0) throw Error(ErrorCode::BadUsage, "arange: step is zero").at({where.file, where.line, 0});
    return made(where, [&](Builder& b) {
        const auto n = static_cast<std::int64_t>(std::ceil((stop - start) / (has_step ? step : 1)));
        Value x = iota_of(b, D::F32, {std::max<std::int64_t>(n, 0)}, 0);
        if (has_step) x = cl::mul(b, number_of(D::F32, step), x);
        return !has_step && start == 0 ? x : cl::add(b, number_of(D::F32, start), x);
    });
}

}  // namespace jaxscope::jax
