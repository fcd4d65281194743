// SPDX-License-Identifier: Apache-2.0
// associative_scan, and map in batches: written with jax.lax's functions.
#include <fmt/core.h>

#include <jaxscope/control_flow.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "trace/functions.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::detail {

namespace {

using Leaves = std::vector<Array>;

Leaves sliced(const Leaves& in, std::int64_t start, std::int64_t stop_from_end, std::int64_t stride, std::int64_t axis) {
    Leaves out;
    for (const Array& a : in) out.push_back(lax::slice_in_dim(a, start, a.shape(axis) - stop_from_end, stride, axis));
    return out;
}
Leaves firsts(const Leaves& in, std::int64_t axis) {
    Leaves out;
    for (const Array& a : in) out.push_back(lax::slice_in_dim(a, 0, 1, 1, axis));
    return out;
}

/// Elements of two arrays in turn.
Array interleaved(const Array& a, const Array& b, std::int64_t axis) {
    const bool even = a.shape(axis) == b.shape(axis);
    std::vector<lax::Padding> left(static_cast<std::size_t>(a.ndim())), right = left;
    left[static_cast<std::size_t>(axis)] = {0, even ? 1 : 0, 1};
    right[static_cast<std::size_t>(axis)] = {1, even ? 0 : 1, 1};
    const bool boolean = a.dtype() == dtype::bool_;
    const Array zero = made(Where("", 0, ""), [&](Builder&) { return number_of(static_cast<::jaxscope::DType>(a.dtype()), 0); });
    const Array x = lax::pad(a, zero, left), y = lax::pad(b, zero, right);
    return boolean ? lax::bitwise_or(x, y) : lax::add(x, y);
}

Leaves scanned(const Combine& combine, const Leaves& in, std::int64_t axis) {
    const std::int64_t n = in.front().shape(axis);
    if (n < 2) return in;
    // Neighbours combined; their scan gives every second element, from which the others follow.
    const Leaves evens_in = sliced(in, 0, 1, 2, axis), odds_in = sliced(in, 1, 0, 2, axis);
    const Leaves odd = scanned(combine, combine(evens_in, odds_in), axis);
    const Leaves before = n % 2 == 0 ? sliced(odd, 0, 1, 1, axis) : odd, after = sliced(in, 2, 0, 2, axis);
    Leaves even = combine(before, after);
    const Leaves first = firsts(in, axis);
    for (std::size_t i = 0; i < even.size(); ++i) even[i] = lax::concatenate({first[i], even[i]}, axis);
    Leaves out;
    for (std::size_t i = 0; i < even.size(); ++i) out.push_back(interleaved(even[i], odd[i], axis));
    return out;
}

}  // namespace

namespace {

class UsersCombine final : public Combine {
public:
    explicit UsersCombine(const Combine& c) : combine_(c) {}
    Leaves operator()(const Leaves& a, const Leaves& b) const override {
        const InUsersLine line = InUsersLine::left();
        return combine_(a, b);
    }

private:
    const Combine& combine_;
};

}  // namespace

std::vector<Array> associative_scan(const Combine& combine, const std::vector<Array>& elements, const lax::AssociativeScanOptions& o,
                                    const Where& where) {
    const InUsersLine line(where);
    if (elements.empty()) return {};
    const std::int64_t axis = at_place(where, [&] { return axis_in(o.axis, elements.front().ndim()); });
    std::string shapes;
    bool same = true;
    for (const Array& a : elements) {
        shapes += (shapes.empty() ? "" : ", ") + a.shape().str();
        same = same && a.ndim() > axis && a.shape(axis) == elements.front().shape(axis);
    }
    if (!same)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("Array inputs to associative_scan must have the same first dimension. (saw: [{}])", shapes),
                          "the first dimension is the one that is scanned along");
    Leaves in = elements;
    const auto turned = [&](Leaves& all) {
        if (o.reverse)
            for (Array& a : all) a = lax::rev(a, axis);
    };
    turned(in);
    Leaves out = scanned(UsersCombine(combine), in, axis);
    turned(out);
    return out;
}

Batches batches_of(const std::vector<Array>& xs, std::int64_t batch_size) {
    if (batch_size < 0) throw Error(ErrorCode::BadUsage, fmt::format("map: batch_size must be positive, got {}", batch_size));
    Batches out;
    for (const Array& x : xs) {
        if (x.ndim() == 0) throw Error(ErrorCode::BadUsage, "map got value with no leading axis to map over: " + long_aval(x.node()->aval));
        const std::int64_t n = x.shape(0), whole = n / batch_size * batch_size;
        std::vector<std::int64_t> shape{n / batch_size, batch_size};
        for (int d = 1; d < x.ndim(); ++d) shape.push_back(x.shape(d));
        const Array head = whole == n ? x : x[{slice(whole)}];
        out.whole.push_back(numpy::reshape(head, shape));
        if (whole < n) out.rest.push_back(x[{slice(whole, none)}]);
    }
    return out;
}
std::vector<Array> rejoined(const std::vector<Array>& batched, const std::vector<Array>& rest) {
    std::vector<Array> out;
    for (std::size_t i = 0; i < batched.size(); ++i) {
        std::vector<std::int64_t> shape{batched[i].shape(0) * batched[i].shape(1)};
        for (int d = 2; d < batched[i].ndim(); ++d) shape.push_back(batched[i].shape(d));
        const Array flat = numpy::reshape(batched[i], shape);
        out.push_back(rest.empty() ? flat : lax::concatenate({flat, rest[i]}, 0));
    }
    return out;
}

}  // namespace jaxscope::jax::detail
