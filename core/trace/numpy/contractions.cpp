// SPDX-License-Identifier: Apache-2.0
// Products of arrays: jax.numpy's, which sum in the type that the operands promote to, and jax.lax's.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "ir/print/printer.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "trace/named_axes.h"
#include "trace/numpy/contractions.h"
#include "trace/promote.h"
#include "trace/refusals.h"
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

namespace detail {

namespace {

struct NamedPrecision {
    const char *name, *member;
};
constexpr NamedPrecision kPrecisions[] = {{"highest", "HIGHEST"},  {"float32", "HIGHEST"},    {"high", "HIGH"},
                                          {"bfloat16_3x", "HIGH"}, {"tensorfloat32", "HIGH"}, {"default", "DEFAULT"},
                                          {"bfloat16", "DEFAULT"}, {"fastest", "DEFAULT"}};
constexpr const char* kAlgorithms[] = {"DEFAULT",
                                       "ANY_F8_ANY_F8_F32",
                                       "ANY_F8_ANY_F8_F32_FAST_ACCUM",
                                       "ANY_F8_ANY_F8_ANY",
                                       "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
                                       "F16_F16_F16",
                                       "F16_F16_F32",
                                       "BF16_BF16_BF16",
                                       "BF16_BF16_F32",
                                       "BF16_BF16_F32_X3",
                                       "BF16_BF16_F32_X6",
                                       "BF16_BF16_F32_X9",
                                       "TF32_TF32_F32",
                                       "TF32_TF32_F32_X3",
                                       "F32_F32_F32",
                                       "F64_F64_F64"};

Attr member_called(const std::string& name) {
    for (const NamedPrecision& p : kPrecisions)
        if (name == p.name) return Attr::Enum{"Precision", p.member};
    return {};
}
[[noreturn]] void no_precision(const Precision& p) {
    throw Error(
        ErrorCode::BadUsage,
        "Precision argument must be one of:\n- None,\n- a string in ['highest', 'float32', 'high', 'bfloat16_3x', 'tensorfloat32', "
        "'default', 'bfloat16', 'fastest', None],\n- a lax.Precision value,\n- a tuple of two lax.Precision values or strings,\n- a "
        "lax.DotAlgorithmPreset or the name of one of these presets, or\n- a lax.DotAlgorithm value;\nbut got " +
            (p.rhs ? fmt::format("('{}', '{}')", p.lhs, p.rhs) : std::string(p.lhs)) + ".");
}

}  // namespace

Attr precision_of(const Precision& given) {
    Precision p = given;
    if (!p.lhs && !default_precision().empty()) p.lhs = default_precision().c_str();
    if (!p.lhs) return {};
    const Attr left = member_called(p.lhs), right = member_called(p.rhs ? p.rhs : p.lhs);
    if (!left.is_none() && !right.is_none()) return Attr::tuple({left, right});
    if (!p.rhs)
        for (const char* a : kAlgorithms)
            if (std::string(p.lhs) == a) return Attr::Enum{"DotAlgorithmPreset", a};
    no_precision(p);
}
Promoted product_type(const Builder& b, const Values& v, const numpy::ProductOptions& how) {
    if (const std::optional<D> type = type_asked(how.preferred_element_type)) return {*type, false};
    Avals avals;
    for (const Value x : v) avals.push_back(b.aval(x));
    return promoted_type(avals);
}
std::optional<D> type_asked(const AsType& type) { return type.given ? std::optional(static_cast<D>(type.type)) : std::nullopt; }

}  // namespace detail

namespace {
void set_default_precision(const std::string& name) {
    detail::default_precision() = name;
    detail::context_changed();
}
/// JAX's flag knows fewer names than its functions.
void check_default_precision(const std::string& name, const Where& where) {
    std::vector<std::string> names = {"default", "high", "highest", "bfloat16", "tensorfloat32", "float32"};
    names.insert(names.end(), std::begin(detail::kAlgorithms) + 1, std::end(detail::kAlgorithms));
    if (std::find(names.begin(), names.end(), name) == names.end())
        detail::refuse_at(
            where, ErrorCode::BadUsage,
            fmt::format("new enum value must be None or in ['{}'], got {} of type <class 'str'>.", fmt::join(names, "', '"), name),
            "leave it out for the default");
}
}  // namespace
default_matmul_precision::default_matmul_precision(const char* name, Where where) : outer_(detail::default_precision()) {
    check_default_precision(name, where);
    set_default_precision(name);
}
default_matmul_precision::default_matmul_precision(None) : outer_(detail::default_precision()) { set_default_precision(""); }
default_matmul_precision::~default_matmul_precision() { set_default_precision(outer_); }

namespace {

using numpy::ProductOptions;

/// Throws JAX's errors for dimensions that don't fit.
Value bind_product(Builder& b, Value x, Value y, DotDims dims, std::optional<D> type, const Precision& precision) {
    detail::check_dot(b, x, y, dims);
    return b.bind1(kDotGeneral, {x, y}, make_params(DotGeneralParams{std::move(dims), detail::precision_of(precision), type}));
}
/// JAX leaves the operands as they are; the product has the type that they promote to.
Value product(Builder& b, const Values& v, DotDims dims, const ProductOptions& how) {
    const detail::Promoted to = detail::product_type(b, v, how);
    return cl::convert_element_type(b, bind_product(b, v[0], v[1], std::move(dims), to.type, how.precision), to.type, to.weak);
}
Value contracted(Builder& b, const Values& v, Dims left, Dims right, const ProductOptions& how) {
    return product(b, v, {std::move(left), std::move(right), {}, {}}, how);
}

/// How matmul goes through the batch dimensions of both operands: those that only one has, or where the other one has size one, are free
/// dimensions of the product, which a transposition puts in their places.
struct Batches {
    Dims lhs_squeezed, rhs_squeezed, both_squeezed;
    Dims lhs_batch, rhs_batch;
    Dims common, lhs_free, rhs_free;  ///< places in the result, in the order in which the product has them

    Batches(const Dims& x, const Dims& y, const std::function<void()>& refuse) {
        const std::size_t nx = x.size() > 1 ? x.size() - 2 : 0, ny = y.size() > 1 ? y.size() - 2 : 0, n = std::max(nx, ny);
        const auto before = [&](const Dims& free, const Dims& squeezed) {
            return static_cast<std::int64_t>(common.size() + free.size() + squeezed.size());
        };
        for (std::size_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const bool in_x = i + nx >= n, in_y = i + ny >= n;
            const std::int64_t sx = in_x ? x[i + nx - n] : 0, sy = in_y ? y[i + ny - n] : 0;
            if (in_x && in_y && sx != sy && sx != 1 && sy != 1) refuse();
            const bool drop_x = in_x && in_y && sx == 1, drop_y = in_x && in_y && sy == 1;
            const std::int64_t place_x = before(lhs_free, lhs_squeezed), place_y = before(rhs_free, rhs_squeezed);
            if (drop_x && drop_y) both_squeezed.push_back(at);
            if (!in_x || (drop_x && !drop_y)) rhs_free.push_back(at);
            if (!in_y || (drop_y && !drop_x)) lhs_free.push_back(at);
            if (drop_x) lhs_squeezed.push_back(place_x);
            if (drop_y) rhs_squeezed.push_back(place_y);
            if (in_x && in_y && !drop_x && !drop_y) {
                lhs_batch.push_back(place_x - static_cast<std::int64_t>(lhs_squeezed.size()));
                rhs_batch.push_back(place_y - static_cast<std::int64_t>(rhs_squeezed.size()));
                common.push_back(at);
            }
        }
        if (x.size() > 1) lhs_free.push_back(static_cast<std::int64_t>(n));
        if (y.size() > 1) rhs_free.push_back(static_cast<std::int64_t>(n) + (x.size() > 1));
    }
    /// Where each dimension of the result comes from.
    Dims order() const {
        Dims at = common;
        at.insert(at.end(), lhs_free.begin(), lhs_free.end());
        at.insert(at.end(), rhs_free.begin(), rhs_free.end());
        Dims out(at.size());
        std::iota(out.begin(), out.end(), 0);
        std::sort(out.begin(), out.end(),
                  [&](std::int64_t p, std::int64_t q) { return at[static_cast<std::size_t>(p)] < at[static_cast<std::size_t>(q)]; });
        return out;
    }
};
Value matmul_of(Builder& b, const Values& v, const ProductOptions& how) {
    for (std::size_t i = 0; i < 2; ++i)
        if (b.aval(v[i])->rank() == 0)
            throw Error(ErrorCode::TypeMismatch, fmt::format("matmul input operand {} must have ndim at least 1, but it has ndim 0", i));
    const Batches n(b.aval(v[0])->shape, b.aval(v[1])->shape, [&] {
        throw Error(ErrorCode::TypeMismatch, "Incompatible types for matmul arguments: " + detail::long_aval(b.aval(v[0])) + " and " +
                                                 detail::long_aval(b.aval(v[1])));
    });
    const bool matrix = b.aval(v[1])->rank() > 1;
    const detail::Promoted to = detail::product_type(b, v, how);
    const Value x = cl::squeeze(b, v[0], n.lhs_squeezed), y = cl::squeeze(b, v[1], n.rhs_squeezed);
    DotDims dims{{b.aval(x)->rank() - 1}, {b.aval(y)->rank() - 1 - matrix}, n.lhs_batch, n.rhs_batch};
    Value out = cl::transpose(b, bind_product(b, x, y, std::move(dims), to.type, how.precision), n.order());
    if (!n.both_squeezed.empty()) out = cl::expand_dims(b, out, n.both_squeezed);
    return cl::convert_element_type(b, out, to.type, to.weak);
}
/// jax.lax's, whose type is asked for or the operands' own.
Value general_product(Builder& b, const Values& v, DotDims dims, const ProductOptions& how) {
    return bind_product(b, v[0], v[1], std::move(dims), detail::type_asked(how.preferred_element_type), how.precision);
}
Value dot_of(Builder& b, const Values& v, const ProductOptions& how) {
    const std::int64_t x = b.aval(v[0])->rank(), y = b.aval(v[1])->rank();
    if (x == 0 || y == 0) return product(b, v, {}, how);
    return contracted(b, v, {x - 1}, {std::max<std::int64_t>(y - 2, 0)}, how);
}

}  // namespace

namespace numpy {

Array Matmul::operator()(const Operand& x, const Operand& y, const ProductOptions& how) const {
    return apply1({x, y}, [&](Builder& b, const Values& v) { return matmul_of(b, v, how); });
}
Array Dot::operator()(const Operand& x, const Operand& y, const ProductOptions& how) const {
    return apply1({x, y}, [&](Builder& b, const Values& v) { return dot_of(b, v, how); });
}
Array Vdot::operator()(const Operand& x, const Operand& y, const ProductOptions& how) const {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        Values flat = v;
        if (is_complex(b.aval(v[0])->dtype)) flat[0] = cl::conj(b, v[0]);
        for (Value& a : flat) a = cl::reshape(b, a, {b.aval(a)->size()});
        return dot_of(b, flat, how);
    });
}
Array Inner::operator()(const Operand& x, const Operand& y, const ProductOptions& how) const {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const std::int64_t left = b.aval(v[0])->rank(), right = b.aval(v[1])->rank();
        if (left != 0 && right != 0) return contracted(b, v, {left - 1}, {right - 1}, how);
        Values s = v;
        if (const std::optional<D> type = detail::type_asked(how.preferred_element_type))
            for (Value& a : s) a = cl::convert_element_type(b, a, *type);
        s = promoted(b, s);
        return cl::mul(b, s[0], s[1]);
    });
}
Array outer(const Operand& x, const Operand& y) {
    return apply1({x, y}, [](Builder& b, const Values& v) {
        const Values s = detail::of_one_type(b, v);
        const Value column = cl::expand_dims(b, cl::reshape(b, s[0], {b.aval(s[0])->size()}), {1});
        const Value row = cl::expand_dims(b, cl::reshape(b, s[1], {b.aval(s[1])->size()}), {0});
        return b.aval(column)->dtype == D::Bool ? b.bind1(kAnd, {column, row}) : cl::mul(b, column, row);
    });
}

Array tensordot(const Operand& x, const Operand& y, std::int64_t axes, const ProductOptions& how) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const std::int64_t rank_x = b.aval(v[0])->rank(), rank_y = b.aval(v[1])->rank();
        if (axes > std::min(rank_x, rank_y))
            detail::refuse(fmt::format("Number of tensordot axes (axes {}) exceeds input ranks ({} and {})", axes,
                                       Shape(b.aval(v[0])->shape).str(), Shape(b.aval(v[1])->shape).str()));
        Dims left, right;
        for (std::int64_t d = 0; d < axes; ++d) left.push_back(rank_x - axes + d), right.push_back(d);
        return contracted(b, v, left, right, how);
    });
}
Array tensordot(const Operand& x, const Operand& y, const std::pair<Shape, Shape>& axes, const ProductOptions& how) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        if (axes.first.size() != axes.second.size())
            detail::refuse(
                fmt::format("tensordot requires axes lists to have equal length, got {} and {}.", axes.first.str(), axes.second.str()));
        Dims left, right;
        for (const std::int64_t a : axes.first) left.push_back(detail::axis_in(a, b.aval(v[0])->rank()));
        for (const std::int64_t a : axes.second) right.push_back(detail::axis_in(a, b.aval(v[1])->rank()));
        return contracted(b, v, left, right, how);
    });
}
}  // namespace numpy

namespace lax {

Array Dot::operator()(const Operand& x, const Operand& y, const ProductOptions& how) const {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const Dims l = b.aval(v[0])->shape, r = b.aval(v[1])->shape;
        if (l.empty() || r.empty() || l.size() > 2 || r.size() > 2 || l.back() != r.front())
            throw Error(ErrorCode::TypeMismatch,
                        "jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched matrix-matrix, "
                        "matrix-vector, or vector-vector products; got lhs_shape=" +
                            Shape(l).str() + " rhs_shape=" + Shape(r).str());
        return general_product(b, v, {{b.aval(v[0])->rank() - 1}, {0}, {}, {}}, how);
    });
}
Array dot_general(const Operand& x, const Operand& y, const DotDimensionNumbers& d, const ProductOptions& how) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        return general_product(b, v, {d.lhs_contracting.vector(), d.rhs_contracting.vector(), d.lhs_batch.vector(), d.rhs_batch.vector()},
                               how);
    });
}
Array ragged_dot(const Operand& lhs, const Operand& rhs, const Operand& group_sizes, const numpy::ProductOptions& how) {
    return apply1({lhs, rhs, group_sizes}, [&](Builder& b, const Values& v) {
        const auto numbers = [](std::initializer_list<std::int64_t> list) {
            std::vector<Attr> items;
            for (const std::int64_t n : list) items.emplace_back(n);
            return Attr::tuple(std::move(items));
        };
        Attr::Record dims;
        dims.type = "RaggedDotDimensionNumbers";
        dims.fields = {
            {"dot_dimension_numbers", Attr::tuple({Attr::tuple({numbers({1}), numbers({1})}), Attr::tuple({numbers({}), numbers({})})})},
            {"lhs_ragged_dimensions", numbers({0})},
            {"rhs_group_dimensions", numbers({0})}};
        const std::optional<D> type = detail::type_asked(how.preferred_element_type);
        return b.bind1(kRaggedDotGeneral, v,
                       Params::make({{"group_offset", Attr()},
                                     {"out_sharding", Attr()},
                                     {"precision", detail::precision_of(how.precision)},
                                     {"preferred_element_type", type ? Attr(*type) : Attr()},
                                     {"ragged_dot_dimension_numbers", Attr(std::make_shared<const Attr::Record>(std::move(dims)))}}));
    });
}
Array dot_general(const Operand& x, const Operand& y, const DotDimensionNumbers& d, dtype preferred_element_type) {
    return dot_general(x, y, d, {.preferred_element_type = preferred_element_type});
}
Array batch_matmul(const Operand& x, const Operand& y, Precision precision) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        if (rank < 2 || b.aval(v[1])->rank() < 2)
            detail::refuse(fmt::format("Arguments to batch_matmul must be at least 2D, got {}, {}", rank, b.aval(v[1])->rank()));
        if (b.aval(v[1])->rank() != rank)
            throw Error(ErrorCode::TypeMismatch,
                        "Arguments to batch_matmul must have same ndim>=2, got " + to_text(b.aval(v[0])) + " and " + to_text(b.aval(v[1])));
        Dims batch(static_cast<std::size_t>(rank - 2));
        std::iota(batch.begin(), batch.end(), 0);
        return general_product(b, v, {{rank - 1}, {rank - 2}, batch, batch}, {.precision = precision});
    });
}

}  // namespace lax
}  // namespace jaxscope::jax
