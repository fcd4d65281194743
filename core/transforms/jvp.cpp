// SPDX-License-Identifier: Apache-2.0
#include "transforms/jvp.h"

#include "ir/interpret.h"
#include "ir/transform_cache.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

[[noreturn]] void no_differentiation_rule(const Op& op) {
    throw missing_rule(*op.prim, op.prim->jvp, "jvp rule", std::string("Differentiation rule for '") + op.prim->name + "' not implemented")
        .at(op.source.loc());
}

struct JvpKey {
    std::vector<bool> nonzero_in, instantiate;
    bool outermost = false;              ///< the user's own jax.jvp, which stands in the name stack of all that it makes
    std::size_t num_outputs = SIZE_MAX;  ///< results that are differentiated
    friend bool operator==(const JvpKey&, const JvpKey&) = default;
};

/// Of a call in the user's own function, what jax.jvp finds when it runs the Python of its body (see RecloseFn).
PrimalsTangents jvp_of_python(Builder& b, Op op, EffectSet effects, const Values& in, const Values& din) {
    const auto call = op.prim->reclose ? op.prim->reclose.fn(op, nonzero_pattern(b, din)) : std::nullopt;
    if (!call) return jvp_eqn(b, op, effects, in, din);
    Values x, dx;
    Avals avals;
    for (const ClosedOperand& o : call->operands) {
        x.push_back(in[o.operand]);
        dx.push_back(o.primal ? Value::zero() : din[o.operand]);
        avals.push_back(op.in[o.operand]);
    }
    op.params = call->params;
    op.in = std::move(avals);
    return jvp_eqn(b, op, effects, x, dx);
}

JvpJaxpr make_jvp(const Jaxpr& j, const JvpKey& key) {
    JaxprBuilder b;
    if (key.outermost) b.set_outermost();
    const Avals in_avals = j.in_avals();
    Values x, dx;
    for (const AvalRef a : in_avals) x.push_back(b.add_input(a));
    for (std::size_t i = 0; i < in_avals.size(); ++i)
        dx.push_back(key.nonzero_in[i] ? b.add_input(tangent_aval(in_avals[i])) : Value::zero());
    const NameStack place = key.outermost ? NameStack().transform(stack_names::kJvp) : NameStack();
    Interpreter run(j, {.builder = &b, .doing = "forward mode of", .within = place, .evaluates = !key.outermost}, LiteralAsValue(), Value(),
                    Value::zero());
    run.bind_consts(constants_of(b, j));
    run.bind_inputs(x, dx);
    auto [outs, dy] = run.forward([&](const Eqn& e, const Values& in, const Values& din) {
        return key.outermost ? jvp_of_python(b, make_op(j, e, b.source), e.effects, in, din)
                             : jvp_eqn(b, make_op(j, e, b.source), e.effects, in, din);
    });
    JvpJaxpr out;
    Values tangents;
    for (std::size_t k = 0; k < std::min(dy.size(), key.num_outputs); ++k) {
        const Value t = key.instantiate[k] ? instantiate_zero(b, dy[k], j.aval(j.outvars[k])) : dy[k];
        out.zeros.push_back(dy[k].is_zero());
        out.nonzero_out.push_back(!t.is_zero());
        if (!t.is_zero()) tangents.push_back(t);
    }
    outs.insert(outs.end(), tangents.begin(), tangents.end());
    out.jaxpr = b.finish(outs, j.name);
    return out;
}

}  // namespace

PrimalsTangents jvp_eqn(Builder& b, const Op& op, EffectSet effects, const Values& x, const Values& dx_in) {
    PrimalsTangents out;
    Values dx = dx_in;
    bool all_zero = true;
    for (Value& t : dx) {
        if (!t.is_zero() && b.aval(t)->dtype == DType::Float0) t = Value::zero();
        all_zero = all_zero && t.is_zero();
    }
    if (all_zero) {
        out.primals = b.emit(*op.prim, x, op.params, op.out, effects);
        out.tangents.assign(out.primals.size(), Value::zero());
        return out;
    }
    if (op.prim->jvp_call) {
        out = op.prim->jvp_call.fn(b, op, x, dx);
    } else {
        if (!op.prim->jvp) no_differentiation_rule(op);
        out.primals = b.emit(*op.prim, x, op.params, op.out, effects);
        out.tangents = op.prim->jvp.fn(b, op, x, out.primals, dx);
    }
    if (out.primals.size() != op.out.size() || out.tangents.size() != op.out.size())
        throw Error(ErrorCode::BadInput, "expected the rule of " + op.prim->name + " to give " + std::to_string(op.out.size()) +
                                             " results and as many tangents, found " + std::to_string(out.primals.size()) + " and " +
                                             std::to_string(out.tangents.size()))
            .at(op.source.loc());
    for (Value& t : out.tangents)
        if (!t.is_zero() && b.aval(t)->dtype == DType::Float0) t = Value::zero();
    return out;
}

const JvpJaxpr& jvp_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, const std::vector<bool>& instantiate) {
    JAXSCOPE_ASSERT(nonzero_in.size() == j->num_invars && instantiate.size() == j->outvars.size());
    static const CachedTransform<JvpKey, JvpJaxpr> cache;
    const JvpKey key{nonzero_in, instantiate};
    return cache.get(j, key, hash_mix(hash_of(nonzero_in), hash_of(instantiate)), [&] { return make_jvp(*j, key); });
}

const JvpJaxpr& jvp_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, bool instantiate) {
    return jvp_jaxpr(j, nonzero_in, std::vector<bool>(j->outvars.size(), instantiate));
}

JvpJaxpr jvp(const JaxprPtr& j, const std::vector<bool>& nonzero_in, std::size_t num_outputs) {
    return make_jvp(*j, JvpKey{nonzero_in, std::vector<bool>(j->outvars.size(), true), true, num_outputs});
}

}  // namespace jaxscope
