// SPDX-License-Identifier: Apache-2.0
// Collectives over the name of a batch axis (jax.vmap's axis_name): what they are once that axis is one of the operand.
#include "lax/collectives/named.h"

#include <algorithm>

#include "ir/builder.h"
#include "lax/collectives/collectives.h"
#include "lax/named_axis.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {

namespace {

void refuse_groups(const Op& op, const Attr& groups) {
    if (!groups.is_none())
        throw Error(ErrorCode::NoRule, "axis_index_groups not supported in vmap collectives. Please open a feature request!")
            .at(op.source.loc());
}
}  // namespace

Value split_axis(Builder& b, Value x, std::size_t at, std::int64_t factor) {
    Dims shape = b.aval(x)->shape;
    shape[at] /= factor;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), factor);
    return lax::reshape(b, x, shape);
}
Value fold_axis(Builder& b, Value x, std::size_t at) {
    Dims shape = b.aval(x)->shape;
    shape[at] *= shape[at + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    return lax::reshape(b, x, shape);
}

void transpose_all_gather(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!sink.wanted(0) || ct[0].is_zero()) return;
    const auto& p = op.as<AllGatherParams>();
    sink.add(0, b.bind1(kReduceScatter, {ct[0]},
                        make_params(ReduceScatterParams{p.axis_index_groups, p.axis_name, p.axis_size, p.all_gather_dimension, p.tiled})));
}
void transpose_reduce_scatter(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!sink.wanted(0) || ct[0].is_zero()) return;
    const auto& p = op.as<ReduceScatterParams>();
    sink.add(0, b.bind1(kAllGather, {ct[0]},
                        make_params(AllGatherParams{p.scatter_dimension, p.axis_index_groups, p.axis_name, p.axis_size, p.tiled})));
}

namespace {

/// Under another axis: the dimension counts on behind the batch axis.
BatchResult batch_other(Builder& b, const Op& op, const char* param, std::int64_t dimension, Value x, int dim) {
    if (dim == kNotMapped) return {b.bind(*op.prim, {x}, op.params), {kNotMapped}};
    dimension += dim <= dimension;
    const Values out = b.bind(*op.prim, {x}, with_param(op.params, param, Attr(dimension)));
    const bool before = op.out[0]->rank() != op.in[0]->rank() && dimension < dim;
    const int grown = op.out[0]->rank() > op.in[0]->rank() ? 1 : -1;
    return {out, {before ? dim + grown : dim}};
}

}  // namespace

BatchResult batch_all_gather(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const auto& p = op.as<AllGatherParams>();
    if (!names_axis(op.params, NamedBatchAxis::current()))
        return batch_other(b, op, "all_gather_dimension", p.all_gather_dimension, x[0], dims[0]);
    refuse_groups(op, p.axis_index_groups);
    const auto at = static_cast<std::size_t>(p.all_gather_dimension);
    Value y;
    if (dims[0] == kNotMapped) {
        const Dims shape = inserted(b.aval(x[0])->shape, p.all_gather_dimension, size);
        y = lax::broadcast_in_dim(b, x[0], shape, remaining(static_cast<std::int64_t>(shape.size()), {p.all_gather_dimension}));
    } else {
        y = moveaxis(b, x[0], dims[0], static_cast<int>(at));
    }
    return {{p.tiled ? fold_axis(b, y, at) : y}, {kNotMapped}};
}
BatchResult batch_reduce_scatter(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const auto& p = op.as<ReduceScatterParams>();
    if (!names_axis(op.params, NamedBatchAxis::current()))
        return batch_other(b, op, "scatter_dimension", p.scatter_dimension, x[0], dims[0]);
    refuse_groups(op, p.axis_index_groups);
    const auto at = static_cast<std::size_t>(p.scatter_dimension);
    const Value y =
        dims[0] == kNotMapped ? lax::mul(b, x[0], lax::constant(b, x[0], static_cast<double>(size))) : lax::reduce_sum(b, x[0], {dims[0]});
    return {{p.tiled ? split_axis(b, y, at, size) : y}, {static_cast<int>(at)}};
}

BatchResult batch_named_reduce(Builder& b, const Op& op, Value x, int dim, std::int64_t size, bool sum) {
    const Attr* groups = op.params->find("axis_index_groups");
    if (groups) refuse_groups(op, *groups);
    const Sym name = NamedBatchAxis::current();
    if (dim != kNotMapped) x = batch_to_front(b, x, std::exchange(dim, 0), size);
    Attrs axes;
    for (const Attr& a : op.params->find("axes")->get_seq()->items) {
        const Sym* s = a.get<Sym>();
        const auto* n = a.get<std::int64_t>();
        if (s && *s == name) {
            if (dim != kNotMapped) axes.emplace_back(std::int64_t{dim});
        } else {
            axes.push_back(n && dim != kNotMapped ? Attr(*n + (*n >= dim)) : a);
        }
    }
    if (dim == kNotMapped && sum) x = lax::mul(b, lax::constant(b, x, static_cast<double>(size)), x);
    if (axes.empty()) return {{x}, {kNotMapped}};
    return {b.bind(*op.prim, {x}, with_param(op.params, "axes", Attr::tuple(std::move(axes)))), {kNotMapped}};
}

BatchResult batch_axis_index(Builder& b, const Op& op, const Values&, const std::vector<int>&, std::int64_t size) {
    if (!names_axis(op.params, NamedBatchAxis::current())) return {b.bind(*op.prim, {}, op.params), {kNotMapped}};
    return {b.bind(kIota, {}, make_params(IotaParams{.dtype = DType::S32, .shape = {size}})), {0}};
}

}  // namespace jaxscope
