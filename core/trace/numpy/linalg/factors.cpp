// SPDX-License-Identifier: Apache-2.0
// jax.scipy.linalg: systems by a factorization that is kept, matrices that are equal along diagonals.
#include <fmt/core.h>

#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/scipy.h>
#include <jaxscope/vectorize.h>

#include "lax/params/linalg.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/refusals.h"

namespace jaxscope::jax::scipy::linalg {

namespace nu = jax::numpy;

LuFactor lu_factor(const Operand& a) {
    nu::matrices::expect_matrix(nu::asarray(a), "lu", a.where);
    const Arrays out = detail::composed("lu_factor", "", {a}, [](const Arrays& v) {
        const Array x = detail::inexact_of(v[0]);
        Arrays factors = detail::bind_primitive(kLu, {x}, {}, Where("", 0, ""));
        factors.pop_back();
        return factors;
    });
    return {out[0], out[1]};
}

namespace {
Array triangular(const Array& a, const Array& b, bool lower, bool unit, int trans) {
    TriangularSolveParams p;
    p.left_side = true;
    p.lower = lower;
    p.unit_diagonal = unit;
    p.transpose_a = trans > 0;
    p.conjugate_a = trans == 2;
    return detail::bind_primitive(kTriangularSolve, {a, b}, make_params(p), Where("", 0, "")).front();
}
/// Of one matrix whose rows stand as `order` says.
Array solved(const Array& lu, const Array& order, const Array& b, int trans) {
    return detail::composed_one("_lu_solve", fmt::format("{}", trans), {lu, order, b}, [&](const Arrays& v) {
        const bool vector = v[2].ndim() + 1 == v[0].ndim();
        Array x = vector ? v[2][{ellipsis, none}] : v[2];
        if (trans == 0) {
            x = x[{v[1], jax::all}];
            x = triangular(v[0], x, true, true, 0);
            x = triangular(v[0], x, false, false, 0);
        } else {
            x = triangular(v[0], x, false, false, trans);
            x = triangular(v[0], x, true, true, trans);
            const Array numbers = jax::lax::iota(dtype::int32, v[1].shape(0));
            const Array back = jax::lax::sort_key_val(v[1], numbers).second;
            x = x[{back, jax::all}];
        }
        return vector ? x[{ellipsis, 0}] : x;
    });
}
}  // namespace
Array lu_solve(const LuFactor& lu_and_piv, const Operand& b, int trans) {
    const Where& w = b.where;
    if (trans < 0 || trans > 2) detail::refuse_at(w, ErrorCode::BadUsage, fmt::format("'trans' value must be 0, 1, or 2, got {}", trans));
    const Operand lu(lu_and_piv.first, w.file, w.line, w.function), pivots(lu_and_piv.second, w.file, w.line, w.function);
    return detail::composed_one("lu_solve", fmt::format("{}", trans), {lu, pivots, b}, [&](const Arrays& v) {
        const Arrays p = detail::arrays_of_one_type({v[0], v[2]}, true);
        const Array order = detail::bind_primitive(kLuPivotsToPermutation, {v[1]},
                                                   make_params(LuPivotsParams{.permutation_size = p[0].shape(-2)}), Where("", 0, ""))
                                .front();
        const auto one = [trans](const Array& f, const Array& o, const Array& r) { return solved(f, o, r, trans); };
        return nu::vectorize(one, p[1].ndim() == 1 ? "(n,n),(n),(n)->(n)" : "(n,n),(n),(n,k)->(n,k)")(p[0], order, p[1]);
    });
}

namespace {
Array equal_along_diagonals(const Operand& first_column, const Operand& first_row) {
    const auto body = [](const Arrays& v) {
        const Array c = nu::atleast_1d(v[0]), r = nu::atleast_1d(v[1]);
        const auto one = [](const Array& column, const Array& row) {
            const std::int64_t m = column.shape(0), n = row.shape(0);
            if (m == 0 || n == 0) return nu::empty({m, n}, nu::promote_types(column.dtype(), row.dtype()));
            const Array up = nu::concatenate({jax::lax::rev(column, 0), row[{slice(1, none)}]});
            const Array signal = jax::lax::reshape(up, {1, m + n - 1, 1});
            const Array rows = jax::lax::broadcasted_iota(dtype::int32, {n, n}, 0) + 0;
            const Array diagonal = jax::lax::eq(rows, jax::lax::broadcasted_iota(dtype::int32, {n, n}, 1));
            const Array ones = jax::lax::convert_element_type(diagonal, up.dtype());
            Array kernel = jax::lax::broadcast_in_dim(ones, {1, n, n}, {1, 2});
            kernel = jax::lax::reshape(kernel, {n, 1, n});
            kernel = nu::moveaxis(kernel, {0, 1}, {1, 0});
            jax::lax::ConvOptions how;
            how.dimension_numbers = {"NTC", "IOT", "NTC"};
            how.precision = Precision("highest", "default");
            const Array moved = jax::lax::conv_general_dilated(signal, kernel, 1, "VALID", how);
            return nu::flip(jax::lax::squeeze(moved, 0), 0);
        };
        return Arrays{nu::vectorize(one, "(m),(n)->(m,n)")(c, r)};
    };
    return detail::in_line({first_column, first_row}, body).front();
}
}  // namespace
Array toeplitz(const Operand& c) { return equal_along_diagonals(c, nu::conjugate(c)); }
Array toeplitz(const Operand& c, const Operand& r) { return equal_along_diagonals(c, r); }

Array hilbert(std::int64_t n, Where where) {
    const detail::InUsersLine line(where);
    const auto f = [n] {
        const Array a = jax::lax::broadcasted_iota(dtype::float32, {n, 1}, 0);
        const Array both = a + a.T();
        return 1 / (both + 1);
    };
    return jax::jit(f, {.name = "hilbert"}, where)();
}

}  // namespace jaxscope::jax::scipy::linalg
