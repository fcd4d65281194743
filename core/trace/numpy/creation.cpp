// SPDX-License-Identifier: Apache-2.0
// Arrays that are made of shapes, numbers and lists.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "ir/types/element.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/functions.h"
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

namespace detail {

void refuse_mask(const char* name, const Operand& x, const Reduction& over, const char* instead) {
    if (!over.where.has_value()) return;
    detail::refuse_at(x.where, ErrorCode::BadUsage, fmt::format("{}() got an unexpected keyword argument 'where'", name), instead);
}
Dims axes_of(const Axes& a, std::int64_t rank) {
    Dims out;
    if (!a.given)
        for (std::int64_t i = 0; i < rank; ++i) out.push_back(i);
    for (const std::int64_t x : a.axes) out.push_back(axis_in(x, rank));
    check_distinct_axes(out, "'axis'");
    std::sort(out.begin(), out.end());
    return out;
}
Value ravel_of(Builder& b, Value x) { return cl::reshape(b, x, {b.aval(x)->size()}); }
Value iota_of(Builder& b, D type, const Dims& shape, std::int64_t dimension) {
    return b.bind1(kIota, {}, make_params(IotaParams{type, shape, dimension}));
}
Value number_of(D type, double v, bool weak) {
    const AvalRef a(type, {}, weak);
    return is_inexact(type) ? make_literal(a, v) : make_literal(a, static_cast<std::int64_t>(v));
}
Array made(const Where& where, const std::function<Value(Builder&)>& f) {
    return apply1({}, where, [&](Builder& b, const Values&) { return f(b); });
}

}  // namespace detail

namespace numpy {

namespace {
/// How many numbers, what they are, and where their dimension is among those of the bounds.
struct Numbers {
    std::int64_t num, axis;
    bool endpoint;
    D type;
    std::string key() const { return fmt::format("{} {} {} {}", num, endpoint, info(type).name, axis); }
};
Value linspace_in(Builder& i, const Values& bounds, const Numbers& n) {
    const D type = detail::inexact(n.type);
    const Value from = cl::convert_element_type(i, bounds[0], type), to = cl::convert_element_type(i, bounds[1], type);
    Dims shape = detail::broadcast_shapes(detail::shapes_of(i, {from, to}));
    const Value first = detail::broadcast_to(i, from, shape), last = detail::broadcast_to(i, to, shape);
    const auto axis = detail::axis_in(n.axis, static_cast<std::int64_t>(shape.size()) + 1);
    shape.insert(shape.begin() + axis, 1);
    if (n.num == 0) {
        shape[static_cast<std::size_t>(axis)] = 0;
        return detail::broadcast_to(i, number_of(n.type, 0), shape);
    }
    if (n.num == 1) return cl::reshape(i, first, shape);
    const std::int64_t gaps = n.endpoint ? n.num - 1 : n.num;
    const Value parts = number_of(type, static_cast<double>(gaps));
    const Values ends = detail::promoted(i, {to, from});
    cl::div(i, cl::sub(i, ends[0], ends[1]), parts);
    Dims along(shape.size(), 1);
    along[static_cast<std::size_t>(axis)] = gaps;
    const Value step = cl::div(i, cl::reshape(i, iota_of(i, type, {gaps}, 0), along), parts);
    const Value wide = cl::reshape(i, first, shape);
    const Value low = cl::mul(i, wide, cl::sub(i, number_of(type, 1), step));
    const Value high = cl::mul(i, cl::reshape(i, last, shape), step);
    const Value inner = cl::add(i, low, high);
    return n.endpoint ? cl::concatenate(i, {inner, cl::expand_dims(i, last, {axis})}, axis) : inner;
}
/// A value as `type`; as it is where none is asked for.
Value typed(Builder& b, Value v, const AsType& type) { return type.given ? detail::converted(b, v, static_cast<D>(type.type), false) : v; }
}  // namespace
Array full(const Shape& shape, const Operand& value, AsType type) {
    return apply1({value}, [&](Builder& b, const Values& v) { return detail::broadcast_to(b, typed(b, v[0], type), shape.vector()); });
}
Array zeros(const Shape& shape, dtype type, Where where) {
    return made(where, [&](Builder& b) { return detail::broadcast_to(b, number_of(static_cast<D>(type), 0), shape.vector()); });
}
Array ones(const Shape& shape, dtype type, Where where) {
    return made(where, [&](Builder& b) { return detail::broadcast_to(b, number_of(static_cast<D>(type), 1), shape.vector()); });
}
Array empty(const Shape& shape, dtype type, Where where) { return zeros(shape, type, where); }
namespace {
bool is_gone(const Operand& x) { return x.kind == Operand::Kind::array && x.node && x.node->deleted(); }
/// Only the type of `x` counts: it may have been deleted.
Array like(const Operand& x, const std::function<Value(Builder&, AvalRef)>& f) {
    if (is_gone(x)) return made(x.where, [&](Builder& b) { return f(b, x.node->aval); });
    return apply1({x}, [&](Builder& b, const Values& v) { return f(b, b.aval(v[0])); });
}
}  // namespace
namespace {
Value filled_like(Builder& b, AvalRef a, double number, const AsType& type) {
    const D of = type.given ? static_cast<D>(type.type) : a->dtype;
    if (is_key(of)) {  // of the words that a key is made of
        ::jaxscope::Dims words = a->shape;
        words.push_back(2);
        return detail::key_operand(b, "full_like", detail::broadcast_to(b, number_of(D::U32, number), words), true);
    }
    return detail::broadcast_to(b, number_of(of, number, !type.given && a->weak_type), a->shape);
}
}  // namespace
Array zeros_like(const Operand& x, AsType type) {
    return like(x, [&](Builder& b, AvalRef a) { return filled_like(b, a, 0, type); });
}
Array ones_like(const Operand& x, AsType type) {
    return like(x, [&](Builder& b, AvalRef a) { return filled_like(b, a, 1, type); });
}
Array empty_like(const Operand& x, AsType type) { return zeros_like(x, type); }
Array full_like(const Operand& x, const Operand& value, AsType type) {
    if (is_gone(x))
        return apply1({value}, [&](Builder& b, const Values& v) {
            const AvalRef a = x.node->aval;
            const Value number = type.given ? typed(b, v[0], type) : detail::converted(b, v[0], a->dtype, a->weak_type);
            return detail::broadcast_to(b, number, a->shape);
        });
    return apply1({x, value}, [&](Builder& b, const Values& v) {
        const AvalRef a = b.aval(v[0]);
        const Value number = type.given ? typed(b, v[1], type) : detail::converted(b, v[1], a->dtype, a->weak_type);
        return detail::broadcast_to(b, number, a->shape);
    });
}
Array linspace(const Operand& start, const Operand& stop, std::int64_t num, const Spacing& how) {
    if (num < 0)
        detail::refuse_at(start.where, ErrorCode::BadUsage, fmt::format("Number of samples, {}, must be non-negative.", num),
                          "give 0 or more");
    if (how.dtype.given && is_complex(static_cast<D>(how.dtype.type)))
        detail::refuse("linspace of complex numbers isn't there: convert the result");
    return apply1({start, stop}, [&](Builder& b, const Values& v) {
        const D own = detail::inexact(detail::promoted_type({b.aval(v[0]), b.aval(v[1])}).type);
        const Numbers n{num, how.axis, how.endpoint, how.dtype.given ? static_cast<D>(how.dtype.type) : own};
        return jitted(b, "_linspace", n.key(), v, [&](Builder& i, const Values& w) {
            const Value out = linspace_in(i, w, n);
            const bool rounds = is_integer(n.type) && is_inexact(i.aval(out)->dtype);
            return cl::convert_element_type(i, rounds ? cl::floor(i, out) : out, n.type);
        });
    });
}
Array eye(std::int64_t n, dtype type, Where where) {
    if (n < 0)
        detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("negative dimensions are not allowed, got {} and None", n),
                          "give 0 or more");
    return made(where, [&](Builder& b) {
        const Value rows = iota_of(b, D::S32, {n, n}, 0), columns = iota_of(b, D::S32, {n, n}, 1);
        return cl::convert_element_type(b, cl::eq(b, cl::add(b, rows, number_of(D::S32, 0)), columns), static_cast<D>(type));
    });
}
Array eye(std::int64_t n, std::int64_t m, std::int64_t k, dtype type, Where where) {
    if (n < 0 || m < 0)
        detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("negative dimensions are not allowed, got {} and {}", n, m),
                          "give 0 or more");
    return made(where, [&](Builder& b) {
        const Value rows = iota_of(b, D::S32, {n, m}, 0), columns = iota_of(b, D::S32, {n, m}, 1);
        const Value moved = cl::add(b, rows, number_of(D::S32, static_cast<double>(k)));
        return cl::convert_element_type(b, cl::eq(b, moved, columns), static_cast<D>(type));
    });
}
Array tri(std::int64_t n, dtype type, Where where) {
    return made(where, [&](Builder& b) {
        const Value rows = cl::add(b, iota_of(b, D::S32, {n, n}, 0), number_of(D::S32, 0));
        return cl::convert_element_type(b, cl::ge(b, rows, iota_of(b, D::S32, {n, n}, 1)), static_cast<D>(type));
    });
}
Array identity(std::int64_t n, dtype type, Where where) { return eye(n, type, where); }
Array asarray(const Operand& x) {
    if (is_gone(x)) return Array::of(x.node);  // as JAX gives back what is an array already
    return apply1({x}, [](Builder&, const Values& v) { return v[0]; });
}
Array asarray(const Operand& x, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) { return detail::converted(b, v[0], static_cast<D>(type), false); });
}
Array array(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return v[0].is_literal() ? v[0] : b.bind1(kCopy, v); });
}
Array array(const Operand& x, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return detail::converted(b, v[0].is_literal() ? v[0] : b.bind1(kCopy, v), static_cast<D>(type), false);
    });
}

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
/// Whole numbers that the type hasn't. What a double can't hold exactly is far outside of 32 bits.
void refuse_outside(const std::vector<double>& values, D type) {
    const int bits = static_cast<int>(bit_width(type));
    const bool below_zero = is_signed_int(type);
    const double most = std::ldexp(1., below_zero ? bits - 1 : bits), least = below_zero ? -most : 0;
    for (const double v : values)
        if (v < least || v >= most + (bits == 64 ? 1 : 0))
            throw Error(ErrorCode::BadUsage, fmt::format("Python integer {:.0f} out of bounds for {}", v, info(type).name))
                .advise("name a type that holds it, or give it as a float");
}
Array of_numbers(const Nested& root, const dtype* type) {
    Dims shape;
    std::vector<double> values;
    bool real = false, boolean = true;
    gather_nested(root, 0, shape, values, real, boolean);
    auto a = std::make_shared<ArrayConst>();
    const D t = type ? static_cast<D>(*type) : real || values.empty() ? D::F32 : boolean ? D::Bool : D::S32;
    a->aval = AvalRef(t, shape);
    if (a->aval->size() != static_cast<std::int64_t>(values.size()))
        throw Error(ErrorCode::BadInput, "setting an array element with a sequence. The requested array has an inhomogeneous shape");
    if (is_integer(t) && !real) refuse_outside(values, t);
    a->data.resize(static_cast<std::size_t>(a->aval->bytes()));
    for (std::size_t i = 0; i < values.size(); ++i)
        store_element(t, a->data.data() + static_cast<std::int64_t>(i) * byte_size(t),
                      Element{static_cast<std::int64_t>(values[i]), {values[i], 0}});
    return detail::concrete(std::move(a));
}
bool holds_arrays(const Nested& n) { return n.array.has_value() || std::any_of(n.items.begin(), n.items.end(), holds_arrays); }
/// The types of all that it is made of; numbers count as Python's do.
void types_in(const Nested& n, Avals& out) {
    for (const Nested& i : n.items) types_in(i, out);
    if (n.array.has_value())
        out.push_back(n.array.node()->aval);
    else if (!n.is_list)
        out.push_back(AvalRef(n.boolean ? D::Bool : n.real ? D::F32 : D::S32, {}, !n.boolean));
}
/// Row by row, as JAX puts lists together that hold arrays.
Array stacked(const Nested& n, dtype type, const Where& where) {
    const auto operand = [&](const auto& v) { return Operand(v, where.file, where.line, where.function); };
    if (n.array.has_value()) return asarray(operand(n.array), type);
    if (!n.is_list) return asarray(n.real ? operand(n.value) : operand(static_cast<std::int64_t>(n.value)), type);
    if (!holds_arrays(n)) return of_numbers(n, &type);
    Arrays rows;
    for (const Nested& i : n.items) rows.push_back(lax::expand_dims(operand(stacked(i, type, where)), 0));
    return lax::concatenate(rows, 0, where);
}
Array from_nested(std::initializer_list<Nested> list, const dtype* type, const Where& where) {
    const Nested root(list);
    if (!holds_arrays(root)) return of_numbers(root, type);
    Avals types;
    types_in(root, types);
    return stacked(root, type ? *type : static_cast<dtype>(detail::promoted_type(types).type), where);
}
}  // namespace
Nested::Nested(Array a) : array(std::move(a)) {}
Nested::Nested(std::initializer_list<Nested> list) : items(list), is_list(true) {}
Nested::Nested(const Nested& other) = default;
Nested& Nested::operator=(const Nested& other) = default;
Nested::~Nested() = default;
Array array(std::initializer_list<Nested> list, Where where) {
    return detail::at_place(where, [&] { return from_nested(list, nullptr, where); });
}
Array array(std::initializer_list<Nested> list, dtype type, Where where) {
    return detail::at_place(where, [&] { return from_nested(list, &type, where); });
}

}  // namespace numpy

namespace lax {

Array full(const Shape& shape, const Operand& value) { return numpy::full(shape, value); }
Array iota(dtype type, std::int64_t size, Where where) {
    return made(where, [&](Builder& b) {
        detail::check_nonnegative("iota shape", {size});
        return iota_of(b, static_cast<D>(type), {size}, 0);
    });
}
Array broadcasted_iota(dtype type, const Shape& shape, std::int64_t dimension, Where where) {
    return made(where, [&](Builder& b) {
        if (dimension < 0 || dimension >= static_cast<std::int64_t>(shape.size()))
            detail::refuse(
                fmt::format("iota dimension must be between 0 and len(shape), got dimension={} for shape={}", dimension, shape.str()));
        detail::check_nonnegative("iota shape", shape.vector());
        return iota_of(b, static_cast<D>(type), shape.vector(), dimension);
    });
}

}  // namespace lax

Array detail::arange_of(const Progression& range, const AsType& wanted, const Where& where) {
    const auto& [start, stop, step, has_step, real] = range;
    if (has_step && step == 0)
        detail::refuse_at(where, ErrorCode::BadUsage, "arange: step is zero", "give a step that leads from start to stop, or leave it out");
    const D type = wanted.given ? static_cast<D>(wanted.type) : real ? D::F32 : D::S32;
    const D made_in = has_step && (type == D::BF16 || type == D::F16) ? D::F32 : type;
    return made(where, [&, start = start, stop = stop, step = step, has_step = has_step](Builder& b) {
        const auto n = static_cast<std::int64_t>(std::ceil((stop - start) / step));
        Value x = iota_of(b, made_in, {std::max<std::int64_t>(n, 0)}, 0);
        if (has_step) x = cl::mul(b, number_of(made_in, step), x);
        if (has_step || start != 0) x = cl::add(b, number_of(made_in, start), x);
        return cl::convert_element_type(b, x, type);
    });
}

}  // namespace jaxscope::jax
