// SPDX-License-Identifier: Apache-2.0
// Norms of an order.
#include <jaxscope/linalg.h>

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/linalg.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using detail::apply;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace linalg {

namespace {

Value reduced_along(Builder& b, const ::jaxscope::Primitive& p, Value x, std::int64_t axis) {
    if (&p == &kReduceSum) return cl::reduce_sum(b, x, {axis});
    return b.bind1(p, {x}, make_params(ReduceParams{{axis}}));
}
/// The largest, which is no less than 0 even where there is nothing.
Value largest(Builder& b, Value x, std::int64_t axis) {
    const Value top = reduced_along(b, kReduceMax, x, axis);
    return b.bind1(kMax, {cl::constant(b, top, 0), top});
}
Value vector_norm(Builder& b, Value x, const Order& ord, std::int64_t axis) {
    const double p = ord.value;
    if (std::isinf(p)) return p > 0 ? largest(b, cl::abs(b, x), axis) : reduced_along(b, kReduceMin, cl::abs(b, x), axis);
    if (p == 0) {
        const Value set = cl::convert_element_type(b, cl::ne(b, x, cl::constant(b, x, 0)), D::S32);
        return reduced_along(b, kReduceSum, cl::convert_element_type(b, set, b.aval(x)->dtype), axis);
    }
    if (p == 1) return reduced_along(b, kReduceSum, cl::abs(b, x), axis);
    if (p == 2) return cl::sqrt(b, reduced_along(b, kReduceSum, cl::mul(b, x, x), axis));
    const Value size = cl::abs(b, x);
    const Value sum = reduced_along(b, kReduceSum, b.bind1(kPow, {size, cl::constant(b, size, p)}), axis);
    return b.bind1(kPow, {sum, cl::constant(b, sum, 1 / p)});
}
Value matrix_norm(Builder& b, Value x, const Order& ord) {
    const std::string_view name = ord.name ? ord.name : "";
    if (name == "nuc" || std::abs(ord.value) == 2) {
        const Value s = jitted(b, "svd", "values", {x}, [](Builder& i, const Values& w) {
            return i.bind1(kSvd, {w[0]}, make_params(SvdParams{.compute_uv = false, .full_matrices = true}));
        });
        if (name == "nuc") return reduced_along(b, kReduceSum, s, 0);
        return ord.value > 0 ? largest(b, s, 0) : reduced_along(b, kReduceMin, s, 0);
    }
    const Value sums = reduced_along(b, kReduceSum, cl::abs(b, x), std::isinf(ord.value) ? 1 : 0);
    return ord.value > 0 ? largest(b, sums, 0) : reduced_along(b, kReduceMin, sums, 0);
}

}  // namespace

Array norm(const Operand& x, const Order& ord, const Reduction& over) {
    if (!ord.given) return norm(x, over);
    detail::refuse_mask("norm", x, over, "put zeros there: jnp::where(mask, x, 0.)");
    const std::string_view name = ord.name ? ord.name : "";
    const auto refuse = [&](const std::string& text) { return Error(ErrorCode::BadUsage, text).at({x.where.file, x.where.line, 0}); };
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        const std::size_t axes = over.axis.given ? over.axis.axes.size() : static_cast<std::size_t>(rank);
        if (axes == 1 && ord.name) throw refuse(fmt::format("Invalid order '{}' for vector norm.", name));
        const bool known = name == "fro" || name == "nuc" ||
                           (!ord.name && (std::abs(ord.value) == 1 || std::abs(ord.value) == 2 || std::isinf(ord.value)));
        if (axes == 2 && !known)
            throw refuse(ord.name ? fmt::format("Invalid order '{}' for matrix norm.", name)
                                  : fmt::format("Invalid order '{}' for matrix norm.", ord.value));
        if (axes != 1 && (axes != 2 || rank != 2)) throw refuse("Improper number of axes for norm: a matrix, or one axis");
        const std::int64_t axis = axes == 1 && over.axis.given ? detail::axis_in(over.axis.axes.front(), rank) : 0;
        const std::string key = fmt::format("{} {} {} {} {}", name, ord.value, axes, axis, over.keepdims);
        return jitted(b, "norm", key, v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            if (name == "fro") {
                const Value sum = cl::reduce_sum(i, cl::mul(i, a, a), {0, 1});
                return cl::sqrt(i, over.keepdims ? cl::expand_dims(i, sum, {0, 1}) : sum);
            }
            const Value out = axes == 1 ? vector_norm(i, a, ord, axis) : matrix_norm(i, a, ord);
            return over.keepdims ? cl::expand_dims(i, out, axes == 1 ? Dims{axis} : Dims{0, 1}) : out;
        });
    });
}

}  // namespace linalg

}  // namespace jaxscope::jax::numpy
