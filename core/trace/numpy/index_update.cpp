// SPDX-License-Identifier: Apache-2.0
// x.at[...].set and its like: a scatter of one window, or of one for each element of an index array.
#include <fmt/core.h>

#include <jaxscope/lax.h>

#include <algorithm>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "trace/promote.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

/// Where a scatter writes: parts of the start index, and what it does with each dimension.
struct Windows {
    Values starts;  ///< per scattered dimension, i32[1]
    Value array;    ///< the index array with one dimension more, where there is one
    bool by_array = false;
    ScatterDims dims;
    Dims update;  ///< shape of what is written
};

[[noreturn]] void refuse(const Where& where, const std::string& text) {
    throw Error(ErrorCode::BadUsage, text).at({where.file, where.line, 0});
}

class WindowsOf {
public:
    WindowsOf(Builder& b, const Dims& shape, const std::vector<Index>& indices, const Where& where)
        : b_(b), shape_(shape), indices_(indices), where_(where) {}

    Windows read(const Values& arrays) {
        std::size_t given = 0;
        for (const Index& i : indices_) given += i.kind != Index::Kind::new_axis && i.kind != Index::Kind::dots ? 1 : 0;
        if (given > shape_.size())
            refuse(where_, fmt::format("Too many indices: array is {}-dimensional, but {} were indexed", shape_.size(), given));
        bool expanded = false;
        for (const Index& i : indices_) {
            if (i.kind == Index::Kind::new_axis) refuse(where_, "at: a new axis has no place in what is written");
            if (i.kind == Index::Kind::dots) {
                while (axis_ + (given - seen_) < shape_.size()) whole();
                expanded = true;
            } else {
                ++seen_;
                one(i, arrays);
            }
        }
        while (!expanded && axis_ < shape_.size()) whole();
        return std::move(w_);
    }

private:
    Value start(std::int64_t at) { return cl::broadcast_in_dim(b_, make_literal(AvalRef(D::S32, {}), at), {1}, {}); }
    void window(std::int64_t size) {
        w_.dims.update_window_dims.push_back(static_cast<std::int64_t>(w_.update.size()));
        w_.update.push_back(size);
    }
    void whole() { window(shape_[axis_++]); }
    void one(const Index& i, const Values& arrays) {
        const auto axis = static_cast<std::int64_t>(axis_);
        const std::int64_t n = shape_[axis_++];
        if (i.kind == Index::Kind::array) {
            if (w_.by_array || !w_.starts.empty())
                refuse(where_, "at: an index array stands beside other indices than ':': write in two steps");
            w_.by_array = true;
            by_array(arrays[0], axis, n);
        } else if (i.kind == Index::Kind::number) {
            if (w_.by_array) refuse(where_, "at: an index array stands beside other indices than ':': write in two steps");
            const std::int64_t at = i.start < 0 ? i.start + n : i.start;
            if (at < 0 || at >= n) refuse(where_, fmt::format("index {} is out of bounds for axis {} with size {}", i.start, axis, n));
            w_.starts.push_back(start(at));
            w_.dims.inserted_window_dims.push_back(axis);
            w_.dims.scatter_dims_to_operand_dims.push_back(axis);
        } else {
            if (i.step != 1) refuse(where_, "at: slices with a step other than 1: write through an index array");
            const auto bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + n : v, 0, n); };
            const std::int64_t from = i.has_start ? bound(i.start) : 0, to = std::max(from, i.has_stop ? bound(i.stop) : n);
            if (from == 0 && to == n) return window(n);
            if (w_.by_array) refuse(where_, "at: an index array stands beside other indices than ':': write in two steps");
            w_.starts.push_back(start(from));
            w_.dims.scatter_dims_to_operand_dims.push_back(axis);
            window(to - from);
        }
    }
    void by_array(Value at, std::int64_t axis, std::int64_t n) {
        const AvalRef index(b_.aval(at)->dtype, {});
        const Value below = cl::lt(b_, at, make_literal(index, std::int64_t{0}));
        const Value wrapped = cl::select(b_, below, cl::add(b_, at, make_literal(index, n)), at);
        Dims with_one = b_.aval(at)->shape, kept;
        for (std::size_t k = 0; k < with_one.size(); ++k) kept.push_back(static_cast<std::int64_t>(k));
        w_.update.insert(w_.update.end(), with_one.begin(), with_one.end());
        with_one.push_back(1);
        w_.array = cl::broadcast_in_dim(b_, wrapped, with_one, kept);
        w_.dims.inserted_window_dims.push_back(axis);
        w_.dims.scatter_dims_to_operand_dims.push_back(axis);
    }
    Builder& b_;
    Dims shape_;
    const std::vector<Index>& indices_;
    Where where_;
    Windows w_;
    std::size_t axis_ = 0, seen_ = 0;
};

/// How old and new elements are combined: JAX keeps it as a jaxpr beside the primitive.
Attr combining(const ::jaxscope::Primitive* op, D type) {
    if (!op) return {};
    JaxprBuilder b;
    const Values in{b.add_input(AvalRef(type, {})), b.add_input(AvalRef(type, {}))};
    return Attr(Attr::JaxprRef{b.finish({b.bind1(*op, in)}), false});
}

Array updated(const Array& x, const std::vector<Index>& indices, const Where& where, const Operand& values,
              const ::jaxscope::Primitive& scatter, const ::jaxscope::Primitive* op) {
    std::vector<Operand> in{Operand(x), values};
    for (const Index& i : indices)
        if (i.kind == Index::Kind::array) in.emplace_back(i.array);
    return detail::apply(
               in, where,
               [&](Builder& b, const Values& v) {
                   const AvalRef a = b.aval(v[0]);
                   Windows w = WindowsOf(b, a->shape, indices, where).read(Values(v.begin() + 2, v.end()));
                   const Value start = w.by_array ? w.array : w.starts.size() == 1 ? w.starts[0] : cl::concatenate(b, w.starts, 0);
                   const Value update = detail::broadcast_to(b, cl::convert_element_type(b, v[1], a->dtype), w.update);
                   ScatterParams p{.dimension_numbers = std::move(w.dims)};
                   p.indices_are_sorted = p.unique_indices = !w.by_array;
                   p.update_jaxpr = combining(op, a->dtype);
                   return Values{b.bind1(scatter, {v[0], start, update}, make_params(p))};
               })
        .front();
}

bool writes_all(const std::vector<Index>& indices) {
    return std::all_of(indices.begin(), indices.end(), [](const Index& i) {
        return i.kind == Index::Kind::dots || (i.kind == Index::Kind::range && !i.has_start && !i.has_stop && i.step == 1);
    });
}

}  // namespace

IndexUpdate::IndexUpdate(const Array& x, std::vector<Index> indices, Where where) : x_(x), indices_(std::move(indices)), where_(where) {
    if (writes_all(indices_))
        throw Error(ErrorCode::BadUsage, "at: all elements are chosen: use the new array itself").at({where.file, where.line, 0});
}
IndexUpdate Array::at(std::initializer_list<Index> indices, Where where) const { return {*this, std::vector<Index>(indices), where}; }

Array IndexUpdate::set(const Operand& v) const { return updated(x_, indices_, where_, v, kScatter, nullptr); }
Array IndexUpdate::add(const Operand& v) const { return updated(x_, indices_, where_, v, kScatterAdd, &kAdd); }
Array IndexUpdate::subtract(const Operand& v) const { return updated(x_, indices_, where_, v, kScatterSub, &kSub); }
Array IndexUpdate::multiply(const Operand& v) const { return updated(x_, indices_, where_, v, kScatterMul, &kMul); }
Array IndexUpdate::min(const Operand& v) const { return updated(x_, indices_, where_, v, kScatterMin, &kMin); }
Array IndexUpdate::max(const Operand& v) const { return updated(x_, indices_, where_, v, kScatterMax, &kMax); }

}  // namespace jaxscope::jax
