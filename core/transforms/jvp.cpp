#include "transforms/jvp.h"

#include "ir/transform_cache.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

[[noreturn]] void no_differentiation_rule(const Op& op) {
    Error e(op.prim->opaque ? ErrorCode::UnknownPrimitive : ErrorCode::NoRule,
            std::string("Differentiation rule for '") + op.prim->name + "' not implemented");
    if (!op.prim->opaque) e.in(std::string("jaxscope has no jvp rule for '") + op.prim->name + "': " + op.prim->jvp.absent);
    e.at(op.source.loc());
    throw e;
}

struct Key {
    std::vector<bool> nonzero_in, instantiate;
    bool outermost = false;  ///< the user's own jax.jvp, which stands in the name stack of all that it makes
    friend bool operator==(const Key&, const Key&) = default;
};

JvpJaxpr make_jvp(const Jaxpr& j, const Key& key) {
    JaxprBuilder b;
    const Avals in_avals = j.in_avals();
    Values x, dx;
    for (const AvalRef a : in_avals) x.push_back(b.add_input(a));
    for (std::size_t i = 0; i < in_avals.size(); ++i)
        dx.push_back(key.nonzero_in[i] ? b.add_input(tangent_aval(in_avals[i])) : Value::zero());
    Values env(j.num_vars()), denv(j.num_vars());
    const Values consts = constants_of(b, j);
    std::copy(consts.begin(), consts.end(), env.begin());
    std::copy(x.begin(), x.end(), env.begin() + j.num_constvars);
    std::copy(dx.begin(), dx.end(), denv.begin() + j.num_constvars);
    const auto read = [](const Values& e, Atom a, bool tangent) {
        if (a.is_literal()) return tangent ? Value::zero() : Value(a.literal());
        return e[a.var().index];
    };
    SourcesWithin place(key.outermost ? NameStack().transform(stack_names::kJvp) : NameStack());
    for (std::size_t i = 0; i < j.eqns.size(); ++i) {
        const Eqn& e = j.eqns[i];
        x.clear();
        dx.clear();
        for (const Atom a : j.inputs(e)) {
            x.push_back(read(env, a, false));
            dx.push_back(read(denv, a, true));
        }
        b.source = place(e.source);
        b.context = e.context;
        try {
            const PrimalsTangents out = jvp_eqn(b, make_op(j, e, b.source), e.effects, x, dx);
            std::copy(out.primals.begin(), out.primals.end(), env.begin() + e.first_out);
            std::copy(out.tangents.begin(), out.tangents.end(), denv.begin() + e.first_out);
        } catch (Error& error) {
            error.at(e.source.loc()).in("forward mode of " + eqn_label(j, i));
            throw;
        }
    }
    JvpJaxpr out;
    Values outs, tangents;
    for (std::size_t k = 0; k < j.outvars.size(); ++k) {
        outs.push_back(read(env, j.outvars[k], false));
        Value t = read(denv, j.outvars[k], true);
        if (t.is_zero() && key.instantiate[k]) t = instantiate_zero(b, t, j.aval(j.outvars[k]));
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
    JAXSCOPE_ASSERT(out.primals.size() == op.out.size() && out.tangents.size() == op.out.size());
    for (Value& t : out.tangents)
        if (!t.is_zero() && b.aval(t)->dtype == DType::Float0) t = Value::zero();
    return out;
}

const JvpJaxpr& jvp_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, const std::vector<bool>& instantiate) {
    JAXSCOPE_ASSERT(nonzero_in.size() == j->num_invars && instantiate.size() == j->outvars.size());
    static const CachedTransform<Key, JvpJaxpr> cache;
    const Key key{nonzero_in, instantiate, false};
    return cache.get(j, key, hash_mix(hash_of(nonzero_in), hash_of(instantiate)), [&] { return make_jvp(*j, key); });
}

const JvpJaxpr& jvp_jaxpr(const JaxprPtr& j, const std::vector<bool>& nonzero_in, bool instantiate) {
    return jvp_jaxpr(j, nonzero_in, std::vector<bool>(j->outvars.size(), instantiate));
}

JvpJaxpr jvp(const JaxprPtr& j, const std::vector<bool>& nonzero_in) {
    return make_jvp(*j, Key{nonzero_in, std::vector<bool>(j->outvars.size(), true), true});
}

}  // namespace jaxscope
