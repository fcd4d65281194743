// SPDX-License-Identifier: Apache-2.0
// jax.numpy: polynomials, lines between points, areas below curves, convolutions of vectors.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <string_view>

#include <jaxscope/control_flow.h>
#include <jaxscope/curves.h>
#include <jaxscope/lax.h>
#include <jaxscope/linalg.h>

#include "base/error.h"
#include "trace/functions.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace {

/// Horner's turns of a loop that JAX unrolls by so many.
constexpr std::int64_t kUnrolled = 16;
/// The gap between a number's precision and the next number: below it two places are one.
double same_place() {
    const float eps = std::numeric_limits<float>::epsilon();
    return std::nextafterf(eps, 1) - eps;
}

}  // namespace

Array polyval(const Operand& p, const Operand& x) {
    return composed_one("polyval", "", {p, x}, [](const Arrays& given) {
        const Arrays v = detail::arrays_of_one_type(given, false);
        const Array &coefficients = v[0], &at = v[1];
        const std::vector<std::int64_t> c = coefficients.shape().vector();
        const std::vector<std::int64_t> shape = detail::broadcast_shapes({{c.begin() + 1, c.end()}, at.shape().vector()});
        const auto step = [&](const Array& y, const Array& each) {
            Array higher = y * at;
            return std::pair{higher + each, jax::lax::Nothing{}};
        };
        const Array zero = full(shape, zeros({}, at.dtype()));
        return jax::lax::scan(step, zero, coefficients, {.unroll = kUnrolled}).first;
    });
}

Array interp(const Operand& x, const Operand& xp, const Operand& fp) {
    return composed_one("_interp", "", {x, xp, fp}, [&](const Arrays& given) {
        if (given[1].shape() != given[2].shape() || given[1].ndim() != 1)
            detail::refuse_at(x.where, ErrorCode::BadUsage, "xp and fp must be one-dimensional arrays of equal size",
                              "give points with one value each, sorted by xp");
        const Arrays places = detail::arrays_of_one_type({given[0], given[1]}, true);
        const Array &at = places[0], &known = places[1], value = detail::arrays_of_one_type({given[2]}, true)[0];
        const Array i = clip(searchsorted(known, at, "right"), 1, known.shape(0) - 1);
        const auto before = [&](const Array& a) { return a[i - 1]; };
        Array upper = value[i];
        const Array df = upper - before(value);
        upper = known[i];
        const Array dx = upper - before(known);
        const Array delta = at - before(known);
        const Array same = jax::lax::abs(dx) <= same_place();
        Array there = before(value), start = before(value);
        Array slope = delta / where(same, 1, dx);
        Array f = where(same, there, start + slope * df);
        Array first = value[0];
        f = where(at < known[0], first, f);
        Array last = value[-1];
        return where(at > known[-1], last, f);
    });
}

namespace {
Array area_below(const Array& y, const Operand& dx, std::int64_t axis) {
    const Array v = moveaxis(detail::arrays_of_one_type({y}, true)[0], axis, -1);
    Array whole = sum(v, {.axis = -1});
    Array first = v[{ellipsis, 0}];
    Array ends = 0.5 * (first + v[{ellipsis, -1}]);
    return dx * (whole - ends);
}
}  // namespace
Array trapezoid(const Operand& y, const Neighbours& how) {
    std::vector<Operand> in{y};
    if (how.dx.has_value()) in.emplace_back(how.dx, y.where.file, y.where.line, y.where.function);
    return composed_one("trapezoid", fmt::format("{}", how.axis), in,
                        [&](const Arrays& v) { return area_below(v[0], v.size() > 1 ? Operand(v[1]) : Operand(1.), how.axis); });
}
Array trapezoid(const Operand& y, const Operand& x, std::int64_t axis) {
    return composed_one("trapezoid", fmt::format("x {}", axis), {y, x}, [&](const Arrays& in) {
        const Arrays given = detail::arrays_of_one_type(in, true);
        const Array steps = given[1].ndim() == 1 ? diff(given[1]) : moveaxis(diff(given[1], 1, axis), axis, -1);
        const Array v = moveaxis(given[0], axis, -1);
        const Array later = v[{ellipsis, slice(1, none)}], earlier = v[{ellipsis, slice(none, -1)}];
        const Array both = later + earlier;
        return 0.5 * sum(steps * both, -1);
    });
}

namespace {
Array slid_over(const Operand& a, const Operand& v, const char* mode, const char* name) {
    const std::string_view m = mode;
    const bool correlates = std::string_view(name) == "correlate";
    if (m != "full" && m != "same" && m != "valid")
        detail::refuse_at(a.where, ErrorCode::BadUsage, "mode must be one of ['full', 'same', 'valid']",
                          "\"full\" has all overlaps, \"same\" as many as the longer vector, \"valid\" the whole ones");
    const auto body = [&](const Arrays& given) {
        if (given[0].ndim() != 1 || given[1].ndim() != 1)
            detail::refuse_at(a.where, ErrorCode::BadUsage, fmt::format("{}() only support 1-dimensional inputs.", name),
                              "map over the other dimensions: jax::vmap, or jnp::ravel");
        Arrays p = detail::arrays_of_one_type(given, true);
        if (p[0].shape(0) == 0 || p[1].shape(0) == 0)
            detail::refuse_at(
                a.where, ErrorCode::BadUsage,
                fmt::format("{}: inputs cannot be empty, got shapes {} and {}.", name, given[0].shape().str(), given[1].shape().str()),
                "both need at least one element");
        if (correlates) p[1] = conj(p[1]);
        const bool swapped = p[0].shape(0) < p[1].shape(0);
        if (swapped) std::swap(p[0], p[1]);
        const std::int64_t n = p[1].shape(0);
        const Array kernel = correlates ? p[1] : flip(p[1]);
        const std::pair<std::int64_t, std::int64_t> around = m == "valid"  ? std::pair<std::int64_t, std::int64_t>{0, 0}
                                                             : m == "same" ? std::pair{n / 2, n - n / 2 - 1}
                                                                           : std::pair{n - 1, n - 1};
        Array signal = p[0][{none, none, jax::all}];
        const Array out = jax::lax::conv_general_dilated(signal, kernel[{none, none, jax::all}], 1, std::vector{around});
        return correlates && swapped ? out[{0, 0, slice(none, none, -1)}] : out[{0, 0}];
    };
    return composed_one(name, mode, {a, v}, [&](const Arrays& in) {
        return composed_one("_conv", std::string(name) + mode, {in[0], in[1]}, body);
    });
}
}  // namespace
Array convolve(const Operand& a, const Operand& v, const char* mode) { return slid_over(a, v, mode, "convolve"); }
Array correlate(const Operand& a, const Operand& v, const char* mode) { return slid_over(a, v, mode, "correlate"); }

Array polyadd(const Operand& a, const Operand& b) {
    return composed_one("polyadd", "", {a, b}, [](const Arrays& given) {
        Arrays p = detail::arrays_of_one_type(given);
        if (p[1].shape(0) > p[0].shape(0)) std::swap(p[0], p[1]);
        return p[0].at({slice(-p[1].shape(0), none)}).add(p[1]);
    });
}
Array polysub(const Operand& a, const Operand& b) {
    return composed_one("polysub", "", {a, b}, [](const Arrays& given) {
        const Arrays p = detail::arrays_of_one_type(given);
        return polyadd(p[0], -p[1]);
    });
}
Array polymul(const Operand& a, const Operand& b) {
    return detail::in_line({a, b},
                           [](const Arrays& given) {
                               Arrays p = detail::arrays_of_one_type(given, true);
                               for (Array& each : p)
                                   if (each.shape(0) == 0) each = zeros(1, each.dtype());
                               return Arrays{convolve(p[0], p[1], "full")};
                           })
        .front();
}
Array polyder(const Operand& p, std::int64_t m) {
    return composed_one("polyder", fmt::format("{}", m), {p}, [&](const Arrays& given) {
        Array v = detail::arrays_of_one_type(given, true)[0];
        if (m < 0) detail::refuse_at(p.where, ErrorCode::BadUsage, "Order of derivative must be positive", "polyint goes the other way");
        if (m == 0) return v;
        Array powers = arange(m, v.shape(0), AsType(v.dtype()))[{none}];
        const Array lower = arange(m, AsType(v.dtype()))[{jax::all, none}];
        const Array factors = prod(powers - lower, {.axis = 0});
        Array kept = v[{slice(none, -m)}];
        return kept * factors[{slice(none, none, -1)}];
    });
}

namespace {
Array integrated(const std::vector<Operand>& in, std::int64_t m) {
    const Operand& p = in[0];
    return composed_one("polyint", fmt::format("{} {}", m, in.size()), in, [&](const Arrays& given) {
        const Arrays v = detail::arrays_of_one_type({given[0], given.size() > 1 ? given[1] : Array(0)}, true);
        if (m < 0)
            detail::refuse_at(p.where, ErrorCode::BadUsage, "Order of integral must be positive (see polyder)",
                              "polyder goes the other way");
        Array constants = atleast_1d(v[1]);
        if (constants.shape(0) == 1) constants = full(m, constants[{0}]);
        if (constants.shape() != Shape(m))
            detail::refuse_at(p.where, ErrorCode::BadUsage, "k must be a scalar or a rank-1 array of length 1 or m.",
                              "give one constant, or one for each integration");
        if (m == 0) return v[0];
        const Array powers = arange(v[0].shape(0) + m, AsType(v[0].dtype()))[{none}];
        const Array lower = arange(m, AsType(v[0].dtype()))[{jax::all, none}];
        const Array factors = prod(maximum(1, powers - lower), {.axis = 0})[{slice(none, none, -1)}];
        return true_divide(concatenate({v[0], constants}), factors);
    });
}
}  // namespace
Array polyint(const Operand& p, std::int64_t m) { return integrated({p}, m); }
Array polyint(const Operand& p, std::int64_t m, const Operand& k) { return integrated({p, k}, m); }
Array poly(const Operand& seq_of_zeros) {
    return composed_one("poly", "", {seq_of_zeros}, [&](const Arrays& given) {
        Array zeros_of = atleast_1d(detail::arrays_of_one_type(given, true)[0]);
        if (zeros_of.ndim() == 2 && zeros_of.shape(0) == zeros_of.shape(1) && zeros_of.shape(0) != 0) zeros_of = linalg::eigvals(zeros_of);
        if (zeros_of.ndim() != 1)
            detail::refuse_at(seq_of_zeros.where, ErrorCode::BadUsage, "input must be 1d or non-empty square 2d array.");
        const dtype type = zeros_of.dtype();
        if (zeros_of.shape(0) == 0) return ones({}, type);
        Array a = ones(1, type);
        for (std::int64_t k = 0; k < zeros_of.shape(0); ++k) {
            const Array root = -zeros_of[{k}];
            a = convolve(a, detail::of_rows({Array(1).astype(type), root}, Where("", 0, "")), "full");
        }
        return a;
    });
}
std::pair<Array, Array> polydiv(const Operand& u, const Operand& v) {
    const auto divided = [](const Arrays& given) {
        const Arrays p = detail::arrays_of_one_type(given, true);
        Array rest = p[0];
        const std::int64_t m = rest.shape(0) - 1, n = p[1].shape(0) - 1;
        const Array scale = 1. / p[1][{0}];
        Array quotient = zeros(std::max<std::int64_t>(m - n + 1, 1), rest.dtype());
        for (std::int64_t k = 0; k <= m - n; ++k) {
            const Array d = scale * rest[{k}];
            quotient = quotient.at({k}).set(d);
            rest = rest.at({slice(k, k + n + 1)}).add(-d * p[1]);
        }
        return Arrays{quotient, rest};
    };
    const Arrays out = detail::in_line({u, v}, divided);
    return {out[0], out[1]};
}

namespace {
/// The eigenvalues of the companion matrix.
Array roots_of(const Array& given) {
    return composed_one("_roots_no_zeros", "", {given}, [](const Arrays& v) {
        const Array& p = v[0];
        if (p.size() < 2) return zeros(0, complex64);
        const Array below = diag(ones(p.size() - 2, p.dtype()), -1);
        Array rest = -p[{slice(1, none)}];
        return linalg::eigvals(below.at({0, jax::all}).set(rest / p[{0}]));
    });
}
/// jnp.roll of a vector by a number that isn't known.
Array rolled_by(const Array& given, const Array& shift) {
    return composed_one("_roll_dynamic", "", {given, shift}, [](const Arrays& v) {
        const std::int64_t n = v[0].size();
        const Array shifts = broadcast_to(v[1], 1);
        const Array by = jax::lax::squeeze(jax::lax::slice(shifts, 0, 1, 1), 0);
        const Array turns = remainder(by, jax::lax::max(asarray(n, int32), asarray(1, int32)));
        const Array twice = jax::lax::concatenate({v[0], v[0]}, 0);
        return jax::lax::dynamic_slice(twice, {n - turns}, n);
    });
}
Array roots_beside_zeros(const Array& given, const Array& zeros_in_front) {
    return composed_one("_roots_with_zeros", "", {given, zeros_in_front}, [](const Arrays& v) {
        const Array nothing = v[1] == v[0].shape(0);
        const Array p = where(nothing, 1., v[0]);
        Array found = roots_of(rolled_by(p, -v[1]));
        found = jax::lax::sort_key_val(found == 0, found).second;
        const Array numbers = arange(found.size());
        const Array there = numbers < found.size() - v[1];
        return where(there, found, Array(std::complex<float>(std::nanf(""), std::nanf(""))));
    });
}
}  // namespace
Array roots(const Operand& given, Flag strip_zeros) {
    const auto body = [&](const Arrays& v) {
        const Array p = atleast_1d(detail::arrays_of_one_type(v, true)[0]);
        if (p.ndim() != 1) detail::refuse_at(given.where, ErrorCode::BadUsage, "Input must be a rank-1 array.");
        if (p.size() < 2) return Arrays{zeros(0, complex64)};
        const Array all_zero = all(p == 0), first = argmin(p == 0);
        const Array leading = where(all_zero, p.shape(0), first);
        if (!strip_zeros) return Arrays{roots_beside_zeros(p, leading)};
        return Arrays{roots_of(p[{slice(leading.item<std::int64_t>(given.where), none)}])};
    };
    return detail::in_line({given}, body).front();
}

namespace {
Array without_jumps(const Array& p, const Array& period, const Array& discont, std::int64_t axis) {
    const Array jump = discont.has_value() ? discont : period / 2;
    const bool whole = ::jaxscope::is_integer(static_cast<::jaxscope::DType>(p.dtype()));
    const Array interval = whole ? floor_divide(period, 2) : period / 2;
    const Array steps = diff(p, 1, axis);
    const Array moved = remainder(steps + interval, period);
    Array turned = moved - interval;
    Array at_edge = turned == -interval;
    turned = where(at_edge & (steps > 0), interval, turned);
    const Array small = abs(steps) < jump;
    const Array fix = where(small, 0, turned - steps);
    const Array first = jax::lax::slice_in_dim(p, 0, 1, 1, axis);
    Array rest = jax::lax::slice_in_dim(p, 1, p.shape(axis), 1, axis);
    return concatenate({first, rest + cumsum(fix, {.axis = axis})}, axis);
}
}  // namespace
Array unwrap(const Operand& p, const Unwrapping& how) {
    std::vector<Operand> in{p};
    const Where& w = p.where;
    for (const Array& a : {how.discont, how.period})
        if (a.has_value()) in.emplace_back(a, w.file, w.line, w.function);
    const bool jump = how.discont.has_value(), turn = how.period.has_value();
    return composed_one("unwrap", fmt::format("{} {} {}", how.axis, jump, turn), in, [&](const Arrays& v) {
        const Arrays typed = detail::arrays_of_one_type({v[0], turn ? v.back() : Array(2 * pi)});
        if (is_complex(static_cast<::jaxscope::DType>(typed[0].dtype())))
            detail::refuse_at(w, ErrorCode::BadUsage, "jnp.unwrap does not support complex inputs.",
                              "take jnp::angle of complex numbers first");
        const std::int64_t axis = detail::axis_in(how.axis, typed[0].ndim());
        if (typed[0].shape(axis) == 0) return typed[0];
        return without_jumps(typed[0], typed[1], jump ? v[1] : Array(), axis);
    });
}

}  // namespace jaxscope::jax::numpy
