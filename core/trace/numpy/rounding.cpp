// SPDX-License-Identifier: Apache-2.0
// jax.numpy: whole numbers near a number, and what kind of number one is.
#include <fmt/core.h>

#include <cmath>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/primitives.h"
#include "trace/numpy/elementwise_parts.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using detail::all_of_one_truth;
using detail::apply1;
using detail::jitted_call;
using detail::weak_one;
using detail::where_call;
using ::jaxscope::Builder;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

bool is_whole(Builder& b, Value x) { return is_integer(b.aval(x)->dtype) || b.aval(x)->dtype == D::Bool; }
Value round_even(Builder& b, Value x) {
    return b.bind1(kRound, {x}, make_params(RoundParams{Attr(Attr::Enum{"RoundingMethod", "TO_NEAREST_EVEN"})}));
}
Value infinite(Builder& b, Value x) { return cl::eq(b, cl::abs(b, x), weak_one(b, x, INFINITY)); }
Value strong_number(Builder& b, Value like, double v) { return make_literal(AvalRef(b.aval(like)->dtype, {}), v); }
/// `nan`: what stands for it. Infinities become the largest and the least number.
Value without_nan(Builder& b, Value x, Value nan) {
    const FloatInfo f = finfo(static_cast<dtype>(b.aval(x)->dtype));
    const Value nans = cl::ne(b, x, x);
    Value y = where_call(b, nans, cl::convert_element_type(b, nan, b.aval(x)->dtype), x);
    y = where_call(b, cl::eq(b, y, weak_one(b, y, INFINITY)), strong_number(b, y, f.max), y);
    return where_call(b, cl::eq(b, y, weak_one(b, y, -INFINITY)), strong_number(b, y, f.min), y);
}
Value nan_to_num_of(Builder& b, Value x) {
    if (!is_inexact(b.aval(x)->dtype)) return x;
    if (!is_complex(b.aval(x)->dtype)) return without_nan(b, x, strong_number(b, x, 0));
    // Of each part again, which is given the number that stands for nan.
    const auto part = [&](Value of) {
        return jitted(b, "nan_to_num", "part", {of, make_literal(AvalRef(D::F32, {}, true), 0.0)},
                      [](Builder& i, const Values& w) { return without_nan(i, w[0], w[1]); });
    };
    const Value re = part(cl::real(b, x));
    return cl::complex(b, re, part(cl::imag(b, x)));
}

}  // namespace

Array floor(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return is_whole(b, v[0]) ? v[0] : cl::floor(b, v[0]); });
}
Array ceil(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return is_whole(b, v[0]) ? v[0] : b.bind1(kCeil, {v[0]}); });
}
namespace {
Value rounded(Builder& b, Value x, std::int64_t decimals) {
    if (is_integer(b.aval(x)->dtype)) {
        if (decimals < 0) throw Error(ErrorCode::NoRule, "integer np.round not implemented for decimals < 0");
        return x;
    }
    if (is_complex(b.aval(x)->dtype)) {
        const Value re = rounded(b, cl::real(b, x), decimals);
        return cl::complex(b, re, rounded(b, cl::imag(b, x), decimals));
    }
    if (decimals == 0) return round_even(b, x);
    const D type = b.aval(x)->dtype;
    if (static_cast<double>(decimals) > std::log10(finfo(static_cast<dtype>(type)).max)) return x;
    if (type == D::F16) x = cl::convert_element_type(b, x, D::F32);  // so that the scaled number fits
    const Value factor = weak_one(b, x, std::pow(10.0, static_cast<double>(decimals)));
    const Value out = cl::div(b, round_even(b, cl::mul(b, x, factor)), factor);
    return type == D::F16 ? cl::convert_element_type(b, out, D::F16) : out;
}
Value round_call(Builder& b, Value x, std::int64_t decimals) {
    return jitted(b, "round", fmt::format("{}", decimals), {x}, [&](Builder& i, const Values& w) { return rounded(i, w[0], decimals); });
}
}  // namespace
Array round(const Operand& x, std::int64_t decimals) {
    return apply1({x}, [&](Builder& b, const Values& v) { return round_call(b, v[0], decimals); });
}
Array around(const Operand& x, std::int64_t decimals) {
    return jitted_call(
        "around", {x}, [&](Builder& b, const Values& v) { return round_call(b, v[0], decimals); }, fmt::format("{}", decimals));
}
Array rint(const Operand& x) {
    return jitted_call("rint", {x}, [](Builder& b, const Values& v) {
        const Value inexact = detail::inexact_operand(b, v[0]);
        if (is_whole(b, v[0])) return inexact;
        if (!is_complex(b.aval(inexact)->dtype)) return round_even(b, inexact);
        const auto part = [&](Value of) {
            return jitted(b, "rint", "part", {of}, [](Builder& i, const Values& w) { return round_even(i, w[0]); });
        };
        const Value re = part(cl::real(b, inexact));
        return cl::complex(b, re, part(cl::imag(b, inexact)));
    });
}
Array trunc(const Operand& x) {
    return jitted_call("trunc", {x}, [](Builder& b, const Values& v) {
        if (is_whole(b, v[0])) return v[0];
        const Value below = cl::lt(b, v[0], weak_one(b, v[0], 0));
        const Value up = b.bind1(kCeil, {v[0]});
        return where_call(b, below, up, cl::floor(b, v[0]));
    });
}
Array fix(const Operand& x) { return trunc(x); }

Array isinf(const Operand& x) {
    return jitted_call("isinf", {x}, [](Builder& b, const Values& v) {
        const D type = b.aval(v[0])->dtype;
        if (!is_inexact(type)) return all_of_one_truth(b, v[0], false);
        if (!is_complex(type)) return infinite(b, v[0]);
        const Value re = cl::real(b, v[0]), im = cl::imag(b, v[0]);
        const Value first = infinite(b, re);
        return b.bind1(kOr, {first, infinite(b, im)});
    });
}
Array isfinite(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return detail::finite(b, v[0]); });
}
Array signbit(const Operand& x) {
    return jitted_call("signbit", {x}, [](Builder& b, const Values& v) { return detail::signbit_of(b, v[0]); });
}
Array nan_to_num(const Operand& x) {
    return jitted_call("nan_to_num", {x}, [](Builder& b, const Values& v) { return nan_to_num_of(b, v[0]); });
}

}  // namespace jaxscope::jax::numpy

namespace jaxscope::jax::detail {

namespace cl = ::jaxscope::lax;
using D = ::jaxscope::DType;

Value finite(Builder& b, Value x) {
    const D type = b.aval(x)->dtype;
    if (!is_inexact(type)) return all_of_one_truth(b, x, true);
    if (!is_complex(type)) return b.bind1(kIsFinite, {x});
    const Value first = b.bind1(kIsFinite, {cl::real(b, x)});
    return b.bind1(kAnd, {first, b.bind1(kIsFinite, {cl::imag(b, x)})});
}
Value signbit_of(Builder& b, Value x) {
    const D type = b.aval(x)->dtype;
    if (is_integer(type)) return cl::lt(b, x, weak_one(b, x, 0));
    if (type == D::Bool) return all_of_one_truth(b, x, false);
    const std::int64_t bits = 8 * info(type).bytes;
    if (is_complex(type)) refuse(fmt::format("jax.numpy.signbit is not well defined for {}", info(type).name));
    if (bits < 16) refuse("jax.numpy.signbit only supports 16, 32, and 64-bit types.");
    const D words = bits == 16 ? D::S16 : bits == 32 ? D::S32 : D::S64;
    const Value as_words = b.bind1(kBitcastConvertType, {x}, make_params(BitcastParams{words}));
    const Value shifted = b.bind1(kShiftRightArithmetic, {as_words, make_literal(AvalRef(words, {}), bits - 1)});
    return cl::convert_element_type(b, shifted, D::Bool);
}

}  // namespace jaxscope::jax::detail
