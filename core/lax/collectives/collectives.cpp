// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/builder.h"
#include "ir/types/manual_axes.h"
#include "lax/collectives/collectives.h"
#include "lax/collectives/named.h"
#include "lax/families.h"
#include "lax/named_axis.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/vary.h"

// Collectives (lax/parallel.py of JAX 0.10.2). psum, pmax, pmin: over axes of the operand (numbers) they are a reduction; over axes of a
// mesh the type stays, and jaxscope, which runs programs on one device, doesn't run them.
namespace jaxscope {

namespace {

struct Axes {
    Dims positional;
    bool named = false;
};
Axes axes_of(const Op& op) {
    Axes out;
    const Attr* a = op.params->find("axes");
    const Attr::Seq* s = a ? a->get_seq() : nullptr;
    if (!s) type_mismatch(op, "axes", "none");
    for (const Attr& axis : s->items) {
        if (const auto* n = axis.get<std::int64_t>())
            out.positional.push_back(*n);
        else
            out.named = true;
    }
    return out;
}
/// The axes of a mesh or of a vmap that it names.
std::vector<Sym> named_axes(const Op& op) {
    std::vector<Sym> out;
    for (const char* key : {"axes", "axis_name"}) {
        const Attr* names = op.params->find(key);
        ParamReads::note(key);
        if (const Sym* one = names ? names->get<Sym>() : nullptr) out.push_back(*one);
        if (const Attr::Seq* several = names ? names->get_seq() : nullptr)
            for (const Attr& a : several->items)
                if (const Sym* name = a.get<Sym>()) out.push_back(*name);
    }
    return out;
}
Avals eval_all_reduce(const Op& op) {
    const Axes axes = axes_of(op);
    ParamReads::note("axis_index_groups");  // the types are the same
    Avals out;
    for (const AvalRef a : op.in) {
        if (!a->is_array()) type_mismatch(op, "arrays", to_text(a));
        std::vector<bool> gone(a->shape.size());
        for (const std::int64_t axis : axes.positional) {
            if (axis < 0 || axis >= static_cast<std::int64_t>(a->shape.size()) || gone[static_cast<std::size_t>(axis)])
                type_mismatch(op, "distinct axes of " + shape_text(a->shape), std::to_string(axis));
            gone[static_cast<std::size_t>(axis)] = true;
        }
        Dims shape;
        for (std::size_t d = 0; d < gone.size(); ++d)
            if (!gone[d]) shape.push_back(a->shape[d]);
        out.push_back(with_shape(a, shape));
    }
    return out;
}
JaxprPtr reduced(const Op& op, const Primitive& reduce, bool sum) {
    const Axes axes = axes_of(op);
    if (axes.named)
        throw Error(ErrorCode::CannotRun, std::string("expected axes of the operand, found axes of a mesh in ") + op.prim->name)
            .at(op.source.loc());
    if (const Attr* groups = op.params->find("axis_index_groups"); groups && !groups->is_none())
        throw Error(ErrorCode::CannotRun, "expected no axis_index_groups, found groups of devices in " + op.prim->name).at(op.source.loc());
    JaxprBuilder b;
    Values out, in;
    for (const AvalRef a : op.in) in.push_back(b.add_input(a));
    for (const Value v : in)
        out.push_back(sum ? lax::reduce_sum(b, v, axes.positional)
                          : b.bind1(reduce, {v}, make_params(ReduceParams{.axes = axes.positional})));
    return b.finish(out, op.prim->name.c_str());
}
JaxprPtr expand_psum(const Op& op) { return reduced(op, kReduceSum, true); }
JaxprPtr expand_pmax(const Op& op) { return reduced(op, kReduceMax, false); }
JaxprPtr expand_pmin(const Op& op) { return reduced(op, kReduceMin, false); }

ParamsRef over_axes(const Op& op, const Dims& positional) {
    Attrs axes;
    const Attr* before = op.params->find("axes");
    if (const Attr::Seq* s = before ? before->get_seq() : nullptr)
        for (const Attr& a : s->items)
            if (!a.get<std::int64_t>()) axes.push_back(a);
    for (const std::int64_t axis : positional) axes.emplace_back(axis);
    return with_param(op.params, "axes", Attr::tuple(std::move(axes)));
}
/// Axes of the operand are spread out again; over axes of a mesh the cotangents are summed once more, all in one psum.
void transpose_psum(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    const Dims summed = axes_of(op).positional;
    Values spread;
    std::vector<std::size_t> operands;
    for (std::size_t i = 0; i < ct.size(); ++i) {
        if (ct[i].is_zero() || !sink.wanted(i)) continue;
        operands.push_back(i);
        const Dims kept = remaining(op.in[i]->rank(), summed);
        spread.push_back(summed.empty() ? ct[i] : lax::broadcast_in_dim(b, ct[i], op.in[i]->shape, kept));
    }
    if (operands.empty()) return;
    const Values out = b.bind(*op.prim, spread, over_axes(op, {}));
    for (std::size_t k = 0; k < operands.size(); ++k) sink.add(operands[k], out[k]);
}
/// Over axes of a mesh each operand keeps its batch axis; else the axes count from the front, so that the batch axes of all operands go
/// there.
BatchResult batch_all_reduce(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size, bool sum) {
    if (names_axis(op.params, NamedBatchAxis::current())) {
        BatchResult out;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const BatchResult one = batch_named_reduce(b, op, x[i], dims[i], size, sum);
            out.out.push_back(one.out[0]);
            out.out_dims.push_back(one.out_dims[0]);
        }
        return out;
    }
    const Dims axes = axes_of(op).positional;
    if (axes.empty()) return {b.bind(*op.prim, x, op.params), dims};
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    return {b.bind(*op.prim, in, over_axes(op, plus(axes, 1))), std::vector<int>(x.size(), 0)};
}

BatchResult batch_sum(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    return batch_all_reduce(b, op, x, dims, size, true);
}
BatchResult batch_extreme(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    return batch_all_reduce(b, op, x, dims, size, false);
}

/// Where types say what varies over axes of a mesh, the results of these don't any more.
Avals eval_invariant(const Op& op) {
    Avals out = eval_all_reduce(op);
    const std::vector<Sym> names = named_axes(op);
    for (AvalRef& a : out) a = with_varying(a, axes_without(varying_axes(*a), names));
    return out;
}
void transpose_psum_invariant(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!ct[0].is_zero() && sink.wanted(0)) sink.add(0, lax::vary(b, ct[0], named_axes(op)));
}

Avals eval_axis_index(const Op& op) {
    expect_inputs(op, 0);
    const AvalRef index(DType::S32, {});
    const std::vector<Sym> names = named_axes(op);
    const ManualAxes* inside = ManualScope::current();
    return {inside && inside->check ? with_varying(index, names) : index};
}
Avals eval_same(const Op& op) {
    Avals out;
    for (const AvalRef a : op.in) out.push_back(a);
    return out;
}

Avals eval_ppermute(const Op& op) {
    ParamReads::note("axis_name");
    ParamReads::note("perm");
    return eval_same(op);
}
Avals eval_pbroadcast(const Op& op) {
    ParamReads::note("axis_name");
    ParamReads::note("source");
    return eval_same(op);
}
Avals eval_pvary(const Op& op) {
    expect_inputs(op, 1);
    return {with_varying(op.in[0], axes_joined(varying_axes(*op.in[0]), named_axes(op)))};
}
void transpose_pvary(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (!ct[0].is_zero() && sink.wanted(0)) sink.add(0, b.bind1(kPsumInvariant, ct, op.params));
}
/// Identity to the elements: says over which axes a value varies.
KScalar lower_identity(ElementBuilder& k, const Op&, const KIndex& i) { return load_same(k, 0, i); }

Avals eval_all_gather(const Op& op) {
    const auto& p = op.as<AllGatherParams>();
    expect_arrays(op, 1);
    Dims shape = op.in[0]->shape;
    const auto d = static_cast<std::size_t>(p.all_gather_dimension);
    if (p.all_gather_dimension < 0 || d > shape.size() || (p.tiled && d == shape.size()))
        type_mismatch(op, "a dimension of " + shape_text(shape), std::to_string(p.all_gather_dimension));
    if (p.tiled)
        shape[d] *= p.axis_size;
    else
        shape.insert(shape.begin() + p.all_gather_dimension, p.axis_size);
    return {with_shape(op.in[0], shape)};
}
Avals eval_reduce_scatter(const Op& op) {
    const auto& p = op.as<ReduceScatterParams>();
    expect_arrays(op, 1);
    Dims shape = op.in[0]->shape;
    const auto d = static_cast<std::size_t>(p.scatter_dimension);
    if (p.scatter_dimension < 0 || d >= shape.size() || p.axis_size < 1 || shape[d] % p.axis_size != 0 ||
        (!p.tiled && shape[d] != p.axis_size))
        type_mismatch(op, "a dimension of " + shape_text(shape) + " that " + std::to_string(p.axis_size) + " devices cut evenly",
                      std::to_string(p.scatter_dimension));
    if (p.tiled)
        shape[d] /= p.axis_size;
    else
        shape.erase(shape.begin() + p.scatter_dimension);
    return {with_shape(op.in[0], shape)};
}
Avals eval_all_gather_invariant(const Op& op) {
    Avals out = eval_all_gather(op);
    out[0] = with_varying(out[0], axes_without(varying_axes(*out[0]), named_axes(op)));
    return out;
}
constexpr const char* kMesh = "a collective over devices: jaxscope runs it in programs of several devices alone";

constexpr const char* kNoDerivative = "JAX gives maxima and minima over devices no derivative";

constexpr Primitive mapped(const char* name, AbstractEvalFn* eval, BatchFn* batch) {
    Primitive p = typed_only(name, eval, kMesh);
    p.batch = batch;
    return p;
}
constexpr Primitive linear(const char* name, AbstractEvalFn* eval, BatchFn* batch, TransposeFn* transpose) {
    Primitive p = mapped(name, eval, batch);
    p.jvp = jvp_linear;
    p.transpose = transpose;
    return p;
}
constexpr Primitive all_reduce(const char* name, ExpandFn* expand) {
    Primitive p = mapped(name, eval_invariant, batch_extreme);
    p.jvp = NoRule{kNoDerivative};
    p.transpose = NoRule{kNoDerivative};
    p.expand = expand;
    return p;
}
constexpr Primitive sum_reduce(const char* name, ExpandFn* expand) {
    Primitive p = linear(name, eval_all_reduce, batch_sum, transpose_psum);
    p.expand = expand;
    return p;
}
}  // namespace

constinit const Primitive kAxisIndex = mapped("axis_index", eval_axis_index, batch_axis_index);
constinit const Primitive kPpermute = linear("ppermute", eval_ppermute, batch_ppermute, transpose_ppermute);
constinit const Primitive kPbroadcast = linear("pbroadcast", eval_pbroadcast, batch_pbroadcast, transpose_pbroadcast);
constinit const Primitive kPsum = sum_reduce("psum", expand_psum);
constinit const Primitive kPmax = all_reduce("pmax", expand_pmax);
constinit const Primitive kPmin = all_reduce("pmin", expand_pmin);
constinit const Primitive kAllGather = linear("all_gather", eval_all_gather, batch_all_gather, transpose_all_gather);
constinit const Primitive kReduceScatter = linear("reduce_scatter", eval_reduce_scatter, batch_reduce_scatter, transpose_reduce_scatter);
constinit const Primitive kAllGatherInvariant =
    linear("all_gather_invariant", eval_all_gather_invariant, batch_all_gather, transpose_all_gather_invariant);
constinit const Primitive kPsumInvariant = linear("psum_invariant", eval_invariant, batch_sum, transpose_psum_invariant);
constinit const Primitive kPvary{.name = "pvary",
                                 .abstract_eval = eval_pvary,
                                 .jvp = jvp_linear,
                                 .transpose = transpose_pvary,
                                 .batch = batch_unary,
                                 .lower = lower_identity,
                                 .cost = data_movement_cost,
                                 .partition = partition_elementwise,
                                 .view = always_a_view};
/// How many devices meet isn't among its parameters: its results are what was recorded, and follow from these.
constinit const Primitive kAllToAll{.name = "all_to_all",
                                    .abstract_eval = NoRule{"how many devices meet isn't among its parameters"},
                                    .jvp = jvp_all_to_all,
                                    .transpose = transpose_all_to_all,
                                    .batch = batch_all_to_all,
                                    .lower = NoRule{kMesh}};

std::span<const Primitive* const> collective_primitives() {
    static constexpr const Primitive* all[] = {&kAxisIndex, &kPpermute,      &kPbroadcast, &kPsum,
                                               &kPmax,      &kPmin,          &kAllGather,  &kReduceScatter,
                                               &kPvary,     &kPsumInvariant, &kAllToAll,   &kAllGatherInvariant};
    return all;
}

}  // namespace jaxscope
