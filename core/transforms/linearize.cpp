// SPDX-License-Identifier: Apache-2.0
#include "transforms/linearize.h"

#include <algorithm>
#include <unordered_map>

#include "ir/interpret.h"
#include "ir/transform_cache.h"
#include "lax/primitives.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"

namespace jaxscope {

void settle_linearized(PrimalsTangents& out, const Op& op) {
    for (const Value p : out.primals)
        if (p.is_unknown())
            throw Error(ErrorCode::NotDifferentiable,
                        "Linearization failed to produce known values for all output primals. This is typically caused by attempting to "
                        "differentiate a function uses an operation that does not support reverse-mode autodiff.")
                .at(op.source.loc());
    for (Value& t : out.tangents)
        if (!t.is_unknown()) t = Value::zero();
}

PrimalsTangents linearize_eqn(SplitBuilder& b, const Op& op, EffectSet effects, const Values& x, const Values& dx_in) {
    Values dx = dx_in;
    bool all_zero = true;
    for (Value& t : dx) {
        if (!t.is_zero() && b.aval(t)->dtype == DType::Float0) t = Value::zero();
        all_zero = all_zero && t.is_zero();
    }
    PrimalsTangents out;
    if (!all_zero && op.prim->linearize)
        out = op.prim->linearize.fn(b, op, x, dx);
    else
        out = jvp_eqn(b, op, effects, x, dx);
    settle_linearized(out, op);
    return out;
}

namespace {

/// The equations behind which JAX's eval_jaxpr lets go of what stands for each variable: its last reader, and no sooner than the one behind
/// its maker, as the results of one equation stay until the next ones are there. What nobody reads stays to the end.
std::vector<std::uint32_t> held_until(const Jaxpr& j) {
    const auto end = static_cast<std::uint32_t>(j.eqns.size());
    std::vector<std::uint32_t> until(j.num_vars(), end);
    std::vector<bool> read(j.num_vars(), false);
    for (const Atom a : j.outvars)
        if (a.is_var()) read[a.var().index] = true;
    for (std::uint32_t i = end; i-- > 0;) {
        for (const Atom a : j.inputs(j.eqns[i])) {
            if (!a.is_var() || read[a.var().index]) continue;
            read[a.var().index] = true;
            until[a.var().index] = i;
        }
        for (std::uint32_t v = j.eqns[i].first_out; v < j.eqns[i].first_out + j.eqns[i].n_out; ++v) until[v] = std::max(until[v], i + 1);
    }
    return until;
}

}  // namespace

PrimalsTangents linearize_into(SplitBuilder& b, const Jaxpr& j, const Values& x, const Values& dx) {
    Interpreter run(j, {.builder = &b, .doing = "linearizing", .evaluates = !b.outermost()}, LiteralAsValue(), Value(), Value::zero());
    run.bind_consts(constants_of(b, j));
    run.bind_inputs(x, dx);
    // How long the user's Python holds a value isn't known; it is taken to hold all.
    const std::vector<std::uint32_t> until = b.outermost() ? std::vector<std::uint32_t>() : held_until(j);
    return run.forward([&](const Eqn& e, const Values& in, const Values& din) {
        b.at_time(static_cast<std::uint32_t>(run.index()));
        if (std::all_of(din.begin(), din.end(), [](Value t) { return t.is_zero(); }))
            return PrimalsTangents{b.emit(*e.prim, in, e.params, j.out_avals(e), e.effects), {}};
        PrimalsTangents out = linearize_eqn(b, make_op(j, e, b.source), e.effects, b.held(j, run.index(), in), din);
        for (std::uint32_t k = 0; k < e.n_out && !until.empty(); ++k) b.hold(out.tangents[k], until[e.first_out + k]);
        return out;
    });
}

namespace {

struct LinearizeKey {
    std::vector<bool> nonzero_in, instantiate, allow_forward;
    friend bool operator==(const LinearizeKey&, const LinearizeKey&) = default;
};

LinearizedJaxpr make_linearized(const Jaxpr& j, const LinearizeKey& key) {
    JaxprBuilder known;
    SplitBuilder b(known);
    Values x, dx;
    for (const AvalRef a : j.in_avals()) x.push_back(known.add_input(a));
    for (std::size_t i = 0; i < x.size(); ++i)
        dx.push_back(key.nonzero_in[i] ? b.add_unknown_input(tangent_aval(known.aval(x[i]))) : Value::zero());
    PrimalsTangents out = linearize_into(b, j, x, dx);
    LinearizedJaxpr result;
    Values tangents;
    for (std::size_t k = 0; k < out.tangents.size(); ++k) {
        Value& t = out.tangents[k];
        if (t.is_zero() && key.instantiate[k]) t = instantiate_zero(b, t, j.aval(j.outvars[k]));
        result.nonzero_out.push_back(!t.is_zero());
        if (!t.is_zero()) tangents.push_back(t);
    }
    SplitBuilder::Unknown unknown = b.finish_unknown(tangents, true, j.name);
    result.tangent = std::move(unknown.jaxpr);

    std::unordered_map<std::uint32_t, int> forwardable;
    const Values consts = constants_of(b, j);
    for (std::size_t i = 0; i < consts.size() + x.size(); ++i)
        if (key.allow_forward[i]) forwardable.emplace((i < consts.size() ? consts[i] : x[i - consts.size()]).raw(), static_cast<int>(i));
    Values outs = out.primals;
    for (const Value r : unknown.residuals) {
        const auto found = forwardable.find(r.raw());
        result.residual_forward.push_back(found == forwardable.end() ? -1 : found->second);
        if (found == forwardable.end()) outs.push_back(r);
    }
    result.num_residuals_out = static_cast<int>(outs.size() - out.primals.size());
    result.primal = dce_jaxpr(known.finish(outs, j.name), std::vector<bool>(outs.size(), true), true).jaxpr;
    return result;
}

}  // namespace

const LinearizedJaxpr& linearize_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, const std::vector<bool>& instantiate,
                                       const std::vector<bool>& allow_forward) {
    JAXSCOPE_ASSERT(nonzero_in.size() == j->num_invars && instantiate.size() == j->outvars.size());
    JAXSCOPE_ASSERT(allow_forward.size() == j->num_constvars + j->num_invars);
    static const CachedTransform<LinearizeKey, LinearizedJaxpr> cache;
    const LinearizeKey key{nonzero_in, instantiate, allow_forward};
    const std::size_t h = hash_mix(hash_mix(hash_of(nonzero_in), hash_of(instantiate)), hash_of(allow_forward));
    return cache.get(j, key, h, [&] { return make_linearized(*j, key); });
}

const LinearizedJaxpr& linearize_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, bool instantiate) {
    return linearize_jaxpr(j, nonzero_in, std::vector<bool>(j->outvars.size(), instantiate),
                           std::vector<bool>(j->num_constvars + j->num_invars, true));
}

}  // namespace jaxscope
