// SPDX-License-Identifier: Apache-2.0
// Joining arrays along a dimension and taking them apart again: concatenate and split, stack and unstack, each the transpose of
// its partner (lax.py, JAX 0.10.2).
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/partition_rules.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

bool all_zero(const Values& ct) { return std::ranges::all_of(ct, &Value::is_zero); }

Values instantiated(Builder& b, const Values& ct, const Avals& avals) {
    Values all;
    for (std::size_t i = 0; i < ct.size(); ++i) all.push_back(ct[i].is_zero() ? lax::zeros_like(b, avals[i]) : ct[i]);
    return all;
}

Values at_front(Builder& b, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    Values front;
    for (std::size_t i = 0; i < x.size(); ++i) front.push_back(batch_to_front(b, x[i], dims[i], size));
    return front;
}

// ---- concatenate and split

Avals concatenate_eval(const Op& op) {
    expect_arrays_at_least(op, 1);
    expect_same_dtype(op, 0, op.in.size());
    const std::int64_t dimension = op.as<ConcatenateParams>().dimension;
    Dims shape = op.in[0]->shape;
    if (!in_range({dimension}, op.in[0]->rank())) type_mismatch(op, "a dimension of " + shape_text(shape), std::to_string(dimension));
    const auto at = static_cast<std::size_t>(dimension);
    std::int64_t joined = 0;
    for (const AvalRef a : op.in) {
        Dims other = a->shape;
        if (other.size() != shape.size()) type_mismatch(op, "operands of one rank", shape_text(shape) + " and " + shape_text(other));
        joined = checked_add(joined, std::exchange(other[at], shape[at]));
        if (other != shape)
            type_mismatch(op, "shapes that differ in dimension " + std::to_string(dimension) + " only",
                          shape_text(shape) + " and " + shape_text(a->shape));
    }
    shape[at] = joined;
    return {standard_result(op, op.in[0]->dtype, shape)};
}

void concatenate_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const std::int64_t dimension = op.as<ConcatenateParams>().dimension;
    SplitParams split{.sizes = {}, .axis = dimension};
    for (const AvalRef a : op.in) split.sizes.push_back(a->shape[static_cast<std::size_t>(dimension)]);
    const Values parts = b.bind(kSplit, ct, make_params(split));
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i].is_linear()) sink.add(i, parts[i]);
}

BatchResult concatenate_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    return {{lax::concatenate(b, at_front(b, x, dims, size), op.as<ConcatenateParams>().dimension + 1)}, {0}};
}

struct Chosen {
    std::size_t operand;
    KScalar behind_start;
};
/// The operands of which one may be chosen at `place`, the first of them for what lies before the others' starts.
std::vector<Chosen> chosen(ElementBuilder& k, KScalar place, const std::vector<std::int64_t>& starts) {
    std::vector<Chosen> found;
    for (std::size_t n = 0; n < starts.size(); ++n) {
        const KScalar behind = starts[n] == 0 ? k.constant_int(DType::Bool, 1) : k.op(KOp::Ge, place, k.index(starts[n]));
        const std::optional<bool> known = k.known(behind);
        if (known == false) break;
        if (known == true) found.clear();
        found.push_back({n, behind});
    }
    return found;
}

/// Element `i` of the operands laid end to end along `at`: the operand is chosen by comparing with their (constant) starts.
KScalar concatenate_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto at = static_cast<std::size_t>(op.as<ConcatenateParams>().dimension);
    std::vector<std::int64_t> starts;
    std::int64_t end = 0;
    for (const AvalRef a : op.in) starts.push_back(std::exchange(end, end + a->shape[at]));
    std::vector<Chosen> from = chosen(k, i.at[at], starts);
    std::erase_if(from, [&](const Chosen& c) { return op.in[c.operand]->size() == 0; });
    if (from.empty()) return k.constant(op.out[0]->dtype, 0);
    KScalar result;
    for (const Chosen& c : from) {
        KIndex there = i;
        if (starts[c.operand] > 0) there.at[at] = k.op(KOp::Sub, i.at[at], k.index(starts[c.operand]));
        const int n = static_cast<int>(c.operand);
        if (&c != &from.front()) {
            result = k.masked_load(n, there, c.behind_start, result);
            continue;
        }
        there.at[at] = k.clamp_index(there.at[at], op.in[c.operand]->shape[at]);
        result = k.load(n, there);
    }
    return result;
}

Avals split_eval(const Op& op) {
    expect_arrays(op, 1);
    const auto& p = op.as<SplitParams>();
    Dims shape = op.in[0]->shape;
    if (!in_range({p.axis}, op.in[0]->rank())) type_mismatch(op, "an axis of " + shape_text(shape), std::to_string(p.axis));
    std::int64_t sum = 0;
    for (const std::int64_t s : p.sizes) {
        if (s < 0) type_mismatch(op, "sizes of 0 and more", shape_text(p.sizes));
        sum = checked_add(sum, s);
    }
    if (sum != shape[static_cast<std::size_t>(p.axis)])
        type_mismatch(op, "sizes that add up to dimension " + std::to_string(p.axis) + " of " + shape_text(shape), shape_text(p.sizes));
    Avals out;
    for (const std::int64_t s : p.sizes) {
        shape[static_cast<std::size_t>(p.axis)] = s;
        out.push_back(standard_result(op, op.in[0]->dtype, shape));
    }
    return out;
}

void split_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!all_zero(ct)) sink.add(0, lax::concatenate(b, instantiated(b, ct, op.out), op.as<SplitParams>().axis));
}

BatchResult split_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    auto p = op.as<SplitParams>();
    p.axis += p.axis >= dims[0];
    Values out = b.bind(kSplit, x, make_params(p));
    return {out, std::vector<int>(out.size(), dims[0])};
}

/// A slice of the operand for each part.
JaxprPtr split_expand(const Op& op) {
    const auto& p = op.as<SplitParams>();
    JaxprBuilder b;
    const Value x = b.add_input(op.in[0]);
    Values parts;
    Dims start(op.in[0]->shape.size(), 0), limit = op.in[0]->shape;
    const auto axis = static_cast<std::size_t>(p.axis);
    for (const std::int64_t size : p.sizes) {
        limit[axis] = start[axis] + size;
        parts.push_back(b.bind1(kSlice, {x}, make_params(SliceParams{start, limit})));
        start[axis] = limit[axis];
    }
    return b.finish(parts, "split");
}

// ---- stack and unstack

Avals stack_eval(const Op& op) {
    expect_arrays_at_least(op, 1);
    expect_same_dtype(op, 0, op.in.size());
    const std::int64_t axis = op.as<StackParams>().axis;
    const Dims& shape = op.in[0]->shape;
    for (const AvalRef a : op.in)
        if (a->shape != shape) type_mismatch(op, "operands of one shape", shape_text(shape) + " and " + shape_text(a->shape));
    if (!in_range({axis}, op.in[0]->rank() + 1)) type_mismatch(op, "an axis of the result", std::to_string(axis));
    return {standard_result(op, op.in[0]->dtype, inserted(shape, axis, static_cast<std::int64_t>(op.in.size())))};
}

void stack_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const Values parts = b.bind(kUnstack, ct, op.params);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i].is_linear()) sink.add(i, parts[i]);
}

BatchResult stack_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const std::int64_t axis = op.as<StackParams>().axis;
    const bool aligned = dims[0] != kNotMapped && std::ranges::count(dims, dims[0]) == std::ssize(dims);
    if (!aligned) return {{b.bind1(kStack, at_front(b, x, dims, size), make_params(StackParams{axis + 1}))}, {0}};
    const bool before = axis <= dims[0];
    return {{b.bind1(kStack, x, make_params(StackParams{before ? axis : axis + 1}))}, {before ? dims[0] + 1 : dims[0]}};
}

KScalar stack_lower(ElementBuilder& k, const Op& op, const KIndex& i) {
    const auto axis = op.as<StackParams>().axis;
    if (op.in[0]->size() == 0) return k.constant(op.out[0]->dtype, 0);
    KIndex from = i;
    from.at.erase(from.at.begin() + axis);
    std::vector<std::int64_t> starts(op.in.size());
    std::iota(starts.begin(), starts.end(), 0);
    KScalar result;
    for (const Chosen& c : chosen(k, i.at[static_cast<std::size_t>(axis)], starts)) {
        const int n = static_cast<int>(c.operand);
        result = result.handle ? k.masked_load(n, from, c.behind_start, result) : k.load(n, from);
    }
    return result;
}

Avals unstack_eval(const Op& op) {
    expect_arrays(op, 1);
    const std::int64_t axis = op.as<StackParams>().axis;
    const Dims& shape = op.in[0]->shape;
    if (!in_range({axis}, op.in[0]->rank())) type_mismatch(op, "an axis of " + shape_text(shape), std::to_string(axis));
    const AvalRef part = standard_result(op, op.in[0]->dtype, erased(shape, axis));
    return Avals(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]), part);
}

void unstack_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!all_zero(ct)) sink.add(0, b.bind1(kStack, instantiated(b, ct, op.out), op.params));
}

BatchResult unstack_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    const std::int64_t axis = op.as<StackParams>().axis;
    const bool before = axis < dims[0];
    Values out = b.bind(kUnstack, x, make_params(StackParams{before ? axis : axis + 1}));
    return {out, std::vector<int>(out.size(), before ? dims[0] - 1 : dims[0])};
}

/// A slice of one plane and a squeeze for each result.
JaxprPtr unstack_expand(const Op& op) {
    const auto axis = static_cast<std::size_t>(op.as<StackParams>().axis);
    JaxprBuilder b;
    const Value x = b.add_input(op.in[0]);
    Values parts;
    Dims start(op.in[0]->shape.size(), 0), limit = op.in[0]->shape;
    for (std::int64_t n = 0; n < op.in[0]->shape[axis]; ++n) {
        start[axis] = n;
        limit[axis] = n + 1;
        parts.push_back(lax::squeeze(b, b.bind1(kSlice, {x}, make_params(SliceParams{start, limit})), {static_cast<std::int64_t>(axis)}));
    }
    return b.finish(parts, "unstack");
}

}  // namespace

constinit const Primitive kConcatenate{
    .name = "concatenate",
    .abstract_eval = concatenate_eval,
    .jvp = jvp_linear,
    .transpose = concatenate_transpose,
    .batch = concatenate_batch,
    .lower = concatenate_lower,
    .kernel = routine_kernel,
    .cost = data_movement_cost,
    .partition = partition_concatenate,
};

constinit const Primitive kSplit{
    .name = "split",
    .abstract_eval = split_eval,
    .jvp = jvp_linear,
    .transpose = split_transpose,
    .batch = split_batch,
    .lower = NoRule{"has several results: expands to slices"},
    .expand = split_expand,
    .cost = data_movement_cost,
};

constinit const Primitive kStack{
    .name = "stack",
    .abstract_eval = stack_eval,
    .jvp = jvp_linear,
    .transpose = stack_transpose,
    .batch = stack_batch,
    .lower = stack_lower,
    .kernel = routine_kernel,
    .cost = data_movement_cost,
};

constinit const Primitive kUnstack{
    .name = "unstack",
    .abstract_eval = unstack_eval,
    .jvp = jvp_linear,
    .transpose = unstack_transpose,
    .batch = unstack_batch,
    .lower = NoRule{"has several results: expands to slices"},
    .expand = unstack_expand,
    .cost = data_movement_cost,
};

std::span<const Primitive* const> joining_primitives() {
    static constexpr const Primitive* all[] = {&kConcatenate, &kSplit, &kStack, &kUnstack};
    return all;
}

}  // namespace jaxscope
