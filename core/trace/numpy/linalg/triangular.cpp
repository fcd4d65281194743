// SPDX-License-Identifier: Apache-2.0
// jax.scipy.linalg: Cholesky's factor, what is solved with it and with triangles, blocks on a diagonal.
#include <fmt/core.h>

#include <jaxscope/lax.h>
#include <jaxscope/scipy.h>
#include <jaxscope/vectorize.h>
#include <jaxscope/vmap.h>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::scipy::linalg {

namespace cl = ::jaxscope::lax;
using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using numpy::matrices::triangular;

namespace {

Arrays inexact_pair(const Arrays& in) {
    const std::vector<Operand> operands(in.begin(), in.end());
    return detail::apply(operands, Where("", 0, ""), [](Builder& b, const Values& v) {
        detail::Promoted to = detail::promoted_type({b.aval(v[0]), b.aval(v[1])});
        to.type = detail::inexact(to.type);
        return Values{detail::converted(b, v[0], to.type, to.weak), detail::converted(b, v[1], to.type, to.weak)};
    });
}
void check_system(const Operand& a, const Arrays& v, const char* name) {
    numpy::matrices::expect_square(v[0], name, a.where);
    const bool fits = v[1].ndim() >= 1 && v[1].ndim() <= v[0].ndim() && v[1].shape(v[1].ndim() == 1 ? 0 : -2) == v[0].shape(-1);
    if (!fits)
        detail::refuse_at(a.where, ErrorCode::BadUsage,
                          fmt::format("Invalid shapes for {}: {}, {}.", name, v[0].shape().str(), v[1].shape().str()),
                          "the right side has as many rows as the matrix: x.T() or jnp::reshape");
}
/// Of a vector or of columns; batches, if there are any, go through at once.
Array solved(const Array& a, const Array& b, bool lower, bool unit, bool transposed) {
    if (a.ndim() > b.ndim() && b.ndim() == 1 && a.ndim() == 2)
        return jax::lax::squeeze(triangular(a, b[{jax::all, none}], lower, unit, transposed), 1);
    if (a.ndim() == b.ndim()) return triangular(a, b, lower, unit, transposed);
    return vmap([&](const Array& each) { return solved(each, b, lower, unit, transposed); })(a);
}

}  // namespace

Array cholesky(const Operand& a, bool lower) {
    return composed_one("_cholesky", lower ? "lower" : "", {a}, [&](const Arrays& v) {
        const Array given = numpy::matrices::inexact_of(v[0]);
        numpy::matrices::expect_matrix(given, "cholesky", a.where);
        if (given.shape(-1) != given.shape(-2)) {
            std::vector<std::int64_t> read = given.shape().vector();  // which is transposed where the upper factor is asked for
            if (!lower) std::swap(read[read.size() - 1], read[read.size() - 2]);
            detail::refuse_at(a.where, ErrorCode::BadUsage,
                              "The input to cholesky must be a square matrix. Got shape " + Shape(read).str() + ".",
                              "multiply a matrix with its own transpose first");
        }
        return detail::apply1({Operand(given)}, [&](Builder& b, const Values& w) {
            const Dims swapped = numpy::matrices::swapped_last(b.aval(w[0])->shape.size()), shape = b.aval(w[0])->shape;
            const auto adjoint = [&](Value x) {
                const Value t = cl::transpose(b, x, swapped);
                return is_complex(b.aval(t)->dtype) ? cl::conj(b, t) : t;
            };
            const Value factor = b.bind1(kCholesky, {lower ? w[0] : adjoint(w[0])}, {});
            const Dims last(shape.end() - 2, shape.end());
            const Value rows = cl::add(b, detail::iota_of(b, DType::S32, last, 0), detail::number_of(DType::S32, 0));
            const Value below = cl::ge(b, rows, detail::iota_of(b, DType::S32, last, 1));
            const Value mask = detail::broadcast_to(b, below, shape);
            const Value whole = cl::select(b, mask, factor, cl::full(b, b.aval(factor), 0.0));
            return lower ? whole : adjoint(whole);
        });
    });
}
Factor cho_factor(const Operand& a, bool lower) { return {cholesky(a, lower), lower}; }
Array cho_solve(const Factor& c_and_lower, const Operand& b) {
    const auto& [factor, lower] = c_and_lower;
    const bool low = lower;
    const Operand c(factor, b.where.file, b.where.line, b.where.function);
    return composed_one("_cho_solve", low ? "lower" : "", {c, b}, [&](const Arrays& given) {
        const Arrays v = inexact_pair(given);
        // JAX takes a row for each matrix for vectors where it could be one.
        if (v[1].ndim() > 1 && v[0].ndim() == v[1].ndim() + 1 && v[0].shape(-1) == v[1].shape(-1)) {
            const auto half = [&](bool transposed) {
                return numpy::vectorize([=](const Array& m, const Array& r) { return solved(m, r, low, false, transposed); },
                                        "(n,n),(n)->(n)");
            };
            return half(low)(v[0], half(!low)(v[0], v[1]));
        }
        check_system(b, v, "cho_solve");
        return solved(v[0], solved(v[0], v[1], low, false, !low), low, false, low);
    });
}
Array solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& o) {
    return composed_one("_solve_triangular", fmt::format("{} {} {}", o.transposed, o.lower, o.unit_diagonal), {a, b},
                        [&](const Arrays& given) {
                            const Arrays v = inexact_pair(given);
                            check_system(a, v, "solve_triangular");
                            return solved(v[0], v[1], o.lower, o.unit_diagonal, o.transposed);
                        });
}
Array block_diag(const Arrays& blocks, Where where) {
    if (blocks.empty())
        detail::refuse_at(where, ErrorCode::BadUsage, "block_diag: expected at least one block", "give the blocks in braces");
    for (const Array& a : blocks)
        if (a.ndim() > 2)
            detail::refuse_at(where, ErrorCode::BadUsage, "block_diag: expected matrices, found an array of shape " + a.shape().str(),
                              "give its matrices one by one");
    std::vector<Operand> in;
    for (const Array& a : blocks) in.emplace_back(a, where.file, where.line, where.function);
    return composed_one("block_diag", "", in, [](const Arrays& given) {
        std::int64_t width = 0, column = 0;
        Arrays matrices, rows;
        for (const Array& a : given) {
            matrices.push_back(numpy::atleast_2d(a));
            width += matrices.back().shape(1);
        }
        for (const Array& a : matrices) {
            rows.push_back(jax::lax::pad(a, 0., {{0, 0, 0}, {column, width - a.shape(1) - column, 0}}));
            column += a.shape(1);
        }
        return numpy::concatenate(rows, 0);
    });
}

}  // namespace jaxscope::jax::scipy::linalg
