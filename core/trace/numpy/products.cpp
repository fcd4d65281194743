// SPDX-License-Identifier: Apache-2.0
// jax.numpy's products, jax.numpy.fft and jax.nn.
#include <fmt/core.h>

#include <cmath>

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
#include "trace/promote.h"
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

Values same_type(Builder& b, const Values& v) {
    Avals avals;
    for (const Value x : v) avals.push_back(b.aval(x));
    const detail::Promoted to = detail::promoted_type(avals);
    Values out;
    for (const Value x : v) out.push_back(detail::converted(b, x, to.type, to.weak));
    return out;
}
Value product(Builder& b, Value x, Value y, DotDims dims, bool preferred = true) {
    DotGeneralParams p{std::move(dims)};
    if (preferred) p.preferred_element_type = b.aval(x)->dtype;
    return b.bind1(kDotGeneral, {x, y}, make_params(p));
}
[[noreturn]] void wrong_shapes(const char* name, const Dims& x, const Dims& y) {
    throw Error(ErrorCode::TypeMismatch, fmt::format("{}: contracting dimensions don't fit: got operands of shapes {} and {}", name,
                                                     Shape(x).str(), Shape(y).str()));
}
Value matmul_of(Builder& b, Values v) {
    v = same_type(b, v);
    const Dims x = b.aval(v[0])->shape, y = b.aval(v[1])->shape;
    if (x.empty() || y.empty()) throw Error(ErrorCode::TypeMismatch, "matmul input operand must have ndim at least 1, but it has ndim 0");
    const auto rx = static_cast<std::int64_t>(x.size()), ry = static_cast<std::int64_t>(y.size());
    DotDims d;
    d.lhs_contract = {rx - 1};
    d.rhs_contract = {std::max<std::int64_t>(ry - 2, 0)};
    if (x.back() != y[static_cast<std::size_t>(d.rhs_contract[0])]) wrong_shapes("matmul", x, y);
    if (rx > 2 && ry > 2) {
        if (!std::equal(x.begin(), x.end() - 2, y.begin(), y.end() - 2))
            throw Error(ErrorCode::NoRule, "jnp::matmul with batch dimensions that broadcast isn't there: broadcast_to first");
        for (std::int64_t i = 0; i < rx - 2; ++i) d.lhs_batch.push_back(i), d.rhs_batch.push_back(i);
    } else if (ry > 2) {
        // The free dimension of the left operand belongs behind the batch of the right one.
        const Value r = product(b, v[0], v[1], d);
        if (rx == 1) return r;
        Dims order;
        for (std::int64_t i = 1; i < ry - 1; ++i) order.push_back(i);
        order.push_back(0), order.push_back(ry - 1);
        return cl::transpose(b, r, order);
    }
    return product(b, v[0], v[1], d);
}
Value dot_of(Builder& b, Values v) {
    v = same_type(b, v);
    const Dims x = b.aval(v[0])->shape, y = b.aval(v[1])->shape;
    if (x.empty() || y.empty()) return product(b, v[0], v[1], {});
    DotDims d;
    d.lhs_contract = {static_cast<std::int64_t>(x.size()) - 1};
    d.rhs_contract = {std::max<std::int64_t>(static_cast<std::int64_t>(y.size()) - 2, 0)};
    if (x.back() != y[static_cast<std::size_t>(d.rhs_contract[0])]) wrong_shapes("dot", x, y);
    return product(b, v[0], v[1], d);
}

}  // namespace

namespace numpy {

Array matmul(const Operand& x, const Operand& y) { return apply1({x, y}, matmul_of); }
Array dot(const Operand& x, const Operand& y) { return apply1({x, y}, dot_of); }
Array vdot(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        Values flat;
        for (const Value a : v) flat.push_back(cl::reshape(b, a, {b.aval(a)->size()}));
        return dot_of(b, flat);
    });
}
Array inner(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        const Values s = same_type(b, v);
        DotDims d;
        d.lhs_contract = {b.aval(s[0])->rank() - 1};
        d.rhs_contract = {b.aval(s[1])->rank() - 1};
        return product(b, s[0], s[1], d);
    });
}
Array outer(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        const Values s = same_type(b, v);
        const Value column = cl::expand_dims(b, cl::reshape(b, s[0], {b.aval(s[0])->size()}), {1});
        const Value row = cl::expand_dims(b, cl::reshape(b, s[1], {b.aval(s[1])->size()}), {0});
        return cl::mul(b, column, row);
    });
}

}  // namespace numpy

namespace lax {
Array dot(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        DotDims d;
        d.lhs_contract = {b.aval(v[0])->rank() - 1};
        d.rhs_contract = {0};
        return product(b, v[0], v[1], d, false);
    });
}
}  // namespace lax

namespace fft {

namespace {
Array transformed(const Operand& x, const char* name, FftType type, std::int64_t n) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        if (b.aval(v[0])->rank() == 0)
            throw Error(ErrorCode::TypeMismatch, "fft: expected an array of one dimension or more, found a scalar");
        const std::int64_t last = b.aval(v[0])->shape.back(), size = n ? n : type == FftType::Irfft ? 2 * (last - 1) : last;
        const std::int64_t needed = type == FftType::Irfft ? size / 2 + 1 : size;
        if (last != needed)
            throw Error(ErrorCode::BadUsage, fmt::format("{}: n={} for an axis of size {}: pad or slice the array first", name, n, last));
        return jitted(b, name, fmt::format("{} {}", static_cast<int>(type), size), v, [&](Builder& i, const Values& w) {
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
    const Value top = b.bind1(kReduceMax, {x}, make_params(ReduceParams{axes}));
    return b.bind1(kMax, {like(b, top, -INFINITY), top});
}
Value summed(Builder& b, Value x, const Dims& axes) { return cl::reduce_sum(b, x, axes); }

}  // namespace

Array sigmoid(const Operand& x) {
    return of_floats(x, [](Builder& b, Value v) { return cl::logistic(b, v); });
}
Array tanh(const Operand& x) { return numpy::tanh(x); }
Array silu(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) {
        return jitted(b, "silu", "", v, [](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            return cl::mul(i, a, cl::logistic(i, a));
        });
    });
}
Array swish(const Operand& x) { return silu(x); }
Array soft_sign(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) {
        return jitted(b, "soft_sign", "", v, [](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            return cl::div(i, a, cl::add(i, cl::abs(i, a), like(i, a, 1)));
        });
    });
}
Array leaky_relu(const Operand& x, double slope) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "leaky_relu", fmt::format("{}", slope), v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            const Value above = cl::ge(i, a, like(i, a, 0)), below = cl::mul(i, like(i, a, slope), a);
            return jitted(i, "_where", "", {above, a, below}, [](Builder& c, const Values& u) { return cl::select(c, u[0], u[1], u[2]); });
        });
    });
}
Array gelu(const Operand& x, bool approximate) {
    return of_floats(x, [&](Builder& b, Value v) {
        if (!approximate) {
            const Value half = cl::mul(b, like(b, v, 0.5), v);
            const Value scaled = cl::mul(b, cl::neg(b, v), like(b, v, std::sqrt(0.5)));
            return b.bind1(kCopy, {cl::mul(b, half, b.bind1(kErfc, {scaled}))});
        }
        const Value cubed = cl::integer_pow(b, v, 3);
        const Value inner = cl::add(b, v, cl::mul(b, like(b, v, 0.044715), cubed));
        const Value cdf = cl::add(b, like(b, v, 1), cl::tanh(b, cl::mul(b, like(b, v, std::sqrt(2 / M_PI)), inner)));
        return cl::mul(b, v, cl::mul(b, like(b, v, 0.5), cdf));
    });
}
Array softmax(const Operand& x, std::int64_t axis) {
    return of_floats(x, [&](Builder& b, Value v) {
        Dims axes;
        const Value top = last_axis(b, v, axis, axes);
        const Value shifted = cl::sub(b, v, b.bind1(kStopGradient, {cl::expand_dims(b, top, axes)}));
        const Value e = cl::exp(b, shifted);
        return cl::div(b, e, cl::expand_dims(b, summed(b, e, axes), axes));
    });
}
Array log_softmax(const Operand& x, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, "log_softmax", fmt::format("{}", axis), v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            Dims axes;
            const Value top = last_axis(i, a, axis, axes);
            const Value shifted = cl::sub(i, a, i.bind1(kStopGradient, {cl::expand_dims(i, top, axes)}));
            const Value sum = cl::expand_dims(i, summed(i, cl::exp(i, shifted), axes), axes);
            return cl::sub(i, shifted, cl::log(i, sum));
        });
    });
}
Array logsumexp(const Operand& x, const Reduction& over) {
    return of_floats(x, [&](Builder& b, Value v) {
        Dims axes;
        for (std::int64_t i = 0; i < b.aval(v)->rank() && !over.axis.given; ++i) axes.push_back(i);
        for (const std::int64_t a : over.axis.axes) axes.push_back(detail::axis_in(a, b.aval(v)->rank()));
        Value top = b.bind1(kReduceMax, {v}, make_params(ReduceParams{axes}));
        top = b.bind1(kMax, {like(b, top, -INFINITY), top});
        const Value finite = b.bind1(kIsFinite, {top});
        top = b.bind1(kStopGradient, {cl::select(b, finite, top, cl::full(b, b.aval(top), 0.0))});
        const Value e = cl::exp(b, cl::sub(b, v, cl::expand_dims(b, top, axes)));
        const Value sum = summed(b, e, axes);
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
