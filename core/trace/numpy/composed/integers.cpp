// SPDX-License-Identifier: Apache-2.0
// jax.numpy: divisors and multiples, positions in shapes, types that numbers promote to.
#include <fmt/core.h>

#include <string_view>

#include <jaxscope/control_flow.h>
#include <jaxscope/lax.h>

#include "ir/builder.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using D = ::jaxscope::DType;

namespace {

bool is_integral(const Array& a) { return is_integer(static_cast<D>(a.dtype())); }
Array zero_of(const Array& a) { return zeros({}, a.dtype()); }
Array integer(std::int64_t n) {
    return detail::apply1({Operand(n)},
                          [](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return detail::strong_operand(b, v[0]); });
}

// ---- Euclid's algorithm, the larger number first

using Two = std::pair<Array, Array>;
Array unfinished(const Two& pair) { return any(pair.second != 0); }
Two divided(const Two& pair) {
    const auto& [x, y] = pair;
    const Array goes_on = y != 0, larger = where(goes_on, y, x);
    const Array goes_on_too = y != 0;
    const Array rest = where(goes_on_too, jax::lax::rem(x, y), zero_of(y));
    const Array turned = larger < rest, first = where(turned, rest, larger);
    const Array turned_too = larger < rest;
    return {first, where(turned_too, larger, rest)};
}

}  // namespace

Array gcd(const Operand& x, const Operand& y) {
    return composed_one("gcd", "", {x, y}, [](const Arrays& given) {
        const Arrays p = detail::arrays_of_one_type(given);
        if (!is_integral(p[0])) detail::refuse("Arguments to jax.numpy.gcd must be integers.");
        const Arrays wide = broadcast_arrays(p);
        const Array a = abs(wide[0]), b = abs(wide[1]);
        return jax::lax::while_loop(unfinished, divided, Two{a, b}).first;
    });
}
Array lcm(const Operand& x, const Operand& y) {
    return composed_one("lcm", "", {x, y}, [](const Arrays& given) {
        const Arrays p = detail::arrays_of_one_type(given);
        const Array a = abs(p[0]), b = abs(p[1]);
        if (!is_integral(a)) detail::refuse("Arguments to jax.numpy.lcm must be integers.");
        const Array divisor = gcd(a, b), none_there = divisor == 0;
        const Array multiple = multiply(a, floor_divide(b, divisor));
        return where(none_there, zero_of(divisor), multiple);
    });
}

// ---- Positions

Arrays unravel_index(const Operand& indices, const Shape& shape) {
    return detail::in_line({indices}, [&](const Arrays& v) {
        Array rest = v[0];
        Arrays at(shape.size());
        for (std::size_t d = shape.size(); d-- > 0;) std::tie(rest, at[d]) = divmod(rest, shape[d]);
        const Array beyond = rest > 0;
        const bool has_sign = !is_unsigned_int(static_cast<D>(rest.dtype()));
        const Array before = has_sign ? rest < -1 : full({}, false);
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const Array not_below = where(before, 0, at[d]);
            at[d] = where(beyond, shape[d] - 1, not_below);
        }
        return at;
    });
}
namespace {
/// An index as it counts, by what becomes of those that lie outside.
Array inside(const Array& index, std::int64_t size, const std::string_view& mode) {
    if (!is_integral(index)) detail::refuse("only int indices permitted");
    if (mode == "clip") return clip(index, 0, size - 1);
    if (mode == "wrap") return index % size;
    if (mode == "raise")
        for (const double at : index.to_vector())
            if (at < 0 || at >= static_cast<double>(size)) detail::refuse("invalid entry in coordinates array");
    return index;
}
}  // namespace
Array ravel_multi_index(const Arrays& multi_index, const Shape& dims, const Raveling& how, Where where) {
    const std::string_view mode = how.mode, order = how.order;
    const detail::InUsersLine line(where);
    if (multi_index.size() != dims.size())
        detail::refuse(fmt::format("len(multi_index)={} != len(dims)={}", multi_index.size(), dims.size()));
    if (mode != "raise" && mode != "wrap" && mode != "clip" && mode != "ignore")
        detail::refuse(fmt::format("invalid mode='{}'. Expected 'raise', 'wrap', 'clip', or 'ignore'.", mode));
    if (order != "C" && order != "F") detail::refuse(fmt::format("invalid order='{}'. Expected 'C' or 'F'", order));
    Arrays at;
    for (std::size_t d = 0; d < multi_index.size(); ++d) at.push_back(inside(multi_index[d], dims[d], mode));
    const dtype type = at.empty() ? int32 : detail::arrays_of_one_type(at)[0].dtype();
    std::vector<std::int64_t> strides(dims.size(), 1);
    for (std::size_t d = 1; d < dims.size(); ++d) {
        if (order == "F")
            strides[d] = strides[d - 1] * dims[d - 1];
        else
            strides[dims.size() - 1 - d] = strides[dims.size() - d] * dims[dims.size() - d];
    }
    Array out = integer(0).astype(type);
    for (std::size_t d = 0; d < at.size(); ++d) {
        const Array part = at[d].astype(type) * strides[d];
        out = out + part;
    }
    return out;
}

// ---- Types, and equality of arrays that broadcast

dtype promote_types(dtype a, dtype b) { return result_type(a, b); }
Array array_equiv(const Operand& x, const Operand& y) {
    return detail::in_line({x, y}, [](const Arrays& v) { return Arrays{all(equal(v[0], v[1]))}; }).front();
}

}  // namespace jaxscope::jax::numpy

namespace jaxscope::jax::detail {

TypeSource::TypeSource(const Array& a) : type(a.dtype()), weak(a.weak_type()) {}
dtype result_type(std::initializer_list<TypeSource> of) {
    Avals avals;
    for (const TypeSource& t : of) avals.push_back(AvalRef(static_cast<::jaxscope::DType>(t.type), {}, t.weak));
    return static_cast<dtype>(promoted_type(avals).type);
}

}  // namespace jaxscope::jax::detail
