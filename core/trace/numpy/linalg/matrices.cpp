// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/linalg/matrices.h"

#include <fmt/core.h>

#include "base/error.h"
#include "calls/control_flow.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/params/placement.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using detail::apply;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace matrices {

void expect_square(const Array& a, const char* function, const Where& where) {
    if (a.ndim() < 2 || a.shape(-1) != a.shape(-2))
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("Argument to {} must have shape [..., n, n], got {}.", function, a.shape().str()),
                          "pinv and lstsq are for other shapes");
}
void expect_matrix(const Array& a, const char* function, const Where& where) {
    if (a.ndim() < 2)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("{}: expected an array of at least two dimensions, found {}", function, a.aval()),
                          "x[{jax::none}] makes a matrix of one row");
}
Dims swapped_last(std::size_t rank) {
    Dims order;
    for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    std::swap(order[rank - 1], order[rank - 2]);
    return order;
}
Value on_diagonal(Builder& b, const Dims& shape, std::int64_t offset) {
    return on_diagonal(b, shape, make_literal(AvalRef(D::S32, {}), offset));
}
Value on_diagonal(Builder& b, const Dims& shape, Value offset) {
    const Value rows = detail::iota_of(b, D::S32, shape, 0), columns = detail::iota_of(b, D::S32, shape, 1);
    return cl::eq(b, cl::add(b, rows, cl::convert_element_type(b, offset, D::S32)), columns);
}
Array triangular(const Array& a, const Array& b, bool lower, bool unit, bool transposed) {
    const TriangularSolveParams p{.left_side = true, .lower = lower, .transpose_a = transposed, .unit_diagonal = unit};
    return detail::bind_primitive(kTriangularSolve, {a, b}, make_params(p), Where("", 0, ""))[0];
}

namespace {

/// Numbers from `first` on, `n` of them.
Value counted(Builder& b, std::int64_t first, std::int64_t n) {
    const Value from_zero = detail::iota_of(b, D::S32, {n}, 0);
    return first == 0 ? from_zero : cl::add(b, make_literal(AvalRef(D::S32, {}), first), from_zero);
}
/// Positions (i, i + offset) of the last two dimensions as indices of a gather.
Value gathered_diagonal(Builder& b, Value x, std::int64_t n, std::int64_t offset = 0) {
    const Dims shape = b.aval(x)->shape;
    const std::size_t batch = shape.size() - 2;
    Values wrapped{counted(b, 0, n)};
    wrapped.push_back(counted(b, std::abs(offset), n));
    if (offset < 0) std::swap(wrapped[0], wrapped[1]);
    for (std::size_t i = 0; i < 2; ++i) {
        const Value below = cl::lt(b, wrapped[i], make_literal(AvalRef(D::S32, {}), std::int64_t{0}));
        const Value moved = cl::add(b, wrapped[i], make_literal(AvalRef(D::S32, {}), shape[batch + i]));
        wrapped[i] = cl::select(b, below, moved, wrapped[i]);
    }
    for (Value& w : wrapped) w = cl::broadcast_in_dim(b, w, {n, 1}, {0});
    GatherParams p;
    for (std::size_t d = 0; d < batch; ++d) p.dimension_numbers.offset_dims.push_back(static_cast<std::int64_t>(d));
    const auto rows = static_cast<std::int64_t>(batch);
    p.dimension_numbers.collapsed_slice_dims = {rows, rows + 1};
    p.dimension_numbers.start_index_map = {rows, rows + 1};
    p.slice_sizes = shape;
    p.slice_sizes[batch] = p.slice_sizes[batch + 1] = 1;
    return b.bind1(kGather, {x, b.bind1(kConcatenate, wrapped, make_params(ConcatenateParams{1}))}, make_params(p));
}
/// The rows' and columns' dimensions, counted from the front.
std::pair<std::int64_t, std::int64_t> chosen_axes(std::int64_t rank, const Diagonal& which) {
    return {detail::axis_in(which.axis1, rank), detail::axis_in(which.axis2, rank)};
}
/// These two dimensions as the last ones.
Value matrices_last(Builder& b, Value x, const Diagonal& which) {
    const auto [rows, columns] = chosen_axes(b.aval(x)->rank(), which);
    Dims order;
    for (std::int64_t d = 0; d < b.aval(x)->rank(); ++d)
        if (d != rows && d != columns) order.push_back(d);
    order.push_back(rows), order.push_back(columns);
    return cl::transpose(b, x, order);
}
/// JAX has a form of its own for one platform; another branch runs here.
Value diagonal_of(Builder& b, Value x, const Diagonal& which) {
    const AvalRef a = b.aval(x);
    const auto [rows, columns] = chosen_axes(a->rank(), which);
    const std::int64_t height = a->shape[static_cast<std::size_t>(rows)], width = a->shape[static_cast<std::size_t>(columns)];
    const std::int64_t n = std::max<std::int64_t>(
        0, std::min(height + std::min<std::int64_t>(which.offset, 0), width - std::max<std::int64_t>(which.offset, 0)));
    if (a->rank() > 2 || height != width || which.offset != 0 || a->dtype == D::Bool)
        return gathered_diagonal(b, matrices_last(b, x, which), n, which.offset);
    const Value mask = cl::convert_element_type(b, on_diagonal(b, a->shape), a->dtype);
    const Attr platforms = Attr::tuple({Attr::tuple({Attr(Sym("mosaic"))}), Attr()});
    const Value index = platform_index(b, platforms);
    JaxprBuilder masked, gathered;
    const Value weights = masked.add_input(b.aval(mask)), of = masked.add_input(a);
    const Value product = cl::mul(masked, weights, of);
    CondParams p;
    p.branches.push_back(masked.finish({cl::reduce_sum(masked, product, {0})}));
    gathered.add_input(b.aval(mask));
    const Value whole = gathered.add_input(a);
    p.branches.push_back(gathered.finish({gathered_diagonal(gathered, matrices_last(gathered, whole, which), n)}));
    return b.bind1(kCond, {index, mask, x},
                   ::jaxscope::Params::make({{"branches", to_attr(p.branches)}, {"branches_platforms", platforms}}));
}

}  // namespace

Array trace_of(const Operand& x, const Diagonal& which, bool with_offset) {
    // The offset is an argument of JAX's jitted function; where none was given there is none.
    const auto traced = [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        if (rank < 2) detail::refuse(fmt::format("axis {} is out of bounds for array of dimension {}", rank, rank));
        if (chosen_axes(rank, which).first == chosen_axes(rank, which).second)
            detail::refuse(fmt::format("axis1 and axis2 can not be same. axis1={} and axis2={}", which.axis1, which.axis2));
        return jitted(b, "trace", fmt::format("{} {}", which.axis1, which.axis2), v, [&](Builder& i, const Values& w) {
            const Value whole = matrices_last(i, w[0], which);
            const AvalRef a = i.aval(whole);
            const std::int64_t last = a->rank() - 1;
            const Dims shape(a->shape.end() - 2, a->shape.end());
            const Value mask = w.size() > 1 ? on_diagonal(i, shape, w[1]) : on_diagonal(i, shape);
            const Value kept = detail::where_call(i, mask, whole, cl::zeros_like(i, a));
            return detail::summed_over(i, kept, {last - 1, last});
        });
    };
    if (which.offset == 0 && !with_offset) return apply1({x}, traced);
    return apply1({x, Operand(which.offset)}, traced);
}

}  // namespace matrices

namespace {
Value diagonal_call(Builder& b, Value x, const Diagonal& which) {
    return jitted(b, "diagonal", fmt::format("{} {} {}", which.offset, which.axis1, which.axis2), {x},
                  [&](Builder& i, const Values& w) { return matrices::diagonal_of(i, w[0], which); });
}
}  // namespace
Array diagonal(const Operand& x, const Diagonal& which) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        if (b.aval(v[0])->rank() < 2) detail::refuse("diagonal requires an array of at least two dimensions.");
        return diagonal_call(b, v[0], which);
    });
}
Array diag(const Operand& x, std::int64_t k) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        if (rank != 1 && rank != 2) detail::refuse("diag input must be 1d or 2d");
        return jitted(b, "_diag", fmt::format("{}", k), v, [&](Builder& i, const Values& w) {
            if (rank == 2) return diagonal_call(i, w[0], {.offset = k});
            const AvalRef a = i.aval(w[0]);
            const std::int64_t n = a->shape[0] + std::abs(k);
            const Value zero = detail::number_of(a->dtype, 0);
            const PadDim around{std::max<std::int64_t>(0, -k), std::max<std::int64_t>(0, k), 0};
            const Value padded = i.bind1(kPad, {w[0], zero}, make_params(PadParams{{around}}));
            const Value mask = matrices::on_diagonal(i, {n, n}, k);
            return detail::where_call(i, mask, cl::broadcast_in_dim(i, padded, {n, 1}, {0}), zero);
        });
    });
}
Array trace(const Operand& x, const Diagonal& which) { return matrices::trace_of(x, which); }

}  // namespace jaxscope::jax::numpy
