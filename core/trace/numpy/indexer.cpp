// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/indexer.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "ir/types/element.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/functions.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

namespace cl = ::jaxscope::lax;
using ::jaxscope::Dims;
using D = ::jaxscope::DType;

namespace {

using Kind = Index::Kind;

AvalRef word() { return AvalRef(D::S32, {}); }
Value number(std::int64_t v) { return make_literal(word(), v); }

/// Python's slice.indices.
struct Range {
    std::int64_t start, stop, step;
    std::int64_t size() const {
        if (step > 0) return std::max<std::int64_t>(0, (stop - start + step - 1) / step);
        return std::max<std::int64_t>(0, (start - stop - step - 1) / -step);
    }
};
Range range_of(const Index& i, std::int64_t n) {
    const auto inside = [&](std::int64_t v, std::int64_t low, std::int64_t high) { return std::clamp(v < 0 ? v + n : v, low, high); };
    if (i.step > 0) return {i.has_start ? inside(i.start, 0, n) : 0, i.has_stop ? inside(i.stop, 0, n) : n, i.step};
    return {i.has_start ? inside(i.start, -1, n - 1) : n - 1, i.has_stop ? inside(i.stop, -1, n - 1) : -1, i.step};
}

/// Positions of the true elements, one vector for each dimension of the mask.
std::vector<Index> positions(const Index& mask, const Where& where) {
    const Node& n = *mask.array.node();
    if (n.is_tracer())
        detail::refuse_at(where, ErrorCode::BadUsage, "Array boolean indices must be concrete; got " + to_text(n.aval),
                          "choose with jnp::where(mask, x, y), whose result has a shape that is known");
    const ArrayPtr& a = elements(n);
    if (n.aval->shape.empty()) return {Index(load_element(D::Bool, a->data.data()).integer != 0, where)};
    const Dims& shape = n.aval->shape;
    std::vector<std::vector<std::int32_t>> found(shape.size());
    for (std::int64_t e = 0; e < n.aval->size(); ++e) {
        if (!load_element(D::Bool, a->data.data() + e).integer) continue;
        std::int64_t rest = e;
        for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) found[d].push_back(static_cast<std::int32_t>(rest % shape[d]));
    }
    std::vector<Index> out;
    for (const auto& f : found) out.emplace_back(Array(f, Shape(static_cast<std::int64_t>(f.size()))), where);
    return out;
}
Array none_below_zero(const Index& positions) {
    auto all_false = std::make_shared<ArrayConst>();
    all_false->aval = AvalRef(D::Bool, {positions.array.size()});
    all_false->data.assign(static_cast<std::size_t>(positions.array.size()), std::byte{0});
    return concrete(all_false);
}
bool is_mask(const Index& i) { return i.kind == Kind::array && i.array.has_value() && i.array.dtype() == dtype::bool_; }
/// A mask without dimensions too.
bool is_truth(const Index& i) { return i.kind == Kind::truth || (is_mask(i) && i.array.ndim() == 0); }
std::int64_t consumed(const Index& i) {
    if (is_mask(i)) return i.array.ndim();
    return i.kind == Kind::truth || i.kind == Kind::new_axis || i.kind == Kind::dots ? 0 : 1;
}
void expect_mask(const Index& mask, std::size_t position, const Dims& shape, std::size_t dim, const Where& where) {
    const Dims found = mask.array.shape().vector(),
               expected(shape.begin() + static_cast<std::ptrdiff_t>(dim), shape.begin() + static_cast<std::ptrdiff_t>(dim + found.size()));
    for (std::size_t d = 0; d < found.size(); ++d) {
        if (found[d] == 0 || found[d] == expected[d]) continue;
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("boolean index did not match shape of indexed array in index {}: got {}, expected {}", position,
                                      Shape(found).str(), list_text(expected)),
                          "the mask has the size of the dimensions that it stands for; x[mask] takes x.shape() whole");
    }
}
void expect_integers(const Index& i, const Where& where) {
    if (i.kind == Kind::range && i.step == 0)
        detail::refuse_at(where, ErrorCode::BadUsage, "slice step cannot be zero", "leave the step out, or count backwards with -1");
    if (i.kind != Kind::array) return;
    if (!i.array.has_value())
        detail::refuse_at(where, ErrorCode::BadUsage, "expected an index, found an Array without a value",
                          "jax::none is a new axis; an Array() is no index");
    const D type = static_cast<D>(i.array.dtype());
    if (!is_integer(type) && type != D::Bool)
        detail::refuse_at(where, ErrorCode::TypeMismatch,
                          std::string("Indexer must have integer or boolean type, got indexer with type ") + info(type).name,
                          "convert it: i.astype(jnp::int32)");
}

}  // namespace

Where place_of(const std::vector<Index>& list, const Where& otherwise) {
    for (const Index& i : list)
        if (i.where.line != 0) return i.where;
    return otherwise;
}

Indexer::Indexer(const std::vector<Index>& list, const Dims& shape, const Where& where) : shape_(shape), where_(where) {
    std::int64_t given = 0;
    int dots = 0, last = -1, at = 0;
    for (const Index& i : list) {
        expect_integers(i, where);
        given += consumed(i);
        dots += i.kind == Kind::dots;
        // A mask stands for as many index arrays as it has dimensions.
        if (i.kind == Kind::number || (i.kind == Kind::array && !is_truth(i))) {
            together_ = together_ && (last < 0 || last == at - 1);
            last = is_mask(i) ? at + i.array.ndim() - 1 : at;
        }
        at += is_mask(i) && !is_truth(i) ? i.array.ndim() : 1;
    }
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (dots > 1)
        detail::refuse_at(where, ErrorCode::BadUsage, "an index can only have a single ellipsis ('...')",
                          "write jax::all for single dimensions");
    if (given > rank)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("Too many indices: array is {}-dimensional, but {} were indexed", rank, given),
                          "x.ndim() says how many there are; jax::none adds one");
    std::size_t dim = 0;
    const auto rest = [&] {
        for (std::int64_t k = given; k < rank; ++k, ++dim) entries_.push_back({all});
    };
    for (std::size_t k = 0; k < list.size(); ++k) {
        const Index& i = list[k];
        if (i.kind == Kind::dots) {
            rest();
        } else if (is_mask(i)) {
            expect_mask(i, k, shape, dim, where);
            for (const Index& p : positions(i, where)) entries_.push_back({p, -1, is_truth(p) ? Array() : none_below_zero(p)});
            dim += static_cast<std::size_t>(i.array.ndim());
        } else {
            entries_.push_back({i});
            dim += static_cast<std::size_t>(consumed(i));
        }
    }
    if (!dots) rest();
    number_dims();
}

/// Each index gets its dimension, truth values new ones: at their place in the list, where JAX counts new axes too.
void Indexer::number_dims() {
    Dims shape = shape_;
    std::int64_t dim = 0;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
        Entry& e = entries_[k];
        if (is_truth(e.index)) {
            truths_.push_back(static_cast<std::int64_t>(k));
            shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(k, shape.size())), 1);
            const std::int64_t chosen = e.index.start;
            e.index = Index(Array(std::vector<std::int32_t>(static_cast<std::size_t>(chosen)), Shape(chosen)), e.index.where);
            e.below_zero = none_below_zero(e.index);
        }
        if (e.index.kind != Kind::new_axis) e.dim = dim++;
    }
    if (truths_.empty()) return;
    at_place(where_, [&] { return expanded_dims(static_cast<std::int64_t>(shape_.size()), truths_); });
    shape_ = shape;
}
Value Indexer::with_truths(Builder& b, Value x) const { return truths_.empty() ? x : cl::expand_dims(b, x, truths_); }

std::vector<Operand> Indexer::arrays() const {
    std::vector<Operand> out;
    const auto put = [&](const Array& a) { out.emplace_back(a, where_.file, where_.line, where_.function); };
    for (const Entry& e : entries_) {
        if (e.index.kind == Kind::array) put(e.index.array);
        if (e.below_zero.has_value()) put(e.below_zero);
    }
    return out;
}

bool Indexer::slices() const {
    return std::all_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
        if (e.index.kind == Kind::array) return false;
        if (e.index.kind != Kind::number) return true;
        const std::int64_t n = shape_[static_cast<std::size_t>(e.dim)], at = e.index.start < 0 ? e.index.start + n : e.index.start;
        return at >= 0 && at < n;
    });
}
bool Indexer::slices_at_starts() const {
    return std::all_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
        if (e.index.kind == Kind::number) return shape_[static_cast<std::size_t>(e.dim)] != 0;
        if (e.index.kind == Kind::array) return e.index.array.ndim() == 0 && shape_[static_cast<std::size_t>(e.dim)] != 0;
        return e.index.kind != Kind::range || e.index.step == 1 || e.index.step == -1;
    });
}

Value Indexer::slice(Builder& b, Value x) const {
    Dims start, limit, strides, reversed, squeezed, added;
    bool strided = false;
    for (const Entry& e : entries_) {
        if (e.index.kind == Kind::new_axis) {
            added.push_back(static_cast<std::int64_t>(start.size() - squeezed.size() + added.size()));
            continue;
        }
        const std::int64_t n = shape_[start.size()];
        if (e.index.kind == Kind::number) {
            squeezed.push_back(e.dim);
            start.push_back(e.index.start < 0 ? e.index.start + n : e.index.start);
            limit.push_back(start.back() + 1), strides.push_back(1);
            continue;
        }
        const Range r = range_of(e.index, n);
        if (r.step < 0) {
            // Taken forwards, then reversed.
            const std::int64_t gap = r.start - r.stop - 1, off = ((gap % -r.step) + -r.step) % -r.step;
            start.push_back(std::min(n, r.stop + 1 + std::abs(off)));
            limit.push_back(std::max(start.back(), r.start + 1));
            reversed.push_back(e.dim);
        } else {
            start.push_back(r.start), limit.push_back(std::max(r.start, r.stop));
        }
        strides.push_back(std::abs(r.step));
        strided = strided || strides.back() != 1;
    }
    if (strided || limit != shape_ || start != Dims(shape_.size(), 0)) {
        SliceParams p{start, limit};
        if (strided) p.strides = strides;
        x = b.bind1(kSlice, {x}, make_params(p));
    }
    if (!reversed.empty()) x = b.bind1(kRev, {x}, make_params(RevParams{reversed}));
    if (!squeezed.empty()) x = cl::squeeze(b, x, squeezed);
    if (!added.empty()) x = cl::expand_dims(b, x, added);
    return x;
}

Value Indexer::dynamic_start(Builder& b, const Entry& e, const Values& arrays, std::size_t& next) const {
    if (e.index.kind == Kind::number) return number(e.index.start);
    if (e.index.kind == Kind::array) {
        const Value at = arrays[next++];
        return shape_.size() > 1 ? cl::convert_element_type(b, at, D::S32) : at;
    }
    const Range r = range_of(e.index, shape_[static_cast<std::size_t>(e.dim)]);
    return number(r.step < 0 ? r.stop + 1 : r.start);
}

Value Indexer::dynamic_slice(Builder& b, Value x, const Values& arrays) const {
    Values starts;
    Dims sizes, reversed, squeezed, added;
    std::size_t next = 0;
    bool known = false;  // one range alone: its start is a number that JAX takes as it is
    for (const Entry& e : entries_) {
        if (e.index.kind == Kind::new_axis) {
            added.push_back(static_cast<std::int64_t>(starts.size() - squeezed.size() + added.size()));
            continue;
        }
        known = e.index.kind == Kind::range && shape_.size() == 1;
        starts.push_back(dynamic_start(b, e, arrays, next));
        const Range r = range_of(e.index, shape_[static_cast<std::size_t>(e.dim)]);
        if (e.index.kind == Kind::range && r.step < 0) reversed.push_back(e.dim);
        if (e.index.kind != Kind::range) squeezed.push_back(e.dim);
        sizes.push_back(e.index.kind == Kind::range ? r.size() : 1);
    }
    for (std::size_t d = 0; d < starts.size() && !known; ++d) {
        const AvalRef type(b.aval(starts[d])->dtype, {});
        if (is_unsigned_int(type->dtype)) continue;
        const Value below = b.bind1(kLt, {starts[d], make_literal(type, std::int64_t{0})});
        const Value strong = cl::convert_element_type(b, starts[d], type->dtype);
        const Value wrapped = b.bind1(kAdd, {strong, make_literal(type, shape_[d])});
        starts[d] = b.bind1(kSelectN, {below, starts[d], wrapped});
    }
    starts.insert(starts.begin(), x);
    x = b.bind1(kDynamicSlice, starts, make_params(DynamicSliceParams{sizes}));
    if (!reversed.empty()) x = b.bind1(kRev, {x}, make_params(RevParams{reversed}));
    x = cl::squeeze(b, x, squeezed);
    return added.empty() ? x : cl::expand_dims(b, x, added);
}

/// Goes through the indices once: `y` are the dimensions of the result.
class Indexer::GatherMaker {
public:
    GatherMaker(Builder& b, const Indexer& of, const Values& arrays) : b_(b), of_(of) {
        std::size_t next = 0;
        for (const Entry& e : of.entries_) {
            const bool array = e.index.kind == Kind::array;
            if (e.index.kind != Kind::number && !array) continue;
            g_.repeats = g_.repeats || (array && b.aval(arrays[next])->rank() > 0);
            const Value at = array ? arrays[next++] : Value();
            chosen_.push_back(start(e, at, e.below_zero.has_value() ? arrays[next++] : Value()));
            dims_.push_back(e.dim);
        }
    }
    Gather made() {
        std::size_t single = 0;
        bool first = true;
        if (g_.repeats && !of_.together_) advanced();
        for (const Entry& e : of_.entries_) {
            if (e.index.kind == Kind::new_axis) {
                g_.result.push_back(1);
                g_.added.push_back(y_++);
            } else if (e.index.kind == Kind::range) {
                range(e);
            } else {
                if (g_.repeats && of_.together_ && first) advanced();
                first = false;
                if (!g_.repeats) one(chosen_[single++], e.dim);
                g_.sizes.push_back(1);
            }
        }
        std::sort(g_.dims.collapsed_slice_dims.begin(), g_.dims.collapsed_slice_dims.end());
        g_.indices = joined();
        return std::move(g_);
    }

private:
    struct Part {
        Value at;
        std::int64_t begin;  ///< its first dimension among those of all indices
    };
    /// Counted from the front. Numbers are counted at once. `below_zero`: of positions that are known.
    Value start(const Entry& e, Value at, Value below_zero) {
        const std::int64_t n = of_.shape_[static_cast<std::size_t>(e.dim)];
        if (e.index.kind == Kind::number)
            return make_literal(AvalRef(D::S32, {}, true), e.index.start < 0 ? e.index.start + n : e.index.start);
        const AvalRef type(b_.aval(at)->dtype, {}, b_.aval(at)->weak_type);
        if (is_unsigned_int(type->dtype)) return at;
        const Value below = e.below_zero.has_value() ? below_zero : cl::lt(b_, at, make_literal(type, std::int64_t{0}));
        return cl::select(b_, below, cl::add(b_, at, make_literal(type, n)), at);
    }
    void part(Value at) { parts_.push_back({at, static_cast<std::int64_t>(shape_.size())}); }
    void maps_to(std::int64_t dim, bool collapsed) {
        g_.dims.start_index_map.push_back(dim);
        if (collapsed) g_.dims.collapsed_slice_dims.push_back(dim);
    }
    void one(Value at, std::int64_t dim) {
        const std::int64_t n = of_.shape_[static_cast<std::size_t>(dim)];
        if (n == 0)
            detail::refuse_at(of_.where_, ErrorCode::BadUsage, fmt::format("index is out of bounds for axis {} with size 0", dim),
                              "the dimension is empty");
        part(cl::convert_element_type(b_, at, D::S32));
        maps_to(dim, true);
    }
    /// All index arrays at once, broadcast against each other.
    void advanced() {
        std::vector<Dims> shapes;
        for (const Value v : chosen_) shapes.push_back(b_.aval(v)->shape);
        const Dims common = broadcast_shapes(shapes);
        for (Value& v : chosen_) v = wide(v, common);
        for (std::size_t k = 0; k < chosen_.size(); ++k) {
            // A weak type stays where an array was given, and goes where a number was spread.
            const bool as_given = b_.aval(chosen_[k])->dtype == D::S32 && !shapes[k].empty();
            part(as_given ? chosen_[k] : cl::convert_element_type(b_, chosen_[k], D::S32));
            maps_to(dims_[k], true);
        }
        shape_.insert(shape_.end(), common.begin(), common.end());
        g_.result.insert(g_.result.end(), common.begin(), common.end());
        y_ += static_cast<std::int64_t>(common.size());
        collapsed_ += static_cast<std::int64_t>(common.size());
    }
    Value wide(Value v, const Dims& to) {
        const std::int64_t rank = b_.aval(v)->rank();
        if (b_.aval(v)->shape == to) return v;
        Dims dims;
        for (std::int64_t d = 0; d < rank; ++d) dims.push_back(static_cast<std::int64_t>(to.size()) - rank + d);
        return cl::broadcast_in_dim(b_, v, to, dims);
    }
    void range(const Entry& e) {
        const std::int64_t n = of_.shape_[static_cast<std::size_t>(e.dim)];
        const Range r = range_of(e.index, n);
        const std::int64_t size = r.size();
        g_.result.push_back(size);
        if (r.step == 1) {
            if (size != n) part(number(r.start)), maps_to(e.dim, false);
            g_.sizes.push_back(size);
            g_.dims.offset_dims.push_back(collapsed_);
        } else {
            const Value counted = b_.bind1(kIota, {}, make_params(IotaParams{D::S32, {size}, 0}));
            Value at = b_.bind1(kAdd, {number(r.start), b_.bind1(kMul, {number(r.step), counted})});
            if (r.step < 0) {
                g_.reversed.push_back(collapsed_);
                at = b_.bind1(kRev, {at}, make_params(RevParams{{0}}));
            }
            g_.sizes.push_back(1);
            part(at), maps_to(e.dim, true);
            shape_.push_back(size);
        }
        ++collapsed_, ++y_;
    }
    Value joined() {
        if (parts_.empty()) {
            auto none = std::make_shared<ArrayConst>();
            none->aval = AvalRef(D::S32, {0});
            return b_.constant(none);
        }
        if (parts_.size() == 1) return cl::expand_dims(b_, parts_[0].at, {b_.aval(parts_[0].at)->rank()});
        const auto last = static_cast<std::int64_t>(shape_.size());
        shape_.push_back(1);
        Values wide;
        for (const Part& p : parts_) {
            Dims dims;
            for (std::int64_t d = 0; d < b_.aval(p.at)->rank(); ++d) dims.push_back(p.begin + d);
            wide.push_back(cl::broadcast_in_dim(b_, p.at, shape_, dims));
        }
        return cl::concatenate(b_, wide, last);
    }

    Builder& b_;
    const Indexer& of_;
    Gather g_;
    Values chosen_;  ///< starts of numbers and index arrays
    Dims dims_;      ///< their dimensions
    std::vector<Part> parts_;
    Dims shape_;  ///< of the indices, but for the last dimension
    std::int64_t y_ = 0, collapsed_ = 0;
};

Indexer::Gather Indexer::gather(Builder& b, const Values& arrays) const { return GatherMaker(b, *this, arrays).made(); }

}  // namespace jaxscope::jax::detail
