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
#include "trace/promote.h"
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

/// Static indices as slices of the operand's dimensions, then what is dropped, reversed and added.
struct Selection {
    Dims start, limit, stride, squeezed, reversed, added;
    bool whole = true;
};

std::int64_t clamp_to(std::int64_t v, std::int64_t low, std::int64_t high) { return std::min(std::max(v, low), high); }

void add_slice(Selection& s, const Index& i, std::int64_t n) {
    const auto d = static_cast<std::int64_t>(s.start.size());
    const auto bound = [&](std::int64_t v) { return v < 0 ? v + n : v; };
    std::int64_t from, to, step = i.step;
    if (step == 0) throw Error(ErrorCode::BadUsage, "slice step cannot be zero");
    if (step > 0) {
        from = i.has_start ? clamp_to(bound(i.start), 0, n) : 0;
        to = i.has_stop ? clamp_to(bound(i.stop), 0, n) : n;
    } else {
        // Taken forwards, then reversed.
        const std::int64_t first = i.has_start ? clamp_to(bound(i.start), -1, n - 1) : n - 1;
        const std::int64_t last = i.has_stop ? clamp_to(bound(i.stop), -1, n - 1) : -1;
        const std::int64_t count = first > last ? (first - last - 1) / -step + 1 : 0;
        from = count ? first + (count - 1) * step : 0;
        to = count ? first + 1 : 0;
        step = -step;
        s.reversed.push_back(d);
    }
    if (to < from) to = from;
    if (step > 1 && to > from) to = std::min(to, from + ((to - from - 1) / step) * step + (to == n ? to : step));
    s.whole = s.whole && from == 0 && to == n && step == 1;
    s.start.push_back(from), s.limit.push_back(std::min(to, n)), s.stride.push_back(step);
}

Selection select(const std::vector<Index>& indices, const Dims& shape) {
    Selection s;
    std::size_t given = 0;
    for (const Index& i : indices) given += i.kind == Index::Kind::number || i.kind == Index::Kind::range;
    if (given > shape.size())
        throw Error(ErrorCode::BadUsage,
                    fmt::format("Too many indices: array is {}-dimensional, but {} were indexed", shape.size(), given));
    bool expanded = false;
    std::int64_t out = 0;
    const auto rest = [&] {
        for (std::size_t n = shape.size() - given; n > 0; --n, ++out) add_slice(s, slice(none, none), shape[s.start.size()]);
        expanded = true;
    };
    for (const Index& i : indices) switch (i.kind) {
            case Index::Kind::new_axis:
                s.added.push_back(out++);
                break;
            case Index::Kind::dots:
                rest();
                break;
            case Index::Kind::range:
                add_slice(s, i, shape[s.start.size()]), ++out;
                break;
            default: {
                const std::int64_t n = shape[s.start.size()], at = i.start < 0 ? i.start + n : i.start;
                if (at < 0 || at >= n)
                    throw Error(ErrorCode::BadUsage,
                                fmt::format("index {} is out of bounds for axis {} with size {}", i.start, s.start.size(), n));
                s.squeezed.push_back(static_cast<std::int64_t>(s.start.size()));
                s.start.push_back(at), s.limit.push_back(at + 1), s.stride.push_back(1);
                s.whole = s.whole && n == 1;  // the only one: nothing is cut
            }
        }
    if (!expanded) rest();
    return s;
}

Value indexed(Builder& b, Value x, const std::vector<Index>& indices) {
    const Selection s = select(indices, b.aval(x)->shape);
    if (!s.whole) {
        bool strided = false;
        for (const std::int64_t n : s.stride) strided = strided || n != 1;
        SliceParams p{s.start, s.limit};
        if (strided) p.strides = s.stride;
        x = b.bind1(kSlice, {x}, make_params(p));
    }
    if (!s.reversed.empty()) x = b.bind1(kRev, {x}, make_params(RevParams{s.reversed}));
    if (!s.squeezed.empty()) x = cl::squeeze(b, x, s.squeezed);
    if (!s.added.empty()) x = cl::expand_dims(b, x, s.added);
    return x;
}

}  // namespace

namespace {

/// Scalar arrays beside numbers and ranges of step 1: JAX slices at starts that are known when it runs, each counted from the end where it
/// is negative.
Value dynamic_slice_at(Builder& b, const Values& v, const std::vector<Index>& list) {
    const Dims shape = b.aval(v[0])->shape;
    const AvalRef word(DType::S32, {});
    Values starts;
    Dims sizes, gone;
    const auto add = [&](Value start, std::int64_t size) { starts.push_back(start), sizes.push_back(size); };
    std::size_t next = 1;
    for (const Index& i : list) {
        const std::int64_t d = static_cast<std::int64_t>(starts.size()), n = shape[starts.size()];
        if (i.kind == Index::Kind::range) {
            const auto bound = [n](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n); };
            const std::int64_t from = i.has_start ? bound(i.start) : 0, to = i.has_stop ? bound(i.stop) : n;
            add(make_literal(word, from), std::max<std::int64_t>(to - from, 0));
            continue;
        }
        gone.push_back(d);
        add(i.kind == Index::Kind::array ? cl::convert_element_type(b, v[next++], DType::S32) : make_literal(word, i.start), 1);
    }
    while (starts.size() < shape.size()) add(make_literal(word, std::int64_t{0}), shape[starts.size()]);
    for (std::size_t d = 0; d < starts.size(); ++d) {
        const Value below = b.bind1(kLt, {starts[d], make_literal(word, std::int64_t{0})});
        const Value wrapped = b.bind1(kAdd, {starts[d], make_literal(word, shape[d])});
        starts[d] = b.bind1(kSelectN, {below, starts[d], wrapped});
    }
    starts.insert(starts.begin(), v[0]);
    return cl::squeeze(b, b.bind1(kDynamicSlice, starts, make_params(DynamicSliceParams{sizes})), gone);
}
bool slices_at_scalars(const Operand& x, const std::vector<Index>& list) {
    if (list.size() > Array::of(x.node).shape().size()) return false;
    for (const Index& i : list) {
        const bool scalar = i.kind == Index::Kind::array && i.array.has_value() && i.array.ndim() == 0 && i.array.dtype() >= dtype::int2 &&
                            i.array.dtype() <= dtype::uint64;
        const bool range = i.kind == Index::Kind::range && i.step == 1;
        if (!scalar && !range && i.kind != Index::Kind::number) return false;
    }
    return true;
}

Array at_indices(const Operand& x, std::initializer_list<Index> indices) {
    std::vector<Index> list(indices);
    Where where("", 0, "");
    for (const Index& i : list)
        if (where.line == 0) where = i.where;
    std::vector<Operand> in{x};
    std::size_t at = 0, arrays = 0;
    for (std::size_t k = 0; k < list.size(); ++k)
        if (list[k].kind == Index::Kind::array) in.emplace_back(list[k].array), at = k, ++arrays;
    if (arrays == 0) return apply1({x}, where, [&](Builder& b, const Values& v) { return indexed(b, v[0], list); });
    if (slices_at_scalars(x, list))
        return detail::apply(in, where, [&](Builder& b, const Values& v) { return Values{dynamic_slice_at(b, v, list)}; }).front();
    bool simple = arrays == 1;
    for (std::size_t k = 0; k < list.size(); ++k)
        simple =
            simple && (k == at || (list[k].kind == Index::Kind::range && !list[k].has_start && !list[k].has_stop && list[k].step == 1));
    if (!simple)
        throw Error(ErrorCode::NoRule, "an index array stands beside other indices than ':': index in two steps")
            .at({where.file, where.line, 0});
    return detail::apply(
               in, where,
               [&](Builder& b, const Values& v) {
                   return Values{indexed_along(b, v[0], v[1], static_cast<std::int64_t>(at), OutOfBounds::PromiseInBounds, false)};
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
Array lax::dynamic_slice(const Operand& x, const Arrays& starts, const Shape& sizes) {
    std::vector<Operand> in{x};
    for (const Array& s : starts) in.emplace_back(s);
    return detail::apply(
               in, x.where,
               [&](Builder& b, const Values& v) { return b.bind(kDynamicSlice, v, make_params(DynamicSliceParams{sizes.vector()})); })
        .front();
}
Array lax::dynamic_update_slice(const Operand& x, const Operand& update, const Arrays& starts) {
    std::vector<Operand> in{x, update};
    for (const Array& s : starts) in.emplace_back(s);
    return detail::apply(in, x.where, [&](Builder& b, const Values& v) { return b.bind(kDynamicUpdateSlice, v, {}); }).front();
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
