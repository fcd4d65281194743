// SPDX-License-Identifier: Apache-2.0
// jax.numpy: functions of sorted arrays, and elements by position along an axis.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <jaxscope/control_flow.h>
#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/vmap.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/quantile.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

Value f32(double v) { return make_literal(AvalRef(D::F32, {}), v); }

// ---- take_along_axis

/// Which dimensions of the array a position chooses from, which it walks along with, which it takes whole.
Value taken_along(Builder& b, Value x, Value at, std::size_t axis) {
    const Dims shape = b.aval(x)->shape, places = b.aval(at)->shape;
    const D type = b.aval(at)->dtype;
    const Value below = cl::lt(b, at, make_literal(AvalRef(type, {}), std::int64_t{0}));
    const Value wrapped = cl::add(b, at, make_literal(AvalRef(type, {}), shape[axis]));
    const Value from = cl::select(b, below, wrapped, at);
    GatherParams p;
    GatherDims& d = p.dimension_numbers;
    Dims index_shape, squeezed;
    std::int64_t of_x = 0, of_index = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i == axis || places[i] != 1) index_shape.push_back(places[i]);
        if (i == axis) {
            p.slice_sizes.push_back(1);
            d.start_index_map.push_back(of_x);
            d.collapsed_slice_dims.push_back(of_x);
            ++of_x, ++of_index;
        } else if (places[i] == 1) {
            d.offset_dims.push_back(static_cast<std::int64_t>(i));
            p.slice_sizes.push_back(shape[i]);
            ++of_x;
        } else if (shape[i] == 1) {
            squeezed.push_back(static_cast<std::int64_t>(i));
            ++of_index;
        } else {
            p.slice_sizes.push_back(1);
            d.operand_batching_dims.push_back(of_x);
            d.start_indices_batching_dims.push_back(of_index);
            ++of_x, ++of_index;
        }
    }
    index_shape.push_back(1);
    const Value indices = cl::reshape(b, from, index_shape);
    if (!squeezed.empty()) x = cl::squeeze(b, x, squeezed);
    p.mode = OutOfBounds::FillOrDrop;
    if (is_float(b.aval(x)->dtype)) p.fill_value = Attr(__builtin_nan(""));
    return b.bind1(kGather, {x, indices}, make_params(p));
}

// ---- searchsorted

/// A total order in which zeros are equal, and so are all nan.
Value ordered(Builder& b, Value x) {
    const AvalRef a = b.aval(x);
    const AvalRef scalar(a->dtype, {});
    const auto filled = [&](double v) { return cl::broadcast_in_dim(b, make_literal(scalar, v), a->shape, {}); };
    const Value zero = cl::eq(b, x, make_literal(scalar, 0.0));
    const Value one_zero = cl::select(b, zero, filled(0), x);
    const Value nan = cl::ne(b, x, x);
    return cl::select(b, nan, filled(__builtin_nan("")), one_zero);
}
/// Where one number belongs, by halving.
Array position_in(const Array& sorted, const Array& query, bool right) {
    const std::int64_t n = sorted.shape(0);
    const auto body = [&](const std::pair<Array, Array>& bounds, const jax::lax::Nothing&) {
        const auto& [low, high] = bounds;
        const Array half = floor_divide(high - low, 2);
        const Array mid = low + half;
        const Array found = jax::lax::squeeze(jax::lax::dynamic_slice(sorted, {mid}, 1), 0);
        const Operand in[] = {query, found, mid, low, high};
        const std::vector<Array> next = detail::apply(in, Where("", 0, ""), [&](Builder& b, const Values& v) {
            const bool floats = is_float(b.aval(v[0])->dtype);
            const Value q = floats ? ordered(b, v[0]) : v[0];
            const Value s = floats ? ordered(b, v[1]) : v[1];
            const Value left = b.bind1(right ? kLtTo : kLeTo, {q, s});
            return Values{cl::select(b, left, v[3], v[2]), cl::select(b, left, v[2], v[4])};
        });
        return std::pair{std::pair{next[0], next[1]}, jax::lax::Nothing{}};
    };
    const Array first = jax::lax::convert_element_type(0, dtype::uint32), last = jax::lax::convert_element_type(n, dtype::uint32);
    const auto steps = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(n + 1))));
    const std::pair<Array, Array> end = jax::lax::scan(body, std::pair{first, last}, jax::lax::Nothing{}, {.length = steps}).first;
    return jax::lax::convert_element_type(end.second, dtype::int32);
}
constexpr const char* kSearch = "_searchsorted_scan_impl";
/// One dimension of the queries after the other is mapped, each under a jit of its own.
Array positions_in(const Array& sorted, const Array& query, bool right, int mapped) {
    const auto one = [&](const Array& s, const Array& q) {
        if (s.shape(0) == 0) return zeros_like(Operand(q), int32);
        if (mapped == 0) return position_in(s, q, right);
        return jax::vmap([&](const Array& each) { return positions_in(s, each, right, mapped - 1); })(q);
    };
    return jax::jit(one, {.name = kSearch})(sorted, query);
}

// ---- quantile

}  // namespace

std::string Quantile::key() const { return fmt::format("{} {} {} {} {}", all, tuple, Shape(axes).str(), keepdims, midpoint); }
Value quantile_axes_last(Builder& b, Value x, const Quantile& o) {
    const Dims shape = b.aval(x)->shape;
    Dims order, sizes;
    std::int64_t together = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (std::count(o.axes.begin(), o.axes.end(), static_cast<std::int64_t>(d))) {
            together *= shape[d];
        } else {
            std::swap(order[sizes.size()], order[d]);
            sizes.push_back(shape[d]);
        }
    }
    sizes.push_back(together);
    return cl::reshape(b, x, sizes, order);
}
namespace {

Value row_at(Builder& b, Value x, Value index, const Quantile& o) {
    const Dims at = b.aval(index)->shape;
    Dims with_one = at, dims;
    with_one.push_back(1);
    for (std::size_t i = 0; i < at.size(); ++i) dims.push_back(static_cast<std::int64_t>(i));
    GatherParams p;
    p.slice_sizes = b.aval(x)->shape;
    const auto kept = static_cast<std::int64_t>(p.slice_sizes.size()) - (o.keepdims ? 0 : 1), before = static_cast<std::int64_t>(at.size());
    p.slice_sizes[static_cast<std::size_t>(o.axis)] = 1;
    for (std::int64_t i = 0; i < kept; ++i) p.dimension_numbers.offset_dims.push_back(before + i);
    if (!o.keepdims) p.dimension_numbers.collapsed_slice_dims = {o.axis};
    p.dimension_numbers.start_index_map = {o.axis};
    return b.bind1(kGather, {x, cl::broadcast_in_dim(b, index, with_one, dims)}, make_params(p));
}
Value quantile_in(Builder& b, Value x, Value q, Quantile o) {
    Dims kept;  // the result's shape with ones, where all or several axes are gone
    if (o.all) {
        if (o.keepdims) kept.assign(b.aval(x)->shape.size(), 1);
        x = cl::reshape(b, x, {b.aval(x)->size()});
        o.axis = 0;
    } else if (o.tuple) {
        if (o.keepdims) kept = b.aval(x)->shape;
        for (const std::int64_t a : o.keepdims ? o.axes : Dims()) kept[static_cast<std::size_t>(a)] = 1;
        x = quantile_axes_last(b, x, o);
        o.axis = b.aval(x)->rank() - 1;
    } else {
        o.axis = o.axes.front();
    }
    const Value nans = b.bind1(kReduceOr, {detail::strong_operand(b, cl::ne(b, x, x))}, make_params(ReduceParams{{o.axis}}));
    x = detail::where_call(b, cl::expand_dims(b, nans, {o.axis}), make_literal(AvalRef(D::F32, {}, true), std::nan("")), x);
    x = b.bind1(kSort, {x}, make_params(SortParams{.dimension = o.axis, .is_stable = true, .num_keys = 1}));
    const Value n = f32(static_cast<double>(b.aval(x)->shape[static_cast<std::size_t>(o.axis)]));
    const Value place = cl::mul(b, q, b.bind1(kSub, {n, f32(1)}));
    Value low = cl::floor(b, place), high = b.bind1(kCeil, {place});
    const Value high_weight = cl::sub(b, place, low), low_weight = cl::sub(b, f32(1), high_weight);
    low = b.bind1(kClamp, {f32(0), low, b.bind1(kSub, {n, f32(1)})});
    high = b.bind1(kClamp, {f32(0), high, b.bind1(kSub, {n, f32(1)})});
    const Value low_index = cl::convert_element_type(b, low, D::S32), high_index = cl::convert_element_type(b, high, D::S32);
    Value low_value = row_at(b, x, low_index, o), high_value = row_at(b, x, high_index, o);
    Value out;
    if (o.midpoint) {
        const Value both = cl::add(b, low_value, high_value);
        out = cl::mul(b, both, cl::constant(b, low_value, 0.5));
    } else {
        const auto over = [&](Value weight) {
            const Dims from = b.aval(weight)->shape;
            Dims dims;
            for (std::size_t i = 0; i < from.size(); ++i) dims.push_back(static_cast<std::int64_t>(i));
            return from.empty() ? weight : cl::broadcast_in_dim(b, weight, b.aval(low_value)->shape, dims);
        };
        const Value below = over(low_weight), above = over(high_weight);
        // Numbers of sixteen bits are weighed in q's 32.
        const D made = b.aval(below)->dtype, type = b.aval(low_value)->dtype;
        const Value left = cl::mul(b, cl::convert_element_type(b, low_value, made), below);
        out = cl::add(b, left, cl::mul(b, cl::convert_element_type(b, high_value, made), above));
        out = cl::convert_element_type(b, out, type);
    }
    if (kept.empty()) return detail::strong_operand(b, out);
    const Dims& of_q = b.aval(q)->shape;
    kept.insert(kept.begin(), of_q.begin(), of_q.end());
    return detail::strong_operand(b, cl::reshape(b, out, kept));
}
Value quantile_call(Builder& b, Value x, Value q, const Quantile& o) {
    return jitted(b, "quantile", o.key(), {x, q},
                  [&](Builder& i, const Values& w) { return quantile_in(i, detail::inexact_operand(i, w[0]), w[1], o); });
}
}  // namespace

Quantile quantile_options(Builder& b, Value x, const Reduction& over) {
    if (is_complex(b.aval(x)->dtype)) detail::refuse("quantile does not support complex input, as the operation is poorly defined.");
    Quantile o{.all = !over.axis.given, .tuple = over.axis.tuple, .axes = {}, .keepdims = over.keepdims};
    for (const std::int64_t a : over.axis.axes) o.axes.push_back(detail::axis_in(a, b.aval(x)->rank()));
    Dims distinct = o.axes;
    std::sort(distinct.begin(), distinct.end());
    if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end()) detail::refuse("repeated axis");
    return o;
}
void check_quantile(AvalRef q) {
    if (q->rank() > 1) detail::refuse("q must be have rank <= 1, got shape " + Shape(q->shape).str());
}

Array take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis) {
    return apply1({x, indices}, [&](Builder& b, const Values& v) {
        const AvalRef a = b.aval(v[0]), i = b.aval(v[1]);
        if (!is_integer(i->dtype))
            throw Error(ErrorCode::TypeMismatch,
                        fmt::format("take_along_axis indices must be of integer type, got {}", info(i->dtype).name));
        if (a->rank() != i->rank())
            throw Error(ErrorCode::TypeMismatch,
                        fmt::format("indices and arr must have the same number of dimensions; {} vs. {}", i->rank(), a->rank()));
        const std::int64_t at = detail::axis_in(axis, a->rank());
        return jitted(b, "take_along_axis", fmt::format("{}", at), v,
                      [&](Builder& inner, const Values& w) { return taken_along(inner, w[0], w[1], static_cast<std::size_t>(at)); });
    });
}

Array searchsorted(const Operand& a, const Operand& v, const char* side) {
    const std::string_view s = side;
    if (s != "left" && s != "right")
        detail::refuse_at(a.where, ErrorCode::BadUsage,
                          fmt::format("'{}' is an invalid value for keyword 'side'. Expected one of ['left', 'right'].", side),
                          "\"left\" finds the place before equal numbers, \"right\" the one behind them");
    return detail::composed_one("searchsorted", side, {a, v}, [&](const Arrays& given) {
        const Array &sorted = given[0], &query = given[1];
        if (sorted.ndim() != 1)
            detail::refuse_at(a.where, ErrorCode::BadUsage, "a should be 1-dimensional",
                              "it is the sorted vector that is searched; jnp::ravel makes one");
        const Operand in[] = {sorted, query};
        const std::vector<Array> p = detail::apply(in, a.where, [](Builder& b, const Values& w) {
            const detail::Promoted to = detail::promoted_type({b.aval(w[0]), b.aval(w[1])});
            return Values{detail::converted(b, w[0], to.type, false), detail::converted(b, w[1], to.type, false)};
        });
        return positions_in(p[0], p[1], s == "right", p[1].ndim());
    });
}

Array quantile(const Operand& x, const Operand& q, const Reduction& over) {
    detail::refuse_mask("quantile", x, over, "select the elements first");
    return apply1({x, q}, [&](Builder& b, const Values& v) {
        const Quantile o = quantile_options(b, v[0], over);
        check_quantile(b.aval(v[1]));
        return quantile_call(b, v[0], v[1], o);
    });
}
Array percentile(const Operand& x, const Operand& q, const Reduction& over) {
    detail::refuse_mask("percentile", x, over, "select the elements first");
    return apply1({x, q}, [&](Builder& b, const Values& v) {
        const Quantile o = quantile_options(b, v[0], over);
        check_quantile(b.aval(v[1]));
        return jitted(b, "percentile", o.key(), v, [&](Builder& i, const Values& w) {
            const Value part = detail::converted(i, w[1], detail::inexact(i.aval(w[1])->dtype), i.aval(w[1])->weak_type);
            return quantile_call(i, w[0], cl::div(i, part, cl::constant(i, part, 100)), o);
        });
    });
}
Array median(const Operand& x, const Reduction& over) {
    detail::refuse_mask("median", x, over, "select the elements first");
    return apply1({x}, [&](Builder& b, const Values& v) {
        Quantile o = quantile_options(b, v[0], over);
        o.midpoint = true;
        return jitted(b, "median", o.key(), v, [&](Builder& i, const Values& w) { return quantile_call(i, w[0], f32(0.5), o); });
    });
}

}  // namespace jaxscope::jax::numpy
