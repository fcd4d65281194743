// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lax/families.h"
#include "lax/rule_support.h"

// jax.experimental.sparse: data are [batch..., nse, dense...], indices [batch..., nse, sparse dimensions].
namespace jaxscope {

namespace {

Dims sparse_shape(const Op& op, const char* param) {
    const Attr* info = op.params->find(param);
    const Attr::Record* r = info ? info->get_record() : nullptr;
    for (std::size_t i = 0; r && i < r->fields.size(); ++i)
        if (r->fields[i].first == Sym("shape")) return dims_param(op, &r->fields[i].second, "a shape");
    type_mismatch(op, "SparseInfo(shape=...)", "none");
}
/// Refuses data and indices that are none of a sparse array of `shape`.
void expect_sparse(const Op& op, const Dims& shape) {
    const Dims &data = op.in[0]->shape, &indices = op.in[1]->shape;
    if (!is_integer(op.in[1]->dtype) || indices.size() < 2) type_mismatch(op, "integer indices of rank 2 or more", to_text(op.in[1]));
    const std::size_t batch = indices.size() - 2;
    const auto sparse = static_cast<std::size_t>(indices.back());
    if (indices.back() < 0 || batch + sparse > shape.size() || data.size() != shape.size() - sparse + 1)
        type_mismatch(op, "data and indices of an array of " + shape_text(shape), shape_text(data) + " and " + shape_text(indices));
}
Avals eval_bcoo_todense(const Op& op) {
    expect_arrays(op, 2);
    const Dims shape = sparse_shape(op, "spinfo");
    expect_sparse(op, shape);
    return {with_shape(op.in[0], shape)};
}
Avals eval_bcoo_dot_general(const Op& op) {
    expect_arrays(op, 3);
    const Dims lhs = sparse_shape(op, "lhs_spinfo"), rhs = op.in[2]->shape;
    expect_sparse(op, lhs);
    const Attr* numbers = op.params->find("dimension_numbers");
    Dims sides[2][2];  // contracted and batch, of the left and right
    const Attr::Seq* pair = numbers ? numbers->get_seq() : nullptr;
    for (std::size_t kind = 0; kind < 2; ++kind) {
        const Attr::Seq* both = pair && pair->items.size() == 2 ? pair->items[kind].get_seq() : nullptr;
        if (!both || both->items.size() != 2) type_mismatch(op, "dimension numbers ((contracted), (batch))", "others");
        for (std::size_t side = 0; side < 2; ++side) sides[kind][side] = dims_param(op, &both->items[side], "dimensions");
    }
    Dims out;
    const auto size_of = [&](const Dims& shape, std::int64_t d) {
        if (d >= static_cast<std::int64_t>(shape.size())) type_mismatch(op, "a dimension of " + shape_text(shape), std::to_string(d));
        return shape[static_cast<std::size_t>(d)];
    };
    for (std::size_t kind = 0; kind < 2; ++kind) {
        if (sides[kind][0].size() != sides[kind][1].size()) type_mismatch(op, "pairs of dimensions", "one without the other");
        for (std::size_t i = 0; i < sides[kind][0].size(); ++i)
            if (size_of(lhs, sides[kind][0][i]) != size_of(rhs, sides[kind][1][i]))
                type_mismatch(op, "dimensions of one size", shape_text(lhs) + " and " + shape_text(rhs));
    }
    for (const std::int64_t d : sides[1][0]) out.push_back(size_of(lhs, d));
    const Dims* shapes[2] = {&lhs, &rhs};
    for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t d = 0; d < shapes[side]->size(); ++d) {
            const auto is = [&](const Dims& which) {
                return std::find(which.begin(), which.end(), static_cast<std::int64_t>(d)) != which.end();
            };
            if (!is(sides[0][side]) && !is(sides[1][side])) out.push_back((*shapes[side])[d]);
        }
    DType d = op.in[0]->dtype;
    if (const Attr* preferred = op.params->find("preferred_element_type"); preferred && !preferred->is_none()) from_attr(*preferred, d);
    return {with_dtype(with_shape(op.in[0], out), d)};
}
Avals eval_bcoo_transpose(const Op& op) {
    expect_arrays(op, 2);
    const Dims shape = sparse_shape(op, "spinfo"), order = dims_param(op, op.params->find("permutation"), "a permutation");
    expect_sparse(op, shape);
    Dims sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t d = 0; d < sorted.size(); ++d)
        if (sorted.size() != shape.size() || sorted[d] != static_cast<std::int64_t>(d))
            type_mismatch(op, "a permutation of the dimensions of " + shape_text(shape), shape_text(order));
    // Batch, sparse and dense dimensions each stay among themselves.
    const std::size_t batch = op.in[1]->shape.size() - 2, sparse = static_cast<std::size_t>(op.in[1]->shape.back());
    Dims data = op.in[0]->shape, indices = op.in[1]->shape;
    for (std::size_t d = 0; d < batch; ++d) {
        const auto from = static_cast<std::size_t>(order[d]);
        if (from >= batch) type_mismatch(op, "batch dimensions in front", shape_text(order));
        data[d] = op.in[0]->shape[from];
        indices[d] = op.in[1]->shape[from];
    }
    for (std::size_t d = batch + sparse; d < order.size(); ++d) {
        const auto from = static_cast<std::size_t>(order[d]);
        if (from < batch + sparse) type_mismatch(op, "dense dimensions at the end", shape_text(order));
        data[d - sparse + 1] = op.in[0]->shape[from - sparse + 1];
    }
    return {with_shape(op.in[0], data), with_shape(op.in[1], indices)};
}

constexpr const char* kSparse = "rules of jax.experimental.sparse are not written";

constinit const Primitive kBcooTodense = typed_only("bcoo_todense", eval_bcoo_todense, kSparse);
constinit const Primitive kBcooTranspose = typed_only("bcoo_transpose", eval_bcoo_transpose, kSparse);
constinit const Primitive kBcooDotGeneral = typed_only("bcoo_dot_general", eval_bcoo_dot_general, kSparse);

}  // namespace

std::span<const Primitive* const> sparse_primitives() {
    static constexpr const Primitive* all[] = {&kBcooTodense, &kBcooTranspose, &kBcooDotGeneral};
    return all;
}

}  // namespace jaxscope
