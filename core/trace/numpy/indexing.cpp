// SPDX-License-Identifier: Apache-2.0
// Array[...]: what jax.numpy emits for numbers, slices, new axes; arrays of indices go through `take`.
#include <fmt/core.h>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/shapes/slicing.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/elementwise_parts.h"
#include "trace/numpy/indexer.h"
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

/// What stands where a gather reads outside.
Attr fill_of(const Reading& how) {
    if (!how.fill_value.has_value()) return {};
    return how.fill_value.dtype() == jax::dtype::float32 ? Attr(how.fill_value.item<double>()) : Attr(how.fill_value.item<std::int64_t>());
}
Value gathered(Builder& b, Value x, const detail::Indexer& indexer, const Values& arrays, const Reading& how, const Where& where) {
    const detail::Indexer::Gather g = indexer.gather(b, arrays);
    x = indexer.with_truths(b, x);
    if (element_count(g.result) == 0) return detail::broadcast_to(b, detail::zero_of(b.aval(x)->dtype), g.result);
    if (element_count(b.aval(g.indices)->shape) != 0) {
        GatherParams p;
        p.dimension_numbers = g.dims;
        p.indices_are_sorted = !g.repeats || how.indices_are_sorted;
        p.unique_indices = !g.repeats || how.unique_indices;
        p.slice_sizes = g.sizes;
        p.mode = detail::index_mode(how.mode, where).value_or(OutOfBounds::PromiseInBounds);
        p.fill_value = fill_of(how);
        x = cl::gather(b, x, g.indices, p);
    }
    if (!g.reversed.empty()) x = b.bind1(kRev, {x}, make_params(RevParams{g.reversed}));
    return g.added.empty() ? x : cl::expand_dims(b, x, g.added);
}

}  // namespace

Array detail::at_indices(const Operand& x, const std::vector<Index>& list, const Reading& how) {
    const Where where = detail::place_of(list, x.where);
    if (!x.node)
        detail::refuse_at(where, ErrorCode::BadUsage, "expected an array, found an Array without a value",
                          "Array() is Python's None: give it a value first, or ask has_value()");
    const detail::Indexer indexer(list, Array::of(x.node).shape().vector(), where);
    // What may be filled is gathered, even where all is known to lie inside.
    const bool filled = detail::index_mode(how.mode, where) == OutOfBounds::FillOrDrop;
    if (indexer.slices() && !filled) return apply1({x}, where, [&](Builder& b, const Values& v) { return indexer.slice(b, v[0]); });
    std::vector<Operand> in = indexer.arrays();
    in.insert(in.begin(), x);
    return detail::apply(in, where,
                         [&](Builder& b, const Values& v) {
                             const Values arrays(v.begin() + 1, v.end());
                             return Values{indexer.slices_at_starts() && !filled ? indexer.dynamic_slice(b, v[0], arrays)
                                                                                 : gathered(b, v[0], indexer, arrays, how, where)};
                         })
        .front();
}
namespace {
Array at_position(const Operand& x, const Position& i) { return detail::at_indices(x, {i.at}); }
}  // namespace

std::optional<OutOfBounds> detail::index_mode(const char* name, const Where& where) {
    if (!name) return {};
    const std::string_view mode = name;
    if (mode == "fill" || mode == "drop") return OutOfBounds::FillOrDrop;
    if (mode == "clip") return OutOfBounds::Clip;
    if (mode == "promise_in_bounds") return OutOfBounds::PromiseInBounds;
    detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("Unknown gather mode \"{}\"", mode),
                      "\"fill\", \"clip\" or \"promise_in_bounds\"");
}
Value detail::zero_of(D type) {
    const AvalRef a(type, {});
    return is_inexact(type) ? make_literal(a, 0.0) : make_literal(a, std::int64_t{0});
}
Array IndexUpdate::get(const Reading& how, Where where) const {
    return detail::at_indices(Operand(x_, where.file, where.line, where.function), indices_, how);
}

// Of an array without a name, as in `f(x)[0]`: its operations belong to the expression that is evaluated.
Array Array::operator[](const Position& i) const& { return at_position(*this, i); }
Array Array::operator[](const Position& i) && { return at_position(static_cast<Array&&>(*this), i); }
Array Array::operator[](std::initializer_list<Index> indices) const& { return detail::at_indices(*this, indices); }
Array Array::operator[](std::initializer_list<Index> indices) && { return detail::at_indices(static_cast<Array&&>(*this), indices); }
namespace {
/// Positions beyond the end go round.
Value counted_around(Builder& b, Value at, std::int64_t size) {
    return detail::remainder_call(b, at, make_literal(AvalRef(b.aval(at)->dtype, {}), size));
}
}  // namespace
Array numpy::take(const Operand& x, const Operand& indices, const Axes& axis, const TakeOptions& options) {
    const std::string mode = options.mode;
    if (mode != "fill" && mode != "clip" && mode != "wrap")
        detail::refuse_at(x.where, ErrorCode::BadUsage,
                          fmt::format("take: expected the mode \"fill\", \"clip\" or \"wrap\", found \"{}\"", mode),
                          "leave it out for JAX's, \"fill\"");
    return apply1({x, indices}, [&](Builder& b, const Values& given) {
        Values v = given;
        if (b.aval(v[1])->dtype == D::Bool) v[1] = detail::converted(b, v[1], D::S32, false);
        if (!is_integer(b.aval(v[1])->dtype)) throw Error(ErrorCode::TypeMismatch, "indices must have an integer type");
        std::optional<std::int64_t> at;
        if (axis.given && axis.axes.size() != 1)
            throw Error(ErrorCode::BadUsage, fmt::format("take: expected one axis, found {}", axis.axes.size()));
        if (axis.given) at = detail::axis_in(axis.axes.front(), b.aval(v[0])->rank());
        using Mode = ::jaxscope::OutOfBounds;
        if (mode == "wrap") return ::jaxscope::take(b, v[0], v[1], at, Mode::PromiseInBounds, counted_around);
        return ::jaxscope::take(b, v[0], v[1], at, mode == "clip" ? Mode::Clip : Mode::FillOrDrop);
    });
}
namespace {
/// What the user wrote as a number.
std::optional<Literal> number_of(Value v, const Array& given) {
    if (v.is_literal()) return *v.literal();
    if (given.is_tracer() || !given.weak_type() || given.ndim() != 0) return {};
    Literal l;
    l.real = given.item<double>();
    l.integer = given.item<std::int64_t>();
    return l;
}
/// JAX's starts: what is known is counted from the front at once, the rest when it runs. `given`: as the user wrote them.
Values starts_of(Builder& b, const Values& v, const Arrays& given, const Dims& shape) {
    if (given.size() != shape.size())
        throw Error(ErrorCode::BadUsage, fmt::format("Length of slice indices must match number of operand dimensions ({} vs {})",
                                                     given.size(), Shape(shape).str()));
    Values out;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const AvalRef type(b.aval(v[i])->dtype, {});
        if (const std::optional<Literal> number = number_of(v[i], given[i])) {
            const std::int64_t at = number->integer;
            out.push_back(is_integer(type->dtype) ? make_literal(type, at < 0 ? at + shape[i] : at) : make_literal(type, number->real));
        } else if (is_signed_int(type->dtype) && b.aval(v[i])->shape.empty()) {
            const Value below = cl::lt(b, v[i], make_literal(type, std::int64_t{0}));
            const Value strong = cl::convert_element_type(b, v[i], type->dtype);
            out.push_back(cl::select(b, below, cl::add(b, strong, make_literal(type, shape[i])), v[i]));
        } else {
            out.push_back(v[i]);
        }
    }
    return out;
}
std::vector<Operand> with_starts(std::initializer_list<Operand> first, const Arrays& starts) {
    std::vector<Operand> in(first);
    const Where at = in.front().where;  // the operand moves when the list grows
    for (const Array& s : starts) in.emplace_back(s, at.file, at.line, at.function);
    return in;
}
}  // namespace
Array lax::dynamic_slice(const Operand& x, const Arrays& starts, const Shape& sizes) {
    return detail::apply(with_starts({x}, starts), x.where,
                         [&](Builder& b, const Values& v) {
                             Values in = starts_of(b, Values(v.begin() + 1, v.end()), starts, b.aval(v[0])->shape);
                             detail::check_slice_sizes(b.aval(v[0])->shape, sizes.vector());
                             detail::check_starts(b, "dynamic_slice", "got:", in);
                             in.insert(in.begin(), v[0]);
                             return b.bind(kDynamicSlice, in, make_params(DynamicSliceParams{sizes.vector()}));
                         })
        .front();
}
Array lax::dynamic_update_slice(const Operand& x, const Operand& update, const Arrays& starts) {
    return detail::apply(with_starts({x, update}, starts), x.where,
                         [&](Builder& b, const Values& v) {
                             Values in = starts_of(b, Values(v.begin() + 2, v.end()), starts, b.aval(v[0])->shape);
                             const Value with = detail::alike(b, {v[0], v[1]})[1];
                             detail::check_update(b.aval(v[0]), b.aval(with));
                             detail::check_starts(b, "dynamic_update_slice", "got", in);
                             in.insert(in.begin(), {v[0], with});
                             return b.bind(kDynamicUpdateSlice, in, {});
                         })
        .front();
}

namespace {
/// Starts of zero but along one dimension, whose start is known or not.
Arrays starts_along(const Array& x, const Array& start, std::int64_t axis) {
    Arrays starts(static_cast<std::size_t>(x.ndim()), Array(0));
    starts[static_cast<std::size_t>(axis)] = start;
    return starts;
}
Array sliced_along(const Array& x, const Array& start, std::int64_t size, std::int64_t axis) {
    std::vector<std::int64_t> sizes = x.shape().vector();
    const std::int64_t a = detail::axis_in(axis, x.ndim());
    sizes[static_cast<std::size_t>(a)] = size;
    return lax::dynamic_slice(x, starts_along(x, start, a), sizes);
}
Array updated_along(const Array& x, const Array& update, const Array& start, std::int64_t axis) {
    return lax::dynamic_update_slice(x, update, starts_along(x, start, detail::axis_in(axis, x.ndim())));
}
}  // namespace
Array lax::dynamic_slice_in_dim(const Operand& x, const Operand& start_index, std::int64_t slice_size, std::int64_t axis) {
    return detail::in_line({x, start_index}, [&](const Arrays& v) { return Arrays{sliced_along(v[0], v[1], slice_size, axis)}; }).front();
}
Array lax::dynamic_index_in_dim(const Operand& x, const Operand& index, std::int64_t axis, bool keepdims) {
    return detail::composed_one("dynamic_index_in_dim", fmt::format("{} {}", axis, keepdims), {x, index}, [&](const Arrays& v) {
        Array one = sliced_along(v[0], v[1], 1, axis);
        return keepdims ? one : squeeze(one, detail::axis_in(axis, v[0].ndim()));
    });
}
Array lax::dynamic_update_slice_in_dim(const Operand& x, const Operand& update, const Operand& start_index, std::int64_t axis) {
    return detail::in_line({x, update, start_index}, [&](const Arrays& v) { return Arrays{updated_along(v[0], v[1], v[2], axis)}; })
        .front();
}
Array lax::dynamic_update_index_in_dim(const Operand& x, const Operand& update, const Operand& index, std::int64_t axis) {
    return detail::composed_one("dynamic_update_index_in_dim", fmt::format("{}", axis), {x, update, index}, [&](const Arrays& v) {
        const std::int64_t a = detail::axis_in(axis, v[0].ndim());
        return updated_along(v[0], v[1].ndim() == v[0].ndim() ? v[1] : expand_dims(v[1], a), v[2], a);
    });
}

}  // namespace jaxscope::jax
