// SPDX-License-Identifier: Apache-2.0
// jax.lax: the functions that are one primitive each, element by element, over axes, of shapes, and products.
#include <jaxscope/lax.h>

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
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

Array abs(const Operand& x) { return plain(kAbs, {x}); }
Array sign(const Operand& x) { return plain(kSign, {x}); }
Array floor(const Operand& x) { return plain(kFloor, {x}); }
Array ceil(const Operand& x) { return plain(kCeil, {x}); }
Array is_finite(const Operand& x) { return plain(kIsFinite, {x}); }
Array bitwise_not(const Operand& x) { return plain(kNot, {x}); }
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
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank());
        return b.bind1(p, v, make_params(ArgReduceParams{{a}, static_cast<::jaxscope::DType>(type)}));
    });
}
Array cumulative(const ::jaxscope::Primitive& p, const Operand& x, std::int64_t axis, bool reverse) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return b.bind1(p, v, make_params(CumulativeParams{detail::axis_in(axis, b.aval(v[0])->rank()), reverse}));
    });
}

}  // namespace

Array reduce_min(const Operand& x, const Shape& axes) { return over_axes(kReduceMin, x, axes); }
Array reduce_prod(const Operand& x, const Shape& axes) { return over_axes(kReduceProd, x, axes); }
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
            throw Error(ErrorCode::BadUsage, "reshape new_sizes must all be positive, got " + sizes.str() + ".")
                .at({x.where.file, x.where.line, 0});
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
    return apply1({x}, [&](Builder& b, const Values& v) { return b.bind1(kRev, v, make_params(RevParams{dimensions.vector()})); });
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
                             detail::check_concatenate(b, v, dimension);
                             return Values{cl::concatenate(b, v, dimension)};
                         })
        .front();
}
Array slice(const Operand& x, const Shape& start, const Shape& limit, const Shape& strides) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        std::optional<Dims> steps;
        if (strides.size()) steps = strides.vector();
        return cl::slice(b, v[0], start.vector(), limit.vector(), steps);
    });
}
namespace {
/// With its strides, ones too, as JAX's functions of one dimension leave them.
Value sliced(Builder& b, Value x, const Dims& from, const Dims& to, const Dims& steps) {
    const Dims& shape = b.aval(x)->shape;
    if (to == shape && from == Dims(shape.size(), 0) && steps == Dims(shape.size(), 1)) return x;
    return b.bind1(kSlice, {x}, make_params(SliceParams{from, to, steps}));
}
}  // namespace

Array slice_in_dim(const Operand& x, std::int64_t start, std::int64_t limit, std::int64_t stride, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape;
        const auto a = static_cast<std::size_t>(detail::axis_in(axis, b.aval(v[0])->rank()));
        const auto inside = [&](std::int64_t i) { return i < 0 ? i + shape[a] : std::min(i, shape[a]); };
        Dims from(shape.size(), 0), to = shape, steps(shape.size(), 1);
        from[a] = inside(start), to[a] = inside(limit), steps[a] = stride;
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
        return b.bind1(kPad, w, make_params(PadParams{dims}));
    });
}

namespace {
Array dot_general_of(const Operand& x, const Operand& y, const DotDimensionNumbers& d, std::optional<::jaxscope::DType> preferred) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        DotGeneralParams p;
        p.preferred_element_type = preferred;
        p.dimension_numbers = {d.lhs_contracting.vector(), d.rhs_contracting.vector(), d.lhs_batch.vector(), d.rhs_batch.vector()};
        detail::check_dot(b, v[0], v[1], p.dimension_numbers);
        return b.bind1(kDotGeneral, v, make_params(p));
    });
}
}  // namespace
Array dot_general(const Operand& x, const Operand& y, const DotDimensionNumbers& d) { return dot_general_of(x, y, d, std::nullopt); }
Array dot_general(const Operand& x, const Operand& y, const DotDimensionNumbers& d, dtype preferred_element_type) {
    return dot_general_of(x, y, d, static_cast<::jaxscope::DType>(preferred_element_type));
}
Array batch_matmul(const Operand& x, const Operand& y) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        if (rank < 2 || b.aval(v[1])->rank() < 2)
            detail::refuse(fmt::format("Arguments to batch_matmul must be at least 2D, got {}, {}", rank, b.aval(v[1])->rank()));
        if (b.aval(v[1])->rank() != rank)
            throw Error(ErrorCode::TypeMismatch,
                        "Arguments to batch_matmul must have same ndim>=2, got " + to_text(b.aval(v[0])) + " and " + to_text(b.aval(v[1])));
        DotGeneralParams p;
        p.dimension_numbers.lhs_contract = {rank - 1};
        p.dimension_numbers.rhs_contract = {rank - 2};
        for (std::int64_t i = 0; i + 2 < rank; ++i) p.dimension_numbers.lhs_batch.push_back(i);
        p.dimension_numbers.rhs_batch = p.dimension_numbers.lhs_batch;
        detail::check_dot(b, v[0], v[1], p.dimension_numbers);
        return b.bind1(kDotGeneral, v, make_params(p));
    });
}

namespace {

/// Positions of (batch, feature, spatial...) in "NHWC"; spatial letters in the order of the kernel's.
Dims positions(const std::string& spec, char first, char second, const std::string& spatial_of, char a, char c) {
    Dims out{static_cast<std::int64_t>(spec.find(first)), static_cast<std::int64_t>(spec.find(second))};
    for (const char letter : spatial_of)
        if (letter != a && letter != c) out.push_back(static_cast<std::int64_t>(spec.find(letter)));
    return out;
}
ConvDims conv_dims(const std::vector<std::string>& names, std::size_t rank) {
    if (names.empty()) {
        Dims all;
        for (std::size_t i = 0; i < rank; ++i) all.push_back(static_cast<std::int64_t>(i));
        return {all, all, all};
    }
    if (names.size() != 3 || std::any_of(names.begin(), names.end(), [&](const std::string& s) { return s.size() != rank; }))
        throw Error(ErrorCode::BadUsage, fmt::format("convolution dimension_numbers must be three names of {} letters", rank));
    const std::string& kernel = names[1];
    return {positions(names[0], 'N', 'C', kernel, 'O', 'I'), positions(kernel, 'O', 'I', kernel, 'O', 'I'),
            positions(names[2], 'N', 'C', kernel, 'O', 'I')};
}
PadPairs conv_padding(const ConvPadding& padding, const ConvDims& d, const Dims& lhs, const Dims& rhs, const Dims& strides,
                      const Dims& rhs_dilation) {
    PadPairs out;
    for (const auto& [low, high] : padding.pairs) out.push_back({low, high});
    if (padding.name.empty()) return out;
    for (std::size_t i = 0; i < strides.size(); ++i) {
        const std::int64_t n = lhs[static_cast<std::size_t>(d.lhs_spec[i + 2])], k = rhs[static_cast<std::size_t>(d.rhs_spec[i + 2])];
        const std::int64_t window = k == 0 ? 0 : (k - 1) * rhs_dilation[i] + 1;
        const std::int64_t results = (n + strides[i] - 1) / strides[i];
        const std::int64_t total = padding.name == "VALID" ? 0 : std::max<std::int64_t>(0, (results - 1) * strides[i] + window - n);
        if (padding.name != "SAME" && padding.name != "SAME_LOWER" && padding.name != "VALID")
            throw Error(ErrorCode::BadUsage,
                        "Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got " + padding.name + ".");
        const std::int64_t half = total / 2;
        out.push_back(padding.name == "SAME_LOWER" ? LowHigh{total - half, half} : LowHigh{half, total - half});
    }
    return out;
}

}  // namespace

Array conv_general_dilated(const Operand& lhs, const Operand& rhs, const Shape& strides, const ConvPadding& padding, const ConvOptions& o) {
    return apply1({lhs, rhs}, [&](Builder& b, const Values& v) {
        const Dims x = b.aval(v[0])->shape, k = b.aval(v[1])->shape, ones(strides.size(), 1);
        if (x.size() != strides.size() + 2 || k.size() != x.size())
            throw Error(ErrorCode::TypeMismatch, fmt::format("conv_general_dilated: expected operands of rank {}, found shapes {} and {}",
                                                             strides.size() + 2, Shape(x).str(), Shape(k).str()));
        ConvParams p;
        p.batch_group_count = o.batch_group_count;
        p.feature_group_count = o.feature_group_count;
        p.dimension_numbers = conv_dims(o.dimension_numbers, x.size());
        p.lhs_dilation = o.lhs_dilation.size() ? o.lhs_dilation.vector() : ones;
        p.rhs_dilation = o.rhs_dilation.size() ? o.rhs_dilation.vector() : ones;
        p.window_strides = strides.vector();
        p.padding = conv_padding(padding, p.dimension_numbers, x, k, p.window_strides, p.rhs_dilation);
        return b.bind1(kConvGeneralDilated, v, make_params(p));
    });
}
Array conv(const Operand& lhs, const Operand& rhs, const Shape& strides, const char* padding) {
    return conv_general_dilated(lhs, rhs, strides, padding);
}
Array conv_with_general_padding(const Operand& lhs, const Operand& rhs, const Shape& strides, const ConvPadding& padding,
                                const Shape& lhs_dilation, const Shape& rhs_dilation) {
    return conv_general_dilated(lhs, rhs, strides, padding, {.lhs_dilation = lhs_dilation, .rhs_dilation = rhs_dilation});
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
