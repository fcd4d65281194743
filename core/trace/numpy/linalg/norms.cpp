// SPDX-License-Identifier: Apache-2.0
// Norms of an order.
#include <jaxscope/linalg.h>

#include <fmt/core.h>

#include <algorithm>
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
Value squared_size(Builder& b, Value x) {
    return is_complex(b.aval(x)->dtype) ? cl::real(b, cl::mul(b, x, cl::conj(b, x))) : cl::mul(b, x, x);
}
Value vector_norm(Builder& b, Value x, const Order& ord, std::int64_t axis) {
    const double p = ord.value;
    if (std::isinf(p)) return p > 0 ? largest(b, cl::abs(b, x), axis) : reduced_along(b, kReduceMin, cl::abs(b, x), axis);
    if (p == 0) {
        const Value set = cl::convert_element_type(b, cl::ne(b, x, cl::constant(b, x, 0)), D::S32);
        return reduced_along(b, kReduceSum, cl::convert_element_type(b, set, b.aval(x)->dtype), axis);
    }
    if (p == 1) return reduced_along(b, kReduceSum, cl::abs(b, x), axis);
    if (p == 2) return cl::sqrt(b, reduced_along(b, kReduceSum, squared_size(b, x), axis));
    const Value size = cl::abs(b, x);
    const Value sum = reduced_along(b, kReduceSum, b.bind1(kPow, {size, cl::constant(b, size, p)}), axis);
    return b.bind1(kPow, {sum, cl::constant(b, sum, 1 / p)});
}
/// Of the matrices along `rows` and `columns`.
Value matrix_norm(Builder& b, Value x, const Order& ord, std::int64_t rows, std::int64_t columns) {
    const std::string_view name = ord.name ? ord.name : "";
    if (name == "nuc" || std::abs(ord.value) == 2) {
        Dims order;
        const std::int64_t rank = b.aval(x)->rank();
        for (std::int64_t d = 0; d < rank; ++d)
            if (d != rows && d != columns) order.push_back(d);
        order.insert(order.end(), {rows, columns});
        if (!std::is_sorted(order.begin(), order.end())) x = cl::transpose(b, x, order);
        const Value s = jitted(b, "svd", "values", {x}, [](Builder& i, const Values& w) {
            return i.bind1(kSvd, {w[0]}, make_params(SvdParams{.compute_uv = false, .full_matrices = true}));
        });
        if (name == "nuc") return reduced_along(b, kReduceSum, s, rank - 2);
        return ord.value > 0 ? largest(b, s, rank - 2) : reduced_along(b, kReduceMin, s, rank - 2);
    }
    const bool by_rows = std::isinf(ord.value);
    const std::int64_t first = by_rows ? columns : rows, second = by_rows ? rows : columns;
    const Value sums = reduced_along(b, kReduceSum, cl::abs(b, x), first);
    const std::int64_t left = second > first ? second - 1 : second;
    return ord.value > 0 ? largest(b, sums, left) : reduced_along(b, kReduceMin, sums, left);
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
        Dims along;
        for (std::size_t k = 0; k < axes; ++k)
            along.push_back(over.axis.given ? detail::axis_in(over.axis.axes[k], rank) : static_cast<std::int64_t>(k));
        if (axes != 1 && axes != 2)
            throw refuse(
                fmt::format("Improper number of axes for norm: axis={}. Pass one axis to compute a vector-norm, or two axes to compute a "
                            "matrix-norm.",
                            Shape(along).str()));
        if (axes == 2) detail::check_distinct_axes(along, "axis");
        const std::string key = fmt::format("{} {} {} {}", name, ord.value, Shape(along).str(), over.keepdims);
        Dims sorted = along;
        std::sort(sorted.begin(), sorted.end());
        return jitted(b, "norm", key, v, [&](Builder& i, const Values& w) {
            const Value a = detail::inexact_operand(i, w[0]);
            if (name == "fro") {
                const Value sum = cl::reduce_sum(i, squared_size(i, a), sorted);
                return cl::sqrt(i, over.keepdims ? cl::expand_dims(i, sum, sorted) : sum);
            }
            const Value out = axes == 1 ? vector_norm(i, a, ord, along[0]) : matrix_norm(i, a, ord, along[0], along[1]);
            return over.keepdims ? cl::expand_dims(i, out, sorted) : out;
        });
    });
}

}  // namespace linalg

}  // namespace jaxscope::jax::numpy
