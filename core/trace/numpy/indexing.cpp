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

Value zero_of(D type) {
    const AvalRef a(type, {});
    return is_inexact(type) ? make_literal(a, 0.0) : make_literal(a, std::int64_t{0});
}
Value gathered(Builder& b, Value x, const detail::Indexer& indexer, const Values& arrays) {
    const detail::Indexer::Gather g = indexer.gather(b, arrays);
    x = indexer.with_truths(b, x);
    if (element_count(g.result) == 0) return detail::broadcast_to(b, zero_of(b.aval(x)->dtype), g.result);
    if (element_count(b.aval(g.indices)->shape) != 0) {
        GatherParams p{.dimension_numbers = g.dims};
        p.indices_are_sorted = p.unique_indices = !g.repeats;
        p.slice_sizes = g.sizes;
        x = b.bind1(kGather, {x, g.indices}, make_params(p));
    }
    if (!g.reversed.empty()) x = b.bind1(kRev, {x}, make_params(RevParams{g.reversed}));
    return g.added.empty() ? x : cl::expand_dims(b, x, g.added);
}

Array at_indices(const Operand& x, std::initializer_list<Index> indices) {
    const std::vector<Index> list(indices);
    const Where where = detail::place_of(list, x.where);
    if (!x.node) throw Error(ErrorCode::BadUsage, "expected an array, found an Array without a value").at({where.file, where.line, 0});
    const detail::Indexer indexer(list, Array::of(x.node).shape().vector(), where);
    if (indexer.slices()) return apply1({x}, where, [&](Builder& b, const Values& v) { return indexer.slice(b, v[0]); });
    std::vector<Operand> in = indexer.arrays();
    in.insert(in.begin(), x);
    return detail::apply(
               in, where,
               [&](Builder& b, const Values& v) {
                   const Values arrays(v.begin() + 1, v.end());
                   return Values{indexer.slices_at_starts() ? indexer.dynamic_slice(b, v[0], arrays) : gathered(b, v[0], indexer, arrays)};
               })
        .front();
}
Array at_position(const Operand& x, const Position& i) { return at_indices(x, {i.at}); }

}  // namespace

// Of an array without a name, as in `f(x)[0]`: its operations belong to the expression that is evaluated.
Array Array::operator[](const Position& i) const& { return at_position(*this, i); }
Array Array::operator[](const Position& i) && { return at_position(static_cast<Array&&>(*this), i); }
Array Array::operator[](std::initializer_list<Index> indices) const& { return at_indices(*this, indices); }
Array Array::operator[](std::initializer_list<Index> indices) && { return at_indices(static_cast<Array&&>(*this), indices); }
Array numpy::take(const Operand& x, const Operand& indices, std::int64_t axis) {
    return apply1({x, indices}, [&](Builder& b, const Values& v) {
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank());
        return ::jaxscope::take(b, v[0], v[1], a);
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
            out.push_back(cl::select(b, below, cl::add(b, v[i], make_literal(type, shape[i])), v[i]));
        } else {
            out.push_back(v[i]);
        }
    }
    return out;
}
std::vector<Operand> with_starts(std::initializer_list<Operand> first, const Arrays& starts) {
    std::vector<Operand> in(first);
    const Where& at = in.front().where;
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

Array Array::copy(Where where) const {
    return detail::apply1({Operand(*this, where.file, where.line, where.function)},
                          [](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return b.bind1(kCopy, v, {}); });
}
Array Array::astype(jax::dtype type, Where where) const {
    return numpy::astype(Operand(*this, where.file, where.line, where.function), type);
}
Array Array::reshape(const Shape& s, Where where) const {
    return numpy::reshape(Operand(*this, where.file, where.line, where.function), s);
}
Array Array::T(Where where) const { return numpy::transpose(Operand(*this, where.file, where.line, where.function)); }
Array Array::sum(Where where) const { return numpy::sum(Operand(*this, where.file, where.line, where.function)); }
Array Array::mean(Where where) const { return numpy::mean(Operand(*this, where.file, where.line, where.function)); }
Array Array::max(Where where) const { return numpy::max(Operand(*this, where.file, where.line, where.function)); }
Array Array::min(Where where) const { return numpy::min(Operand(*this, where.file, where.line, where.function)); }

}  // namespace jaxscope::jax
