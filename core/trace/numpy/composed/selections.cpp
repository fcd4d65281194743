// SPDX-License-Identifier: Apache-2.0
// jax.numpy: parts of an array that a condition, an order or positions choose, parts put between others, bits packed into bytes.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include <jaxscope/lax.h>
#include <jaxscope/vmap.h>

#include "lax/primitives.h"

#include "trace/numpy/composed/composed.h"
#include "trace/numpy/indexer.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using D = ::jaxscope::DType;

namespace {

D type_of(const Array& a) { return static_cast<D>(a.dtype()); }
/// `x[:, ..., at]`: the index in dimension `axis`.
std::vector<Index> index_along(std::int64_t axis, const Index& at) {
    std::vector<Index> out(static_cast<std::size_t>(axis), jax::all);
    out.push_back(at);
    return out;
}

// ---- partition

/// Is zero the least number of the type, which can't be turned round?
bool counts_from_zero(const Array& a) { return ::jaxscope::is_unsigned_int(type_of(a)); }
struct Cut {
    std::int64_t axis, kth;
};
Cut cut_of(const Array& a, std::int64_t kth, std::int64_t axis, const char* name) {
    if (::jaxscope::is_complex(type_of(a))) detail::refuse(fmt::format("jnp.{} for complex dtype is not implemented.", name));
    const std::int64_t along = detail::axis_in(axis, a.ndim());
    return {along, detail::axis_in(kth, a.shape(along))};
}
Array without_these(const Array& proxy, const Array& indices) {
    if (proxy.ndim() == 1) return proxy.at({indices}).set(0);
    return vmap(without_these)(proxy, indices);
}

}  // namespace

Array partition(const Operand& x, std::int64_t kth, std::int64_t axis) {
    return composed_one("partition", fmt::format("{} {}", kth, axis), {x}, [&](const Arrays& v) {
        const Cut at = cut_of(v[0], kth, axis, "partition");
        const Array a = swapaxes(v[0], at.axis, -1);
        const Array least =
            counts_from_zero(a) ? jax::lax::neg(jax::lax::top_k(-(a + 1), at.kth + 1).first) - 1 : -jax::lax::top_k(-a, at.kth + 1).first;
        const Array largest = jax::lax::top_k(a, a.shape(-1) - at.kth - 1).first;
        return swapaxes(jax::lax::concatenate({least, largest}, a.ndim() - 1), -1, at.axis);
    });
}
Array argpartition(const Operand& x, std::int64_t kth, std::int64_t axis) {
    return composed_one("argpartition", fmt::format("{} {}", kth, axis), {x}, [&](const Arrays& v) {
        const Cut at = cut_of(v[0], kth, axis, "argpartition");
        const Array a = swapaxes(v[0], at.axis, -1);
        const Array least = jax::lax::top_k(counts_from_zero(a) ? -(a + 1) : -a, at.kth + 1).second;
        // Equal numbers would be found twice: those that are left are told by ones.
        const Array proxy = without_these(jax::lax::full(a.shape(), 1.), least);
        const Array rest = jax::lax::top_k(proxy, a.shape(-1) - at.kth - 1).second;
        return swapaxes(jax::lax::concatenate({least, rest}, a.ndim() - 1), -1, at.axis);
    });
}

// ---- compress and extract

namespace {
/// A copy of the number, as jnp.array makes one.
Array fill_of(const Array& given, const Where& where) {
    const Operand fill = given.has_value() ? Operand(given, where.file, where.line, where.function) : Operand(0);
    return detail::apply1({fill}, where,
                          [](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return b.bind1(::jaxscope::kCopy, v, {}); });
}
Array compressed(const Array& condition, const Array& x, const Compression& how, const Where& where) {
    Array chosen = condition.astype(bool_);
    if (chosen.ndim() != 1) detail::refuse("condition must be a 1D array");
    const std::int64_t axis = how.axis.given ? how.axis.axes.front() : 0;
    Array a = how.axis.given ? moveaxis(x, axis, 0) : ravel(x);
    const std::int64_t n = std::min(a.shape(0), chosen.shape(0));
    const Array extra = chosen[{slice(a.shape(0), none)}];
    chosen = chosen[{slice(a.shape(0))}];
    a = a[{slice(n)}];
    Array out;
    if (how.size < 0) {
        if (static_cast<bool>(any(extra))) detail::refuse("condition contains entries that are out of bounds");
        out = a[{chosen}];
    } else if (how.size > a.shape(0)) {
        detail::refuse(
            fmt::format("size must be positive and not greater than the size of the array axis; got size={} for "
                        "a.shape[axis]={}",
                        how.size, a.shape(0)));
    } else {
        std::vector<std::int64_t> inner;
        for (int d = 1; d < a.ndim(); ++d) inner.push_back(d);
        const Array mask = expand_dims(chosen, inner);
        const Array fill = fill_of(how.fill_value, where);
        const Array filled = numpy::where(mask, a, jax::lax::convert_element_type(fill, a.dtype()));
        const Array order = argsort(chosen, -1, {.stable = true, .descending = true});
        out = filled[{order}][{slice(how.size)}];
    }
    return moveaxis(out, 0, axis);
}
}  // namespace
Array compress(const Operand& condition, const Operand& x, const Compression& how) {
    const auto body = [&](const Arrays& v) { return Arrays{compressed(v[0], v[1], how, x.where)}; };
    return detail::in_line({condition, x}, body).front();
}
Array extract(const Operand& condition, const Operand& x, const Sized& how) {
    const Compression sized{.axis = {}, .size = how.size, .fill_value = how.fill_value};
    const auto body = [&](const Arrays& v) {
        const Array flat = ravel(v[0]);
        return Arrays{compressed(flat, ravel(v[1]), sized, x.where)};
    };
    return detail::in_line({condition, x}, body).front();
}

// ---- insert and delete

namespace {
Array inserted(const Array& given, Array at, const Array& values, const Axes& along) {
    const Array a = along.given ? given : ravel(given);
    const std::int64_t axis = along.given ? detail::axis_in(along.axes.front(), a.ndim()) : 0, n = a.shape(axis);
    if (at.ndim() > 1) detail::refuse("jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got " + at.str());
    if (!::jaxscope::is_integer(type_of(at))) detail::refuse("jnp.insert(): index array must be integer typed; got " + at.str());
    Array new_ones = detail::with_rank(asarray(values, a.dtype()), a.ndim());
    if (at.size() == 1) {
        const Array index = ravel(at)[{0}];
        if (at.ndim() == 0) new_ones = moveaxis(new_ones, 0, axis);
        at = full(new_ones.shape(axis), index);
    }
    const std::int64_t more = broadcast_shapes({at.shape(), new_ones.shape(axis)})[0];
    std::vector<std::int64_t> shape = a.shape().vector();
    shape[static_cast<std::size_t>(axis)] += more;
    Array out = zeros(shape, a.dtype());
    at = where(at < 0, at + n, at);
    at = clip(at, 0, n);
    const Array order = argsort(at);
    const Array places = at.at({order}).add(arange(more, at.dtype()));
    const Array mask = ones(n + more, bool_).at({places}).set(false);
    const Array old_places = where(mask, {.size = n})[0];
    out = detail::set_at(out, index_along(axis, places), new_ones);
    return detail::set_at(out, index_along(axis, old_places), a);
}
}  // namespace
Array insert(const Operand& x, const Operand& at, const Operand& values, const Axes& axis) {
    const auto body = [&](const Arrays& v) { return Arrays{inserted(v[0], v[1], v[2], axis)}; };
    return detail::in_line({x, at, values}, body).front();
}

namespace {
/// Positions that stay, of integers that are each there once.
Array remaining(Array gone, std::int64_t n) {
    gone = ravel(gone);
    const Array from_front = where(gone < 0, gone + n, gone);
    gone = sort(clip(from_front, 0, n));
    gone = gone - arange(gone.shape(0), gone.dtype());
    const Array i = arange(n - gone.shape(0), gone.dtype());
    const Array passed = i[{none, jax::all}] >= gone[{jax::all, none}];
    return i + sum(passed, {.axis = 0, .dtype = i.dtype()});
}
/// The same of any that are known: a mask without a place in the program.
Array kept_mask(const Array& gone, std::int64_t n) {
    std::vector<std::int32_t> kept;
    std::vector<bool> stays(static_cast<std::size_t>(n), true);
    const std::vector<double> known = gone.to_vector();
    if (gone.dtype() == bool_) {
        if (gone.shape() != Shape(n))
            detail::refuse("np.delete(arr, obj): for boolean indices, obj must be one-dimensional with length matching specified axis.");
        for (std::size_t k = 0; k < known.size(); ++k) stays[k] = known[k] == 0;
    } else {
        for (const double d : known) {
            const auto k = static_cast<std::int64_t>(d);
            if (k < -n || k >= n) detail::refuse(fmt::format("index {} is out of bounds for axis 0 with size {}", k, n));
            stays[static_cast<std::size_t>(k < 0 ? k + n : k)] = false;
        }
    }
    for (std::int64_t k = 0; k < n; ++k)
        if (stays[static_cast<std::size_t>(k)]) kept.push_back(static_cast<std::int32_t>(k));
    return Array(kept, Shape(kept.size()));
}
Array deleted(const Array& given, const Array& gone, const Axes& along, bool unique) {
    const Array a = along.given ? given : ravel(given);
    const std::int64_t axis = along.given ? detail::axis_in(along.axes.front(), a.ndim()) : 0, n = a.shape(axis);
    const bool whole = ::jaxscope::is_integer(type_of(gone));
    if (!whole && gone.dtype() != bool_)
        detail::refuse(
            fmt::format("np.delete(arr, obj): got obj.dtype={}; must be integer or bool.", ::jaxscope::info(type_of(gone)).name));
    return detail::at_indices(a, index_along(axis, whole && unique ? remaining(gone, n) : kept_mask(gone, n)));
}
}  // namespace
Array delete_(const Operand& x, const Array& positions, const Deletion& how) {
    const Operand gone(positions, x.where.file, x.where.line, x.where.function);
    const auto body = [&](const Arrays& v) { return Arrays{deleted(v[0], v[1], how.axis, how.assume_unique_indices)}; };
    return detail::in_line({x, gone}, body).front();
}
Array delete_(const Operand& x, const Index& range, const Axes& axis) {
    const auto body = [&](const Arrays& v) {
        const Array a = axis.given ? v[0] : ravel(v[0]);
        const std::int64_t along = axis.given ? detail::axis_in(axis.axes.front(), a.ndim()) : 0;
        const Array gone = detail::at_indices(arange(a.shape(along)), {range});
        return Arrays{deleted(a, gone, along, true)};
    };
    return detail::in_line({x}, body).front();
}

Array trim_zeros(const Operand& x, const char* trim, const Axes& axis) {
    const std::string_view ends = trim;
    const bool front = ends.find_first_of("fF") != std::string_view::npos, back = ends.find_first_of("bB") != std::string_view::npos;
    const auto body = [&](const Arrays& v) {
        const Array& a = v[0];
        std::vector<bool> chosen(static_cast<std::size_t>(a.ndim()), !axis.given);
        for (const std::int64_t d : axis.axes) chosen[static_cast<std::size_t>(detail::axis_in(d, a.ndim()))] = true;
        if (!front && !back) return Arrays{a};
        std::vector<Index> at;
        for (int d = 0; d < a.ndim(); ++d) {
            if (!chosen[static_cast<std::size_t>(d)]) {
                at.emplace_back(jax::all);
                continue;
            }
            std::vector<std::int64_t> others;
            for (int e = 0; e < a.ndim(); ++e)
                if (e != d) others.push_back(e);
            const std::vector<double> there = any(a, {.axis = Axes(others)}).to_vector(x.where);
            std::size_t first = 0, last = there.size();
            while (front && first < last && there[first] == 0) ++first;
            while (back && first < last && there[last - 1] == 0) --last;
            const bool none_there = std::find_if(there.begin(), there.end(), [](double t) { return t != 0; }) == there.end();
            at.emplace_back(none_there ? slice(0, 0) : slice(static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)));
        }
        return Arrays{detail::at_indices(a, at)};
    };
    return detail::in_line({x}, body).front();
}

// ---- Bits

namespace {
bool little(const char* order) {
    const std::string_view o = order;
    if (o != "little" && o != "big") detail::refuse("'order' must be either 'little' or 'big'");
    return o == "little";
}
}  // namespace
Array packbits(const Operand& x, const Axes& axis, const char* bitorder) {
    const std::string key = fmt::format("{} {}", axis.given ? Shape(axis.axes).str() : "all", bitorder);
    return composed_one("packbits", key, {x}, [&](const Arrays& v) {
        if (!::jaxscope::is_integer(type_of(v[0])) && v[0].dtype() != bool_)
            detail::refuse("Expected an input array of integer or boolean data type");
        const bool from_least = little(bitorder);
        Array a = jax::lax::ne(v[0], zeros({}, v[0].dtype())).astype(uint8);
        Array bits = arange(8, uint8);
        if (!from_least) bits = bits[{slice(none, none, -1)}];
        if (!axis.given) a = ravel(a);
        const std::int64_t along = axis.given ? axis.axes.front() : 0;
        a = swapaxes(a, along, -1);
        if (const std::int64_t rest = a.shape(-1) % 8) {
            std::vector<jax::lax::Padding> padding(static_cast<std::size_t>(a.ndim()));
            padding.back().high = 8 - rest;
            a = jax::lax::pad(a, zeros({}, uint8), padding);
        }
        std::vector<std::int64_t> shape = a.shape().vector(), lead;
        shape.back() /= 8;
        shape.push_back(8);
        a = reshape(a, shape);
        for (int d = 0; d + 1 < a.ndim(); ++d) lead.push_back(d);
        const Array places = expand_dims(bits, lead);
        return swapaxes(sum(left_shift(a, places), -1).astype(uint8), along, -1);
    });
}
Array unpackbits(const Operand& x, const Unpacking& how) {
    const std::string key = fmt::format("{} {} {}", how.axis.given ? Shape(how.axis.axes).str() : "all",
                                        how.count ? std::to_string(*how.count) : "", how.bitorder);
    return composed_one("unpackbits", key, {x}, [&](const Arrays& v) {
        if (v[0].dtype() != uint8) detail::refuse("Expected an input array of unsigned byte data type");
        const bool from_least = little(how.bitorder);
        Array bits = left_shift(asarray(1, uint8), arange(8, uint8));
        if (!from_least) bits = bits[{slice(none, none, -1)}];
        const std::int64_t along = how.axis.given ? how.axis.axes.front() : 0;
        Array a = swapaxes(how.axis.given ? v[0] : ravel(v[0]), along, -1);
        std::vector<std::int64_t> lead, shape = a.shape().vector();
        for (int d = 0; d < a.ndim(); ++d) lead.push_back(d);
        shape.back() *= 8;
        const Array bytes = expand_dims(a, a.ndim()), places = expand_dims(bits, lead);
        a = reshape(jax::lax::gt(bitwise_and(bytes, places), zeros({}, uint8)).astype(uint8), shape);
        if (how.count) {
            std::vector<Index> at(shape.size(), jax::all);
            at.back() = slice(none, *how.count);
            a = detail::at_indices(a, at);
        }
        return swapaxes(a, along, -1);
    });
}

// ---- Points of a grid

namespace {
Arrays ranges_of(std::initializer_list<Index> ranges, const Where& where) {
    Arrays out;
    for (const Index& r : ranges) {
        if (r.kind != Index::Kind::range || !r.has_stop)
            detail::refuse_at(where, ErrorCode::BadUsage, "mgrid: expected a slice with an end for each axis",
                              "write jnp::mgrid[{slice(0, 3), slice(0, 2)}]");
        out.push_back(arange(r.has_start ? r.start : 0, r.stop, r.step, {}, where));
    }
    return out;
}
const Where& place_of(std::initializer_list<Index> ranges) {
    static const Where nowhere("", 0, "");
    return ranges.size() ? ranges.begin()->where : nowhere;
}
}  // namespace
Array Mgrid::operator[](std::initializer_list<Index> ranges) const {
    const Where& where = place_of(ranges);
    const detail::InUsersLine line(where);
    return stack(meshgrid(ranges_of(ranges, where), "ij", where), 0, where);
}
Arrays Ogrid::operator[](std::initializer_list<Index> ranges) const {
    const Where& where = place_of(ranges);
    const detail::InUsersLine line(where);
    Arrays points = ranges_of(ranges, where);
    const auto rank = static_cast<std::int64_t>(points.size());
    for (std::int64_t d = 0; d < rank; ++d) {
        std::vector<std::int64_t> shape(points.size(), 1);
        shape[static_cast<std::size_t>(d)] = points[static_cast<std::size_t>(d)].shape(0);
        Array& p = points[static_cast<std::size_t>(d)];
        p = jax::lax::broadcast_in_dim(p, shape, d);
    }
    return points;
}

}  // namespace jaxscope::jax::numpy
