// SPDX-License-Identifier: Apache-2.0
// jax.numpy: weighted means, covariances, and reductions of what is a number.
#include <fmt/core.h>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/ops.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace {

[[noreturn]] void refusal_at(const Where& where, const std::string& text) { detail::refuse_at(where, ErrorCode::BadUsage, text); }
bool has_fractions(const Array& a) { return is_inexact(static_cast<::jaxscope::DType>(a.dtype())); }
Array number_like(const Array& a, double v) {
    return detail::made(Where("", 0, ""),
                        [&](Builder&) { return detail::number_of(static_cast<::jaxscope::DType>(a.dtype()), v, a.weak_type()); });
}
template <class Over>
std::string key_of(const Over& over) {
    std::string key = fmt::format("{} {} {}", over.axis.given, Shape(over.axis.axes).str(), over.keepdims);
    if constexpr (requires { over.dtype; })
        if (over.dtype.given) key += fmt::format(" {}", static_cast<int>(over.dtype.type));
    if constexpr (requires { over.initial; }) key += over.initial.has_value() ? " initial" : "";
    if constexpr (requires { over.ddof; }) key += fmt::format(" {}", over.ddof);
    return key + (over.where.has_value() ? " where" : "");
}
/// A jitted function of an array, of `numbers` that it is given besides, and of the arrays among its options; `body` is given the options
/// and numbers of inside.
template <class Over>
Array jitted_over(const char* name, const Operand& x, const Over& over, const std::vector<Operand>& numbers,
                  const std::function<Array(const Array&, const Over&, const Arrays&)>& body) {
    std::vector<Operand> in{x};
    in.insert(in.end(), numbers.begin(), numbers.end());
    const auto add = [&](const Array& a) {
        if (a.has_value()) in.emplace_back(a, x.where.file, x.where.line, x.where.function);
    };
    if constexpr (requires { over.initial; }) add(over.initial);
    add(over.where);
    return composed_one(name, key_of(over), in, [&](const Arrays& v) {
        const auto after_numbers = v.begin() + 1 + static_cast<std::ptrdiff_t>(numbers.size());
        Over inside = over;
        if constexpr (requires { over.initial; })
            if (over.initial.has_value()) inside.initial = *after_numbers;
        if (over.where.has_value()) inside.where = v.back();
        return body(v[0], inside, Arrays(v.begin() + 1, after_numbers));
    });
}
/// `neutral`: what stands for nan; `nan_alone`: nothing but nan gives nan.
template <class Over>
Array without_nan(const char* name, const Operand& x, const Over& over, Array (*reduce)(const Operand&, const Over&), double neutral,
                  bool nan_alone) {
    return jitted_over<Over>(name, x, over, {}, [&](const Array& a, const Over& inside, const Arrays&) {
        if (!has_fractions(a)) return reduce(a, inside);
        Array out = reduce(where(isnan(a), number_like(Array(0.F).astype(a.dtype()), neutral), a), inside);
        if (!nan_alone) return out;
        return where(all(isnan(a), {.axis = over.axis, .keepdims = over.keepdims}), number_like(a, __builtin_nan("")), out);
    });
}

}  // namespace

Array nansum(const Operand& x, const Summation& over) { return without_nan<Summation>("nansum", x, over, sum, 0, false); }
Array nanprod(const Operand& x, const Summation& over) { return without_nan<Summation>("nanprod", x, over, prod, 1, false); }
Array nanmax(const Operand& x, const Extremum& over) {
    return without_nan<Extremum>("nanmax", x, over, max, -inf, !over.initial.has_value());
}
Array nanmin(const Operand& x, const Extremum& over) {
    return without_nan<Extremum>("nanmin", x, over, min, inf, !over.initial.has_value());
}
Array nanmean(const Operand& x, const Averaging& over) {
    return jitted_over<Averaging>("nanmean", x, over, {}, [](const Array& a, const Averaging& o, const Arrays&) {
        if (!has_fractions(a)) return mean(a, o);
        const Summation along{
            .axis = o.axis, .dtype = o.dtype.given ? o.dtype : AsType(a.dtype()), .keepdims = o.keepdims, .where = o.where};
        Array count = sum(jax::lax::bitwise_not(isnan(a)), along);
        return jax::lax::div(nansum(a, along), count);
    });
}
namespace {
/// `ddof`: an operand where it was given, else a number.
Array nan_variance(const Array& given, const Spread& o, const Operand& ddof) {
    const auto [made, type] = detail::variance_types(static_cast<::jaxscope::DType>(given.dtype()), o.dtype);
    const Array a = given.astype(static_cast<dtype>(made));
    Array mean = nanmean(a, {.axis = o.axis, .dtype = a.dtype(), .keepdims = true, .where = o.where});
    Array apart = where(isnan(a), 0, jax::lax::sub(a, mean));
    Array centred = is_complex(made) ? jax::lax::real(jax::lax::mul(apart, jax::lax::conj(apart))) : jax::lax::square(apart);
    const Summation along{.axis = o.axis, .keepdims = o.keepdims, .where = o.where};
    Array count = sum(jax::lax::bitwise_not(isnan(a)), along) - ddof;
    Array none = jax::lax::le(count, number_like(count, 0));
    Array total = where(none, nan, sum(centred, along));
    return jax::lax::div(total, where(none, 1, count).astype(total.dtype())).astype(static_cast<dtype>(type));
}
Array nanvar_of(const Operand& x, const Spread& over, const std::vector<Operand>& ddof) {
    return jitted_over<Spread>("nanvar", x, over, ddof, [](const Array& a, const Spread& o, const Arrays& given) {
        return nan_variance(a, o, given.empty() ? Operand(0) : Operand(given[0]));
    });
}
/// `ddof` is an operand of JAX's functions where it was given.
std::vector<Operand> given_ddof(const Spread& over) { return over.ddof ? std::vector<Operand>{over.ddof} : std::vector<Operand>(); }
}  // namespace
Array nanvar(const Operand& x, const Spread& over) { return nanvar_of(x, over, given_ddof(over)); }
Array nanstd(const Operand& x, const Spread& over) {
    return jitted_over<Spread>("nanstd", x, over, given_ddof(over), [](const Array& a, const Spread& o, const Arrays& given) {
        return jax::lax::sqrt(nanvar_of(a, o, {given.empty() ? Operand(o.ddof) : Operand(given[0])}));
    });
}

Array average(const Operand& x, const Weighting& over) {
    if (!over.weights.has_value()) {
        const auto plain = [&](const Arrays& v) {
            return Arrays{mean(detail::inexact_of(v[0]), {.axis = over.axis, .keepdims = over.keepdims})};
        };
        return detail::in_line({x}, plain).front();
    }
    const Summation along{.axis = over.axis, .keepdims = over.keepdims};
    const auto weighted = [&](const Arrays& given) {
        const Arrays v = detail::arrays_of_one_type(given, true);
        const Array& a = v[0];
        Array weights = v[1];
        if (a.shape() != weights.shape()) {
            if (!over.axis.given) refusal_at(x.where, "Axis must be specified when shapes of a and weights differ.");
            std::vector<std::int64_t> sizes, wide(static_cast<std::size_t>(a.ndim()), 1);
            for (const std::int64_t axis : over.axis.axes) {
                const std::int64_t d = detail::axis_in(axis, a.ndim());
                sizes.push_back(a.shape(d));
                wide[static_cast<std::size_t>(d)] = a.shape(d);
            }
            if (weights.shape() != Shape(sizes))
                refusal_at(x.where, "Shape of weights must be consistent with shape of a along specified axis.");
            if (sizes.size() > 1) refusal_at(x.where, "average: weights of several axes must have the shape of the array");
            weights = reshape(weights, wide);
        }
        Array total = sum(weights, along);
        return Arrays{sum(a * weights, along) / total};
    };
    return detail::in_line({x, Operand(over.weights, x.where.file, x.where.line, x.where.function)}, weighted).front();
}

Array cov(const Operand& x, bool rowvar) {
    return composed_one("cov", rowvar ? "" : "columns", {x}, [&](const Arrays& v) {
        if (v[0].ndim() > 2) refusal_at(x.where, "m has more than 2 dimensions");
        const Array given = has_fractions(v[0]) ? v[0] : v[0].astype(float32);
        Array rows = atleast_2d(given);
        if (!rowvar && v[0].ndim() != 1) rows = rows.T();
        const std::int64_t n = rows.shape(1);
        const Array centre = mean(rows, {.axis = 1});
        const Array weights = full(rows.shape(0), number_like(rows, static_cast<double>(n)));
        (void)weights[0];
        const Array centred = rows - centre[{jax::all, none}];
        const Array products = dot(centred, centred.T());
        return squeeze(products / static_cast<double>(n - 1));
    });
}

Array corrcoef(const Operand& x, bool rowvar) {
    return composed_one("corrcoef", rowvar ? "" : "columns", {x}, [&](const Arrays& v) {
        const Array c = cov(v[0], rowvar);
        if (c.ndim() == 0) return divide(c, c);
        const Array variances = diag(c);
        const Array deviation = sqrt(real(variances)).astype(c.dtype());
        const Array by_rows = c / deviation[{jax::all, none}];
        const Array both = by_rows / deviation[{none, jax::all}];
        const Array re = clip(real(both), -1, 1);
        if (c.dtype() == re.dtype()) return re;
        return jax::lax::complex(re, clip(imag(both), -1, 1));
    });
}

}  // namespace jaxscope::jax::numpy
