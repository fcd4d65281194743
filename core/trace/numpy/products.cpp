// SPDX-License-Identifier: Apache-2.0
// jax.numpy's products, jax.numpy.fft and jax.nn.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <jaxscope/fft.h>
#include <jaxscope/lax.h>
#include <jaxscope/nn.h>

#include "base/error.h"
#include "calls/custom_rules.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/linalg.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::promoted;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

/// JAX leaves the operands as they are; `preferred`: the product has the type that they promote to.
Value product(Builder& b, Value x, Value y, DotDims dims, bool preferred = true) {
    detail::check_dot(b, x, y, dims);
    DotGeneralParams p{std::move(dims)};
    if (!preferred) return b.bind1(kDotGeneral, {x, y}, make_params(p));
    const detail::Promoted to = detail::promoted_type({b.aval(x), b.aval(y)});
    p.preferred_element_type = to.type;
    return cl::convert_element_type(b, b.bind1(kDotGeneral, {x, y}, make_params(p)), to.type, to.weak);
}

/// How matmul goes through the batch dimensions of both operands: those that only one has, or where the other one has size one, are free
/// dimensions of the product, which a transposition puts in their places.
struct Batches {
    Dims lhs_squeezed, rhs_squeezed, both_squeezed;
    Dims lhs_batch, rhs_batch;
    Dims common, lhs_free, rhs_free;  ///< places in the result, in the order in which the product has them

    Batches(const Dims& x, const Dims& y, const std::function<void()>& refuse) {
        const std::size_t nx = x.size() > 1 ? x.size() - 2 : 0, ny = y.size() > 1 ? y.size() - 2 : 0, n = std::max(nx, ny);
        const auto before = [&](const Dims& free, const Dims& squeezed) {
            return static_cast<std::int64_t>(common.size() + free.size() + squeezed.size());
        };
        for (std::size_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const bool in_x = i + nx >= n, in_y = i + ny >= n;
            const std::int64_t sx = in_x ? x[i + nx - n] : 0, sy = in_y ? y[i + ny - n] : 0;
            if (in_x && in_y && sx != sy && sx != 1 && sy != 1) refuse();
            const bool drop_x = in_x && in_y && sx == 1, drop_y = in_x && in_y && sy == 1;
            const std::int64_t place_x = before(lhs_free, lhs_squeezed), place_y = before(rhs_free, rhs_squeezed);
            if (drop_x && drop_y) both_squeezed.push_back(at);
            if (!in_x || (drop_x && !drop_y)) rhs_free.push_back(at);
            if (!in_y || (drop_y && !drop_x)) lhs_free.push_back(at);
            if (drop_x) lhs_squeezed.push_back(place_x);
            if (drop_y) rhs_squeezed.push_back(place_y);
            if (in_x && in_y && !drop_x && !drop_y) {
                lhs_batch.push_back(place_x - static_cast<std::int64_t>(lhs_squeezed.size()));
                rhs_batch.push_back(place_y - static_cast<std::int64_t>(rhs_squeezed.size()));
                common.push_back(at);
            }
        }
        if (x.size() > 1) lhs_free.push_back(static_cast<std::int64_t>(n));
        if (y.size() > 1) rhs_free.push_back(static_cast<std::int64_t>(n) + (x.size() > 1));
    }
    /// Where each dimension of the result comes from.
    Dims order() const {
        Dims at = common;
        at.insert(at.end(), lhs_free.begin(), lhs_free.end());
        at.insert(at.end(), rhs_free.begin(), rhs_free.end());
        Dims out(at.size());
        std::iota(out.begin(), out.end(), 0);
        std::sort(out.begin(), out.end(),
                  [&](std::int64_t p, std::int64_t q) { return at[static_cast<std::size_t>(p)] < at[static_cast<std::size_t>(q)]; });
        return out;
    }
};
Value matmul_of(Builder& b, const Values& v) {
    for (std::size_t i = 0; i < 2; ++i)
        if (b.aval(v[i])->rank() == 0)
            throw Error(ErrorCode::TypeMismatch, fmt::format("matmul input operand {} must have ndim at least 1, but it has ndim 0", i));
    const Batches n(b.aval(v[0])->shape, b.aval(v[1])->shape, [&] {
        throw Error(ErrorCode::TypeMismatch, "Incompatible types for matmul arguments: " + detail::long_aval(b.aval(v[0])) + " and " +
                                                 detail::long_aval(b.aval(v[1])));
    });
    const bool matrix = b.aval(v[1])->rank() > 1;
    const detail::Promoted to = detail::promoted_type({b.aval(v[0]), b.aval(v[1])});
    const Value x = cl::squeeze(b, v[0], n.lhs_squeezed), y = cl::squeeze(b, v[1], n.rhs_squeezed);
    DotGeneralParams p;
    p.dimension_numbers = {{b.aval(x)->rank() - 1}, {b.aval(y)->rank() - 1 - matrix}, n.lhs_batch, n.rhs_batch};
    p.preferred_element_type = to.type;
    detail::check_dot(b, x, y, p.dimension_numbers);
    Value out = cl::transpose(b, b.bind1(kDotGeneral, {x, y}, make_params(p)), n.order());
    if (!n.both_squeezed.empty()) out = cl::expand_dims(b, out, n.both_squeezed);
    return cl::convert_element_type(b, out, to.type, to.weak);
}
Value dot_of(Builder& b, const Values& v) {
    const Dims x = b.aval(v[0])->shape, y = b.aval(v[1])->shape;
    if (x.empty() || y.empty()) return product(b, v[0], v[1], {});
    DotDims d;
    d.lhs_contract = {static_cast<std::int64_t>(x.size()) - 1};
    d.rhs_contract = {std::max<std::int64_t>(static_cast<std::int64_t>(y.size()) - 2, 0)};
    return product(b, v[0], v[1], d);
}

}  // namespace

namespace numpy {

Array matmul(const Operand& x, const Operand& y) { return apply1({x, y}, matmul_of); }
Array dot(const Operand& x, const Operand& y) { return apply1({x, y}, dot_of); }
Array vdot(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        Values flat = v;
        if (is_complex(b.aval(v[0])->dtype)) flat[0] = cl::conj(b, v[0]);
        for (Value& a : flat) a = cl::reshape(b, a, {b.aval(a)->size()});
        return dot_of(b, flat);
    });
}
Array inner(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        if (b.aval(v[0])->rank() == 0 || b.aval(v[1])->rank() == 0) {
            const Values s = promoted(b, v);
            return cl::mul(b, s[0], s[1]);
        }
        DotDims d;
        d.lhs_contract = {b.aval(v[0])->rank() - 1};
        d.rhs_contract = {b.aval(v[1])->rank() - 1};
        return product(b, v[0], v[1], d);
    });
}
Array outer(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        const Values s = detail::of_one_type(b, v);
        const Value column = cl::expand_dims(b, cl::reshape(b, s[0], {b.aval(s[0])->size()}), {1});
        const Value row = cl::expand_dims(b, cl::reshape(b, s[1], {b.aval(s[1])->size()}), {0});
        return b.aval(column)->dtype == D::Bool ? b.bind1(kAnd, {column, row}) : cl::mul(b, column, row);
    });
}

}  // namespace numpy

namespace lax {
Array dot(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        const Dims l = b.aval(v[0])->shape, r = b.aval(v[1])->shape;
        if (l.empty() || r.empty() || l.size() > 2 || r.size() > 2 || l.back() != r.front())
            throw Error(ErrorCode::TypeMismatch,
                        "jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched matrix-matrix, "
                        "matrix-vector, or vector-vector products; got lhs_shape=" +
                            Shape(l).str() + " rhs_shape=" + Shape(r).str());
        DotDims d;
        d.lhs_contract = {b.aval(v[0])->rank() - 1};
        d.rhs_contract = {0};
        return product(b, v[0], v[1], d, false);
    });
}
}  // namespace lax

namespace fft {

namespace {
/// The last axis cut, or filled with zeros; JAX asks for the padding where none is needed, too.
Value of_length(Builder& b, Value x, std::int64_t length) {
    Dims limit = b.aval(x)->shape;
    const std::int64_t missing = std::max<std::int64_t>(length - limit.back(), 0);
    limit.back() = std::min(limit.back(), length);
    if (limit != b.aval(x)->shape) x = cl::slice(b, x, Dims(limit.size(), 0), limit);
    return jitted(b, "_pad", fmt::format("fft {}", missing), {x, detail::literal_of(Operand(0))}, [&](Builder& i, const Values& w) {
        PadConfig widths(limit.size(), PadDim{0, 0, 0});
        widths.back().high = missing;
        return i.bind1(kPad, {w[0], cl::convert_element_type(i, w[1], i.aval(w[0])->dtype)}, make_params(PadParams{widths}));
    });
}
Array transformed(const Operand& x, const char* name, FftType type, std::int64_t n) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        if (b.aval(v[0])->rank() == 0)
            throw Error(ErrorCode::TypeMismatch, "fft: expected an array of one dimension or more, found a scalar");
        const std::int64_t last = b.aval(v[0])->shape.back(), size = n ? n : type == FftType::Irfft ? 2 * (last - 1) : last;
        const std::int64_t needed = type == FftType::Irfft ? size / 2 + 1 : size;
        if (n < 0) detail::refuse(fmt::format("Invalid number of FFT data points ({}) specified", n));
        const Values whole{n ? of_length(b, v[0], needed) : v[0]};
        return jitted(b, name, fmt::format("{} {}", static_cast<int>(type), size), whole, [&](Builder& i, const Values& w) {
            const bool complex = is_complex(i.aval(w[0])->dtype);
            const Value in = type == FftType::Rfft ? (is_inexact(i.aval(w[0])->dtype) ? w[0] : cl::convert_element_type(i, w[0], D::F32))
                             : complex             ? w[0]
                                                   : cl::convert_element_type(i, w[0], D::C64);
            return i.bind1(kFft, {in}, make_params(FftParams{{size}, type}));
        });
    });
}
}  // namespace
Array fft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Fft, n); }
Array ifft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Ifft, n); }
Array rfft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Rfft, n); }
Array irfft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Irfft, n); }

}  // namespace fft

namespace nn {

namespace {

template <class F>
Array of_floats(const Operand& x, F f) {
    return apply1({x}, [&](Builder& b, const Values& v) { return f(b, detail::inexact_operand(b, v[0])); });
}
Value like(Builder& b, Value x, double v) { return cl::constant(b, x, v); }
Value last_axis(Builder& b, Value x, std::int64_t axis, Dims& axes) {
    axes = {detail::axis_in(axis, b.aval(x)->rank())};
    const Value top = b.bind1(kReduceMax, {detail::strong_operand(b, x)}, make_params(ReduceParams{axes}));
    return b.bind1(kMax, {detail::neutral_of(b.aval(top)->dtype, -INFINITY), top});
}
/// What the largest number is taken off of: it is plain, so the result is.
Value less_top(Builder& b, Value x, Value top, const Dims& axes) {
    const Values p = promoted(b, {x, b.bind1(kStopGradient, {cl::expand_dims(b, top, axes)})});
    return cl::sub(b, p[0], p[1]);
}
Value times(Builder& b, Value x, Value y) {
    const Values p = promoted(b, {x, y});
    return cl::mul(b, p[0], p[1]);
}

}  // namespace

Array sigmoid(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) { return cl::logistic(b, v[0]); });
}
Array tanh(const Operand& x) { return numpy::tanh(x); }
Array silu(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) {
        return jitted(b, "silu", "", v, [](Builder& i, const Values& w) { return cl::mul(i, w[0], cl::logistic(i, w[0])); });
    });
}
Array swish(const Operand& x) { return silu(x); }
Array leaky_relu(const Operand& x, double slope) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "leaky_relu", fmt::format("{}", slope), v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            const Value above = cl::ge(i, a, like(i, a, 0)), below = cl::mul(i, detail::number_beside(i, a, slope), a);
            return jitted(i, "_where", "", {above, a, below}, [](Builder& c, const Values& u) { return cl::select(c, u[0], u[1], u[2]); });
        });
    });
}
Array gelu(const Operand& x, bool approximate) {
    return of_floats(x, [&](Builder& b, Value v) {
        if (!approximate) {
            const Value half = cl::mul(b, like(b, v, 0.5), v);
            const Value scaled = times(b, cl::neg(b, v), like(b, v, std::sqrt(0.5)));
            return b.bind1(kCopy, {times(b, half, b.bind1(kErfc, {scaled}))});
        }
        const Value cubed = cl::integer_pow(b, v, 3);
        const Value inner = cl::add(b, v, cl::mul(b, detail::number_beside(b, cubed, 0.044715), cubed));
        const Value cdf = cl::add(b, like(b, v, 1), cl::tanh(b, times(b, like(b, v, std::sqrt(2 / M_PI)), inner)));
        return times(b, v, cl::mul(b, like(b, v, 0.5), cdf));
    });
}
Array softmax(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims axes;
        const Value top = last_axis(b, v[0], axis, axes);
        const Value shifted = less_top(b, v[0], top, axes);
        const Value e = cl::exp(b, detail::inexact_operand(b, shifted));
        return cl::div(b, e, detail::summed_over(b, e, axes, true));
    });
}
Array log_softmax(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "log_softmax", fmt::format("{}", axis), v, [&](Builder& i, const Values& w) {
            Dims axes;
            const Value top = last_axis(i, w[0], axis, axes);
            const Value shifted = less_top(i, w[0], top, axes);
            const Value e = cl::exp(i, detail::inexact_operand(i, shifted));
            const Value logs = cl::log(i, detail::summed_over(i, e, axes, true));
            return cl::sub(i, detail::inexact_operand(i, shifted), logs);
        });
    });
}
Array logsumexp(const Operand& x, const Reduction& over) {
    detail::refuse_mask("logsumexp", x, over, "put the least number there: jnp::where(mask, x, -jnp::inf)");
    return of_floats(x, [&](Builder& b, Value v) {
        Dims axes;
        for (std::int64_t i = 0; i < b.aval(v)->rank() && !over.axis.given; ++i) axes.push_back(i);
        for (const std::int64_t a : over.axis.axes) axes.push_back(detail::axis_in(a, b.aval(v)->rank()));
        Value top = b.bind1(kReduceMax, {detail::strong_operand(b, v)}, make_params(ReduceParams{axes}));
        top = b.bind1(kMax, {like(b, top, -INFINITY), top});
        const Value finite = b.bind1(kIsFinite, {top});
        top = b.bind1(kStopGradient, {cl::select(b, finite, top, cl::full(b, b.aval(top), 0.0))});
        const Value e = cl::exp(b, cl::sub(b, v, cl::expand_dims(b, top, axes)));
        const Value sum = detail::summed_over(b, e, axes);
        cl::sign(b, sum);
        const Value out = cl::add(b, cl::log(b, cl::abs(b, sum)), top);
        return over.keepdims ? cl::expand_dims(b, out, axes) : out;
    });
}
Array one_hot(const Operand& x, std::int64_t n, dtype type) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "_one_hot", fmt::format("{} {}", n, static_cast<int>(type)), v, [&](Builder& i, const Values& w) {
            const std::int64_t rank = i.aval(w[0])->rank();
            Dims shape(static_cast<std::size_t>(rank), 1);
            shape.push_back(n);
            const Value column = cl::expand_dims(i, w[0], {rank});
            const Value classes = i.bind1(kIota, {}, make_params(IotaParams{i.aval(w[0])->dtype, shape, rank}));
            return cl::convert_element_type(i, cl::eq(i, column, classes), static_cast<D>(type));
        });
    });
}

}  // namespace nn
}  // namespace jaxscope::jax
