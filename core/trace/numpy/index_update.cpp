// SPDX-License-Identifier: Apache-2.0
// x.at[...].set and its like: a scatter to where a gather would read.
#include <fmt/core.h>

#include <jaxscope/lax.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "trace/numpy/indexer.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"
#include "trace/warnings.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

/// How old and new elements are combined: JAX keeps it as a jaxpr beside the primitive, one for all that do the same.
Attr combining(const ::jaxscope::Primitive* op, D type) {
    if (!op) return {};
    static std::mutex mutex;
    static auto& made = *new std::map<std::pair<const ::jaxscope::Primitive*, D>, JaxprPtr>();
    const std::lock_guard lock(mutex);
    JaxprPtr& jaxpr = made[{op, type}];
    if (!jaxpr) {
        JaxprBuilder b;
        const Values in{b.add_input(AvalRef(type, {})), b.add_input(AvalRef(type, {}))};
        jaxpr = b.finish({b.bind1(*op, in)});
    }
    return Attr(Attr::JaxprRef{jaxpr, false});
}

/// Both in the type that they promote to; an integer takes the type of integers.
Values alike(Builder& b, Value x, Value y) {
    const AvalRef a = b.aval(x), c = b.aval(y);
    if (y.is_literal() && is_integer(a->dtype) && is_integer(c->dtype)) return {x, detail::converted(b, y, a->dtype, false)};
    const detail::Promoted to = detail::promoted_type({a, c});
    return {detail::converted(b, x, to.type, to.weak), detail::converted(b, y, to.type, to.weak)};
}

/// How a scatter combines what is there with what comes.
struct Combining {
    const ::jaxscope::Primitive& scatter;
    const ::jaxscope::Primitive* op = nullptr;
    JaxprPtr function = nullptr;  ///< of a scatter that applies one, of the element and a zero
};
/// Where what is written isn't of a kind that the array can hold.
void warn_of_lost_digits(AvalRef array, AvalRef written, const Where& where) {
    if (detail::promoted_type({strong(array), written}).type == array->dtype) return;
    detail::warn("FutureWarning",
                 fmt::format("scatter inputs have incompatible types: cannot safely cast value from dtype={} to dtype={} with "
                             "jax_numpy_dtype_promotion=standard. In future JAX releases this will result in an error.",
                             info(written->dtype).name, info(array->dtype).name),
                 where);
}
Array updated(const Array& x, const std::vector<Index>& indices, const Where& where, const Operand& values, const Combining& how,
              const Writing& given) {
    const std::optional<OutOfBounds> mode = detail::index_mode(given.mode, where);
    const detail::Indexer indexer(indices, x.shape().vector(), where);
    std::vector<Operand> in = indexer.arrays();
    in.insert(in.begin(), {Operand(x, where.file, where.line, where.function), values});
    return detail::apply(
               in, where,
               [&](Builder& b, const Values& v) {
                   const AvalRef a = b.aval(v[0]);
                   const detail::Indexer::Gather g = indexer.gather(b, Values(v.begin() + 2, v.end()));
                   if (element_count(g.result) == 0) return Values{v[0]};
                   warn_of_lost_digits(a, b.aval(v[1]), where);
                   const Values both = alike(b, v[0], v[1]);
                   Value update = cl::squeeze(b, detail::broadcast_to(b, both[1], g.result), g.added);
                   if (!g.reversed.empty()) update = b.bind1(kRev, {update}, make_params(RevParams{g.reversed}));
                   ScatterParams p{.dimension_numbers = {g.dims.offset_dims, g.dims.collapsed_slice_dims, g.dims.start_index_map, {}, {}}};
                   p.indices_are_sorted = !g.repeats || given.indices_are_sorted;
                   p.unique_indices = !g.repeats || given.unique_indices;
                   p.mode = mode.value_or(OutOfBounds::FillOrDrop);
                   p.update_jaxpr = combining(how.op, b.aval(both[0])->dtype);
                   if (how.function) {
                       p.update_jaxpr = Attr(Attr::JaxprRef{how.function, false});
                       // What is written is a zero of its own in JAX, not the one that came.
                       update = detail::broadcast_to(b, detail::zero_of(b.aval(update)->dtype), b.aval(update)->shape);
                   }
                   const Value wide = indexer.with_truths(b, both[0]);
                   const Value out = cl::squeeze(b, b.bind1(how.scatter, {wide, g.indices, update}, make_params(p)), indexer.truths());
                   return Values{cl::convert_element_type(b, out, a->dtype, a->weak_type)};
               })
        .front();
}

}  // namespace

Array detail::set_at(const Array& x, const std::vector<Index>& indices, const Where& where, const Operand& values) {
    return updated(x, indices, where, values, {kScatter}, {});
}
IndexUpdate::IndexUpdate(const Array& x, std::vector<Index> indices, Where where) : x_(x), indices_(std::move(indices)), where_(where) {
    if (!x.has_value())
        detail::refuse_at(where, ErrorCode::BadUsage, "expected an array, found an Array without a value",
                          "Array() is Python's None: give it a value first, or ask has_value()");
}
IndexUpdate Array::at(std::initializer_list<Index> indices, Where where) const { return {*this, std::vector<Index>(indices), where}; }

IndexUpdate Array::at(const Position& i, Where where) const { return {*this, {i.at}, where}; }

Array IndexUpdate::set(const Operand& v, const Writing& how) const { return updated(x_, indices_, where_, v, {kScatter}, how); }
Array detail::set_at(const Array& x, const std::vector<Index>& list, const Array& values) {
    return updated(x, list, Where("", 0, ""), values, {kScatter}, {});
}
Array IndexUpdate::add(const Operand& v, const Writing& how) const { return updated(x_, indices_, where_, v, {kScatterAdd, &kAdd}, how); }
Array IndexUpdate::subtract(const Operand& v, const Writing& how) const {
    return updated(x_, indices_, where_, v, {kScatterSub, &kSub}, how);
}
Array IndexUpdate::multiply(const Operand& v, const Writing& how) const {
    return updated(x_, indices_, where_, v, {kScatterMul, &kMul}, how);
}
Array IndexUpdate::mul(const Operand& v, const Writing& how) const { return multiply(v, how); }
namespace {
/// A copy that is one elsewhere: what a quotient or power leaves alone there.
Array ones_with(const Array& x, const std::vector<Index>& indices, const Where& where, const Operand& v, const Writing& how) {
    const Operand like(x, where.file, where.line, where.function);
    return updated(numpy::ones_like(like), indices, where, v, {kScatterMul, &kMul}, how);
}
}  // namespace
Array IndexUpdate::divide(const Operand& v, const Writing& how) const {
    const detail::InUsersLine line(where_);
    const Array by = ones_with(x_, indices_, where_, v, how);
    return numpy::divide(x_, by);
}
Array IndexUpdate::power(const Operand& v, const Writing& how) const {
    const detail::InUsersLine line(where_);
    const Array by = ones_with(x_, indices_, where_, v, how);
    return numpy::power(x_, by);
}
Array IndexUpdate::min(const Operand& v, const Writing& how) const { return updated(x_, indices_, where_, v, {kScatterMin, &kMin}, how); }
Array IndexUpdate::max(const Operand& v, const Writing& how) const { return updated(x_, indices_, where_, v, {kScatterMax, &kMax}, how); }
Array IndexUpdate::applied(const void* f, Array (*call)(const void* f, const Array& x), const Writing& how) const {
    const AvalRef element(x_.node()->aval->dtype, {});
    const detail::Traced t = [&] {
        detail::Trace trace("scatter_apply", "scatter_apply");
        const Array x = trace.input(element);
        trace.input(element);
        return trace.finish({call(f, x)});
    }();
    const AvalRef made = t.jaxpr->out_avals().front();
    if (made->dtype != element->dtype || !made->shape.empty())
        detail::refuse_at(where_, ErrorCode::BadUsage,
                          fmt::format("apply: expected a function of one element that gives {}, found one that gives {}",
                                      detail::long_aval(element), detail::long_aval(made)),
                          "the function gives a number of the array's own type: .astype(x.dtype())");
    if (!t.consts.empty())
        detail::refuse_at(where_, ErrorCode::BadUsage,
                          "apply: the function closes over an array; give it numbers, or use set with what it computes");
    return updated(x_, indices_, where_, Operand(0, where_.file, where_.line, where_.function), {kScatter, nullptr, t.jaxpr}, how);
}

namespace ops {

namespace {

/// What a segment without rows has.
LiteralRef identity_of(const ::jaxscope::Primitive& combine, AvalRef scalar) {
    const double least = -std::numeric_limits<double>::infinity();
    const double wanted = &combine == &kAdd ? 0 : &combine == &kMul ? 1 : &combine == &kMax ? least : -least;
    if (is_inexact(scalar->dtype)) return make_literal(scalar, wanted);
    if (&combine == &kAdd || &combine == &kMul) return make_literal(scalar, static_cast<std::int64_t>(wanted));
    const int bits = static_cast<int>(8 * byte_size(scalar->dtype)) - (is_signed_int(scalar->dtype) ? 1 : 0);
    const std::int64_t most = bits >= 63 ? INT64_MAX : (std::int64_t{1} << bits) - 1;
    return make_literal(scalar, &combine == &kMin ? most : is_signed_int(scalar->dtype) ? -most - 1 : 0);
}
Array segments(const Operand& data, const Operand& ids, std::int64_t n, const ::jaxscope::Primitive& scatter,
               const ::jaxscope::Primitive& combine) {
    if (n < 0)
        detail::refuse_at(data.where, ErrorCode::BadUsage, "num_segments must be non-negative.", "give the largest segment number and one");
    return detail::apply1({data, ids}, [&](Builder& b, const Values& v) {
        const AvalRef rows = b.aval(v[0]), numbers = b.aval(v[1]);
        const std::size_t rank = numbers->shape.size();
        if (rows->shape.size() < rank || !std::equal(numbers->shape.begin(), numbers->shape.end(), rows->shape.begin()))
            detail::refuse(fmt::format("Incompatible shapes for broadcasting: shapes={}",
                                       "[" + detail::shape_list({numbers->shape, rows->shape}) + "]"));
        Dims shape{n}, index = numbers->shape, kept;
        shape.insert(shape.end(), rows->shape.begin() + static_cast<std::ptrdiff_t>(rank), rows->shape.end());
        const Value empty = detail::broadcast_to(b, identity_of(combine, AvalRef(rows->dtype, {})), shape);
        for (std::size_t d = 0; d < rank; ++d) kept.push_back(static_cast<std::int64_t>(d));
        index.push_back(1);
        Dims window;
        for (std::size_t d = rank; d < rows->shape.size(); ++d) window.push_back(static_cast<std::int64_t>(d));
        ScatterParams p{.dimension_numbers = {window, {0}, {0}, {}, {}}};
        p.update_jaxpr = combining(&combine, rows->dtype);
        return b.bind1(scatter, {empty, cl::broadcast_in_dim(b, v[1], index, kept), v[0]}, make_params(p));
    });
}

}  // namespace

Array segment_sum(const Operand& data, const Operand& ids, std::int64_t n) { return segments(data, ids, n, kScatterAdd, kAdd); }
Array segment_prod(const Operand& data, const Operand& ids, std::int64_t n) { return segments(data, ids, n, kScatterMul, kMul); }
Array segment_max(const Operand& data, const Operand& ids, std::int64_t n) { return segments(data, ids, n, kScatterMax, kMax); }
Array segment_min(const Operand& data, const Operand& ids, std::int64_t n) { return segments(data, ids, n, kScatterMin, kMin); }

}  // namespace ops

}  // namespace jaxscope::jax
