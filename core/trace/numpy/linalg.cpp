// SPDX-License-Identifier: Apache-2.0
// jax.numpy.linalg, diagonal and trace.
#include <jaxscope/linalg.h>

#include <fmt/core.h>

#include <cmath>

#include <jaxscope/custom_rules.h>
#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/vmap.h>

#include "base/error.h"
#include "calls/control_flow.h"
#include "calls/linear_solve.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/linalg.h"
#include "lax/params/placement.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/functions.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace {

namespace cl = ::jaxscope::lax;
using detail::apply;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

Array inexact_of(const Array& a) {
    return apply1({Operand(a)}, [](Builder& b, const Values& v) { return detail::inexact_operand(b, v[0]); });
}
void expect_square(const Array& a, const char* function, const Where& where) {
    if (a.ndim() < 2 || a.shape(-1) != a.shape(-2))
        throw Error(ErrorCode::BadUsage, fmt::format("Argument to {} must have shape [..., n, n], got {}.", function, a.shape().str()))
            .at({where.file, where.line, 0});
}
void expect_matrix(const Array& a, const char* function, const Where& where) {
    if (a.ndim() < 2)
        throw Error(ErrorCode::BadUsage, fmt::format("{}: expected an array of at least two dimensions, found {}", function, a.aval()))
            .at({where.file, where.line, 0});
}
Dims swapped_last(std::size_t rank) {
    Dims order;
    for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    std::swap(order[rank - 1], order[rank - 2]);
    return order;
}
/// The mean of a matrix and its adjoint.
Value symmetrized(Builder& b, Value x) {
    Value t = cl::transpose(b, x, swapped_last(b.aval(x)->shape.size()));
    if (is_complex(b.aval(x)->dtype)) t = cl::conj(b, t);
    const Value sum = cl::add(b, x, t);
    return cl::div(b, sum, cl::constant(b, sum, 2));
}
template <class F>
Array jitted_one(const char* name, const std::string& key, const Operand& x, F f) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, name, key, v, [&](Builder& i, const Values& w) { return f(i, detail::inexact_operand(i, w[0])); });
    });
}
/// Several results of one primitive, the matrix made inexact.
std::vector<Array> decomposed(const Array& a, const ::jaxscope::Primitive& p, const ::jaxscope::ParamsRef& params) {
    const Operand in[] = {a};
    return apply(in, Where("", 0, ""), [&](Builder& b, const Values& v) { return b.bind(p, {detail::inexact_operand(b, v[0])}, params); });
}

// ---- The diagonal

Value iota2(Builder& b, const Dims& shape, std::int64_t dimension) {
    return b.bind1(kIota, {}, make_params(IotaParams{D::S32, shape, dimension}));
}
/// Positions (i, i) of the last two dimensions as indices of a gather.
Value gathered_diagonal(Builder& b, Value x, std::int64_t n) {
    const Dims shape = b.aval(x)->shape;
    const std::size_t batch = shape.size() - 2;
    Values wrapped;
    for (int i = 0; i < 2; ++i) wrapped.push_back(iota2(b, {n}, 0));
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
Value on_diagonal(Builder& b, const Dims& shape) {
    const Value rows = iota2(b, shape, 0), columns = iota2(b, shape, 1);
    return cl::eq(b, cl::add(b, rows, make_literal(AvalRef(D::S32, {}), std::int64_t{0})), columns);
}
/// The first two dimensions as the last ones.
Value matrices_last(Builder& b, Value x) {
    Dims order;
    for (std::int64_t d = 2; d < b.aval(x)->rank(); ++d) order.push_back(d);
    order.push_back(0), order.push_back(1);
    return cl::transpose(b, x, order);
}
/// JAX has a form of its own for one platform; another branch runs here.
Value diagonal_of(Builder& b, Value x) {
    const AvalRef a = b.aval(x);
    if (a->rank() > 2) return gathered_diagonal(b, matrices_last(b, x), std::min(a->shape[0], a->shape[1]));
    const std::int64_t n = std::min(a->shape[0], a->shape[1]);
    if (a->shape[0] != a->shape[1]) return gathered_diagonal(b, x, n);
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
    p.branches.push_back(gathered.finish({gathered_diagonal(gathered, whole, n)}));
    return b.bind1(kCond, {index, mask, x},
                   ::jaxscope::Params::make({{"branches", to_attr(p.branches)}, {"branches_platforms", platforms}}));
}

// ---- solve

JaxprPtr highest_product(AvalRef a, AvalRef x, bool transposed) {
    JaxprBuilder b;
    const Value matrix = b.add_input(a), vector = b.add_input(x);
    DotGeneralParams p;
    p.dimension_numbers.lhs_contract = {transposed ? 0 : 1};
    p.dimension_numbers.rhs_contract = {0};
    if (transposed) std::swap(p.dimension_numbers.lhs_contract, p.dimension_numbers.rhs_contract);
    const Attr highest = Attr::Enum{"Precision", "HIGHEST"};
    p.precision = Attr::tuple({highest, highest});
    const Value out = b.bind1(kDotGeneral, transposed ? Values{vector, matrix} : Values{matrix, vector}, make_params(p));
    if (!transposed) return b.finish({out});
    // JAX transposes a broadcast of the vector to its own shape, where dimensions of size one count as new.
    const Dims ones = x->shape == Dims{1} ? Dims{0} : Dims();
    return b.finish({cl::expand_dims(b, cl::reduce_sum(b, out, ones), ones)});
}
Array triangular(const Array& a, const Array& b, bool lower, bool unit, bool transposed) {
    const TriangularSolveParams p{.left_side = true, .lower = lower, .transpose_a = transposed, .unit_diagonal = unit};
    return detail::bind_primitive(kTriangularSolve, {a, b}, make_params(p), Where("", 0, ""))[0];
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
JaxprPtr factors_jaxpr(const std::vector<Array>& like, bool transposed) {
    detail::Trace t("custom_linear_solve", detail::kUnnamed);
    std::vector<Array> in;
    for (const Array& a : like) in.push_back(t.input(a.node()->aval));
    const auto f = [transposed](const Array& lu, const Array& order, const Array& b) { return by_factors(lu, order, b, transposed); };
    return t.finish({jax::jit(f, {.name = "_lu_solve"})(in[0], in[1], in[2])}).jaxpr;
}
Array solve_vector(const Array& a, const Array& lu, const Array& order, const Array& b) {
    const AvalRef matrix = a.node()->aval, vector = b.node()->aval;
    const std::vector<Array> like{lu, order, b};
    const std::array<JaxprPtr, 4> functions{highest_product(matrix, vector, false), highest_product(matrix, vector, true),
                                            factors_jaxpr(like, false), factors_jaxpr(like, true)};
    const Operand in[] = {a, lu, order, b};
    return apply(in, Where("", 0, ""),
                 [&](Builder& out, const Values& v) {
                     return Values{::jaxscope::linear_solve(out, functions, {Values{v[0]}, {v[0]}, {v[1], v[2]}, {v[1], v[2]}}, v[3])};
                 })
        .front();
}
Array solve_matrix(const Array& a, const Array& b) {
    if (a.ndim() > 2) {  // the batch dimensions that both have, from the front
        if (b.ndim() == a.ndim()) return jax::vmap(solve_matrix)(a, b);
        return jax::vmap(solve_matrix, {.in_axes = {0, none}})(a, b);
    }
    const std::vector<Array> factors = detail::bind_primitive(kLu, {jax::lax::stop_gradient(a)}, {}, Where("", 0, ""));
    if (b.ndim() == 1) return solve_vector(a, factors[0], factors[2], b);
    const auto column = [&](const Array& each) { return solve_vector(a, factors[0], factors[2], each); };
    return jax::vmap(column, {.in_axes = 1, .out_axes = 1})(b);
}

// ---- Determinants

Array at2(const Array& a, int i, int j) { return a[{ellipsis, i, j}]; }
Array det2(const Array& a) {
    const Array a00 = at2(a, 0, 0), a11 = at2(a, 1, 1);
    const Array down = a00 * a11;
    const Array a01 = at2(a, 0, 1), a10 = at2(a, 1, 0);
    const Array up = a01 * a10;
    return down - up;
}
Array det3(const Array& a) {
    constexpr int kTerms[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
    Array sum;
    for (int k = 0; k < 6; ++k) {
        const Array first = at2(a, 0, kTerms[k][0]), second = at2(a, 1, kTerms[k][1]);
        const Array two = first * second;
        const Array third = at2(a, 2, kTerms[k][2]);
        const Array term = two * third;
        sum = k == 0 ? term : k < 3 ? sum + term : sum - term;
    }
    return sum;
}
/// 1 for an even number of swapped rows, -1 for an odd one.
Array sign_of_parity(const Array& parity) { return -2 * (parity % 2) + 1; }
using SignAndLog = std::pair<Array, Array>;
SignAndLog slogdet_by_lu(const Array& a) {
    const std::vector<Array> lu = detail::bind_primitive(kLu, {a}, {}, Where("", 0, ""));
    const Array diag = diagonal(lu[0]);
    const Array is_zero = any(diag == 0);
    const Array numbers = jax::lax::iota(dtype::int32, a.shape(-1));
    const Array swaps = count_nonzero(lu[1] != numbers);
    const Array negative = count_nonzero(diag < 0);
    const Array parity = swaps + negative;
    const Array sign_factor = jax::lax::convert_element_type(sign_of_parity(parity).copy(), a.dtype());
    const Array sign = where(is_zero, jax::lax::convert_element_type(0., a.dtype()), 1. * sign_factor);
    const Array sum = numpy::sum(log(abs(diag)));
    return {sign, where(is_zero, jax::lax::convert_element_type(-inf, a.dtype()), sum)};
}
SignAndLog slogdet_small(const Array& a) {
    if (a.shape(-1) == 1) {
        const Array only = at2(a, 0, 0), size = abs(only);
        return {sign(only), log(size)};
    }
    const Array a00 = at2(a, 0, 0), a01 = at2(a, 0, 1), a10 = at2(a, 1, 0), a11 = at2(a, 1, 1);
    const Array down = a00 * a11, up = a01 * a10;
    const Array det = down - up;
    const Array size = abs(det), s = numpy::sign(det);
    return {s, log(size)};
}
/// `swapped`: over axes -1 and -2, of matrices, as rules of determinants ask for it; else over 0 and 1.
Array trace_of(const Operand& x, bool swapped) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        if (rank < 2) detail::refuse(fmt::format("axis {} is out of bounds for array of dimension {}", rank, rank));
        return jitted(b, "trace", swapped ? "swapped" : "", v, [&](Builder& i, const Values& w) {
            const Value whole = swapped ? cl::transpose(i, w[0], {1, 0}) : matrices_last(i, w[0]);
            const AvalRef a = i.aval(whole);
            const std::int64_t last = a->rank() - 1;
            const Value mask = on_diagonal(i, Dims(a->shape.end() - 2, a->shape.end()));
            const Value kept = detail::where_call(i, mask, whole, cl::zeros_like(i, a));
            return cl::reduce_sum(i, kept, {last - 1, last});
        });
    });
}
struct SlogdetRule {
    std::pair<SignAndLog, SignAndLog> operator()(const std::tuple<Array>& primals, const std::tuple<Array>& tangents) const {
        const auto& [x] = primals;
        const auto& [g] = tangents;
        const linalg::Slogdet out = linalg::slogdet(x);
        const Array change = trace_of(linalg::solve(x, g), true);
        return {{out.sign, out.logabsdet}, {zeros_like(Operand(out.sign)), change}};
    }
};
struct SmallSlogdetRule {
    std::pair<SignAndLog, SignAndLog> operator()(const std::tuple<Array>& primals, const std::tuple<Array>& tangents) const;
};
const auto& small_slogdet() {
    static const auto f = custom_jvp(slogdet_small, {.name = "_slogdet_small"}).defjvp(SmallSlogdetRule(), {.name = "_slogdet_small_jvp"});
    return f;
}
std::pair<SignAndLog, SignAndLog> SmallSlogdetRule::operator()(const std::tuple<Array>& primals, const std::tuple<Array>& tangents) const {
    const auto& [x] = primals;
    const auto& [g] = tangents;
    const SignAndLog out = small_slogdet()(x);
    Array change;
    if (x.shape(-1) == 1) {
        const Array d = at2(g, 0, 0);
        change = d / at2(x, 0, 0);
    } else {
        const Array x00 = at2(x, 0, 0), x01 = at2(x, 0, 1), x10 = at2(x, 1, 0), x11 = at2(x, 1, 1);
        const Array down = x00 * x11, up = x01 * x10;
        const Array det = down - up;
        const Array first = at2(g, 0, 0) * x11, second = at2(g, 0, 1) * x10;
        const Array two = first - second, third = at2(g, 1, 0) * x01;
        const Array three = two - third, fourth = at2(g, 1, 1) * x00;
        change = (three + fourth) / det;
    }
    return {out, {zeros_like(Operand(out.first)), change}};
}
/// What Cramer's rule gives beside the determinant, which stays finite where the matrix has one rank less.
std::pair<Array, Array> cofactor_solve(const Array& a, const Array& b) {
    const std::vector<Array> factors = detail::bind_primitive(kLu, {a}, {}, Where("", 0, ""));
    const std::int64_t n = a.shape(-1);
    const Array diag = diagonal(factors[0]);
    const Array parity = count_nonzero(factors[1] != jax::lax::iota(dtype::int32, n));
    const Array sign = jax::lax::convert_element_type(sign_of_parity(parity), a.dtype());
    const Array products = cumprod(diag, -1);
    const Array partial = products * sign[{none}];
    const Array lu = factors[0].at({-1, -1}).set(1. / partial[{-2}]);
    jax::lax::iota(dtype::int32, 1);  // JAX's, of batches that a matrix alone hasn't
    const Array ones_of_column = ones(n, a.dtype());
    const Array singular = jax::lax::squeeze(triangular(lu, ones_of_column[{jax::all, none}], false, false, false), 1);
    const Array bad = tile(any(logical_or(isnan(singular), isinf(singular)))[{none, none}], {n, n});
    Array x = where(bad, zeros_like(Operand(b)), b);
    x = x[{factors[2], jax::all}];
    x = triangular(lu, x, true, true, false);
    const Array above = x[{slice(-1)}];
    const Array scaled = above * partial[{-1, none, none}];
    x = concatenate({scaled, x[{slice(-1, none)}]}, 0);
    x = triangular(lu, x, false, false, false);
    x = where(bad, zeros_like(Operand(x)), x);
    return {partial[{-1}], x};
}

}  // namespace

Array diagonal(const Operand& x) {
    return apply1({x}, [](Builder& b, const Values& v) {
        if (b.aval(v[0])->rank() < 2) detail::refuse("diagonal requires an array of at least two dimensions.");
        return jitted(b, "diagonal", "", v, [](Builder& i, const Values& w) { return diagonal_of(i, w[0]); });
    });
}
Array trace(const Operand& x) { return trace_of(x, false); }

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
        expect_square(v[0], "solve", where);
        const Array &m = v[0], &r = v[1];
        if (r.ndim() == 0 || (r.ndim() > 1 && r.ndim() > m.ndim()) || r.shape(r.ndim() == 1 ? 0 : -2) != m.shape(-1))
            throw Error(ErrorCode::BadUsage, fmt::format("Invalid shapes for solve: {}, {}.", m.shape().str(), r.shape().str()))
                .at({where.file, where.line, 0});
        return solve_matrix(m, r);
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
Slogdet slogdet(const Operand& a) {
    static const auto by_lu = custom_jvp(slogdet_by_lu, {.name = "_slogdet_lu"}).defjvp(SlogdetRule(), {.name = "_slogdet_jvp"});
    const Where where = a.where;
    const auto f = [where](const Array& given) {
        const Array m = inexact_of(given);
        expect_square(m, "slogdet()", where);
        return m.shape(-1) <= 2 ? small_slogdet()(m) : by_lu(m);
    };
    const detail::InUsersLine line(a.where);
    const SignAndLog out = jax::jit(f, {.name = "slogdet"})(asarray(a));
    return {out.first, out.second};
}
namespace {
Array det_by_lu(const Array& a) {
    const Slogdet s = slogdet(a);
    return s.sign * exp(s.logabsdet);
}
}  // namespace
Array det(const Operand& a) {
    static const auto large = custom_jvp(det_by_lu, {.name = "_det"})
                                  .defjvp(
                                      [](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
                                          const auto [y, z] = cofactor_solve(std::get<0>(primals), std::get<0>(tangents));
                                          return std::pair{y, trace_of(z, true)};
                                      },
                                      {.name = "_det_jvp"});
    const Where where = a.where;
    const auto f = [where](const Array& given) {
        const Array m = inexact_of(given);
        expect_square(m, "_det()", where);
        if (m.shape(-1) == 2) return det2(m);
        if (m.shape(-1) == 3) return det3(m);
        return large(m);
    };
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "det"})(asarray(a));
}

Array cholesky(const Operand& a, const CholeskyOptions& o) {
    expect_matrix(asarray(a), "cholesky", a.where);
    return jitted_one("cholesky", fmt::format("{} {}", o.upper, o.symmetrize_input), a, [&](Builder& b, Value x) {
        if (o.symmetrize_input) x = symmetrized(b, x);
        const AvalRef t = b.aval(x);
        const Value factor = b.bind1(kCholesky, {x}, {});
        const Dims last{t->shape[t->shape.size() - 2], t->shape.back()};
        const Value rows = cl::add(b, iota2(b, last, 0), make_literal(AvalRef(D::S32, {}), std::int64_t{0}));
        Value lower = cl::ge(b, rows, iota2(b, last, 1));
        lower = detail::broadcast_to(b, lower, t->shape);
        Value out = cl::select(b, lower, factor, cl::zeros_like(b, t));
        if (!o.upper) return out;
        out = cl::transpose(b, out, swapped_last(t->shape.size()));
        return is_complex(t->dtype) ? cl::conj(b, out) : out;
    });
}
Qr qr(const Operand& a, const char* mode) {
    const std::string_view m = mode;
    if (m != "reduced" && m != "complete")
        throw Error(ErrorCode::BadUsage, fmt::format("Unsupported QR decomposition mode '{}'", mode)).at({a.where.file, a.where.line, 0});
    expect_matrix(asarray(a), "qr", a.where);
    const auto f = [full = m == "complete"](const Array& x) {
        const std::vector<Array> v = decomposed(x, kQr, make_params(QrParams{.full_matrices = full}));
        return std::pair{v[0], v[1]};
    };
    const detail::InUsersLine line(a.where);
    const auto [q, r] = jax::jit(f, {.name = "qr"})(asarray(a));
    return {q, r};
}
Svd svd(const Operand& a, bool full_matrices) {
    expect_matrix(asarray(a), "svd", a.where);
    const auto f = [full_matrices](const Array& x) {
        const std::vector<Array> v = decomposed(x, kSvd, make_params(SvdParams{.compute_uv = true, .full_matrices = full_matrices}));
        return std::tuple{v[1], v[0], v[2]};
    };
    const detail::InUsersLine line(a.where);
    const auto [u, s, vh] = jax::jit(f, {.name = "svd"})(asarray(a));
    return {u, s, vh};
}
Array svdvals(const Operand& a) {
    expect_matrix(asarray(a), "svdvals", a.where);
    return jitted_one("svd", "values", a, [](Builder& b, Value x) {
        return b.bind1(kSvd, {x}, make_params(SvdParams{.compute_uv = false, .full_matrices = true}));
    });
}
namespace {
bool lower_of(char uplo, const Where& where) {
    if (uplo != 'L' && uplo != 'U')
        throw Error(ErrorCode::BadUsage, fmt::format("UPLO must be one of None, 'L', or 'U', got {}", uplo))
            .at({where.file, where.line, 0});
    return uplo == 'L';
}
}  // namespace
Eigh eigh(const Operand& a, char uplo, bool symmetrize_input) {
    expect_square(asarray(a), "eigh", a.where);
    const auto f = [symmetrize_input, lower = lower_of(uplo, a.where)](const Array& x) {
        const Operand in[] = {x};
        const std::vector<Array> v = apply(in, Where("", 0, ""), [&](Builder& b, const Values& w) {
            Value m = detail::inexact_operand(b, w[0]);
            if (symmetrize_input) m = symmetrized(b, m);
            return b.bind(kEigh, {m}, make_params(EighParams{.lower = lower}));
        });
        return std::pair{v[1], v[0]};
    };
    const detail::InUsersLine line(a.where);
    const auto [values, vectors] = jax::jit(f, {.name = "eigh"})(asarray(a));
    return {values, vectors};
}
Array eigvalsh(const Operand& a, char uplo) {
    const auto f = [uplo](const Array& x) { return eigh(x, uplo).eigenvalues; };
    const detail::InUsersLine line(a.where);
    return jax::jit(f, {.name = "eigvalsh"})(asarray(a));
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
