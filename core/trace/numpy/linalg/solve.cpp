// SPDX-License-Identifier: Apache-2.0
// solve, inv, matrix_power; jax.scipy.linalg.solve.
#include <jaxscope/linalg.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/scipy.h>
#include <jaxscope/vectorize.h>
#include <jaxscope/vmap.h>

#include "base/error.h"
#include "calls/linear_solve.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/params/products.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/functions.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/linalg/matrices.h"
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

using namespace matrices;  // NOLINT(google-build-using-namespace)

namespace {

/// A matrix times a vector, or batches of both, which are broadcast to each other.
JaxprPtr highest_product(AvalRef a, AvalRef x, bool transposed) {
    JaxprBuilder b;
    Value matrix = b.add_input(a), vector = b.add_input(x);
    const std::int64_t batches = static_cast<std::int64_t>(a->rank()) - 2;
    if (!std::equal(a->shape.begin(), a->shape.end() - 2, x->shape.begin(), x->shape.end() - 1)) {
        Dims rows = detail::broadcast_shapes({Dims(a->shape.begin(), a->shape.end() - 2), Dims(x->shape.begin(), x->shape.end() - 1)});
        rows.push_back(x->shape.back());
        vector = detail::broadcast_to(b, vector, rows);
        rows.back() = a->shape[a->rank() - 2];
        rows.push_back(a->shape.back());
        matrix = detail::broadcast_to(b, matrix, rows);
    }
    DotGeneralParams p;
    for (std::int64_t i = 0; i < batches; ++i) p.dimension_numbers.lhs_batch.push_back(i), p.dimension_numbers.rhs_batch.push_back(i);
    p.dimension_numbers.lhs_contract = {transposed ? 0 : batches + 1};
    p.dimension_numbers.rhs_contract = {batches};
    if (transposed) std::swap(p.dimension_numbers.lhs_contract, p.dimension_numbers.rhs_contract);
    const Attr highest = Attr::Enum{"Precision", "HIGHEST"};
    p.precision = Attr::tuple({highest, highest});
    const Value out = b.bind1(kDotGeneral, transposed ? Values{vector, matrix} : Values{matrix, vector}, make_params(p));
    if (!transposed) return b.finish({out});
    // JAX transposes a broadcast of the vector to its own shape, where dimensions of size one count as new.
    const Dims ones = x->shape == Dims{1} ? Dims{0} : Dims();
    return b.finish({cl::expand_dims(b, cl::reduce_sum(b, out, ones), ones)});
}
/// With a factorization of the matrix, rows swapped as `order` says.
Array by_factors(const Array& lu, const Array& order, const Array& b, bool transposed) {
    Array x = b[{jax::all, none}];
    if (!transposed) {
        x = x[{order, jax::all}];
        x = triangular(lu, x, true, true, false);
        x = triangular(lu, x, false, false, false);
    } else {
        x = triangular(lu, x, false, false, true);
        x = triangular(lu, x, true, true, true);
        const Array numbers = jax::lax::iota(dtype::int32, order.shape(0));
        const std::vector<Array> sorted = detail::bind_primitive(
            kSort, {order, numbers}, make_params(SortParams{.dimension = 0, .is_stable = true, .num_keys = 1}), Where("", 0, ""));
        x = x[{sorted[1], jax::all}];
    }
    return jax::lax::squeeze(x, 1);
}
/// What a solver makes of values like these, without its closure.
template <class F>
JaxprPtr jaxpr_of(const F& f, const std::vector<Array>& like) {
    detail::Trace t("custom_linear_solve", detail::kUnnamed);
    std::vector<Array> in;
    for (const Array& a : like) in.push_back(t.input(a.node()->aval));
    return t.finish({f(in)}).jaxpr;
}
JaxprPtr factors_jaxpr(const std::vector<Array>& like, bool transposed) {
    const auto f = [transposed](const Array& lu, const Array& order, const Array& b) { return by_factors(lu, order, b, transposed); };
    return jaxpr_of([&](const std::vector<Array>& in) { return jax::jit(f, {.name = "_lu_solve"})(in[0], in[1], in[2]); }, like);
}
Array solve_vector(const Array& a, const Array& lu, const Array& order, const Array& b) {
    const AvalRef matrix = a.node()->aval, vector = b.node()->aval;
    const std::vector<Array> like{lu, order, b};
    const std::array<JaxprPtr, 4> functions{highest_product(matrix, vector, false), highest_product(matrix, vector, true),
                                            factors_jaxpr(like, false), factors_jaxpr(like, true)};
    const Operand in[] = {a, lu, order, b};
    return apply(in, Where("", 0, ""),
                 [&](Builder& out, const Values& v) {
                     return ::jaxscope::linear_solve(out, functions, {Values{v[0]}, {v[0]}, {v[1], v[2]}, {v[1], v[2]}}, {v[3]});
                 })
        .front();
}
Array solve_matrix(const Array& a, const Array& b) {
    const std::vector<Array> factors = detail::bind_primitive(kLu, {jax::lax::stop_gradient(a)}, {}, Where("", 0, ""));
    if (b.ndim() == 1) return solve_vector(a, factors[0], factors[2], b);
    const auto column = [&](const Array& each) { return solve_vector(a, factors[0], factors[2], each); };
    return jax::vmap(column, {.in_axes = 1, .out_axes = 1})(b);
}

}  // namespace

namespace linalg {

Array solve(const Operand& a, const Operand& b) {
    const Where where = a.where;
    const auto f = [where](const Array& matrix, const Array& right) {
        const Operand in[] = {matrix, right};
        const std::vector<Array> v = apply(in, where, [](Builder& o, const Values& w) {
            const detail::Promoted to = detail::promoted_type({o.aval(w[0]), o.aval(w[1])});
            const D type = detail::inexact(to.type);
            return Values{detail::converted(o, w[0], type, to.weak), detail::converted(o, w[1], type, to.weak)};
        });
        const Array &m = v[0], &r = v[1];
        if (m.ndim() < 2)
            detail::refuse_at(where, ErrorCode::BadUsage,
                              "left hand array must be at least two dimensional; got a.shape=" + m.shape().str(),
                              "give a matrix, or matrices behind each other");
        if (r.ndim() > 1 && m.ndim() == r.ndim() + 1 && m.shape(-1) == r.shape(-1) && m.shape(-1) != r.shape(-2))
            detail::refuse_at(where, ErrorCode::BadUsage,
                              fmt::format("Invalid shapes for solve: {}, {}. Prior to JAX v0.5.0, this would have been treated as a "
                                          "batched 1-dimensional solve. To recover this behavior, use solve(a, b[..., "
                                          "None]).squeeze(-1).",
                                          m.shape().str(), r.shape().str()),
                              "jnp::squeeze(solve(a, b[{jax::ellipsis, jax::none}]), -1)");
        return vectorize(solve_matrix, r.ndim() == 1 ? "(m,m),(m)->(m)" : "(m,m),(m,n)->(m,n)", where)(m, r);
    };
    const Operand in[] = {a, b};
    const std::vector<Array> given = apply(in, where, [](Builder&, const Values& v) { return v; });
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "solve"})(given[0], given[1]);
}
Array inv(const Operand& a) {
    const Where where = a.where;
    const auto f = [where](const Array& m) {
        expect_square(m, "inv", where);
        Array right = eye(m.shape(-1), m.dtype());
        if (m.ndim() > 2) {
            const std::vector<std::int64_t> s = m.shape().vector();
            right = jax::lax::broadcast(right, std::vector<std::int64_t>(s.begin(), s.end() - 2));
        }
        return solve(m, right);
    };
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "inv"})(asarray(a));
}
Array matrix_power(const Operand& a, std::int64_t n) {
    const Where where = a.where;
    const auto f = [n, where](const Array& given) {
        Array m = given;
        expect_square(m, "matrix_power", where);
        if (n == 0) return broadcast_to(eye(m.shape(-1), m.dtype()), m.shape());
        if (n < 0) m = inv(m);
        std::int64_t rest = n < 0 ? -n : n;
        if (rest == 1) return m;
        if (rest == 3) return matmul(matmul(m, m), m);
        Array square, out;
        for (; rest > 0; rest /= 2) {
            square = square.has_value() ? matmul(square, square) : m;
            if (rest % 2) out = out.has_value() ? matmul(out, square) : square;
        }
        return out;
    };
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "matrix_power"})(asarray(a));
}

}  // namespace linalg

namespace {
/// A vector, or one for each matrix, by Cholesky's factor: the matrix is its own transpose.
Array solve_by_factor(const Array& a, const scipy::linalg::Factor& factor, const Array& b, const Where& where) {
    const JaxprPtr product = highest_product(a.node()->aval, b.node()->aval, false);
    const Shape found(product->out_avals().front()->shape);
    if (found.str() != b.shape().str())
        detail::refuse_at(where, ErrorCode::TypeMismatch,
                          fmt::format("matvec() output shapes must match b, got [{}] and [{}]", found.str(), b.shape().str()),
                          "give a right side for each matrix: jnp::broadcast_to");
    const auto by_factor = [&](const std::vector<Array>& in) { return scipy::linalg::cho_solve({in[0], factor.second}, in[1]); };
    const auto solver = [&] { return jaxpr_of(by_factor, {factor.first, b}); };  // JAX traces it for each of the two
    const Operand in[] = {a, factor.first, b};
    return apply(in, Where("", 0, ""),
                 [&](Builder& out, const Values& v) {
                     return ::jaxscope::linear_solve(out, {product, product, solver(), solver()},
                                                     {Values{v[0]}, Values{v[0]}, Values{v[1]}, Values{v[1]}}, {v[2]});
                 })
        .front();
}
Array solved_as_assumed(const Array& a, const Array& b, const scipy::linalg::SolveOptions& o, const Where& where) {
    const bool positive = std::strcmp(o.assume_a, "pos") == 0;
    return detail::composed_one("_solve", fmt::format("{} {}", o.assume_a, static_cast<bool>(o.lower)), {a, b}, [&](const Arrays& given) {
        if (!positive) return linalg::solve(given[0], given[1]);
        const Arrays v = detail::arrays_of_one_type(given, true);
        const Array &m = v[0], &r = v[1];
        if (m.ndim() < 2 || (r.ndim() != m.ndim() && r.ndim() != m.ndim() - 1) || m.shape(-1) != m.shape(-2) ||
            m.shape(-1) != r.shape(static_cast<std::int64_t>(m.ndim()) - 2))
            detail::refuse_at(where, ErrorCode::BadUsage,
                              fmt::format("The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or b=[..., m]; got "
                                          "a={} and b={}",
                                          m.shape().str(), r.shape().str()),
                              "the right side has as many rows as the matrix, and its batch dimensions");
        const auto factor = scipy::linalg::cho_factor(jax::lax::stop_gradient(m), o.lower);
        const auto one = [&](const Array& vector) { return solve_by_factor(m, factor, vector, where); };
        if (m.ndim() == r.ndim() + 1) return one(r);
        const int last = static_cast<int>(r.ndim()) - 1;
        return jax::vmap(one, {.in_axes = last, .out_axes = last})(r);
    });
}
}  // namespace

}  // namespace jaxscope::jax::numpy

namespace jaxscope::jax::scipy::linalg {

Array solve(const Operand& a, const Operand& b, const SolveOptions& o) {
    const char* const known[] = {"gen", "sym", "her", "pos"};
    if (std::none_of(std::begin(known), std::end(known), [&](const char* k) { return std::strcmp(k, o.assume_a) == 0; }))
        detail::refuse_at(a.where, ErrorCode::BadUsage,
                          fmt::format("Expected assume_a to be one of ['gen', 'sym', 'her', 'pos']; got '{}'", o.assume_a),
                          "leave it out where nothing is known of the matrix");
    const detail::InUsersLine line(a.where);
    return numpy::solved_as_assumed(numpy::asarray(a), numpy::asarray(b), o, a.where);
}

}  // namespace jaxscope::jax::scipy::linalg
