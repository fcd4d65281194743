// SPDX-License-Identifier: Apache-2.0
// Functions of numpy.h as members of Array, assignment with an operator, rows.
#include <jaxscope/lax.h>
#include <jaxscope/numpy.h>

#include <algorithm>

#include "lax/ops.h"
#include "lax/primitives.h"
#include "trace/trace.h"

namespace jaxscope::jax {

using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace {
Operand named(const Array& a, const Where& w) { return {a, w.file, w.line, w.function}; }
Operand unnamed(Array& a, const Where& w) { return {static_cast<Array&&>(a), w.file, w.line, w.function}; }
Array copied(const Operand& x) {
    return detail::apply1({x}, [](Builder& b, const Values& v) { return b.bind1(kCopy, v, {}); });
}
}  // namespace

namespace numpy {
Array copy(const Operand& x) { return copied(x); }
}  // namespace numpy

Array Array::astype(jax::dtype type, Where where) const& { return numpy::astype(named(*this, where), type); }
Array Array::astype(jax::dtype type, Where where) && { return numpy::astype(unnamed(*this, where), type); }
Array Array::copy(Where where) const& { return copied(named(*this, where)); }
Array Array::copy(Where where) && { return copied(unnamed(*this, where)); }
Array Array::reshape(const Shape& s, Where where) const& { return numpy::reshape(named(*this, where), s); }
Array Array::reshape(const Shape& s, Where where) && { return numpy::reshape(unnamed(*this, where), s); }
Array Array::T(Where where) const& { return numpy::transpose(named(*this, where)); }
Array Array::T(Where where) && { return numpy::transpose(unnamed(*this, where)); }
Array Array::sum(Where where) const& { return numpy::sum(named(*this, where)); }
Array Array::sum(Where where) && { return numpy::sum(unnamed(*this, where)); }
Array Array::mean(Where where) const& { return numpy::mean(named(*this, where)); }
Array Array::mean(Where where) && { return numpy::mean(unnamed(*this, where)); }
Array Array::max(Where where) const& { return numpy::max(named(*this, where)); }
Array Array::max(Where where) && { return numpy::max(unnamed(*this, where)); }
Array Array::min(Where where) const& { return numpy::min(named(*this, where)); }
Array Array::min(Where where) && { return numpy::min(unnamed(*this, where)); }
Array Array::sum(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::sum(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::mean(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::mean(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::max(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::max(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::min(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::min(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::ravel(Where where) const { return numpy::ravel(named(*this, where)); }
Array Array::dot(const Operand& other) const { return numpy::dot(named(*this, other.where), other); }

Array Array::prod(Where where) const { return numpy::prod(named(*this, where)); }
Array Array::prod(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::prod(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::any(Where where) const { return numpy::any(named(*this, where)); }
Array Array::any(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::any(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::all(Where where) const { return numpy::all(named(*this, where)); }
Array Array::all(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::all(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::std(Where where) const { return numpy::std(named(*this, where)); }
Array Array::std(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::std(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::var(Where where) const { return numpy::var(named(*this, where)); }
Array Array::var(const Axes& axis, Flag keepdims, Where where) const {
    return numpy::var(named(*this, where), {.axis = axis, .keepdims = keepdims});
}
Array Array::argmax(Where where) const { return numpy::argmax(named(*this, where)); }
Array Array::argmax(const Axes& axis, Flag keepdims, Where where) const { return numpy::argmax(named(*this, where), axis, keepdims); }
Array Array::argmin(Where where) const { return numpy::argmin(named(*this, where)); }
Array Array::argmin(const Axes& axis, Flag keepdims, Where where) const { return numpy::argmin(named(*this, where), axis, keepdims); }
Array Array::cumsum(Where where) const { return numpy::cumsum(named(*this, where)); }
Array Array::cumsum(const Axes& axis, Where where) const { return numpy::cumsum(named(*this, where), {.axis = axis}); }
Array Array::cumprod(Where where) const { return numpy::cumprod(named(*this, where)); }
Array Array::cumprod(const Axes& axis, Where where) const { return numpy::cumprod(named(*this, where), {.axis = axis}); }
Array Array::squeeze(Where where) const { return numpy::squeeze(named(*this, where)); }
Array Array::squeeze(const Axes& axis, Where where) const { return numpy::squeeze(named(*this, where), axis); }
Array Array::sort(std::int64_t axis, Where where) const { return numpy::sort(named(*this, where), axis); }
Array Array::argsort(std::int64_t axis, Where where) const { return numpy::argsort(named(*this, where), axis); }
Array Array::transpose(Where where) const { return numpy::transpose(named(*this, where)); }
Array Array::transpose(const Shape& axes, Where where) const { return numpy::transpose(named(*this, where), axes); }
Array Array::swapaxes(std::int64_t a, std::int64_t b, Where where) const { return numpy::swapaxes(named(*this, where), a, b); }
Array Array::flatten(Where where) const { return numpy::ravel(named(*this, where)); }
Array Array::mT(Where where) const { return numpy::matrix_transpose(named(*this, where)); }
Array Array::round(std::int64_t decimals, Where where) const { return numpy::round(named(*this, where), decimals); }
Array Array::conj(Where where) const { return numpy::conj(named(*this, where)); }
Array Array::real(Where where) const { return numpy::real(named(*this, where)); }
Array Array::imag(Where where) const { return numpy::imag(named(*this, where)); }
Array Array::repeat(std::int64_t repeats, Where where) const { return numpy::repeat(named(*this, where), repeats); }
Array Array::repeat(std::int64_t repeats, std::int64_t axis, Where where) const {
    return numpy::repeat(named(*this, where), repeats, axis);
}
Array Array::take(const Operand& indices) const { return numpy::take(named(*this, indices.where), indices); }
Array Array::take(const Operand& indices, const Axes& axis) const { return numpy::take(named(*this, indices.where), indices, axis); }

Array& Array::operator+=(const Operand& y) & { return *this = named(*this, y.where) + y; }
Array& Array::operator-=(const Operand& y) & { return *this = named(*this, y.where) - y; }
Array& Array::operator*=(const Operand& y) & { return *this = named(*this, y.where) * y; }
Array& Array::operator/=(const Operand& y) & { return *this = named(*this, y.where) / y; }
Array& Array::operator%=(const Operand& y) & { return *this = named(*this, y.where) % y; }
Array& Array::operator&=(const Operand& y) & { return *this = named(*this, y.where) & y; }
Array& Array::operator|=(const Operand& y) & { return *this = named(*this, y.where) | y; }
Array& Array::operator^=(const Operand& y) & { return *this = named(*this, y.where) ^ y; }

Array::Rows Array::begin(Where where) const {
    constexpr std::int64_t kChunk = 100;  // of arrays in memory JAX cuts so many at once: one program for all of them
    const std::int64_t n = has_value() && ndim() > 0 ? shape(0) : 0;
    const Operand x = named(*this, where);
    if (is_tracer() || n <= kChunk) return {detail::unpacked(x, static_cast<std::size_t>(n)), 0};
    std::vector<Array> rows;
    for (std::int64_t i = 0; i < n; i += kChunk) {
        const std::int64_t size = std::min(kChunk, n - i);
        const Array chunk = lax::dynamic_slice_in_dim(x, Array(i), size, 0);
        for (Array& row : detail::unpacked(named(chunk, where), static_cast<std::size_t>(size))) rows.push_back(std::move(row));
    }
    return {std::move(rows), 0};
}
Array::Rows Array::end(Where) const { return {{}, static_cast<std::size_t>(has_value() && ndim() > 0 ? shape(0) : 0)}; }

}  // namespace jaxscope::jax
