// SPDX-License-Identifier: Apache-2.0
// jax.lax: the functions that are one primitive each, element by element, over axes, of shapes.
#include <jaxscope/lax.h>

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::lax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;

namespace {

Array plain(const ::jaxscope::Primitive& p, std::initializer_list<Operand> in) {
    return apply1(in, [&](Builder& b, const Values& v) { return b.bind1(p, detail::alike(b, v)); });
}
Array accurate(const ::jaxscope::Primitive& p, const Operand& x) {
    return apply1({x}, [&](Builder& b, const Values& v) { return b.bind1(p, v, make_params(AccuracyParams{})); });
}

}  // namespace

Array add(const Operand& x, const Operand& y) { return plain(kAdd, {x, y}); }
Array sub(const Operand& x, const Operand& y) { return plain(kSub, {x, y}); }
Array mul(const Operand& x, const Operand& y) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const Values p = detail::alike(b, v);
        return cl::mul(b, p[0], p[1]);
    });
}
Array div(const Operand& x, const Operand& y) { return plain(kDiv, {x, y}); }
Array rem(const Operand& x, const Operand& y) { return plain(kRem, {x, y}); }
Array pow(const Operand& x, const Operand& y) { return plain(kPow, {x, y}); }
Array max(const Operand& x, const Operand& y) { return plain(kMax, {x, y}); }
Array min(const Operand& x, const Operand& y) { return plain(kMin, {x, y}); }
Array neg(const Operand& x) { return plain(kNeg, {x}); }
Array exp(const Operand& x) { return accurate(kExp, x); }
Array log(const Operand& x) { return accurate(kLog, x); }
Array sin(const Operand& x) { return accurate(kSin, x); }
Array cos(const Operand& x) { return accurate(kCos, x); }
Array tanh(const Operand& x) { return accurate(kTanh, x); }
Array logistic(const Operand& x) { return accurate(kLogistic, x); }
Array rsqrt(const Operand& x) { return accurate(kRsqrt, x); }
Array sqrt(const Operand& x) { return accurate(kSqrt, x); }
Array erf(const Operand& x) { return plain(kErf, {x}); }
Array erfc(const Operand& x) { return plain(kErfc, {x}); }
Array erf_inv(const Operand& x) { return plain(kErfInv, {x}); }
Array lgamma(const Operand& x) { return plain(kLgamma, {x}); }
Array digamma(const Operand& x) { return plain(kDigamma, {x}); }
Array square(const Operand& x) { return plain(kSquare, {x}); }
Array integer_pow(const Operand& x, std::int64_t y) {
    return apply1({x}, [&](Builder& b, const Values& v) { return cl::integer_pow(b, v[0], y); });
}
Array stop_gradient(const Operand& x) { return plain(kStopGradient, {x}); }
Array select(const Operand& pred, const Operand& t, const Operand& f) {
    return apply1({pred, t, f}, [&](Builder& b, const Values& v) {
        detail::check_select(b, {v[0], v[2], v[1]});
        return cl::select(b, v[0], v[1], v[2]);
    });
}
Array clamp(const Operand& low, const Operand& x, const Operand& high) {
    return apply1({low, x, high}, [&](Builder& b, const Values& v) {
        const Values p = detail::alike(b, v);
        detail::check_clamp(b, p);
        return b.bind1(kClamp, p);
    });
}
Array convert_element_type(const Operand& x, dtype type) { return numpy::astype(x, type); }
Array bitcast_convert_type(const Operand& x, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return b.bind1(kBitcastConvertType, {v[0]}, make_params(BitcastParams{static_cast<::jaxscope::DType>(type)}));
    });
}
Array abs(const Operand& x) { return plain(kAbs, {x}); }
Array sign(const Operand& x) { return plain(kSign, {x}); }
Array floor(const Operand& x) { return plain(kFloor, {x}); }
Array ceil(const Operand& x) { return plain(kCeil, {x}); }
Array is_finite(const Operand& x) { return plain(kIsFinite, {x}); }
Array bitwise_not(const Operand& x) { return plain(kNot, {x}); }
Array population_count(const Operand& x) { return plain(kPopulationCount, {x}); }
Array clz(const Operand& x) { return plain(kClz, {x}); }
Array mulhi(const Operand& x, const Operand& y) { return plain(kMulHi, {x, y}); }
Array asin(const Operand& x) { return plain(kAsin, {x}); }
Array acos(const Operand& x) { return plain(kAcos, {x}); }
Array atan(const Operand& x) { return plain(kAtan, {x}); }
Array sinh(const Operand& x) { return plain(kSinh, {x}); }
Array cosh(const Operand& x) { return plain(kCosh, {x}); }
Array asinh(const Operand& x) { return plain(kAsinh, {x}); }
Array acosh(const Operand& x) { return plain(kAcosh, {x}); }
Array atanh(const Operand& x) { return plain(kAtanh, {x}); }
Array bessel_i0e(const Operand& x) { return plain(kBesselI0e, {x}); }
Array bessel_i1e(const Operand& x) { return plain(kBesselI1e, {x}); }
Array log1p(const Operand& x) { return accurate(kLog1p, x); }
Array expm1(const Operand& x) { return accurate(kExpm1, x); }
Array exp2(const Operand& x) { return accurate(kExp2, x); }
Array tan(const Operand& x) { return accurate(kTan, x); }
Array cbrt(const Operand& x) { return accurate(kCbrt, x); }
Array eq(const Operand& x, const Operand& y) { return plain(kEq, {x, y}); }
Array ne(const Operand& x, const Operand& y) { return plain(kNe, {x, y}); }
Array lt(const Operand& x, const Operand& y) { return plain(kLt, {x, y}); }
Array le(const Operand& x, const Operand& y) { return plain(kLe, {x, y}); }
Array gt(const Operand& x, const Operand& y) { return plain(kGt, {x, y}); }
Array ge(const Operand& x, const Operand& y) { return plain(kGe, {x, y}); }
Array atan2(const Operand& x, const Operand& y) { return plain(kAtan2, {x, y}); }
Array nextafter(const Operand& x, const Operand& y) { return plain(kNextAfter, {x, y}); }
Array bitwise_and(const Operand& x, const Operand& y) { return plain(kAnd, {x, y}); }
Array bitwise_or(const Operand& x, const Operand& y) { return plain(kOr, {x, y}); }
Array bitwise_xor(const Operand& x, const Operand& y) { return plain(kXor, {x, y}); }
Array shift_left(const Operand& x, const Operand& y) { return plain(kShiftLeft, {x, y}); }
Array shift_right_logical(const Operand& x, const Operand& y) { return plain(kShiftRightLogical, {x, y}); }
Array shift_right_arithmetic(const Operand& x, const Operand& y) { return plain(kShiftRightArithmetic, {x, y}); }
Array igamma(const Operand& a, const Operand& x) { return plain(kIgamma, {a, x}); }
Array igammac(const Operand& a, const Operand& x) { return plain(kIgammac, {a, x}); }
Array betainc(const Operand& a, const Operand& b, const Operand& x) { return plain(kBetainc, {a, b, x}); }
Array zeta(const Operand& x, const Operand& q) { return plain(kZeta, {x, q}); }
Array polygamma(const Operand& x, const Operand& y) { return plain(kPolygamma, {x, y}); }
Array round(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) {
        return b.bind1(kRound, v, make_params(RoundParams{Attr(Attr::Enum{"RoundingMethod", "AWAY_FROM_ZERO"})}));
    });
}
Array real(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return cl::real(b, v[0]); });
}
Array imag(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return cl::imag(b, v[0]); });
}
Array conj(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return cl::conj(b, v[0]); });
}
Array complex(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) { return cl::complex(b, v[0], v[1]); });
}
Array reciprocal(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return cl::integer_pow(b, v[0], -1); });
}

namespace {

Array over_axes(const ::jaxscope::Primitive& p, const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) { return b.bind1(p, v, make_params(ReduceParams{axes.vector()})); });
}
Array argument(const ::jaxscope::Primitive& p, const Operand& x, std::int64_t axis, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const ::jaxscope::Dims& shape = b.aval(v[0])->shape;
        const auto rank = static_cast<std::int64_t>(shape.size());
        if (axis >= rank) detail::refuse(fmt::format("Invalid axis {} for operand shape {}", axis, Shape(shape).str()));
        const std::int64_t a = detail::axis_in(axis, rank);
        if (!is_integer(static_cast<::jaxscope::DType>(type)))
            detail::refuse(std::string("index_dtype must be an integer type, but got ") + info(static_cast<::jaxscope::DType>(type)).name);
        detail::refuse_without_order(&p == &kArgMax ? "gt" : "lt", b.aval(v[0])->dtype);
        if (shape[static_cast<std::size_t>(a)] == 0)
            detail::refuse(
                fmt::format("argmin and argmax require non-empty reduced dimension. operand.shape={} axis={}", Shape(shape).str(), a));
        return b.bind1(p, v, make_params(ArgReduceParams{{a}, static_cast<::jaxscope::DType>(type)}));
    });
}
Array cumulative(const ::jaxscope::Primitive& p, const Operand& x, std::int64_t axis, bool reverse) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims& shape = b.aval(v[0])->shape;
        if (axis < 0) detail::refuse("XLA operations do not allow negative axes");
        if (axis >= static_cast<std::int64_t>(shape.size()))
            detail::refuse(fmt::format("axis {} is out of bounds for array of shape {}", axis, Shape(shape).str()));
        return b.bind1(p, v, make_params(CumulativeParams{axis, reverse}));
    });
}

}  // namespace

Array reduce_min(const Operand& x, const Shape& axes) { return over_axes(kReduceMin, x, axes); }
Array reduce_prod(const Operand& x, const Shape& axes) { return over_axes(kReduceProd, x, axes); }
Array reduce_and(const Operand& x, const Shape& axes) { return over_axes(kReduceAnd, x, axes); }
Array reduce_xor(const Operand& x, const Shape& axes) { return over_axes(kReduceXor, x, axes); }
Array reduce_or(const Operand& x, const Shape& axes) { return over_axes(kReduceOr, x, axes); }
Array select_n(const Operand& which, const Arrays& cases) {
    std::vector<Operand> in{which};
    for (const Array& c : cases) in.emplace_back(c, which.where.file, which.where.line, which.where.function);
    return detail::apply(in, which.where,
                         [](Builder& b, const Values& v) {
                             if (v.size() < 2) detail::refuse("select_n() must have at least one case");
                             detail::check_select(b, v);
                             return Values{cl::select_n(b, v[0], Values(v.begin() + 1, v.end()))};
                         })
        .front();
}
Array collapse(const Operand& x, std::int64_t start, std::int64_t stop) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims& shape = b.aval(v[0])->shape;
        const auto rank = static_cast<std::int64_t>(shape.size());
        const std::int64_t from = start < 0 ? start + rank : std::min(start, rank), to = stop < 0 ? stop + rank : std::min(stop, rank);
        if (from < 0 || from > to)
            detail::refuse(fmt::format("Invalid dimension range passed to collapse: {}[{}:{}]", Shape(shape).str(), start, stop));
        Dims sizes(shape.begin(), shape.begin() + from);
        sizes.push_back(1);
        for (std::int64_t d = from; d < to; ++d) sizes.back() *= shape[static_cast<std::size_t>(d)];
        sizes.insert(sizes.end(), shape.begin() + to, shape.end());
        return cl::reshape(b, v[0], sizes);
    });
}
Array collapse(const Operand& x, std::int64_t start) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims& shape = b.aval(v[0])->shape;
        const std::int64_t from = detail::axis_in(start, static_cast<std::int64_t>(shape.size()));
        Dims sizes(shape.begin(), shape.begin() + from);
        sizes.push_back(-1);
        return cl::reshape(b, v[0], detail::reshaped(shape, sizes));
    });
}
Array argmax(const Operand& x, std::int64_t axis, dtype type) { return argument(kArgMax, x, axis, type); }
Array argmin(const Operand& x, std::int64_t axis, dtype type) { return argument(kArgMin, x, axis, type); }
Array cumsum(const Operand& x, std::int64_t axis, bool reverse) { return cumulative(kCumSum, x, axis, reverse); }
Array cumprod(const Operand& x, std::int64_t axis, bool reverse) { return cumulative(kCumProd, x, axis, reverse); }
Array cummax(const Operand& x, std::int64_t axis, bool reverse) { return cumulative(kCumMax, x, axis, reverse); }
Array cummin(const Operand& x, std::int64_t axis, bool reverse) { return cumulative(kCumMin, x, axis, reverse); }
Array cumlogsumexp(const Operand& x, std::int64_t axis, bool reverse) { return cumulative(kCumLogSumExp, x, axis, reverse); }

Array reshape(const Operand& x, const Shape& sizes) {
    for (const std::int64_t n : sizes)
        if (n < 0)
            detail::refuse_at(x.where, ErrorCode::BadUsage, "reshape new_sizes must all be positive, got " + sizes.str() + ".",
                              "jnp::reshape takes -1 for what is left, lax::reshape doesn't");
    return numpy::reshape(x, sizes);
}
Array transpose(const Operand& x, const Shape& permutation) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        detail::check_transpose(b.aval(v[0])->shape, permutation.vector());
        return cl::transpose(b, v[0], permutation.vector());
    });
}
Array squeeze(const Operand& x, const Shape& dimensions) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return cl::squeeze(b, v[0], detail::squeezed_dims(b.aval(v[0])->shape, dimensions.vector()));
    });
}
Array rev(const Operand& x, const Shape& dimensions) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        detail::check_rev(b.aval(v[0])->shape, dimensions.vector());
        return b.bind1(kRev, v, make_params(RevParams{dimensions.vector()}));
    });
}
Array broadcast(const Operand& x, const Shape& sizes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims shape = sizes.vector(), dims;
        for (const std::int64_t n : b.aval(v[0])->shape) {
            dims.push_back(static_cast<std::int64_t>(shape.size()));
            shape.push_back(n);
        }
        detail::check_nonnegative("broadcast_in_dim shape", shape);
        return cl::broadcast_in_dim(b, v[0], shape, dims);
    });
}
Array broadcast_in_dim(const Operand& x, const Shape& shape, const Shape& dims) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        detail::check_broadcast_in_dim(b.aval(v[0])->shape, shape.vector(), dims.vector());
        return cl::broadcast_in_dim(b, v[0], shape.vector(), dims.vector());
    });
}
Array concatenate(const Arrays& parts, std::int64_t dimension, Where where) {
    std::vector<Operand> in;
    for (const Array& a : parts) in.emplace_back(a, where.file, where.line, where.function);
    return detail::apply(in, where,
                         [&](Builder& b, const Values& v) {
                             if (v.size() == 1) return v;  // whatever the dimension
                             detail::check_concatenate(b, v, dimension);
                             return Values{cl::concatenate(b, v, dimension)};
                         })
        .front();
}
Array slice(const Operand& x, const Shape& start, const Shape& limit, const Shape& strides) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        std::optional<Dims> steps;
        if (strides.size()) steps = strides.vector();
        detail::check_slice(b.aval(v[0])->shape, start.vector(), limit.vector(), strides.vector());
        return b.bind1(kSlice, {v[0]}, make_params(SliceParams{start.vector(), limit.vector(), steps}));
    });
}
namespace {
/// With its strides, ones too, as JAX's functions of one dimension leave them.
Value sliced(Builder& b, Value x, const Dims& from, const Dims& to, const Dims& steps) {
    return b.bind1(kSlice, {x}, make_params(SliceParams{from, to, steps}));
}
}  // namespace

Array slice_in_dim(const Operand& x, std::int64_t start, std::int64_t limit, std::int64_t stride, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape;
        const auto a = static_cast<std::size_t>(detail::axis_in(axis, b.aval(v[0])->rank()));
        const auto from_front = [&](std::int64_t i) { return i < 0 ? i + shape[a] : i; };
        Dims from(shape.size(), 0), to = shape, steps(shape.size(), 1);
        from[a] = from_front(start), to[a] = from_front(limit), steps[a] = stride;
        detail::check_slice(shape, from, to, steps);
        return sliced(b, v[0], from, to, steps);
    });
}
Array index_in_dim(const Operand& x, std::int64_t index, std::int64_t axis, bool keepdims) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape;
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank()), n = shape[static_cast<std::size_t>(a)];
        const std::int64_t at = index < 0 ? index + n : index;
        if (at < 0 || at >= n)
            throw Error(ErrorCode::BadUsage, fmt::format("index {} is out of bounds for axis {} with size {}", index, a, n));
        Dims from(shape.size(), 0), to = shape, steps(shape.size(), 1);
        from[static_cast<std::size_t>(a)] = at, to[static_cast<std::size_t>(a)] = at + 1;
        const Value one = sliced(b, v[0], from, to, steps);
        return keepdims ? one : cl::squeeze(b, one, {a});
    });
}
Array pad(const Operand& x, const Operand& value, const std::vector<Padding>& config) {
    return apply1({x, value}, [&](Builder& b, const Values& v) {
        PadConfig dims;
        for (const Padding& p : config) dims.push_back({p.low, p.high, p.interior});
        const Values w = detail::alike(b, v);
        detail::check_pad(b, w, dims);
        return b.bind1(kPad, w, make_params(PadParams{dims}));
    });
}

std::vector<Array> optimization_barrier(const std::vector<Array>& operands, Where where) {
    const std::vector<Operand> in(operands.begin(), operands.end());
    return detail::apply(in, where,
                         [](Builder& b, const Values& v) { return b.bind(kOptimizationBarrier, v, ::jaxscope::Params::make({})); });
}
Array optimization_barrier(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return b.bind1(kOptimizationBarrier, v, ::jaxscope::Params::make({})); });
}

}  // namespace jaxscope::jax::lax
