// SPDX-License-Identifier: Apache-2.0
// jax.numpy and jax.lax, element by element.
#include <fmt/core.h>

#include <cmath>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/elementwise_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"
#include "trace/warnings.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::accurate;
using detail::apply1;
using detail::converted;
using detail::jitted_call;
using detail::numeric;
using detail::on_inexact;
using detail::on_promoted;
using detail::plain;
using detail::promoted;
using detail::weak_one;
using detail::where_call;
using ::jaxscope::Builder;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

/// Products and quotients: a number that an array is multiplied with or divided by is shown by lists of residuals.
template <class F>
Array of_factors(const char* name, const Operand& x, const Operand& y, bool to_inexact, F f) {
    return apply1({x, y}, [&](Builder& b, const Values& given) {
        const Values v = promoted(b, given, to_inexact, name);
        const auto factor = [&](std::size_t i) {
            if (v[1 - i].is_literal() || !v[i].is_literal()) return v[i];
            return detail::kept_factor(b, v[i], b.aval(v[i])->dtype != b.aval(given[i])->dtype);
        };
        return b.aval(v[0])->dtype == D::Bool ? f(b, v[0], v[1]) : f(b, factor(0), factor(1));
    });
}
/// What a truth value is made of: x != 0.
Value truth_of(Builder& b, Value x) { return b.aval(x)->dtype == D::Bool ? x : cl::ne(b, x, weak_one(b, x, 0)); }
template <const Primitive& P>
Array logical(const char* name, const Operand& x, const Operand& y) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const Values p = promoted(b, v, false, name);
        const Value l = truth_of(b, p[0]), r = truth_of(b, p[1]);
        return plain(b, P, {l, r});
    });
}

Value integer_divide(Builder& b, Value x, Value y) {
    const Value q = cl::div(b, x, y);
    const Value sign_x = cl::sign(b, x);
    Value differ = cl::ne(b, sign_x, cl::sign(b, y));
    Value inexact = cl::ne(b, b.bind1(kRem, {x, y}), weak_one(b, x, 0));
    const bool weak = b.aval(q)->weak_type;  // JAX's truth values of weakly typed numbers are weakly typed, and `and` makes them plain
    for (Value* truth : {&differ, &inexact})
        if (weak) *truth = b.bind1(kConvertElementType, {*truth}, make_params(ConvertParams{D::Bool, false, {}}));
    const Value both = b.bind1(kAnd, {differ, inexact});
    return where_call(b, both, cl::sub(b, q, make_literal(AvalRef(b.aval(q)->dtype, {}, weak), std::int64_t{1})), q);
}
/// Quotient and remainder, rounded down.
std::pair<Value, Value> float_divmod(Builder& b, Value x, Value y) {
    const Value mod = b.bind1(kRem, {x, y});
    const Value zero = cl::eq(b, y, weak_one(b, y, 0));
    const Value num = where_call(b, zero, x, cl::sub(b, x, mod));
    Value div = cl::div(b, num, y);
    const Value inexact = cl::ne(b, mod, weak_one(b, mod, 0));
    const Value sign_y = cl::sign(b, y);
    const Value differ = cl::ne(b, sign_y, cl::sign(b, mod));
    const Value ind = b.bind1(kAnd, {inexact, differ});
    const Value rest = cl::select(b, ind, cl::add(b, mod, y), mod);
    div = cl::select(b, ind, cl::sub(b, div, detail::number_beside(b, div, 1)), div);
    return {b.bind1(kRound, {div}, make_params(RoundParams{Attr(Attr::Enum{"RoundingMethod", "AWAY_FROM_ZERO"})})), rest};
}
/// Promoted, and two truth values as numbers.
Values numeric_promoted(Builder& b, const Values& v, const char* name) {
    Values p = promoted(b, v, false, name);
    for (Value& x : p) x = numeric(b, x);
    return p;
}
/// Whole divisors: one in place of zero.
Value nonzero_divisor(Builder& b, Value y) {
    const Value zero = cl::eq(b, y, weak_one(b, y, 0));
    return where_call(b, zero, cl::ones_like(b, b.aval(y)), y);
}
Value remainder_of(Builder& b, Value x, Value y) {
    if (is_integer(b.aval(y)->dtype)) y = nonzero_divisor(b, y);
    const Value trunc = b.bind1(kRem, {x, y});
    const Value some = cl::ne(b, trunc, weak_one(b, trunc, 0));
    const Value negative = cl::lt(b, trunc, weak_one(b, trunc, 0));
    const Value differ = cl::ne(b, negative, cl::lt(b, y, weak_one(b, y, 0)));
    const Value plus = b.bind1(kAnd, {differ, some});
    return cl::select(b, plus, cl::add(b, trunc, y), trunc);
}
}  // namespace

namespace numpy {

#define JAXSCOPE_FLOAT(name, expression)                                      \
    Array name(const Operand& x) {                                            \
        return on_inexact(x, [](Builder& b, Value v) { return expression; }); \
    }
#define JAXSCOPE_ANY(name, expression)                                         \
    Array name(const Operand& x) {                                             \
        return apply1({x}, []([[maybe_unused]] Builder& b, const Values& in) { \
            const Value v = in[0];                                             \
            return expression;                                                 \
        });                                                                    \
    }
JAXSCOPE_FLOAT(exp, accurate(b, kExp, v))
JAXSCOPE_FLOAT(exp2, accurate(b, kExp2, v))
JAXSCOPE_FLOAT(expm1, accurate(b, kExpm1, v))
JAXSCOPE_FLOAT(log, accurate(b, kLog, v))
JAXSCOPE_FLOAT(log1p, accurate(b, kLog1p, v))
JAXSCOPE_FLOAT(sin, accurate(b, kSin, v))
JAXSCOPE_FLOAT(cos, accurate(b, kCos, v))
JAXSCOPE_FLOAT(tan, accurate(b, kTan, v))
JAXSCOPE_FLOAT(arcsin, plain(b, kAsin, {v}))
JAXSCOPE_FLOAT(arccos, plain(b, kAcos, {v}))
JAXSCOPE_FLOAT(arctan, plain(b, kAtan, {v}))
JAXSCOPE_FLOAT(sinh, plain(b, kSinh, {v}))
JAXSCOPE_FLOAT(cosh, plain(b, kCosh, {v}))
JAXSCOPE_FLOAT(tanh, accurate(b, kTanh, v))
JAXSCOPE_FLOAT(arcsinh, plain(b, kAsinh, {v}))
JAXSCOPE_FLOAT(arctanh, plain(b, kAtanh, {v}))
JAXSCOPE_FLOAT(sqrt, accurate(b, kSqrt, v))
JAXSCOPE_FLOAT(cbrt, accurate(b, kCbrt, v))
JAXSCOPE_FLOAT(reciprocal, cl::integer_pow(b, v, -1))
JAXSCOPE_FLOAT(deg2rad, cl::mul(b, v, weak_one(b, v, M_PI / 180)))
JAXSCOPE_FLOAT(rad2deg, cl::mul(b, v, weak_one(b, v, 180 / M_PI)))
JAXSCOPE_ANY(abs, b.aval(v)->dtype == D::Bool || is_unsigned_int(b.aval(v)->dtype) ? v : plain(b, kAbs, {v}))
JAXSCOPE_ANY(negative, plain(b, kNeg, {v}))
JAXSCOPE_ANY(sign, plain(b, kSign, {v}))
JAXSCOPE_ANY(square, cl::square(b, numeric(b, v)))
JAXSCOPE_ANY(positive, v)
JAXSCOPE_ANY(logical_not, plain(b, kNot, {truth_of(b, v)}))
JAXSCOPE_ANY(invert, plain(b, kNot, {v}))
JAXSCOPE_ANY(isnan, cl::ne(b, v, v))
JAXSCOPE_ANY(real, is_complex(b.aval(v)->dtype) ? cl::real(b, v) : v)
JAXSCOPE_ANY(imag, is_complex(b.aval(v)->dtype) ? cl::imag(b, v) : cl::full(b, b.aval(v), 0.0))
JAXSCOPE_ANY(conj, is_complex(b.aval(v)->dtype) ? cl::conj(b, v) : v)
#undef JAXSCOPE_FLOAT
#undef JAXSCOPE_ANY
namespace {
/// A natural logarithm and its scale; complex numbers by their two parts.
Value scaled_logarithm(Builder& b, Value v, const Primitive& how, Value (*scale)(Builder&, Value like)) {
    const Value natural = accurate(b, kLog, v);
    if (!is_complex(b.aval(v)->dtype)) return plain(b, how, {natural, scale(b, natural)});
    const Value re = cl::real(b, natural), im = cl::imag(b, natural);
    const Value by = scale(b, re);
    const Value scaled = plain(b, how, {re, by});
    return cl::complex(b, scaled, plain(b, how, {im, by}));
}
}  // namespace
Array log2(const Operand& x) {
    return on_inexact(x, [](Builder& b, Value v) {
        return scaled_logarithm(b, v, kDiv, [](Builder& i, Value like) { return accurate(i, kLog, weak_one(i, like, 2)); });
    });
}
Array log10(const Operand& x) {
    return on_inexact(x, [](Builder& b, Value v) {
        return scaled_logarithm(b, v, kMul, [](Builder& i, Value like) { return weak_one(i, like, 1 / std::log(10.0)); });
    });
}
Array absolute(const Operand& x) { return abs(x); }
Array degrees(const Operand& x) { return rad2deg(x); }
Array radians(const Operand& x) { return deg2rad(x); }
Array arccosh(const Operand& x) {
    return jitted_call("arccosh", {x}, [](Builder& b, const Values& v) {
        const Value r = plain(b, kAcosh, {detail::inexact_operand(b, v[0])});
        if (!is_complex(b.aval(r)->dtype)) return r;
        const Value re = cl::real(b, r);  // NumPy's convention differs from the primitive's
        const Value left = cl::lt(b, re, weak_one(b, re, 0));
        return where_call(b, left, cl::neg(b, r), r);
    });
}
namespace {
/// Complex numbers are ordered by their real parts, equal ones by the imaginary ones.
Value ordered(Builder& b, Value (*compares)(Builder&, Value, Value), Value l, Value r) {
    if (!is_complex(b.aval(l)->dtype)) return compares(b, l, r);
    const Value re_l = cl::real(b, l), re_r = cl::real(b, r);
    const Value same = cl::eq(b, re_l, re_r);
    const Value im_l = cl::imag(b, l), im_r = cl::imag(b, r);
    const Value by_im = compares(b, im_l, im_r);
    const Value again_l = cl::real(b, l), again_r = cl::real(b, r);
    return cl::select(b, same, by_im, compares(b, again_l, again_r));
}
}  // namespace
#define JAXSCOPE_PAIR(name, function)                                                           \
    Array name(const Operand& x, const Operand& y) {                                            \
        return on_promoted(#name, x, y, [](Builder& b, Value l, Value r) { return function; }); \
    }
JAXSCOPE_PAIR(add, b.aval(l)->dtype == D::Bool ? plain(b, kOr, {l, r}) : plain(b, kAdd, {l, r}))
JAXSCOPE_PAIR(subtract, plain(b, kSub, {l, r}))
JAXSCOPE_PAIR(maximum, plain(b, kMax, {l, r}))
JAXSCOPE_PAIR(minimum, plain(b, kMin, {l, r}))
JAXSCOPE_PAIR(equal, cl::eq(b, l, r))
JAXSCOPE_PAIR(not_equal, cl::ne(b, l, r))
JAXSCOPE_PAIR(less, ordered(b, cl::lt, l, r))
JAXSCOPE_PAIR(less_equal, ordered(b, cl::le, l, r))
JAXSCOPE_PAIR(greater, ordered(b, cl::gt, l, r))
JAXSCOPE_PAIR(greater_equal, ordered(b, cl::ge, l, r))
JAXSCOPE_PAIR(bitwise_and, plain(b, kAnd, {l, r}))
JAXSCOPE_PAIR(bitwise_or, plain(b, kOr, {l, r}))
JAXSCOPE_PAIR(bitwise_xor, plain(b, kXor, {l, r}))
JAXSCOPE_PAIR(left_shift, plain(b, kShiftLeft, {numeric(b, l), numeric(b, r)}))
JAXSCOPE_PAIR(right_shift,
              plain(b, is_unsigned_int(b.aval(l)->dtype) ? kShiftRightLogical : kShiftRightArithmetic, {numeric(b, l), numeric(b, r)}))
#undef JAXSCOPE_PAIR
Array multiply(const Operand& x, const Operand& y) {
    return of_factors("multiply", x, y, false, [](Builder& b, Value l, Value r) {
        return b.aval(l)->dtype == D::Bool ? plain(b, kAnd, {l, r}) : cl::mul(b, l, r);
    });
}
Array divide(const Operand& x, const Operand& y) {
    return of_factors("true_divide", x, y, true, [](Builder& b, Value l, Value r) { return plain(b, kDiv, {l, r}); });
}
#define JAXSCOPE_FLOAT_PAIR(name, prim)              \
    Array name(const Operand& x, const Operand& y) { \
        return on_promoted(                          \
            #name, x, y,                             \
            [](Builder& b, Value l, Value r) {       \
                return plain(b, prim, {l, r});       \
            },                                       \
            true);                                   \
    }
JAXSCOPE_FLOAT_PAIR(arctan2, kAtan2)
JAXSCOPE_FLOAT_PAIR(nextafter, kNextAfter)
#undef JAXSCOPE_FLOAT_PAIR
Array true_divide(const Operand& x, const Operand& y) { return divide(x, y); }
Array logical_and(const Operand& x, const Operand& y) { return logical<kAnd>("logical_and", x, y); }
Array logical_or(const Operand& x, const Operand& y) { return logical<kOr>("logical_or", x, y); }
Array logical_xor(const Operand& x, const Operand& y) { return logical<kXor>("logical_xor", x, y); }

namespace {
Value floor_divide_in(Builder& b, const Values& v) {
    const Values p = numeric_promoted(b, v, "floor_divide");
    const D type = b.aval(p[0])->dtype;
    if (is_complex(type)) detail::refuse("floor_divide does not support complex-valued inputs");
    if (is_unsigned_int(type)) return cl::div(b, p[0], p[1]);
    return is_integer(type) ? integer_divide(b, p[0], p[1]) : float_divmod(b, p[0], p[1]).first;
}
Value remainder_in(Builder& b, const Values& v) {
    const Values p = numeric_promoted(b, v, "remainder");
    return remainder_of(b, p[0], p[1]);
}
}  // namespace
Array floor_divide(const Operand& x, const Operand& y) { return jitted_call("floor_divide", {x, y}, floor_divide_in); }
}  // namespace numpy
Value detail::remainder_call(Builder& b, Value x, Value y) { return jitted(b, "remainder", "", {x, y}, numpy::remainder_in); }
namespace numpy {
Array remainder(const Operand& x, const Operand& y) { return jitted_call("remainder", {x, y}, remainder_in); }
std::pair<Array, Array> divmod(const Operand& x, const Operand& y) {
    const Operand in[] = {x, y};
    const std::vector<Array> out = detail::apply(in, x.where, [](Builder& b, const Values& v) {
        const std::function<JaxprPtr(const Avals&)> trace = [&](const Avals& avals) {
            JaxprBuilder i;
            i.context = b.context;
            Values w;
            for (const AvalRef a : avals) w.push_back(i.add_input(a));
            const Values p = numeric_promoted(i, w, "divmod");
            if (!is_integer(i.aval(p[0])->dtype)) {
                const auto [whole, rest] = float_divmod(i, p[0], p[1]);
                return i.finish({whole, rest});
            }
            const Value whole = jitted(i, "floor_divide", "", p, floor_divide_in);
            return i.finish({whole, jitted(i, "remainder", "", p, remainder_in)});
        };
        return jitted(b, "divmod", "", v, trace);
    });
    return {out[0], out[1]};
}
Array mod(const Operand& x, const Operand& y) { return remainder(x, y); }
Array fmod(const Operand& x, const Operand& y) {
    return jitted_call("fmod", {x, y}, [](Builder& b, const Values& v) {
        Values w = v;
        if (const detail::Promoted to = detail::promoted_type({b.aval(v[0]), b.aval(v[1])}, "fmod"); is_integer(to.type))
            w[1] = nonzero_divisor(b, v[1]);
        return b.bind1(kRem, numeric_promoted(b, w, "fmod"));
    });
}
namespace {
/// By repeated squares: six of them, as more would overflow for any base above one.
Value integer_power(Builder& b, Value x, Value y) {
    const Value zero = weak_one(b, y, 0), one = weak_one(b, y, 1);
    const Value base_zero = cl::eq(b, x, zero);
    Value out = where_call(b, b.bind1(kAnd, {base_zero, cl::ne(b, y, zero)}), zero, one);
    for (int i = 0; i < 6; ++i) {
        const Value bit = b.bind1(kAnd, {y, one});
        out = where_call(b, bit, cl::mul(b, out, x), out);
        x = cl::mul(b, x, x);
        y = b.bind1(kShiftRightLogical, {y, one});
    }
    return out;
}
}  // namespace
Array pow(const Operand& x, const Operand& y) { return power(x, y); }
Array power(const Operand& x, const Operand& y) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        if (y.kind == Operand::Kind::integer || y.kind == Operand::Kind::boolean)
            return cl::integer_pow(b, numeric(b, v[0]), y.kind == Operand::Kind::boolean ? y.boolean : y.integer);
        const AvalRef exponent = b.aval(v[1]);
        // jax.numpy leaves an integer exponent as it is, beside a float base.
        if (is_integer(exponent->dtype) && x.kind != Operand::Kind::integer) {
            const detail::Promoted to = detail::promoted_type({b.aval(v[0]), exponent});
            if (is_inexact(to.type)) {
                const Values ranked = detail::same_rank(b, v);
                const Value base = converted(b, ranked[0], to.type, to.weak);
                converted(b, ranked[1], to.type, to.weak);
                return b.bind1(kPow, {base, ranked[1]});
            }
        }
        const Values p = numeric_promoted(b, detail::same_rank(b, v), "power");
        return is_integer(b.aval(p[0])->dtype) ? integer_power(b, p[0], p[1]) : b.bind1(kPow, p);
    });
}
namespace {
/// Both of two truths, or one of them: comparisons of weakly typed operands are weak, too.
Value joined(Builder& b, const Primitive& how, Value x, Value y) { return b.bind1(how, promoted(b, {x, y})); }
Value either_or_nan(Builder& b, Value (*compares)(Builder&, Value, Value), const Values& v) {
    const Values p = promoted(b, v);
    const Value first = ordered(b, compares, p[0], p[1]);
    return joined(b, kOr, first, cl::ne(b, v[1], v[1]));
}
}  // namespace
Array fmax(const Operand& x, const Operand& y) {
    return jitted_call("fmax", {x, y}, [](Builder& b, const Values& v) { return where_call(b, either_or_nan(b, cl::gt, v), v[0], v[1]); });
}
Array fmin(const Operand& x, const Operand& y) {
    return jitted_call("fmin", {x, y}, [](Builder& b, const Values& v) { return where_call(b, either_or_nan(b, cl::lt, v), v[0], v[1]); });
}
Array copysign(const Operand& x, const Operand& y) {
    return jitted_call("copysign", {x, y}, [](Builder& b, const Values& v) {
        const Values p = promoted(b, v, true, "copysign");
        const Value negative = jitted(b, "signbit", "", {p[1]}, [](Builder& i, const Values& w) { return detail::signbit_of(i, w[0]); });
        const Value minus = cl::neg(b, cl::abs(b, p[0]));
        return where_call(b, negative, minus, cl::abs(b, p[0]));
    });
}
Array heaviside(const Operand& x, const Operand& y) {
    return jitted_call("heaviside", {x, y}, [](Builder& b, const Values& v) {
        const Values p = detail::of_one_type(b, v, true);
        const Value below = cl::lt(b, p[0], weak_one(b, p[0], 0)), above = cl::gt(b, p[0], weak_one(b, p[0], 0));
        const Value unordered = where_call(b, cl::ne(b, p[0], p[0]), p[0], p[1]);
        const auto number = [&](double d) { return make_literal(AvalRef(b.aval(p[0])->dtype, {}), d); };
        return where_call(b, below, number(0), where_call(b, above, number(1), unordered));
    });
}
Array hypot(const Operand& x, const Operand& y) {
    return jitted_call("hypot", {x, y}, [](Builder& b, const Values& v) {
        const Values p = promoted(b, v, true, "hypot");
        if (is_complex(b.aval(p[0])->dtype))
            detail::refuse(
                "jnp.hypot is not well defined for complex-valued inputs. Please convert to real values first, such as by using "
                "abs(x)");
        const Value first = cl::abs(b, p[0]), second = cl::abs(b, p[1]);
        const Value first_infinite = cl::eq(b, first, weak_one(b, first, INFINITY));
        const Value infinite = b.bind1(kOr, {first_infinite, cl::eq(b, second, weak_one(b, second, INFINITY))});
        const Value large = cl::max(b, first, second), small = cl::min(b, first, second);
        const Value zero = cl::eq(b, large, weak_one(b, large, 0)), also_zero = cl::eq(b, large, weak_one(b, large, 0));
        const Value ratio = cl::div(b, small, where_call(b, also_zero, cl::ones_like(b, b.aval(large)), large));
        const Value square = cl::square(b, ratio);
        const Value length = cl::mul(b, large, cl::sqrt(b, cl::add(b, weak_one(b, square, 1), square)));
        const Value finite = where_call(b, zero, large, length);
        return where_call(b, infinite,
                          make_literal(AvalRef(b.aval(large)->dtype, {}, b.aval(large)->weak_type), static_cast<double>(INFINITY)), finite);
    });
}
namespace {
/// |x - y| <= atol + rtol |y|; limits that weren't given are numbers of the function's own.
Value close_in(Builder& b, const Values& v) {
    const Values p = promoted(b, promoted(b, {v[0], v[1]}, false, "isclose"), true);
    const D given = b.aval(p[0])->dtype, type = given == D::C64 ? D::F32 : given == D::C128 ? D::F64 : given;
    const auto limit = [&](std::size_t at, double usual) {
        return v.size() > at ? cl::convert_element_type(b, v[at], type) : Value(make_literal(AvalRef(type, {}), usual));
    };
    const Value rtol = limit(2, 1e-5), atol = limit(3, 1e-8);
    const Value first_nan = cl::ne(b, p[0], p[0]);
    joined(b, kAnd, first_nan, cl::ne(b, p[1], p[1]));
    const Value finite = detail::finite(b, p[1]);
    const Value gap = cl::abs(b, cl::sub(b, p[0], p[1]));
    const Value near = cl::le(b, gap, cl::add(b, atol, cl::mul(b, rtol, cl::abs(b, p[1])))), equal = cl::eq(b, p[0], p[1]);
    return joined(b, kOr, equal, joined(b, kAnd, finite, near));
}
}  // namespace
Array isclose(const Operand& x, const Operand& y) { return jitted_call("isclose", {x, y}, close_in); }
Array isclose(const Operand& x, const Operand& y, const Operand& rtol) { return jitted_call("isclose", {x, y, rtol}, close_in); }
Array isclose(const Operand& x, const Operand& y, const Operand& rtol, const Operand& atol) {
    return jitted_call("isclose", {x, y, rtol, atol}, close_in);
}
Array array_equal(const Operand& x, const Operand& y) {
    return detail::in_line({x, y},
                           [](const Arrays& v) {
                               if (v[0].shape() == v[1].shape()) return Arrays{all(equal(v[0], v[1]))};
                               return Arrays{detail::made(Where("", 0, ""), [](Builder&) { return detail::number_of(D::Bool, 0); })};
                           })
        .front();
}
namespace {
Array all_close(const std::vector<Operand>& in) {
    return detail::composed_one("allclose", "", in, [](const Arrays& v) {
        const Operand rtol = v.size() > 2 ? Operand(v[2]) : Operand(1e-5), atol = v.size() > 3 ? Operand(v[3]) : Operand(1e-8);
        return all(isclose(v[0], v[1], rtol, atol));
    });
}
}  // namespace
Array allclose(const Operand& x, const Operand& y) { return all_close({x, y}); }
Array allclose(const Operand& x, const Operand& y, const Operand& rtol) { return all_close({x, y, rtol}); }
Array allclose(const Operand& x, const Operand& y, const Operand& rtol, const Operand& atol) { return all_close({x, y, rtol, atol}); }
Array where(const Operand& c, const Operand& x, const Operand& y) {
    return apply1({c, x, y}, [](Builder& b, const Values& v) { return where_call(b, v[0], v[1], v[2]); });
}
namespace {
void refuse_complex_clip(const Builder& b, const Values& v) {
    if (std::any_of(v.begin(), v.end(), [&](Value x) { return is_complex(b.aval(x)->dtype); }))
        detail::refuse(
            "Clip received a complex value either through the input or the min/max keywords. Complex values have no ordering and cannot be "
            "clipped. Please convert to a real value or array by taking the real or imaginary components via jax.numpy.real/imag "
            "respectively.");
}
}  // namespace
Array clip(const Operand& x, const Operand& low, const Operand& high) {
    return jitted_call("clip", {x, low, high}, [](Builder& b, const Values& v) {
        refuse_complex_clip(b, v);
        Values p = promoted(b, {v[1], v[0]}, false, "maximum");
        const Value least = plain(b, kMax, {p[0], p[1]});
        p = promoted(b, {v[2], least}, false, "minimum");
        return plain(b, kMin, {p[0], p[1]});
    });
}
Array clip(const Operand& x, const Operand& low, None) {
    return jitted_call(
        "clip", {x, low},
        [](Builder& b, const Values& v) {
            refuse_complex_clip(b, v);
            return plain(b, kMax, promoted(b, {v[1], v[0]}, false, "maximum"));
        },
        "low");
}
Array clip(const Operand& x, None, const Operand& high) {
    return jitted_call(
        "clip", {x, high},
        [](Builder& b, const Values& v) {
            refuse_complex_clip(b, v);
            return plain(b, kMin, promoted(b, {v[1], v[0]}, false, "minimum"));
        },
        "high");
}
Array astype(const Operand& x, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const AvalRef from = b.aval(v[0]);
        const auto to = static_cast<D>(type);
        if (is_complex(from->dtype) && to == D::Bool) return cl::ne(b, v[0], weak_one(b, v[0], 0));
        if (is_complex(from->dtype) && !is_complex(to))
            detail::warn("DeprecationWarning",
                         "Casting from complex to real dtypes will soon raise a ValueError. Please first use jnp.real or jnp.imag to take "
                         "the real/imaginary component of your input.",
                         x.where);
        return cl::convert_element_type(b, v[0], to);
    });
}

}  // namespace numpy

Array operator+(const Operand& x, const Operand& y) { return numpy::add(x, y); }
Array operator-(const Operand& x, const Operand& y) { return numpy::subtract(x, y); }
Array operator*(const Operand& x, const Operand& y) { return numpy::multiply(x, y); }
Array operator/(const Operand& x, const Operand& y) { return numpy::divide(x, y); }
Array operator%(const Operand& x, const Operand& y) { return numpy::remainder(x, y); }
Array operator==(const Operand& x, const Operand& y) { return numpy::equal(x, y); }
Array operator!=(const Operand& x, const Operand& y) { return numpy::not_equal(x, y); }
Array operator<(const Operand& x, const Operand& y) { return numpy::less(x, y); }
Array operator<=(const Operand& x, const Operand& y) { return numpy::less_equal(x, y); }
Array operator>(const Operand& x, const Operand& y) { return numpy::greater(x, y); }
Array operator>=(const Operand& x, const Operand& y) { return numpy::greater_equal(x, y); }
Array operator&(const Operand& x, const Operand& y) { return numpy::bitwise_and(x, y); }
Array operator|(const Operand& x, const Operand& y) { return numpy::bitwise_or(x, y); }
Array operator^(const Operand& x, const Operand& y) { return numpy::bitwise_xor(x, y); }
Array operator-(const Operand& x) { return numpy::negative(x); }
Array operator~(const Operand& x) { return numpy::invert(x); }

}  // namespace jaxscope::jax
