// SPDX-License-Identifier: Apache-2.0
// jax.numpy.linalg: eigenvalues of any matrix, systems over several axes.
#include <fmt/core.h>

#include <jaxscope/linalg.h>

#include "lax/params/linalg.h"
#include "lax/primitives.h"
#include "trace/numpy/linalg/matrices.h"
#include "trace/refusals.h"

namespace jaxscope::jax::numpy::linalg {

namespace {

std::vector<Array> decomposed(const Array& a, bool vectors) {
    EigParams p;
    p.compute_left_eigenvectors = false;
    p.compute_right_eigenvectors = vectors;
    p.enable_eigvec_derivs = Attr(false);
    const Array x = detail::inexact_of(a);
    return detail::bind_primitive(kEig, {x}, make_params(p), Where("", 0, ""));
}
Shape part(const std::vector<std::int64_t>& shape, std::size_t from, std::size_t to) {
    return std::vector<std::int64_t>(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.begin() + static_cast<std::ptrdiff_t>(to));
}
std::int64_t count(const Shape& s) { return ::jaxscope::element_count(s.vector()); }

}  // namespace

Eig eig(const Operand& a) {
    matrices::expect_square(asarray(a), "eig", a.where);
    const Arrays out = detail::in_line({a}, [](const Arrays& v) { return decomposed(v[0], true); });
    return {out[0], out[1]};
}
Array eigvals(const Operand& a) {
    matrices::expect_square(asarray(a), "eig", a.where);
    return detail::composed_one("eigvals", "", {a}, [](const Arrays& v) { return decomposed(v[0], false)[0]; });
}
Array tensorsolve(const Operand& a, const Operand& b) {
    const auto body = [&](const Arrays& v) {
        const auto rank = static_cast<std::size_t>(v[1].ndim());
        const std::vector<std::int64_t> shape = v[0].shape().vector();
        if (shape.size() < rank || !(part(shape, 0, rank) == v[1].shape()))
            detail::refuse(fmt::format("After moving axes to end, leading shape of a must match shape of b. got a.shape={}, b.shape={}",
                                       v[0].shape().str(), v[1].shape().str()));
        const Shape out = part(shape, rank, shape.size());
        if (v[1].size() != count(out))
            detail::refuse(
                fmt::format("Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got a.shape={}, b.ndim={}.",
                            v[0].shape().str(), rank));
        const Array matrix = reshape(v[0], {v[1].size(), count(out)});
        return Arrays{reshape(solve(matrix, ravel(v[1])), out)};
    };
    return detail::in_line({a, b}, body).front();
}
Array tensorinv(const Operand& a, std::int64_t ind) {
    const auto body = [&](const Arrays& v) {
        if (ind <= 0) detail::refuse(fmt::format("ind must be a positive integer; got ind={}", ind));
        const std::vector<std::int64_t> shape = v[0].shape().vector();
        const std::size_t at = std::min(static_cast<std::size_t>(ind), shape.size());
        const Shape rows = part(shape, 0, at), columns = part(shape, at, shape.size());
        if (count(rows) != count(columns))
            detail::refuse(
                fmt::format("tensorinv is only possible when the product of the first `ind` dimensions equals that of the "
                            "remaining dimensions. got arr.shape={} with ind={}.",
                            v[0].shape().str(), ind));
        std::vector<std::int64_t> out = columns.vector();
        out.insert(out.end(), rows.begin(), rows.end());
        return Arrays{reshape(inv(reshape(v[0], {count(rows), count(columns)})), out)};
    };
    return detail::in_line({a}, body).front();
}

}  // namespace jaxscope::jax::numpy::linalg
