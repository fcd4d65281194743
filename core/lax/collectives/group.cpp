// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ir/builder.h"
#include "lax/collectives/collectives.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

// What the devices of one group compute together, as a jaxpr over all their values: so a collective runs on the code generator that runs
// everything else, for every dtype, and its sums are made in the members' order.
namespace jaxscope {

namespace {

[[noreturn]] void cannot_run(const Op& op, const std::string& what) {
    throw Error(ErrorCode::CannotRun, what + " in " + op.prim->name).at(op.source.loc());
}

Value take_part(Builder& b, Value v, std::size_t dim, std::int64_t part, std::int64_t parts) {
    Dims start(b.aval(v)->shape.size(), 0), limit = b.aval(v)->shape;
    const std::int64_t size = limit[dim] / parts;
    start[dim] = part * size;
    limit[dim] = start[dim] + size;
    return lax::slice(b, v, start, limit);
}
Value joined_along(Builder& b, const Values& parts, std::size_t dim) {
    return parts.size() == 1 ? parts[0] : lax::concatenate(b, parts, static_cast<std::int64_t>(dim));
}
/// Axes of the operand that a reduction names beside those of the mesh, as under a vmap whose axis it sums over, too.
Dims own_axes(const Op& op) {
    Dims out;
    const Attr* axes = op.params->find("axes");
    if (const Attr::Seq* list = axes ? axes->get_seq() : nullptr)
        for (const Attr& a : list->items)
            if (const auto* axis = a.get<std::int64_t>()) out.push_back(*axis);
    return out;
}
/// What XLA:CPU combines the members in, to round once: it computes nothing in bf16 or in what is narrower; f16 it adds as it is.
DType wide_dtype(DType d) {
    if (!is_float(d) || d == DType::F16) return d;
    if (d == DType::BF16 || d == DType::F8E8M0FNU) return DType::F32;  // whose exponents f16 doesn't have
    return byte_size(d) == 1 ? DType::F16 : d;
}
/// XLA:CPU begins with the lowest (highest) number there is, and passes by what is no number: NaN on some devices, or on all, is lost.
void pass_by_nan(Builder& b, const Primitive& combine, Values& parts) {
    const AvalRef type = b.aval(parts[0]);
    if (!is_float(type->dtype)) return;
    const double inf = std::numeric_limits<double>::infinity();
    const Value least = lax::full(b, type, &combine == &kMax ? -inf : inf);
    for (Value& v : parts) v = lax::select(b, lax::eq(b, v, v), v, least);
}
Value reduced(Builder& b, const Op& op, const Values& members) {
    const Primitive& combine = op.prim == &kPmax ? kMax : op.prim == &kPmin ? kMin : kAdd;
    const Dims own = own_axes(op);
    Values parts;
    for (const Value v : members) {
        if (own.empty())
            parts.push_back(v);
        else if (&combine == &kAdd)
            parts.push_back(lax::reduce_sum(b, v, own));
        else
            parts.push_back(b.bind1(&combine == &kMax ? kReduceMax : kReduceMin, {v}, make_params(ReduceParams{.axes = own})));
    }
    if (parts.size() == 1) return parts[0];
    const DType dtype = b.aval(parts[0])->dtype, wide = wide_dtype(dtype);
    if (wide != dtype)
        for (Value& v : parts) v = lax::convert_element_type(b, v, wide);
    if (&combine != &kAdd) pass_by_nan(b, combine, parts);
    Value out = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) out = b.bind1(combine, {out, parts[i]});
    return wide == dtype ? out : lax::convert_element_type(b, out, dtype);
}
Value gathered(Builder& b, const AllGatherParams& p, Values members) {
    const auto dim = static_cast<std::size_t>(p.all_gather_dimension);
    if (!p.tiled)
        for (Value& m : members) m = lax::expand_dims(b, m, {p.all_gather_dimension});
    return joined_along(b, members, dim);
}
Values scattered(Builder& b, const Op& op, const Values& members) {
    const auto& p = op.as<ReduceScatterParams>();
    const auto n = static_cast<std::int64_t>(members.size());
    const Value sum = reduced(b, op, members);
    Values out;
    for (std::int64_t i = 0; i < n; ++i) {
        const Value part = take_part(b, sum, static_cast<std::size_t>(p.scatter_dimension), i, n);
        out.push_back(p.tiled ? part : lax::squeeze(b, part, {p.scatter_dimension}));
    }
    return out;
}
Values exchanged(Builder& b, const AllToAllParams& p, const Values& members) {
    const auto n = static_cast<std::int64_t>(members.size());
    Values out;
    for (std::int64_t to = 0; to < n; ++to) {
        Values parts;
        for (const Value from : members) {
            // Tiled or not: where `lax.all_to_all` makes and drops dimensions, it does so around the equation.
            parts.push_back(take_part(b, from, static_cast<std::size_t>(p.split_axis), to, n));
        }
        out.push_back(joined_along(b, parts, static_cast<std::size_t>(p.concat_axis)));
    }
    return out;
}
/// Those to whom nobody sends get zeros.
Values permuted(Builder& b, const Op& op, const Values& members) {
    Values out(members.size());
    const Attr::Seq* pairs = op.as<PermuteParams>().perm.get_seq();
    if (!pairs) cannot_run(op, "expected pairs of positions, found none");
    for (const Attr& item : pairs->items) {
        Dims pair;
        from_attr(item, pair);
        const auto n = static_cast<std::int64_t>(members.size());
        if (pair.size() != 2 || pair[0] < 0 || pair[1] < 0 || pair[0] >= n || pair[1] >= n)
            cannot_run(op, "expected positions below " + std::to_string(n) + ", found " + shape_text(pair));
        out[static_cast<std::size_t>(pair[1])] = members[static_cast<std::size_t>(pair[0])];
    }
    for (Value& v : out)
        if (v.is_zero()) v = lax::zeros_like(b, b.aval(members[0]));
    return out;
}

/// What one of them has.
Value sent_by_one(const Op& op, const Values& members) {
    const std::int64_t source = op.as<PbroadcastParams>().source, n = std::ssize(members);
    if (source < 0 || source >= n) cannot_run(op, "expected a source below " + std::to_string(n) + ", found " + std::to_string(source));
    return members[static_cast<std::size_t>(source)];
}

Values results(Builder& b, const Op& op, const Values& members) {
    if (op.prim == &kAllGather || op.prim == &kAllGatherInvariant) return {gathered(b, op.as<AllGatherParams>(), members)};
    if (op.prim == &kReduceScatter) return scattered(b, op, members);
    if (op.prim == &kAllToAll) return exchanged(b, op.as<AllToAllParams>(), members);
    if (op.prim == &kPpermute) return permuted(b, op, members);
    if (op.prim == &kPbroadcast) return {sent_by_one(op, members)};
    return {reduced(b, op, members)};
}

bool is_reduction(const Primitive& prim) { return &prim == &kPsum || &prim == &kPsumInvariant || &prim == &kPmax || &prim == &kPmin; }

}  // namespace

bool is_collective(const Primitive& prim) {
    return is_reduction(prim) || &prim == &kAllGather || &prim == &kAllGatherInvariant || &prim == &kReduceScatter || &prim == &kAllToAll ||
           &prim == &kPpermute || &prim == &kPbroadcast || &prim == &kAxisIndex;
}

bool names_mesh_axes(const Op& op) {
    if (!is_reduction(*op.prim)) return is_collective(*op.prim);
    const Attr* axes = op.params->find("axes");
    const Attr::Seq* list = axes ? axes->get_seq() : nullptr;
    return list && std::any_of(list->items.begin(), list->items.end(), [](const Attr& a) { return a.get<Sym>() != nullptr; });
}

std::vector<Sym> collective_axes(const Op& op) {
    const Attr* names = op.params->find(is_reduction(*op.prim) ? "axes" : "axis_name");
    std::vector<Sym> out;
    if (const Sym* one = names ? names->get<Sym>() : nullptr) out.push_back(*one);
    if (const Attr::Seq* several = names ? names->get_seq() : nullptr)
        for (const Attr& a : several->items) {
            const Sym* name = a.get<Sym>();
            if (!name && !(is_reduction(*op.prim) && a.get<std::int64_t>())) cannot_run(op, "expected names of axes, found something else");
            if (name) out.push_back(*name);
        }
    return out;
}

std::vector<std::vector<std::int64_t>> collective_groups(const Op& op, std::int64_t positions) {
    std::vector<std::vector<std::int64_t>> out;
    const Attr* groups = op.params->find("axis_index_groups");
    if (!groups || groups->is_none()) {
        out.emplace_back();
        for (std::int64_t k = 0; k < positions; ++k) out[0].push_back(k);
        return out;
    }
    const auto refuse = [&] {
        cannot_run(op, "expected axis_index_groups that hold each of " + std::to_string(positions) + " positions once, found others");
    };
    std::vector<bool> met(static_cast<std::size_t>(positions), false);
    if (!groups->get_seq()) refuse();
    for (const Attr& one : groups->get_seq()->items) {
        Dims members;
        from_attr(one, members);
        if (members.empty()) refuse();
        for (const std::int64_t m : members) {
            if (m < 0 || m >= positions || met[static_cast<std::size_t>(m)]) refuse();
            met[static_cast<std::size_t>(m)] = true;
        }
        if (!out.empty() && out[0].size() != members.size() && !is_reduction(*op.prim))
            cannot_run(op, "expected axis_index_groups of one size, found " + std::to_string(out[0].size()) + " and " +
                               std::to_string(members.size()));
        out.emplace_back(members.begin(), members.end());
    }
    if (std::find(met.begin(), met.end(), false) != met.end()) refuse();
    return out;
}

GroupProgram collective_over(const Op& op, std::size_t members) {
    GroupProgram out;
    out.mesh_order = op.prim == &kPpermute;
    out.each = op.prim == &kReduceScatter || op.prim == &kAllToAll || op.prim == &kPpermute;
    JaxprBuilder b;
    std::vector<Values> in(op.in.size());
    for (std::size_t i = 0; i < op.in.size(); ++i)
        for (std::size_t k = 0; k < members; ++k) in[i].push_back(b.add_input(op.in[i]));
    Values all;
    for (const Values& operand : in)
        for (const Value v : results(b, op, operand)) all.push_back(v);
    out.jaxpr = b.finish(all, "collective");
    return out;
}

std::int64_t collective_steps(const Primitive& prim, std::int64_t members) {
    if (members < 2 || &prim == &kAxisIndex) return 0;
    if (&prim == &kPpermute) return 1;
    return is_reduction(prim) ? 2 * (members - 1) : members - 1;
}

std::int64_t collective_bytes(const Op& op, std::size_t members) {
    const auto n = static_cast<std::int64_t>(members);
    std::int64_t in = 0, result = 0;
    for (const AvalRef a : op.in) in += a->bytes();
    for (const AvalRef a : op.out) result += a->bytes();
    if (n < 2 || op.prim == &kAxisIndex) return 0;
    if (op.prim == &kAllGather || op.prim == &kAllGatherInvariant) return in * (n - 1);
    if (op.prim == &kReduceScatter) return result * (n - 1);
    if (op.prim == &kAllToAll) return in * (n - 1) / n;
    if (op.prim == &kPpermute || op.prim == &kPbroadcast) return in;
    return 2 * result * (n - 1) / n;
}

}  // namespace jaxscope
