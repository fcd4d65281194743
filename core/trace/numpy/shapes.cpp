// SPDX-License-Identifier: Apache-2.0
// jax.numpy: reductions, shapes, new arrays.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "ir/types/element.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::axes_of;
using detail::iota_of;
using detail::made;
using detail::number_of;
using detail::ravel_of;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace numpy {

Array reshape(const Operand& x, const Shape& shape) {
    return apply1({x},
                  [&](Builder& b, const Values& v) { return cl::reshape(b, v[0], detail::reshaped(b.aval(v[0])->shape, shape.vector())); });
}
Array ravel(const Operand& x) { return reshape(x, {-1}); }
Array transpose(const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims order;
        for (const std::int64_t a : axes) order.push_back(detail::axis_in(a, b.aval(v[0])->rank()));
        detail::check_transpose(b.aval(v[0])->shape, order);
        return cl::transpose(b, v[0], order);
    });
}
Array transpose(const Operand& x) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims order;
        for (std::int64_t i = b.aval(v[0])->rank(); i-- > 0;) order.push_back(i);
        return cl::transpose(b, v[0], order);
    });
}
Array moveaxis(const Operand& x, const Shape& from, const Shape& to) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        if (from.size() != to.size()) detail::refuse(fmt::format("Inconsistent number of elements: {} vs {}", from.size(), to.size()));
        std::vector<std::pair<std::int64_t, std::int64_t>> moves;  // destination, source
        for (std::size_t i = 0; i < from.size(); ++i) moves.emplace_back(detail::axis_in(to[i], rank), detail::axis_in(from[i], rank));
        std::sort(moves.begin(), moves.end());
        Dims order;
        for (std::int64_t i = 0; i < rank; ++i)
            if (std::none_of(moves.begin(), moves.end(), [&](const auto& m) { return m.second == i; })) order.push_back(i);
        for (const auto& [t, f] : moves) order.insert(order.begin() + t, f);
        return cl::transpose(b, v[0], order);
    });
}
Array swapaxes(const Operand& x, std::int64_t p, std::int64_t q) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims order = axes_of({}, b.aval(v[0])->rank());
        std::swap(order[static_cast<std::size_t>(detail::axis_in(p, b.aval(v[0])->rank()))],
                  order[static_cast<std::size_t>(detail::axis_in(q, b.aval(v[0])->rank()))]);
        return cl::transpose(b, v[0], order);
    });
}
Array expand_dims(const Operand& x, const Shape& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return cl::expand_dims(b, v[0], detail::expanded_dims(b.aval(v[0])->rank(), axes.vector()));
    });
}
Array squeeze(const Operand& x, const Axes& axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims ones;
        const Dims& shape = b.aval(v[0])->shape;
        for (std::size_t i = 0; i < shape.size() && !axis.given; ++i)
            if (shape[i] == 1) ones.push_back(static_cast<std::int64_t>(i));
        return cl::squeeze(b, v[0], axis.given ? detail::squeezed_dims(shape, axis.axes) : ones);
    });
}
Array broadcast_to(const Operand& x, const Shape& shape) {
    return apply1({x}, [&](Builder& b, const Values& v) { return detail::broadcast_to(b, v[0], shape.vector()); });
}
namespace {
Array joined_by(const Arrays& parts, const char* verb, const Where& where, const std::function<Value(Builder&, const Values&)>& f) {
    if (parts.empty())
        detail::refuse_at(where, ErrorCode::BadUsage, fmt::format("Need at least one array to {}.", verb),
                          "give the arrays in braces: jnp::concatenate({x, y})");
    std::vector<Operand> in;
    for (const Array& a : parts) in.emplace_back(a, where.file, where.line, where.function);
    return detail::apply(in, where,
                         [&](Builder& b, const Values& v) {
                             Avals avals;
                             for (const Value x : v) avals.push_back(b.aval(x));
                             const detail::Promoted to = detail::promoted_type(avals);
                             Values same;
                             for (const Value x : v) same.push_back(detail::converted(b, x, to.type, to.weak));
                             return Values{f(b, same)};
                         })
        .front();
}
Value joined_along(Builder& b, const Values& v, std::int64_t axis) {
    if (b.aval(v[0])->rank() == 0) detail::refuse("Zero-dimensional arrays cannot be concatenated.");
    const std::int64_t at = detail::axis_in(axis, b.aval(v[0])->rank());
    detail::check_concatenate(b, v, at);
    return cl::concatenate(b, v, at);
}
}  // namespace
Array concatenate(const Arrays& parts, std::int64_t axis, Where where) {
    return joined_by(parts, "concatenate", where, [&](Builder& b, const Values& v) { return joined_along(b, v, axis); });
}
Array stack(const Arrays& parts, std::int64_t axis, Where where) {
    return joined_by(parts, "stack", where, [&](Builder& b, const Values& v) {
        const std::vector<Dims> shapes = detail::shapes_of(b, v);
        for (const Dims& s : shapes)
            if (s.size() != shapes[0].size())
                detail::refuse("Cannot stack arrays with different numbers of dimensions: got " + detail::shape_list(shapes) + ".");
        for (const Dims& s : shapes)
            if (s != shapes[0]) detail::refuse("All input arrays must have the same shape. Got " + detail::shape_list(shapes) + ".");
        return b.bind1(kStack, v, make_params(StackParams{detail::axis_in(axis, b.aval(v[0])->rank() + 1)}));
    });
}
namespace {
Array joined_at_least(const Arrays& parts, const char* name, std::int64_t rank, std::int64_t axis, const Where& where) {
    return joined_by(parts, "concatenate", where, [&](Builder& b, const Values& v) {
        Values same;
        for (const Value x : v)
            same.push_back(jitted(b, name, "", {x}, [&](Builder& i, const Values& w) {
                Dims lead;
                for (std::int64_t d = 0; d < rank - i.aval(w[0])->rank(); ++d) lead.push_back(d);
                return lead.empty() ? w[0] : cl::expand_dims(i, w[0], lead);
            }));
        return joined_along(b, same, axis);
    });
}
}  // namespace
Array vstack(const Arrays& parts, Where where) { return joined_at_least(parts, "atleast_2d", 2, 0, where); }
Array hstack(const Arrays& parts, Where where) {
    return joined_at_least(parts, "atleast_1d", 1, !parts.empty() && parts.front().ndim() > 1 ? 1 : 0, where);
}
namespace {
/// Sizes of the parts along a dimension. `equal`: parts that a number asks for.
Dims part_sizes(std::int64_t n, const Sections& into, bool equal) {
    Dims sizes;
    if (into.cut) {
        std::int64_t from = 0;
        for (const std::int64_t at : into.positions) sizes.push_back(at - std::exchange(from, at));
        sizes.push_back(n - from);
        if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s < 0; }))
            detail::refuse("Sizes passed to split must be nonnegative, got " + detail::list_text(sizes));
        return sizes;
    }
    // Python's own error for a division by zero says nothing of sections.
    if (into.count <= 0) detail::refuse(fmt::format("split: expected a number of sections above zero, found {}", into.count));
    const std::int64_t rest = n % into.count;
    if (equal && rest != 0) detail::refuse(fmt::format("array split does not result in an equal division: rest is {}", rest));
    for (std::int64_t k = 0; k < into.count; ++k) sizes.push_back(n / into.count + (k < rest));
    return sizes;
}
Arrays parted(const Operand& x, const Sections& into, std::int64_t axis, bool equal) {
    return detail::apply({&x, 1}, x.where, [&](Builder& b, const Values& v) {
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank());
        const Dims sizes = part_sizes(b.aval(v[0])->shape[static_cast<std::size_t>(a)], into, equal);
        return b.bind(kSplit, v, make_params(SplitParams{sizes, a}));
    });
}
}  // namespace
Arrays split(const Operand& x, const Sections& sections, std::int64_t axis) { return parted(x, sections, axis, true); }
Arrays array_split(const Operand& x, const Sections& sections, std::int64_t axis) { return parted(x, sections, axis, false); }
}  // namespace numpy

std::vector<Array> detail::unpacked(const Operand& x, std::size_t count) {
    return apply({&x, 1}, x.where, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape;
        if (shape.empty()) refuse("iteration over a 0-d array");
        const auto n = static_cast<std::int64_t>(count);
        if (shape[0] < n) refuse(fmt::format("not enough values to unpack (expected {}, got {})", n, shape[0]));
        if (shape[0] > n) refuse(fmt::format("too many values to unpack (expected {})", n));
        Values out;
        for (std::int64_t i = 0; i < n; ++i) {
            Dims from(shape.size(), 0), to = shape;
            from[0] = i, to[0] = i + 1;
            const Value one = b.bind1(kSlice, {v[0]}, make_params(SliceParams{from, to, Dims(shape.size(), 1)}));
            out.push_back(cl::squeeze(b, one, {0}));
        }
        return out;
    });
}

namespace numpy {

Array tile(const Operand& x, const Shape& reps) {
    detail::check_nonnegative("tile reps", reps.vector());
    return apply1({x}, [&](Builder& b, const Values& v) {
        // Both are given the other's rank, from the front.
        Dims counts = reps.vector();
        const auto rank = static_cast<std::size_t>(b.aval(v[0])->rank());
        if (counts.size() < rank) counts.insert(counts.begin(), rank - counts.size(), 1);
        Dims lead;
        for (std::size_t d = rank; d < counts.size(); ++d) lead.push_back(static_cast<std::int64_t>(d - rank));
        return b.bind1(kTile, {lead.empty() ? v[0] : cl::expand_dims(b, v[0], lead)}, make_params(TileParams{counts}));
    });
}
Array repeat(const Operand& x, std::int64_t repeats) {
    return detail::in_line({x}, [&](const Arrays& v) { return Arrays{repeat(ravel(v[0]), repeats, 0)}; }).front();
}
Array repeat(const Operand& x, std::int64_t repeats, std::int64_t axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims shape = b.aval(v[0])->shape;
        const std::int64_t a = detail::axis_in(axis, b.aval(v[0])->rank());
        Dims wide = shape, dims;
        wide.insert(wide.begin() + a + 1, repeats);
        detail::check_nonnegative("broadcast_in_dim shape", wide);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i) dims.push_back(i + (i > a));
        shape[static_cast<std::size_t>(a)] *= repeats;
        return cl::reshape(b, cl::broadcast_in_dim(b, v[0], wide, dims), shape);
    });
}
namespace {
/// Each axis in turn, in one jit.
Value rolled(Builder& b, Value x, const Shape& shifts, const Dims& axes) {
    if (shifts.size() != axes.size() && shifts.size() != 1 && axes.size() != 1)
        detail::refuse(
            fmt::format("shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg 0 with shape ({},) "
                        "and arg 1 with shape ({},).",
                        axes.size(), shifts.size()));
    return jitted(b, "_roll_static", shifts.str() + Shape(axes).str(), {x}, [&](Builder& i, const Values& w) {
        Value out = w[0];
        const Dims shape = i.aval(out)->shape;
        const Dims strides(shape.size(), 1);
        for (std::size_t k = 0; k < std::max(axes.size(), shifts.size()); ++k) {
            const auto a = static_cast<std::size_t>(axes[axes.size() == 1 ? 0 : k]);
            const std::int64_t n = shape[a], shift = shifts[shifts.size() == 1 ? 0 : k];
            if (n == 0) continue;
            Dims start(shape.size(), 0), limit = shape;
            start[a] = ((-shift % n) + n) % n;
            const Value front = i.bind1(kSlice, {out}, make_params(SliceParams{start, limit, strides}));
            limit[a] = start[a], start[a] = 0;
            out = cl::concatenate(i, {front, i.bind1(kSlice, {out}, make_params(SliceParams{start, limit, strides}))},
                                  static_cast<std::int64_t>(a));
        }
        return out;
    });
}
}  // namespace
Array roll(const Operand& x, const Shape& shift, const Shape& axis) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims axes;
        for (const std::int64_t a : axis) axes.push_back(detail::axis_in(a, b.aval(v[0])->rank()));
        return rolled(b, v[0], shift, axes);
    });
}
Array roll(const Operand& x, std::int64_t shift) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape;
        return cl::reshape(b, rolled(b, ravel_of(b, v[0]), shift, {0}), shape);
    });
}
namespace {
Array padded(const Operand& x, const PadConfig& config, const Operand& value) {
    std::string key;
    for (const PadDim& d : config) {
        if (d.low < 0 || d.high < 0)
            detail::refuse_at(x.where, ErrorCode::BadUsage, "index can't contain negative values",
                              "slice x to make it smaller: x[{slice(1, -1)}]");
        key += fmt::format("{} {} ", d.low, d.high);
    }
    return apply1({x, value}, [&](Builder& b, const Values& v) {
        if (b.aval(v[1])->rank() != 0) detail::refuse("pad: expected one number to fill with, found " + detail::long_aval(b.aval(v[1])));
        return jitted(b, "_pad", key, v, [&](Builder& i, const Values& w) {
            return cl::pad(i, w[0], cl::convert_element_type(i, w[1], i.aval(w[0])->dtype, i.aval(w[0])->weak_type), config);
        });
    });
}
std::int64_t rank_of(const Operand& x) { return x.kind == Operand::Kind::array && x.node ? x.node->aval->rank() : 0; }
}  // namespace
Array pad(const Operand& x, std::int64_t width) {
    return padded(x, PadConfig(static_cast<std::size_t>(rank_of(x)), PadDim{width, width, 0}), 0);
}
Array pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const Operand& value) {
    const auto rank = static_cast<std::size_t>(rank_of(x));
    if (widths.size() != 1 && widths.size() != rank)
        detail::refuse_at(x.where, ErrorCode::BadUsage,
                          fmt::format("pad: expected a pair of widths for each of {} dimensions, found {}", rank, widths.size()),
                          "give {before, behind} for each dimension, or one number for all");
    PadConfig config;
    for (std::size_t d = 0; d < rank; ++d) {
        const auto& [low, high] = widths[widths.size() == 1 ? 0 : d];
        config.push_back({low, high, 0});
    }
    return padded(x, config, value);
}
namespace {
Array triangle(const Operand& x, bool lower, std::int64_t k) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        return jitted(b, lower ? "tril" : "triu", fmt::format("{}", k), v, [&](Builder& i, const Values& w) {
            const Dims shape = i.aval(w[0])->shape;
            if (shape.size() < 2) detail::refuse(fmt::format("Argument to jax.numpy.{} must be at least 2D", lower ? "tril" : "triu"));
            const Dims last(shape.end() - 2, shape.end());
            const Value rows = cl::add(i, iota_of(i, D::S32, last, 0), number_of(D::S32, static_cast<double>(lower ? k : k - 1)));
            const Value mask = detail::broadcast_to(i, cl::ge(i, rows, iota_of(i, D::S32, last, 1)), shape);
            const Value zeros = cl::full(i, i.aval(w[0]), 0.0);
            return lower ? cl::select(i, mask, w[0], zeros) : cl::select(i, mask, zeros, w[0]);
        });
    });
}
}  // namespace
Array tril(const Operand& x, std::int64_t k) { return triangle(x, true, k); }
Array triu(const Operand& x, std::int64_t k) { return triangle(x, false, k); }
namespace {
Array flipped(const Operand& x, const Axes& axes) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        Dims dims;
        for (const std::int64_t a : axes.axes) dims.push_back(detail::axis_in(a, b.aval(v[0])->rank()));
        if (!axes.given) dims = axes_of({}, b.aval(v[0])->rank());
        return jitted(b, "_flip", Shape(dims).str(), v,
                      [&](Builder& i, const Values& w) { return i.bind1(kRev, w, make_params(RevParams{dims})); });
    });
}
}  // namespace
Array flip(const Operand& x, const Axes& axis) { return flipped(x, axis); }
Array flipud(const Operand& x) { return flipped(x, 0); }
Array fliplr(const Operand& x) { return flipped(x, 1); }

}  // namespace numpy

namespace lax {

Array expand_dims(const Operand& x, const Shape& axes) { return numpy::expand_dims(x, axes); }

}  // namespace lax

}  // namespace jaxscope::jax
