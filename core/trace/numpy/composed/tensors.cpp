// SPDX-License-Identifier: Apache-2.0
// jax.numpy: products of rows, grids, arrays put side by side.
#include <fmt/core.h>

#include <jaxscope/lax.h>
#include <jaxscope/scipy.h>
#include <jaxscope/vectorize.h>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

std::vector<Operand> operands_of(const Arrays& arrays, const Where& where) {
    std::vector<Operand> in;
    for (const Array& a : arrays) in.emplace_back(a, where.file, where.line, where.function);
    return in;
}
/// Every second dimension of size one: those before (`first` is 0) or behind an array's own.
Array spread(const Array& x, std::int64_t first) {
    std::vector<std::int64_t> at;
    for (std::int64_t d = 0; d < x.ndim(); ++d) at.push_back(2 * d + first);
    return expand_dims(x, at);
}

}  // namespace

namespace {
/// The products of rows that belong together: dimensions before the last broadcast, as jax.numpy.vectorize maps them. `at`: from which
/// of `rank` dimensions on; what an array lacks, or has once, isn't mapped.
Array rows_by_rows(const Array& a, const Array& b, const std::vector<std::pair<bool, bool>>& mapped, std::size_t at,
                   const ProductOptions& how) {
    if (at == mapped.size()) return vdot(a, b, how);
    const auto [left, right] = mapped[at];
    const auto next = [&](const Array& p, const Array& q) { return rows_by_rows(p, q, mapped, at + 1, how); };
    if (left && right) return vmap(next)(a, b);
    return left ? vmap(next, {.in_axes = {0, none}})(a, b) : vmap(next, {.in_axes = {none, 0}})(a, b);
}
}  // namespace
Array Vecdot::operator()(const Operand& x, const Operand& y, const ProductOptions& how) const {
    const auto product = [&](const Arrays& v) {
        const auto last = [](const Array& a) { return a.ndim() ? a.shape(-1) : -1; };
        if (last(v[0]) < 0 || last(v[1]) < 0) detail::refuse("tuple index out of range");
        if (last(v[0]) != last(v[1]))
            detail::refuse(fmt::format("axes must match; got shapes {} and {} with axis=-1", v[0].shape().str(), v[1].shape().str()));
        std::vector<std::pair<bool, bool>> mapped;
        std::vector<std::int64_t> once[2], single;
        const int rank = std::max(v[0].ndim(), v[1].ndim()) - 1;
        for (int d = 0; d < rank; ++d) {
            std::int64_t size[2] = {1, 1};
            for (std::size_t k = 0; k < 2; ++k) {
                const int own = d - (rank + 1 - v[k].ndim());
                if (own >= 0 && (size[k] = v[k].shape(own)) == 1) once[k].push_back(own);
            }
            if (size[0] == 1 && size[1] == 1)
                single.push_back(d);
            else
                mapped.emplace_back(size[0] != 1, size[1] != 1);
        }
        Array left = once[0].empty() ? v[0] : squeeze(v[0], once[0]);
        Array right = once[1].empty() ? v[1] : squeeze(v[1], once[1]);
        const Array out = rows_by_rows(left, right, mapped, 0, how);
        return Arrays{single.empty() ? out : expand_dims(out, single)};
    };
    return detail::in_line({x, y}, product).front();
}
Array kron(const Operand& x, const Operand& y) {
    return composed_one("kron", "", {x, y}, [](const Arrays& given) {
        const Arrays v = detail::arrays_of_one_type(given);
        const int rank = std::max(v[0].ndim(), v[1].ndim());
        const Array a = detail::with_rank(v[0], rank), b = detail::with_rank(v[1], rank);
        std::vector<std::int64_t> sizes;
        for (int d = 0; d < rank; ++d) sizes.push_back(a.shape(d) * b.shape(d));
        Array left = spread(a, 1), right = spread(b, 0);
        return reshape(jax::lax::mul(left, right), sizes);
    });
}
Array cross(const Operand& x, const Operand& y) {
    return composed_one("cross", "", {x, y}, [&](const Arrays& v) {
        const auto size = [](const Array& a) { return a.ndim() ? a.shape(-1) : 0; };
        for (const Array& a : v)
            if (size(a) != 2 && size(a) != 3)
                detail::refuse_at(x.where, ErrorCode::BadUsage, "Dimension must be either 2 or 3 for cross product",
                                  "cross products are of vectors of 2 or 3 numbers along the last axis");
        const auto at = [](const Array& a, int i) { return a[{ellipsis, i}]; };
        if (size(v[0]) == 2 && size(v[1]) == 2) {
            Array left = at(v[0], 0) * at(v[1], 1);
            return left - at(v[0], 1) * at(v[1], 0);
        }
        Arrays parts[2];
        for (std::size_t k = 0; k < 2; ++k)
            for (int i = 0; i < 3; ++i) parts[k].push_back(i < size(v[k]) ? at(v[k], i) : zeros_like(Operand(parts[k][0])));
        const auto less = [&](std::size_t i, std::size_t k) {
            Array plus = parts[0][i] * parts[1][k];
            return plus - parts[0][k] * parts[1][i];
        };
        Arrays rows{less(1, 2)};
        rows.push_back(less(2, 0));
        rows.push_back(less(0, 1));
        for (Array& r : rows) r = expand_dims(r, 0);
        return moveaxis(concatenate(rows, 0), 0, -1);
    });
}

Array append(const Operand& x, const Operand& values, const Axes& axis) {
    return composed_one("append", axis.given ? fmt::format("{}", axis.axes.front()) : "", {x, values}, [&](const Arrays& v) {
        if (axis.given) return concatenate(v, axis.axes.front());
        Array first = ravel(v[0]);
        return concatenate({first, ravel(v[1])}, 0);
    });
}
Array column_stack(const Arrays& parts, Where where) {
    const detail::InUsersLine line(where);
    Arrays columns;
    for (const Array& a : parts) columns.push_back(a.ndim() >= 2 ? a : atleast_2d(Operand(a, where.file, where.line, where.function)).T());
    return concatenate(columns, 1, where);
}
Arrays meshgrid(const Arrays& axes, const char* indexing, Where where) {
    const bool swapped = std::string_view(indexing) == "xy";
    if (!swapped && std::string_view(indexing) != "ij")
        detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("Valid values for indexing are 'xy' and 'ij', got {}", indexing),
                          "\"xy\" for x before y as in pictures, \"ij\" for rows before columns");
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < axes.size(); ++i) order.push_back(i);
    if (swapped && axes.size() >= 2) std::swap(order[0], order[1]);
    return detail::apply(operands_of(axes, where), where, [&](Builder& b, const Values& v) {
        Dims shape;
        for (const std::size_t i : order) {
            if (b.aval(v[i])->rank() != 1) {
                std::string shapes;
                for (const Dims& s : detail::shapes_of(b, v)) shapes += (shapes.empty() ? "" : ", ") + Shape(s).str();
                detail::refuse("Arguments to jax.numpy.meshgrid must be 1D, got shapes [" + shapes + "]");
            }
            shape.push_back(b.aval(v[i])->shape[0]);
        }
        Values out(v.size());
        for (std::size_t d = 0; d < order.size(); ++d)
            out[order[d]] = cl::broadcast_in_dim(b, v[order[d]], shape, {static_cast<std::int64_t>(d)});
        return out;
    });
}
Arrays meshgrid(const Operand& x, const Operand& y, const char* indexing) { return meshgrid({asarray(x), asarray(y)}, indexing, x.where); }
Arrays broadcast_arrays(const Operand& x, const Operand& y) { return broadcast_arrays({asarray(x), asarray(y)}, x.where); }
Arrays broadcast_arrays(const Arrays& arrays, Where where) {
    return detail::apply(operands_of(arrays, where), where, [](Builder& b, const Values& v) {
        const Dims shape = detail::broadcast_shapes(detail::shapes_of(b, v));
        Values out;
        for (const Value x : v) out.push_back(detail::broadcast_to(b, x, shape));
        return out;
    });
}
Array select(const Arrays& conditions, const Arrays& choices, const Operand& otherwise) {
    if (conditions.size() != choices.size())
        detail::refuse_at(otherwise.where, ErrorCode::BadUsage,
                          fmt::format("condlist must have length equal to choicelist ({} vs {})", conditions.size(), choices.size()));
    if (conditions.empty())
        detail::refuse_at(otherwise.where, ErrorCode::BadUsage, "condlist must be non-empty",
                          "give at least one condition, with a choice for each");
    const Where& where = otherwise.where;
    std::vector<Operand> in = operands_of(conditions, where);
    for (const Operand& c : operands_of(choices, where)) in.push_back(c);
    in.push_back(otherwise);
    const std::size_t n = conditions.size();
    return detail::apply(in, where,
                         [&](Builder& b, const Values& v) {
                             Values values{v.back()};
                             values.insert(values.end(), v.begin() + static_cast<std::ptrdiff_t>(n), v.end() - 1);
                             Avals avals;
                             for (const Value x : values) avals.push_back(b.aval(x));
                             const detail::Promoted to = detail::promoted_type(avals);
                             for (Value& x : values) x = detail::converted(b, x, to.type, to.weak);
                             Values truths{detail::number_of(D::Bool, 0)};
                             truths.insert(truths.end(), v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n));
                             const Dims common = detail::broadcast_shapes(detail::shapes_of(b, truths));
                             for (Value& x : truths) x = detail::broadcast_to(b, x, common);
                             truths = detail::of_one_type(b, truths);
                             Value any = b.bind1(kStack, truths, make_params(StackParams{0}));
                             if (b.aval(any)->dtype != D::Bool) any = cl::convert_element_type(b, any, D::Bool);
                             const Value which = b.bind1(kArgMax, {any}, make_params(ArgReduceParams{{0}, D::S32}));
                             values.insert(values.begin(), which);
                             const Dims shape = detail::broadcast_shapes(detail::shapes_of(b, values));
                             for (Value& x : values) x = detail::broadcast_to(b, x, shape);
                             return Values{cl::select_n(b, values[0], Values(values.begin() + 1, values.end()))};
                         })
        .front();
}

Array float_power(const Operand& x, const Operand& y) {
    const auto power = [](const Arrays& v) {
        const Arrays p = detail::promoted_arrays(v, true);
        return Arrays{jax::lax::pow(p[0], p[1])};
    };
    return detail::in_line({x, y}, power).front();
}
namespace {
/// jnp.vectorize(jnp.matmul, signature=...)
Array mapped_product(const Array& x, const Array& y, const char* signature) {
    return vectorize([](const Array& a, const Array& b) { return matmul(a, b); }, signature)(x, y);
}
}  // namespace
Array matvec(const Operand& x, const Operand& v) {
    return composed_one("matvec", "", {x, v}, [](const Arrays& in) { return mapped_product(in[0], in[1], "(n,m),(m)->(n)"); });
}
Array vecmat(const Operand& v, const Operand& x) {
    return composed_one("vecmat", "", {v, x}, [](const Arrays& in) { return mapped_product(conj(in[0]), in[1], "(n),(n,m)->(m)"); });
}

}  // namespace jaxscope::jax::numpy
