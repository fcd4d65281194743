// SPDX-License-Identifier: Apache-2.0
#include "transforms/batch.h"

#include "ir/interpret.h"
#include "ir/transform_cache.h"
#include "ir/types/manual_axes.h"
#include "lax/named_axis.h"
#include "lax/rule_support.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

struct BatchKey {
    std::int64_t size;
    std::vector<int> in_dims;
    std::vector<bool> instantiate;
    bool front;
    Sym axis_name = NamedBatchAxis::current();
    friend bool operator==(const BatchKey&, const BatchKey&) = default;
};
std::size_t hash(const BatchKey& k) {
    std::size_t h = hash_mix(hash_of(k.instantiate), static_cast<std::size_t>(k.size));
    for (const int d : k.in_dims) h = hash_mix(h, static_cast<std::size_t>(d));
    return hash_mix(hash_mix(h, k.front), k.axis_name.id());
}

AvalRef with_axis(AvalRef a, int dim, std::int64_t size) {
    if (dim == kNotMapped) return a;
    Aval out = *a;
    JAXSCOPE_ASSERT(dim >= 0 && dim <= out.rank());
    out.shape.insert(out.shape.begin() + dim, size);
    auto spec = explicit_spec(*a);
    if (spec.empty()) return out;
    spec.resize(a->shape.size());
    spec.insert(spec.begin() + dim, std::vector<Sym>());
    return with_explicit_spec(out, spec);
}

/// Batches `j`'s equations into `b`. `evaluates`: it is the body of a call, not the user's function.
BatchResult batch_into(Builder& b, const Jaxpr& j, const Values& x, const std::vector<int>& in_dims, std::int64_t size,
                       bool evaluates = true) {
    Interpreter run(j, {.builder = &b, .doing = "batching", .evaluates = evaluates}, LiteralAsValue(), Value(), kNotMapped);
    run.bind_consts(constants_of(b, j));
    run.bind_inputs(x, in_dims);
    return run.forward([&](const Eqn& e, const Values& in, const std::vector<int>& dims) {
        return batch_eqn(b, make_op(j, e, b.source), e.effects, in, dims, size);
    });
}

BatchedJaxpr make_batched(const Jaxpr& j, const BatchKey& key) {
    JaxprBuilder b;
    Values x;
    const Avals in_avals = j.in_avals();
    for (std::size_t i = 0; i < in_avals.size(); ++i) x.push_back(b.add_input(with_axis(in_avals[i], key.in_dims[i], key.size)));
    BatchResult r = batch_into(b, j, x, key.in_dims, key.size);
    for (std::size_t k = 0; key.front && k < r.out.size(); ++k) {
        if (r.out_dims[k] == kNotMapped && !key.instantiate[k]) continue;
        r.out[k] = batch_to_front(b, r.out[k], r.out_dims[k], key.size);
        r.out_dims[k] = 0;
    }
    BatchedJaxpr out;
    out.jaxpr = b.finish(r.out, j.name);
    out.out_dims = std::move(r.out_dims);
    return out;
}

const BatchedJaxpr& batched(const JaxprPtr& j, const BatchKey& key) {
    JAXSCOPE_ASSERT(key.in_dims.size() == j->num_invars);
    static const CachedTransform<BatchKey, BatchedJaxpr> cache;
    return cache.get(j, key, hash(key), [&] { return make_batched(*j, key); });
}

}  // namespace

BatchResult batch_eqn(Builder& b, const Op& op, EffectSet effects, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    bool mapped = false;
    for (const int d : dims) mapped = mapped || d != kNotMapped;
    if (!mapped && !reaches_axis(*op.prim, op.params, NamedBatchAxis::current()))
        return {b.emit(*op.prim, x, op.params, op.out, effects), std::vector<int>(op.out.size(), kNotMapped)};
    if (op.prim->batch) return op.prim->batch.fn(b, op, x, dims, size);
    if (op.prim->expand) return batch_into(b, *op.prim->expand.fn(op), x, dims, size);
    throw missing_rule(*op.prim, op.prim->batch, "batch rule", std::string("Batching rule for '") + op.prim->name + "' not implemented");
}

const BatchedJaxpr& batch_jaxpr(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims) {
    const BatchedJaxpr& out = batched(j, {size, in_dims, {}, false});
    if (BatchFollower* f = batch_follower()) f->follow(j, out, size, in_dims);
    return out;
}
BatchFollower*& batch_follower() {
    thread_local BatchFollower* follower = nullptr;
    return follower;
}
const BatchedJaxpr& batch_jaxpr_front(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims,
                                      const std::vector<bool>& instantiate) {
    return batched(j, {size, in_dims, instantiate, true});
}

JaxprPtr batch_jaxpr_axes(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims, const std::vector<int>& out_dims) {
    JAXSCOPE_ASSERT(in_dims.size() == j->num_invars && out_dims.size() == j->outvars.size());
    JaxprBuilder b;
    Values x;
    const Avals in = j->in_avals();
    for (std::size_t i = 0; i < in.size(); ++i) x.push_back(b.add_input(with_axis(in[i], in_dims[i], size)));
    BatchResult r = batch_into(b, *j, x, in_dims, size);
    for (std::size_t k = 0; k < r.out.size(); ++k) {
        JAXSCOPE_ASSERT(out_dims[k] != kNotMapped || r.out_dims[k] == kNotMapped);
        if (r.out_dims[k] == out_dims[k]) continue;
        r.out[k] = batch_to(b, r.out[k], r.out_dims[k], out_dims[k], size);
    }
    return b.finish(r.out, j->name);
}

JaxprPtr vmap(const JaxprPtr& j, std::int64_t size, const std::vector<int>& in_dims, const std::vector<int>& out_dims, Sym axis_name,
              const std::vector<std::string>& out_paths) {
    const NamedBatchAxis named(axis_name);
    if (in_dims.size() != j->num_invars || out_dims.size() != j->outvars.size())
        throw Error(ErrorCode::BadUsage, "vmap: expected an axis per input and output");
    for (std::uint32_t i = 0; i < j->num_invars; ++i)
        if (in_dims[i] < kNotMapped || in_dims[i] > j->aval(j->invar(i))->rank())
            throw Error(ErrorCode::BadUsage,
                        "vmap: axis " + std::to_string(in_dims[i]) + " is out of bounds for input " + std::to_string(i));
    JaxprBuilder b;
    const JaxprPtr open = convert_constvars(j);
    Values x;
    std::vector<int> dims(j->num_constvars, kNotMapped);
    for (std::uint32_t i = 0; i < j->num_constvars; ++i)
        x.push_back(b.add_constvar(j->aval(j->constvar(i)), i < j->consts.size() ? j->consts[i] : nullptr));
    for (std::uint32_t i = 0; i < j->num_invars; ++i)
        x.push_back(b.add_input(with_axis(j->aval(j->invar(i)), in_dims[i], size), j->arg_names.empty() ? Sym() : j->arg_names[i]));
    dims.insert(dims.end(), in_dims.begin(), in_dims.end());
    b.source = Source{{}, NameStack().transform(stack_names::kVmap)};
    BatchResult r = batch_into(b, *open, x, dims, size, false);
    for (std::size_t k = 0; k < r.out.size(); ++k) {
        if (r.out_dims[k] == out_dims[k]) continue;
        if (out_dims[k] == kNotMapped)
            throw Error(ErrorCode::BadUsage, "at vmap out_axes" + (k < out_paths.size() ? out_paths[k] : "") +
                                                 ", got axis spec None but output was batched on axis " + std::to_string(r.out_dims[k]));
        if (out_dims[k] < 0 || out_dims[k] > j->aval(j->outvars[k])->rank())
            throw Error(ErrorCode::BadUsage,
                        "vmap: axis " + std::to_string(out_dims[k]) + " is out of bounds for output " + std::to_string(k));
        r.out[k] = batch_to(b, r.out[k], r.out_dims[k], out_dims[k], size);
    }
    return b.finish(r.out, j->name);
}

}  // namespace jaxscope
