// SPDX-License-Identifier: Apache-2.0
// jax.random: arrays in an order by chance, and parts of them.
#include <fmt/core.h>

#include <cmath>

#include <jaxscope/lax.h>
#include <jaxscope/random.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/params/shapes.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/indexer.h"
#include "trace/numpy/random_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::random {

using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

/// The numbers of a sort by random bits, repeated as often as the chance of equal 32-bit keys asks for.
Value shuffled(Builder& b, Value key, Value x, std::int64_t axis) {
    const Dims shape = b.aval(x)->shape;
    const auto size = static_cast<double>(std::max<std::int64_t>(1, element_count(shape)));
    const auto rounds = static_cast<int>(std::ceil(3 * std::log(size) / std::log(4294967295.0)));
    return jitted(b, "_shuffle", fmt::format("{} {}", rounds, axis), {key, x}, [&](Builder& i, const Values& w) {
        Value next = w[0], out = w[1];
        for (int r = 0; r < rounds; ++r) {
            const Value both = split_in(i, next, 2);
            next = one_of(i, both, 0);
            const Value order = bits_of(i, one_of(i, both, 1), shape);
            out = i.bind(kSort, {order, out}, make_params(SortParams{.dimension = axis, .is_stable = true, .num_keys = 1}))[1];
        }
        return out;
    });
}
Value shuffled_numbers(Builder& b, Value key, std::int64_t n) {
    return shuffled(b, key, b.bind1(kIota, {}, make_params(IotaParams{.dtype = D::S32, .shape = {n}})), 0);
}
Operand beside(const Operand& k, const Array& x) { return {x, k.where.file, k.where.line, k.where.function}; }

std::int64_t product(const Shape& shape) { return element_count(shape.vector()); }

/// Positions below `n`, in the shape that is asked for: those that `how.p` makes likely.
Array likely_positions(const Operand& k, std::int64_t n, const Shape& shape, const Choosing& how) {
    const Array p = detail::inexact_of(how.p);
    if (p.shape() != Shape(n))
        detail::refuse_at(k.where, ErrorCode::BadUsage,
                          fmt::format("p must be None or a 1D vector with the same size as a.shape[axis]. p has shape {} and a.shape[axis] "
                                      "is {}.",
                                      p.shape().str(), n),
                          "give one probability for each part that may be chosen");
    if (!how.replace) {
        const Array noise = gumbel(k, n, p.dtype());
        return lax::top_k(noise + numpy::log(p), product(shape)).second;
    }
    const Array sums = numpy::cumsum(p);
    const Array total = sums[{-1}];
    const Array u = uniform(k, shape, p.dtype());
    const Array rest = 1 - u;
    const Array at = total * rest;
    return numpy::searchsorted(sums, at);
}
/// `x`: whose parts are chosen; without a value the numbers below `n` are.
Array chosen(const Operand& k, const Array& x, std::int64_t n, const Shape& shape, const Choosing& how) {
    const detail::InUsersLine line(k.where);
    const std::int64_t count = product(shape);
    const bool parts = x.has_value();
    if (count == 0) return numpy::zeros(shape, parts ? x.dtype() : dtype::int32);
    if (n <= 0)
        detail::refuse_at(k.where, ErrorCode::BadUsage, "a must be greater than 0 unless no samples are taken",
                          "choose from at least one part");
    if (!how.replace && count > n)
        detail::refuse_at(k.where, ErrorCode::BadUsage,
                          fmt::format("Cannot take a larger sample (size {}) than population (size {}) when 'replace=False'", count, n),
                          "draw fewer, or with .replace = true");
    const std::int64_t axis = parts ? detail::axis_in(how.axis, x.ndim()) : 0;
    Array out;
    if (how.replace || how.p.has_value()) {
        const Array at = how.p.has_value() ? likely_positions(k, n, shape, how) : randint(k, shape, 0, n);
        out = parts ? numpy::take(x, at, axis) : at;
    } else {
        const Array order = parts ? permutation(k, x, axis) : permutation(k, n);
        std::vector<Index> first(static_cast<std::size_t>(axis), Index(jax::all));
        first.emplace_back(slice(count));
        out = detail::at_indices(order, first);
    }
    std::vector<std::int64_t> sizes = shape.vector();
    if (parts) {
        const std::vector<std::int64_t> own = x.shape().vector();
        sizes.insert(sizes.begin(), own.begin(), own.begin() + axis);
        sizes.insert(sizes.end(), own.begin() + axis + 1, own.end());
    }
    return numpy::reshape(out, sizes);
}
std::int64_t parts_along(const Operand& k, const Array& x, std::int64_t axis) {
    if (x.ndim() == 0)
        detail::refuse_at(k.where, ErrorCode::BadUsage, "choice from a number that is traced: give it as an integer",
                          "its value decides shapes: pass it as a C++ integer");
    return x.shape(detail::axis_in(axis, x.ndim()));
}

}  // namespace

Array permutation(const Operand& k, std::int64_t n) {
    return keyed("permutation", {k}, [&](Builder& b, const Values& v) { return shuffled_numbers(b, v[0], n); });
}
Array permutation(const Operand& k, const Array& x, std::int64_t axis, Flag independent) {
    if (x.ndim() == 0)
        detail::refuse_at(k.where, ErrorCode::BadUsage, "permutation of a number that is traced: give it as an integer",
                          "its value decides shapes: pass it as a C++ integer");
    return keyed("permutation", {k, beside(k, x)}, [&](Builder& b, const Values& v) {
        const std::int64_t along = detail::axis_in(axis, x.ndim());
        if (independent || x.ndim() == 1) return shuffled(b, v[0], v[1], along);
        const Value order = shuffled_numbers(b, v[0], x.shape(along));
        return ::jaxscope::take(b, v[1], order, along, ::jaxscope::OutOfBounds::FillOrDrop, nullptr, true);
    });
}

Array choice(const Operand& k, std::int64_t n, const Shape& shape, const Choosing& how) { return chosen(k, {}, n, shape, how); }
Array choice(const Operand& k, const Array& x, const Shape& shape, const Choosing& how) {
    return chosen(k, x, parts_along(k, x, how.axis), shape, how);
}
Array choice(const Operand& k, std::int64_t n, const Shape& shape, bool replace, const Array& p) {
    return choice(k, n, shape, {.replace = replace, .p = p});
}
Array choice(const Operand& k, const Array& x, const Shape& shape, bool replace, const Array& p, std::int64_t axis) {
    return choice(k, x, shape, {.replace = replace, .p = p, .axis = axis});
}
Array choice(const Operand& k, std::int64_t n, const Shape& shape, const Array& p) { return choice(k, n, shape, {.p = p}); }
Array choice(const Operand& k, const Array& x, const Shape& shape, const Array& p) { return choice(k, x, shape, {.p = p}); }

}  // namespace jaxscope::jax::random
