// SPDX-License-Identifier: Apache-2.0
// ppermute, all_to_all and all_gather_invariant: transposed, and over the name of a batch axis (lax/parallel.py of JAX 0.10.2).
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/types/manual_axes.h"
#include "lax/collectives/collectives.h"
#include "lax/collectives/named.h"
#include "lax/jitted.h"
#include "lax/named_axis.h"
#include "lax/ops.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {

namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> pairs_of(const Op& op) {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    const Attr::Seq* list = op.as<PermuteParams>().perm.get_seq();
    for (const Attr& item : list ? list->items : Attrs()) {
        Dims pair;
        from_attr(item, pair);
        if (pair.size() != 2) wrong_attr(item, "a pair of positions");
        out.emplace_back(pair[0], pair[1]);
    }
    return out;
}
/// The names that an application meets along, without `left_out`.
Attrs other_names(const Attr& names, Sym left_out) {
    Attrs out;
    if (const Attr::Seq* several = names.get_seq())
        for (const Attr& a : several->items)
            if (const Sym* s = a.get<Sym>(); s && *s != left_out) out.push_back(a);
    return out;
}
/// One name, or several.
std::vector<Sym> names_in(const Attr& names) {
    std::vector<Sym> out;
    if (const Sym* one = names.get<Sym>()) out.push_back(*one);
    if (const Attr::Seq* several = names.get_seq())
        for (const Attr& a : several->items)
            if (const Sym* s = a.get<Sym>()) out.push_back(*s);
    return out;
}
Value int_array(Builder& b, const std::vector<std::int32_t>& values) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = AvalRef(DType::S32, {static_cast<std::int64_t>(values.size())});
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    a->data.assign(bytes, bytes + values.size() * sizeof(std::int32_t));
    return b.constant(std::move(a));
}

}  // namespace

void transpose_ppermute(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!sink.wanted(0) || ct[0].is_zero()) return;
    Attrs back;
    for (const auto& [from, to] : pairs_of(op)) back.push_back(Attr::tuple({Attr(to), Attr(from)}));
    sink.add(0, b.bind1(kPpermute, {ct[0]}, with_param(op.params, "perm", Attr::tuple(std::move(back)))));
}

BatchResult batch_ppermute(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Sym name = NamedBatchAxis::current();
    if (!names_axis(op.params, name)) return {b.bind(kPpermute, x, op.params), dims};
    if (Attrs rest = other_names(op.as<PermuteParams>().axis_name, name); !rest.empty())
        return {b.bind(kPpermute, x, with_param(op.params, "axis_name", Attr::tuple(std::move(rest)))), dims};
    const auto pairs = pairs_of(op);
    if (static_cast<std::int64_t>(pairs.size()) != size)
        throw Error(ErrorCode::NoRule, "Permutation doesn't match the axis size!").at(op.source.loc());
    if (dims[0] == kNotMapped) return {x, dims};
    std::vector<std::int32_t> from(static_cast<std::size_t>(size), 0);
    for (const auto& [source, target] : pairs) {
        if (source < 0 || target < 0 || source >= size || target >= size) wrong_attr(op.as<PermuteParams>().perm, "positions on the axis");
        from[static_cast<std::size_t>(target)] = static_cast<std::int32_t>(source);
    }
    return {{take(b, x[0], int_array(b, from), static_cast<std::int64_t>(dims[0]))}, dims};
}

// ---- all_to_all

namespace {

/// The result's shape follows from what the recorded one did to the operand's.
AvalRef exchanged(const Op& op, AvalRef x, const AllToAllParams& p) {
    const auto& before = op.as<AllToAllParams>();
    if (p.split_axis == p.concat_axis) return x;
    const auto from = static_cast<std::size_t>(before.split_axis);
    const std::int64_t n = std::max<std::int64_t>(op.in[0]->shape[from] / std::max<std::int64_t>(op.out[0]->shape[from], 1), 1);
    Dims shape = x->shape;
    shape[static_cast<std::size_t>(p.split_axis)] /= n;
    shape[static_cast<std::size_t>(p.concat_axis)] *= n;
    return with_shape(x, std::move(shape));
}
Value exchange(Builder& b, const Op& op, Value x, const AllToAllParams& p) {
    return b.emit(kAllToAll, {x}, make_params(p), {exchanged(op, b.aval(x), p)}).front();
}

}  // namespace

Values jvp_all_to_all(Builder& b, const Op& op, const Values&, const Values&, const Values& dx) {
    return b.emit(kAllToAll, {instantiate_tangent(b, dx[0], op.in[0])}, op.params, {tangent_aval(op.out[0])});
}

namespace {

/// lax.all_to_all(tiled=False): of a dimension of its own that is made where parts are put together and dropped where they were split.
Value untiled_exchange(Builder& b, const Op& op, Value x, AllToAllParams p) {
    if (p.split_axis == p.concat_axis) return exchange(b, op, x, p);
    if (p.split_axis < p.concat_axis) ++p.concat_axis;
    x = lax::expand_dims(b, x, {p.concat_axis});
    if (p.concat_axis < p.split_axis) ++p.split_axis;
    return lax::squeeze(b, exchange(b, op, x, p), {p.split_axis});
}

}  // namespace

/// lax.all_to_all with the axes the other way round, which adds and takes away a dimension where it isn't tiled. JAX refuses what comes out
/// in another shape, and so do we.
void transpose_all_to_all(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!sink.wanted(0) || ct[0].is_zero()) return;
    AllToAllParams p = op.as<AllToAllParams>();
    std::swap(p.split_axis, p.concat_axis);
    const Value x = p.tiled ? exchange(b, op, ct[0], p) : untiled_exchange(b, op, ct[0], p);
    if (b.aval(x)->shape != op.in[0]->shape)
        throw Error(ErrorCode::NotDifferentiable, "Expected cotangent type " + to_text(op.in[0]) + " but got " + to_text(b.aval(x)) +
                                                      ": JAX's rule of all_to_all(tiled=False) has its dimensions in another order")
            .at(op.source.loc())
            .advise("all_to_all(..., tiled=True) has a transpose");
    sink.add(0, x);
}

BatchResult batch_all_to_all(Builder& b, const Op& op, const Values& in, const std::vector<int>& dims, std::int64_t size) {
    AllToAllParams p = op.as<AllToAllParams>();
    if (!p.axis_index_groups.is_none()) throw Error(ErrorCode::NoRule, "Please open a feature request!").at(op.source.loc());
    const Sym name = NamedBatchAxis::current();
    if (!names_axis(op.params, name)) {
        p.split_axis += dims[0] <= p.split_axis;
        p.concat_axis += dims[0] <= p.concat_axis;
        return {{exchange(b, op, in[0], p)}, dims};
    }
    if (!other_names(p.axis_name, name).empty())
        throw Error(ErrorCode::NoRule, "jaxscope has no rule for all_to_all over the name of a vmap beside others").at(op.source.loc());
    Value x = dims[0] == kNotMapped ? batch_to_front(b, in[0], kNotMapped, size) : in[0];
    int d = std::max(dims[0], 0);
    const auto split = static_cast<std::size_t>(p.split_axis), concat = static_cast<std::size_t>(p.concat_axis);
    if (split == concat) {
        const auto axis = split + (d <= p.split_axis);
        const int before = d;
        x = split_axis(b, x, axis, size);
        d += static_cast<int>(axis) <= d;
        Dims order = iota_dims(b.aval(x)->rank());
        std::swap(order[axis], order[static_cast<std::size_t>(d)]);
        return {{fold_axis(b, lax::transpose(b, x, order), axis)}, {before}};
    }
    x = fold_axis(b, moveaxis(b, x, d, static_cast<int>(concat)), concat);
    return {{split_axis(b, x, split, size)}, {static_cast<int>(split)}};
}

// ---- all_gather_invariant

namespace {

/// lax.axis_index over several axes, the first one outermost.
Value index_along(Builder& b, const std::vector<Sym>& names) {
    const ManualAxes* inside = ManualScope::current();
    const auto number = [](std::int64_t n) { return Value(make_literal(AvalRef(DType::S32, {}), n)); };
    Value index = number(0);
    std::int64_t inner = 1;
    for (std::size_t k = names.size(); k-- > 0;) {
        const Value one = b.bind1(kAxisIndex, {}, Params::make({{"axis_name", Attr(names[k])}}));
        index = lax::add(b, index, lax::mul(b, one, number(inner)));
        const auto at = inside ? std::find(inside->mesh.begin(), inside->mesh.end(), names[k]) : std::vector<Sym>::const_iterator();
        if (k == 0) break;
        if (!inside || at == inside->mesh.end())
            throw Error(ErrorCode::NoRule, "expected an axis of the mesh of a shard_map, found " + names[k].str());
        inner *= inside->sizes[static_cast<std::size_t>(at - inside->mesh.begin())];
    }
    return index;
}

}  // namespace

/// Each device takes its own part of what is the same everywhere.
void transpose_all_gather_invariant(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!sink.wanted(0) || ct[0].is_zero()) return;
    const auto& p = op.as<AllGatherParams>();
    const std::vector<Sym> names = names_in(p.axis_name);
    const Dims shape = b.aval(ct[0])->shape;
    const auto dim = static_cast<std::size_t>(p.all_gather_dimension);
    const auto number = [](std::int64_t n) { return Value(make_literal(AvalRef(DType::S32, {}), n)); };
    const std::int64_t size = shape[dim] / p.axis_size;
    const Value at = lax::mul(b, index_along(b, names), number(size));
    const Value below = lax::lt(b, at, number(0));
    const Value from = lax::select(b, below, lax::add(b, at, number(shape[dim])), at);
    Values in{ct[0]};
    for (std::size_t d = 0; d < shape.size(); ++d) in.push_back(d == dim ? from : number(0));
    Dims sizes = shape;
    sizes[dim] = size;
    const Value part = b.bind1(kDynamicSlice, in, make_params(DynamicSliceParams{sizes}));
    sink.add(0, p.tiled ? part : lax::squeeze(b, part, {p.all_gather_dimension}));
}

// ---- pbroadcast

/// To the one that sent, the sum of all.
void transpose_pbroadcast(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!sink.wanted(0) || ct[0].is_zero()) return;
    const auto& p = op.as<PbroadcastParams>();
    if (const Dims shape = b.aval(ct[0])->shape; !shape.empty())
        throw Error(ErrorCode::NotDifferentiable, "full must be called with scalar fill_value, got fill_value.shape " + shape_text(shape))
            .at(op.source.loc())
            .advise(
                "JAX's own rule of pbroadcast takes scalars alone; psum(where(axis_index(name) == source, x, 0), name) is the same value");
    const std::vector<Sym> names = names_in(p.axis_name);
    const Value is_source = lax::eq(b, index_along(b, names), Value(make_literal(AvalRef(DType::S32, {}), p.source)));
    const Attr axes = Attr::tuple(Attrs(names.begin(), names.end()));
    const ManualAxes* inside = ManualScope::current();
    const Value sum = inside && inside->check ? b.bind1(kPsumInvariant, ct, Params::make({{"axes", axes}}))
                                              : b.bind1(kPsum, ct, Params::make({{"axes", axes}, {"axis_index_groups", Attr()}}));
    sink.add(0, lax::select(b, is_source, sum, lax::zeros_like(b, b.aval(sum))));
}

BatchResult batch_pbroadcast(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    if (names_axis(op.params, NamedBatchAxis::current()))
        throw Error(ErrorCode::NoRule, "take requires ndarray or scalar arguments, got <class 'list'> at position 1.")
            .at(op.source.loc())
            .advise("JAX's own rule of pbroadcast fails in this way over the name of a vmap");
    const Attr& names = op.as<PbroadcastParams>().axis_name;
    return {b.bind(kPbroadcast, x, with_param(op.params, "axis_name", names.get_seq() ? names : Attr::tuple({names}))), dims};
}

}  // namespace jaxscope
