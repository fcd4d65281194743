// SPDX-License-Identifier: Apache-2.0
#include "trace/promote.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

namespace {

using D = ::jaxscope::DType;

/// A point of JAX's lattice: a type, or one of the three kinds of numbers.
enum class Point : std::uint8_t {
    Bool,
    IntStar,
    U4,
    U8,
    U16,
    U32,
    U64,
    S4,
    S8,
    S16,
    S32,
    S64,
    FloatStar,
    BF16,
    F16,
    F32,
    F64,
    ComplexStar,
    C64,
    C128,
    Other
};

Point point_of(const Aval& a) {
    if (a.weak_type && is_integer(a.dtype)) return Point::IntStar;
    if (a.weak_type && is_float(a.dtype)) return Point::FloatStar;
    if (a.weak_type && is_complex(a.dtype)) return Point::ComplexStar;
    switch (a.dtype) {
        case D::Bool:
            return Point::Bool;
        case D::U4:
            return Point::U4;
        case D::U8:
            return Point::U8;
        case D::U16:
            return Point::U16;
        case D::U32:
            return Point::U32;
        case D::U64:
            return Point::U64;
        case D::S4:
            return Point::S4;
        case D::S8:
            return Point::S8;
        case D::S16:
            return Point::S16;
        case D::S32:
            return Point::S32;
        case D::S64:
            return Point::S64;
        case D::BF16:
            return Point::BF16;
        case D::F16:
            return Point::F16;
        case D::F32:
            return Point::F32;
        case D::F64:
            return Point::F64;
        case D::C64:
            return Point::C64;
        case D::C128:
            return Point::C128;
        default:
            return Point::Other;
    }
}

/// What a point is converted to in one step: edges of jax._src.dtypes' lattice.
std::vector<Point> above(Point p) {
    switch (p) {
        case Point::Bool:
            return {Point::IntStar};
        case Point::IntStar:
            return {Point::U4, Point::U8, Point::S4, Point::S8};
        case Point::U4:
        case Point::S4:
            return {};
        case Point::U8:
            return {Point::S16, Point::U16};
        case Point::U16:
            return {Point::S32, Point::U32};
        case Point::U32:
            return {Point::S64, Point::U64};
        case Point::U64:
            return {Point::FloatStar};
        case Point::S8:
            return {Point::S16};
        case Point::S16:
            return {Point::S32};
        case Point::S32:
            return {Point::S64};
        case Point::S64:
            return {Point::FloatStar};
        case Point::FloatStar:
            return {Point::BF16, Point::F16, Point::ComplexStar};
        case Point::BF16:
        case Point::F16:
            return {Point::F32};
        case Point::F32:
            return {Point::F64, Point::C64};
        case Point::F64:
            return {Point::C128};
        case Point::ComplexStar:
            return {Point::C64};
        case Point::C64:
            return {Point::C128};
        default:
            return {};
    }
}

std::uint32_t reached_from(Point p) {
    std::uint32_t set = 1u << static_cast<int>(p);
    for (const Point q : above(p)) set |= reached_from(q);
    return set;
}
/// The set of points that a point is converted to, in any number of steps.
std::uint32_t reach(Point p) {
    static const auto sets = [] {
        std::array<std::uint32_t, static_cast<std::size_t>(Point::Other) + 1> out{};
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = reached_from(static_cast<Point>(i));
        return out;
    }();
    return sets[static_cast<std::size_t>(p)];
}

/// Without x64 there are no 64-bit types.
D type_of(Point p) {
    switch (p) {
        case Point::Bool:
            return D::Bool;
        case Point::IntStar:
        case Point::S32:
        case Point::S64:
            return D::S32;
        case Point::U4:
            return D::U4;
        case Point::U8:
            return D::U8;
        case Point::U16:
            return D::U16;
        case Point::U32:
        case Point::U64:
            return D::U32;
        case Point::S4:
            return D::S4;
        case Point::S8:
            return D::S8;
        case Point::S16:
            return D::S16;
        case Point::BF16:
            return D::BF16;
        case Point::F16:
            return D::F16;
        case Point::ComplexStar:
        case Point::C64:
        case Point::C128:
            return D::C64;
        default:
            return D::F32;
    }
}

/// A key goes with nothing but keys.
void refuse_keys(const Avals& avals, const char* name) {
    if (!name || std::none_of(avals.begin(), avals.end(), [](AvalRef a) { return is_key(a->dtype); })) return;
    std::string types;
    for (const AvalRef a : avals) types += (types.empty() ? "" : ", ") + std::string(info(a->dtype).name);
    throw Error(ErrorCode::TypeMismatch, fmt::format("{} does not accept dtypes {}.", name, types));
}

}  // namespace

Promoted promoted_type(const Avals& avals, const char* name) {
    bool equal = true, weak = true;
    for (const AvalRef a : avals) {
        equal = equal && a->dtype == avals.front()->dtype;
        weak = weak && a->weak_type;
    }
    if (equal) return {avals.front()->dtype, weak && avals.front()->dtype != D::Bool};
    std::uint32_t common = ~0u;
    for (const AvalRef a : avals) {
        const Point p = point_of(*a);
        if (p == Point::Other) refuse_keys(avals, name);
        if (p == Point::Other)
            throw Error(ErrorCode::TypeMismatch, std::string("no implicit promotion path for dtype ") + info(a->dtype).name);
        common &= reach(p);
    }
    for (int i = 0; i < static_cast<int>(Point::Other); ++i) {
        if (!(common >> i & 1)) continue;
        // The least one: everything common is reached from it.
        if ((reach(static_cast<Point>(i)) & common) == common) {
            const auto p = static_cast<Point>(i);
            return {type_of(p), p == Point::IntStar || p == Point::FloatStar || p == Point::ComplexStar};
        }
    }
    throw Error(ErrorCode::TypeMismatch, "Input dtypes have no available implicit dtype promotion path.");
}

D inexact(D t) { return is_inexact(t) ? t : D::F32; }

namespace {
/// What an unsigned type makes of a negative number.
std::int64_t wrapped(std::int64_t v, D type) {
    const int bits = 8 * info(type).bytes;
    return is_unsigned_int(type) && bits < 64 ? v & ((std::int64_t{1} << bits) - 1) : v;
}
/// A number in another type. The same few are converted again and again.
LiteralRef number_in(LiteralRef number, D type, bool weak) {
    struct Known {
        std::uint32_t number = ~0u;
        D type = D::Bool;
        bool weak = false;
        LiteralRef converted;
    };
    thread_local std::array<Known, 256> known;
    Known& k = known[(number.id() * 31 + static_cast<std::uint32_t>(type) * 2 + weak) % known.size()];
    if (k.number == number.id() && k.type == type && k.weak == weak) return k.converted;
    const AvalRef to(type, {}, weak);
    const Literal& l = *number;
    const D from = l.aval->dtype;
    const bool truth = l.integer != 0 || l.real != 0 || l.imag != 0;
    const LiteralRef made = type == D::Bool    ? make_literal(to, std::int64_t{truth})
                            : is_complex(from) ? make_literal(to, std::complex<double>(l.real, l.imag))
                            : is_integer(from) ? make_literal(to, wrapped(l.integer, type))
                                               : make_literal(to, l.real);
    k = {number.id(), type, weak, made};
    return made;
}
}  // namespace

Value converted(Builder& b, Value x, D type, bool weak) {
    const AvalRef a = b.aval(x);
    if (a->dtype == type && a->weak_type == weak) return x;
    // A number takes the type of what it stands beside.
    if (x.is_literal() && a->weak_type) return number_in(x.literal(), type, weak);
    return ::jaxscope::lax::convert_element_type(b, x, type, weak);
}

Values of_one_type(Builder& b, Values in, bool to_inexact) {
    Avals avals;
    for (const Value v : in) avals.push_back(b.aval(v));
    Promoted to = promoted_type(avals);
    if (to_inexact) to.type = inexact(to.type);
    for (Value& v : in) v = converted(b, v, to.type, to.weak);
    return in;
}
Values same_rank(Builder& b, Values in) {
    std::size_t low = SIZE_MAX, high = 0;
    for (const Value v : in) {
        const std::size_t rank = b.aval(v)->shape.size();
        if (rank == 0) continue;
        low = std::min(low, rank);
        high = std::max(high, rank);
    }
    if (low >= high) return in;  // those of one rank are the operation's to refuse
    std::vector<::jaxscope::Dims> shapes;
    for (const Value v : in) shapes.push_back(b.aval(v)->shape);
    broadcast_shapes(shapes);
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (shapes[i].size() == high) continue;
        ::jaxscope::Dims lead;
        for (std::size_t d = 0; d < high - shapes[i].size(); ++d) lead.push_back(static_cast<std::int64_t>(d));
        in[i] = ::jaxscope::lax::expand_dims(b, in[i], lead);
    }
    return in;
}

Values promoted(Builder& b, const Values& in, bool to_inexact, const char* name) {
    Avals avals;
    avals.reserve(in.size());
    for (const Value v : in) avals.push_back(b.aval(v));
    Promoted to = promoted_type(avals, name);
    if (to_inexact) to.type = inexact(to.type);
    Values out(in);
    // All numbers but one array: the numbers become plain, whatever the array is.
    for (Value& v : out) v = converted(b, v, to.type, to.weak);
    return same_rank(b, std::move(out));
}
Values alike(Builder& b, Values v) {
    for (Value& x : v)
        for (const Value y : v)
            if (x.is_literal() && !y.is_literal() && b.aval(x)->dtype == b.aval(y)->dtype) x = converted(b, x, b.aval(y)->dtype, false);
    return v;
}
Value strong_operand(Builder& b, Value x) { return ::jaxscope::lax::convert_element_type(b, x, b.aval(x)->dtype); }
Value number_beside(Builder& b, Value x, double v) {
    const AvalRef a = b.aval(x);
    return converted(b, literal_of(Operand(v)), a->dtype, a->weak_type);
}
Value inexact_operand(Builder& b, Value x) { return promoted(b, {x}, true).front(); }

::jaxscope::Dims broadcast_shapes(const std::vector<::jaxscope::Dims>& shapes) {
    ::jaxscope::Dims out;
    for (const auto& s : shapes) {
        if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), 1);
        for (std::size_t i = 0; i < s.size(); ++i) {
            std::int64_t& d = out[out.size() - s.size() + i];
            if (d == s[i] || s[i] == 1) continue;
            if (d != 1) {
                std::string text;
                for (const auto& t : shapes) text += (text.empty() ? "" : ", ") + Shape(t).str();
                throw Error(ErrorCode::TypeMismatch, "Incompatible shapes for broadcasting: shapes=[" + text + "]");
            }
            d = s[i];
        }
    }
    return out;
}

Value broadcast_to(Builder& b, Value x, const ::jaxscope::Dims& shape) {
    const ::jaxscope::Dims from = b.aval(x)->shape;
    if (from == shape) return x;
    check_broadcast_to(b.aval(x), shape);
    ::jaxscope::Dims dims;
    for (std::size_t i = 0; i < from.size(); ++i) dims.push_back(static_cast<std::int64_t>(shape.size() - from.size() + i));
    return ::jaxscope::lax::broadcast_in_dim(b, x, shape, dims);
}

std::int64_t axis_in(std::int64_t axis, std::int64_t rank) {
    if (axis < -rank || axis >= rank)
        throw Error(ErrorCode::BadUsage, fmt::format("axis {} is out of bounds for array of dimension {}", axis, rank));
    return axis < 0 ? axis + rank : axis;
}

Value where_call(Builder& b, Value c, Value x, Value y) {
    return jitted(b, "_where", "", {c, x, y}, [](Builder& i, const Values& w) {
        const Value truth = i.aval(w[0])->dtype == D::Bool ? w[0] : ::jaxscope::lax::ne(i, w[0], ::jaxscope::lax::constant(i, w[0], 0));
        const Promoted to = promoted_type({i.aval(w[1]), i.aval(w[2])});
        Values xy;
        for (const Value v : {w[1], w[2]}) xy.push_back(converted(i, v, to.type, to.weak));
        const auto shape = broadcast_shapes({i.aval(w[0])->shape, i.aval(xy[0])->shape, i.aval(xy[1])->shape});
        const Value cond = i.aval(truth)->shape.empty() ? truth : broadcast_to(i, truth, shape);
        const Value on_true = broadcast_to(i, xy[0], shape);
        return ::jaxscope::lax::select(i, cond, on_true, broadcast_to(i, xy[1], shape));
    });
}
}  // namespace jaxscope::jax::detail
