// SPDX-License-Identifier: Apache-2.0
#include "sharding/reshard.h"

#include <algorithm>
#include <map>

#include "lax/ops.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"

namespace jaxscope::sharding {

namespace {

Attr names_attr(const AxisNames& axes) {
    Attrs items;
    for (const Sym a : axes) items.emplace_back(a);
    return Attr::tuple(std::move(items));
}
LiteralRef index_literal(std::int64_t i) { return make_literal(AvalRef(DType::S32, {}), i); }

}  // namespace

void Resharding::note(const Op& op) {
    const AxisNames axes = collective_axes(op);
    if (op.prim == &kAxisIndex) return;
    std::int64_t members = 0;
    for (const auto& group : collective_groups(op, report_.mesh.size_of(axes))) members = std::max(members, std::ssize(group));
    report_.collectives.push_back(
        {op.prim, axes, members, collective_bytes(op, static_cast<std::size_t>(members)), times, asked_by ? asked_by : op.prim, op.source});
}

Value Resharding::collective(const Primitive& prim, Value v, ParamsRef params) {
    const Value out = b_.bind1(prim, {v}, params);
    note({&prim, params, {b_.aval(v)}, {b_.aval(out)}, b_.source, b_.context});
    return out;
}

Value Resharding::position(const AxisNames& axes) {
    Value out = index_literal(0);
    for (const Sym axis : axes) {
        const Value own = b_.bind1(kAxisIndex, {}, Params::make({{"axis_name", Attr(axis)}}));
        out = out.is_literal() ? own : lax::add(b_, lax::mul(b_, out, index_literal(report_.mesh.size_of(axis))), own);
    }
    return out;
}

Value Resharding::gathered(Value v, std::size_t dim, const AxisNames& axes, std::int64_t size) {
    v = collective(kAllGather, v,
                   make_params(AllGatherParams{.all_gather_dimension = static_cast<std::int64_t>(dim),
                                               .axis_name = names_attr(axes),
                                               .axis_size = report_.mesh.size_of(axes)}));
    Dims limit = b_.aval(v)->shape;
    if (limit[dim] == size) return v;
    limit[dim] = size;  // without the padding
    return lax::slice(b_, v, Dims(limit.size(), 0), limit);
}

Value Resharding::part(Value v, std::size_t dim, const AxisNames& axes) {
    const std::int64_t parts = report_.mesh.size_of(axes);
    Dims shape = b_.aval(v)->shape;
    const std::int64_t size = (shape[dim] + parts - 1) / parts;
    if (size * parts != shape[dim]) {
        PadConfig padding(shape.size());
        padding[dim].high = size * parts - shape[dim];
        const Value zero = lax::zeros_like(b_, AvalRef(b_.aval(v)->dtype, {}));
        v = lax::pad(b_, v, zero, padding);
    }
    shape[dim] = size;
    Values in{v};
    for (std::size_t d = 0; d < shape.size(); ++d)
        in.push_back(d == dim ? lax::mul(b_, position(axes), index_literal(size)) : Value(index_literal(0)));
    return b_.bind1(kDynamicSlice, in, make_params(DynamicSliceParams{shape}));
}

Value Resharding::combined(Value v, Combine combine, const AxisNames& axes) {
    const Primitive& prim = combine == Combine::Max ? kPmax : combine == Combine::Min ? kPmin : kPsum;
    return collective(prim, v, Params::make({{"axes", names_attr(axes)}, {"axis_index_groups", Attr()}}));
}

Value Resharding::scattered(Value v, std::size_t dim, const AxisNames& axes) {
    return collective(
        kReduceScatter, v,
        make_params(ReduceScatterParams{
            .axis_name = names_attr(axes), .axis_size = report_.mesh.size_of(axes), .scatter_dimension = static_cast<std::int64_t>(dim)}));
}

Value Resharding::masked(Value v, std::size_t dim, const AxisNames& axes, std::int64_t size, LiteralRef neutral) {
    const Dims shape = b_.aval(v)->shape;
    const Value iota =
        b_.bind1(kIota, {}, make_params(IotaParams{.dtype = DType::S32, .shape = shape, .dimension = static_cast<std::int64_t>(dim)}));
    const Value first = lax::mul(b_, position(axes), index_literal(shape[dim]));
    const Value left = lax::sub(b_, index_literal(size), first);
    const Value inside = lax::lt(b_, iota, lax::broadcast_in_dim(b_, left, shape, {}));
    return lax::select(b_, inside, v, lax::full(b_, b_.aval(v), neutral));
}

/// An axis that goes from one dimension to another takes one exchange.
bool Resharding::exchange(Value& v, AvalRef global, Spec& from, const Spec& to) {
    const std::size_t rank = global->shape.size();
    std::size_t left = rank, entered = rank;
    for (std::size_t d = 0; d < rank; ++d) {
        if (from.at(d) == to.at(d)) continue;
        if (to.at(d).empty() && left == rank)
            left = d;
        else if (from.at(d).empty() && entered == rank)
            entered = d;
        else
            return false;
    }
    if (left == rank || entered == rank || from.at(left) != to.at(entered)) return false;
    const AxisNames axes = from.at(left);
    const std::int64_t parts = report_.mesh.size_of(axes);
    if (global->shape[left] % parts != 0 || global->shape[entered] % parts != 0) return false;
    Dims shape = b_.aval(v)->shape;
    shape[entered] /= parts;
    shape[left] *= parts;
    const ParamsRef params = make_params(AllToAllParams{.axis_name = names_attr(axes),
                                                        .concat_axis = static_cast<std::int64_t>(left),
                                                        .split_axis = static_cast<std::int64_t>(entered),
                                                        .tiled = true});
    const Values out = b_.emit(kAllToAll, {v}, params, {with_shape(b_.aval(v), shape)});
    note({&kAllToAll, params, {b_.aval(v)}, {b_.aval(out[0])}, b_.source, b_.context});
    v = out[0];
    return true;
}

/// Where dimensions stay in as many parts, each device wants one tile that somebody has: one permute. Its positions count as the mesh does.
bool Resharding::permute(Value& v, AvalRef global, const Spec& from, const Spec& to) {
    std::vector<std::size_t> changed;
    AxisNames moving;
    for (std::size_t d = 0; d < global->shape.size(); ++d) {
        if (from.at(d) == to.at(d)) continue;
        if (report_.mesh.size_of(from.at(d)) != report_.mesh.size_of(to.at(d))) return false;
        changed.push_back(d);
        for (const Spec* s : {&from, &to}) moving.insert(moving.end(), s->at(d).begin(), s->at(d).end());
    }
    Mesh part;
    AxisNames axes;
    for (const Mesh::Axis& a : report_.mesh.axes)
        if (std::find(moving.begin(), moving.end(), a.name) != moving.end()) part.axes.push_back(a), axes.push_back(a.name);
    const auto tile = [&](std::int64_t at, const Spec& spec) {
        Dims out;
        for (const std::size_t d : changed) out.push_back(part.position(at, spec.at(d)));
        return out;
    };
    std::map<Dims, std::vector<std::int64_t>> spare;  // who has a tile and may send it: those who want it themselves keep it
    Attrs pairs;
    std::vector<std::int64_t> wanting;
    const auto send = [&](std::int64_t a, std::int64_t b) { pairs.push_back(Attr::tuple({Attr(a), Attr(b)})); };
    for (std::int64_t p = 0; p < part.devices(); ++p) {
        const Dims has = tile(p, from);
        if (has == tile(p, to)) {
            send(p, p);
            continue;
        }
        spare[has].push_back(p);
        wanting.push_back(p);
    }
    for (const std::int64_t p : wanting) {
        std::vector<std::int64_t>& of = spare.at(tile(p, to));
        send(of.back(), p);
        of.pop_back();
    }
    if (!wanting.empty()) v = collective(kPpermute, v, make_params(PermuteParams{names_attr(axes), Attr::tuple(std::move(pairs))}));
    return true;
}

Value Resharding::moved(Value v, AvalRef global, const Spec& from, const Spec& to) {
    if (from.same(to)) return v;
    Spec now = from;
    if (exchange(v, global, now, to) || permute(v, global, from, to)) return v;
    const std::size_t rank = global->shape.size();
    std::vector<AxisNames> cut(rank);
    for (std::size_t d = 0; d < rank; ++d) {
        const AxisNames &a = from.at(d), &c = to.at(d);
        if (a == c) continue;
        const std::int64_t size = global->shape[d];
        std::size_t kept = 0;  // of the axes that both have in front; parts of uneven parts don't meet
        if (size % report_.mesh.size_of(a) == 0 && size % report_.mesh.size_of(c) == 0)
            while (kept < a.size() && kept < c.size() && a[kept] == c[kept]) ++kept;
        const auto behind = [&](const AxisNames& names) {
            return AxisNames(names.begin() + static_cast<std::ptrdiff_t>(kept), names.end());
        };
        const std::int64_t whole =
            kept ? size / report_.mesh.size_of(AxisNames(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(kept))) : size;
        if (a.size() > kept) v = gathered(v, d, behind(a), whole);
        cut[d] = behind(c);
    }
    for (std::size_t d = 0; d < rank; ++d)
        if (!cut[d].empty()) v = part(v, d, cut[d]);
    return v;
}

}  // namespace jaxscope::sharding
