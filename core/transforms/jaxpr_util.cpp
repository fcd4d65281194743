// SPDX-License-Identifier: Apache-2.0
#include "transforms/jaxpr_util.h"

#include <algorithm>
#include <numeric>

#include "ir/interpret.h"
#include "ir/transform_cache.h"
#include "lax/ops.h"

namespace jaxscope {

namespace {

/// `j` with inputs in the order given (indices into constvars and inputs together) and some outputs only.
JaxprPtr with_signature(const Jaxpr& j, const std::vector<std::uint32_t>& inputs, const std::vector<Atom>& outs,
                        std::uint32_t num_constvars) {
    auto out = std::make_shared<Jaxpr>();
    out->name = j.name;
    out->num_constvars = num_constvars;
    out->num_invars = static_cast<std::uint32_t>(inputs.size()) - num_constvars;
    out->consts = num_constvars == j.num_constvars ? j.consts : std::vector<ArrayPtr>();
    out->effects = j.effects;
    out->reserve(j.eqns.size());
    const std::uint32_t n = j.num_constvars + j.num_invars;
    JAXSCOPE_ASSERT(inputs.size() == n);
    std::vector<std::uint32_t> number(n);
    for (std::uint32_t i = 0; i < n; ++i) {
        number[inputs[i]] = i;
        out->set_var_id(out->add_var(j.aval(Var{inputs[i]})), j.var_id(Var{inputs[i]}));
    }
    if (!j.arg_names.empty())
        for (std::uint32_t i = num_constvars; i < n; ++i)
            out->arg_names.push_back(inputs[i] < j.num_constvars ? Sym() : j.arg_names[inputs[i] - j.num_constvars]);
    for (std::uint32_t i = n; i < j.num_vars(); ++i) out->set_var_id(out->add_var(j.aval(Var{i}), j.dropped(Var{i})), j.var_id(Var{i}));
    const auto moved = [&](Atom a) { return a.is_literal() || a.var().index >= n ? a : Atom(Var{number[a.var().index]}); };
    for (const Atom a : j.atoms) out->atoms.push_back(moved(a));
    for (const Atom a : outs) out->outvars.push_back(moved(a));
    out->eqns = j.eqns;
    return out;
}

std::vector<std::uint32_t> identity(const Jaxpr& j) {
    std::vector<std::uint32_t> order(j.num_constvars + j.num_invars);
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

}  // namespace

// Cached, so that what is one jaxpr stays one: JAX caches all three.
JaxprPtr convert_constvars(const JaxprPtr& j) {
    if (j->num_constvars == 0) return j;
    static const CachedTransform<bool, JaxprPtr> cache;
    return cache.get(j, true, 0, [&] { return with_signature(*j, identity(*j), j->outvars, 0); });
}

JaxprPtr prune_outputs(const JaxprPtr& j, const std::vector<bool>& keep) {
    if (std::find(keep.begin(), keep.end(), false) == keep.end()) return j;
    using Cache = CachedTransform<std::vector<bool>, JaxprPtr>;
    static const Cache cache{Cache::Shared()};
    return cache.get(j, keep, hash_of(keep), [&] { return with_signature(*j, identity(*j), select(j->outvars, keep), j->num_constvars); });
}

JaxprPtr permute_inputs(const JaxprPtr& j, const std::vector<int>& order) {
    static const CachedTransform<std::vector<int>, JaxprPtr> cache;
    std::size_t h = 0;
    for (const int i : order) h = hash_mix(h, static_cast<std::size_t>(i));
    return cache.get(j, order, h, [&] {
        std::vector<std::uint32_t> inputs = identity(*j);
        for (std::size_t i = 0; i < order.size(); ++i)
            inputs[j->num_constvars + i] = j->num_constvars + static_cast<std::uint32_t>(order[i]);
        return with_signature(*j, inputs, j->outvars, j->num_constvars);
    });
}

JaxprPtr rearrange(const JaxprPtr& j, const std::vector<int>& in_order, const std::vector<int>& out_order) {
    JAXSCOPE_ASSERT(in_order.size() == j->num_invars && out_order.size() <= j->outvars.size());
    std::vector<std::uint32_t> inputs = identity(*j);
    for (std::size_t i = 0; i < in_order.size(); ++i)
        inputs[j->num_constvars + i] = j->num_constvars + static_cast<std::uint32_t>(in_order[i]);
    std::vector<Atom> outs;
    for (const int k : out_order) outs.push_back(j->outvars[static_cast<std::size_t>(k)]);
    return with_signature(*j, inputs, outs, j->num_constvars);
}

JaxprPtr widen_inputs(const JaxprPtr& j, const Avals& avals, const std::vector<int>& position) {
    JAXSCOPE_ASSERT(position.size() == j->num_invars && avals.size() >= position.size());
    if (avals.size() == position.size() && std::is_sorted(position.begin(), position.end())) return j;
    const auto added = static_cast<std::uint32_t>(avals.size() - position.size());
    const std::uint32_t first_result = j->num_constvars + j->num_invars;
    auto out = std::make_shared<Jaxpr>();
    out->name = j->name;
    out->num_constvars = j->num_constvars;
    out->num_invars = static_cast<std::uint32_t>(avals.size());
    out->consts = j->consts;
    out->effects = j->effects;
    out->reserve(j->eqns.size());
    for (std::uint32_t i = 0; i < j->num_constvars; ++i) out->set_var_id(out->add_var(j->aval(Var{i})), j->var_id(Var{i}));
    for (const AvalRef a : avals) out->add_var(a);
    for (std::uint32_t i = 0; i < j->num_invars; ++i)
        out->set_var_id(out->invar(static_cast<std::uint32_t>(position[i])), j->var_id(j->invar(i)));
    for (std::uint32_t v = first_result; v < j->num_vars(); ++v)
        out->set_var_id(out->add_var(j->aval(Var{v}), j->dropped(Var{v})), j->var_id(Var{v}));
    const auto moved = [&](Atom a) {
        if (a.is_literal() || a.var().index < j->num_constvars) return a;
        if (a.var().index >= first_result) return Atom(Var{a.var().index + added});
        return Atom(out->invar(static_cast<std::uint32_t>(position[a.var().index - j->num_constvars])));
    };
    for (const Atom a : j->atoms) out->atoms.push_back(moved(a));
    for (const Atom a : j->outvars) out->outvars.push_back(moved(a));
    out->eqns = j->eqns;
    for (Eqn& e : out->eqns) e.first_out += added;
    return out;
}

JaxprPtr map_params(const JaxprPtr& j, const std::function<ParamsRef(const Eqn&, ParamsRef inside)>& change, DoneJaxprs& done) {
    if (const auto seen = done.find(j.get()); seen != done.end()) return seen->second;
    std::shared_ptr<Jaxpr> copy;
    for (std::size_t i = 0; i < j->eqns.size(); ++i) {
        const Eqn& e = j->eqns[i];
        if (!e.params->holds_jaxpr()) continue;
        ParamsRef params = change(e, map_jaxprs(e.params, [&](const JaxprPtr& inner) { return map_params(inner, change, done); }));
        if (params == e.params) continue;
        if (!copy) copy = std::make_shared<Jaxpr>(*j);
        copy->eqns[i].params = std::move(params);
    }
    return done[j.get()] = copy ? JaxprPtr(copy) : j;
}

Values constants_of(Builder& b, const Jaxpr& j) {
    // Only a closed jaxpr can be evaluated: an open one's constvars are converted to inputs by whoever has their values.
    if (j.consts.size() != j.num_constvars)
        throw Error(ErrorCode::BadInput, "expected a body with a value for each of its " + std::to_string(j.num_constvars) +
                                             " constvars, found " + std::to_string(j.consts.size()) + " values");
    Values out;
    for (const ArrayPtr& c : j.consts) out.push_back(b.constant(c));
    return out;
}

EvaluatedEqn evaluated(Builder& b, const Eqn& e, const Values& in) {
    static const Sym mark("from_jaxpr"), called("call_jaxpr");
    if (e.prim->custom_derivative) return {with_param(e.params, mark, Attr(true)), in};
    const Attr* body = e.prim->flow == Flow::Call ? e.params->find(called) : nullptr;
    const auto* ref = body ? body->get<Attr::JaxprRef>() : nullptr;
    if (!ref || !ref->closed || ref->jaxpr->num_constvars == 0) return {e.params, in};
    Values operands = constants_of(b, *ref->jaxpr);
    operands.insert(operands.end(), in.begin(), in.end());
    return {with_param(e.params, called, Attr(Attr::JaxprRef{convert_constvars(ref->jaxpr), true})), std::move(operands)};
}

Values inline_evaluated(JaxprBuilder& b, const Jaxpr& j, const Values& consts, const Values& in) {
    Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_consts(consts);
    run.bind_inputs(in);
    return run.forward([&](const Eqn& e, const Values& args) {
        const EvaluatedEqn now = evaluated(b, e, args);
        return b.emit(*e.prim, now.in, now.params, j.out_avals(e), e.effects);
    });
}

Value add_tangents(Builder& b, Value x, Value y) {
    if (x.is_zero()) return y;
    if (y.is_zero()) return x;
    return lax::add_any(b, x, y);
}

std::size_t count_true(const std::vector<bool>& which) { return static_cast<std::size_t>(std::count(which.begin(), which.end(), true)); }
bool any_true(const std::vector<bool>& which) { return std::find(which.begin(), which.end(), true) != which.end(); }
std::vector<bool> negated(std::vector<bool> which) {
    which.flip();
    return which;
}

std::vector<bool> nonzero_pattern(const Builder& b, const Values& tangents) {
    std::vector<bool> out;
    for (const Value t : tangents) out.push_back(!t.is_zero() && b.aval(t)->dtype != DType::Float0);
    return out;
}

Value instantiate_zero(Builder& b, Value t, AvalRef primal) {
    if (!t.is_zero()) return t;
    return lax::full(b, tangent_aval(primal), 0.0);  // of a Python number it is one, and another type than an array's to cond
}

}  // namespace jaxscope
