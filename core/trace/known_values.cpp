// SPDX-License-Identifier: Apache-2.0
#include "trace/known_values.h"

#include <algorithm>

#include "lax/collectives/collectives.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

namespace {

/// Is there something in it, or in its bodies, that can't be run twice, or not by itself?
bool runs_once(const ::jaxscope::Jaxpr& program) {
    const std::vector<const ::jaxscope::Jaxpr*> bodies = all_jaxprs(program);
    return std::any_of(bodies.begin(), bodies.end(), [](const ::jaxscope::Jaxpr* body) {
        return std::any_of(body->eqns.begin(), body->eqns.end(), [](const Eqn& e) { return !e.effects.empty() || is_collective(*e.prim); });
    });
}

}  // namespace

ArrayPtr KnownValues::leaf(const ::jaxscope::Jaxpr& j, std::uint32_t index,
                           const std::unordered_map<const ArrayConst*, Array>& constants) const {
    if (index < j.num_constvars) {
        const auto known = constants.find(j.consts[index].get());
        return known == constants.end() ? j.consts[index] : known_elements(*known->second.node());
    }
    const std::uint32_t input = index - j.num_constvars;
    return input < inputs_.size() && inputs_[input].has_value() ? known_elements(*inputs_[input].node()) : nullptr;
}

ArrayPtr KnownValues::of(const JaxprBuilder& builder, Value v, const std::unordered_map<const ArrayConst*, Array>& constants) {
    const JaxprPtr j = builder.so_far({v});
    if (j->outvars.front().is_literal()) return array_of(j->outvars.front().literal());
    const std::uint32_t wanted = j->outvars.front().var().index, shift = j->num_constvars, first = shift + j->num_invars;
    if (wanted < first) return leaf(*j, wanted, constants);
    const auto is_computed = [&](std::uint32_t i) { return i >= first && computed_.contains(i - shift); };
    if (is_computed(wanted)) return computed_.at(wanted - shift);

    std::vector<bool> needed(j->num_vars());
    needed[wanted] = true;
    std::vector<const Eqn*> equations;
    for (auto e = j->eqns.rbegin(); e != j->eqns.rend(); ++e) {
        bool makes = false;
        for (std::uint32_t i = e->first_out; i < e->first_out + e->n_out; ++i) makes = makes || (needed[i] && !is_computed(i));
        if (!makes) continue;
        equations.push_back(&*e);
        for (const Atom a : j->inputs(*e))
            if (a.is_var()) needed[a.var().index] = true;
    }
    JaxprBuilder cut;
    std::vector<ArrayPtr> arrays;
    std::vector<Value> values(j->num_vars());
    for (std::uint32_t i = 0; i < j->num_vars(); ++i) {
        if (!needed[i] || (i >= first && !is_computed(i))) continue;
        arrays.push_back(i < first ? leaf(*j, i, constants) : computed_.at(i - shift));
        if (!arrays.back()) return nullptr;
        values[i] = cut.add_input(arrays.back()->aval);
    }
    Values results;
    std::vector<std::uint32_t> names;
    for (auto e = equations.rbegin(); e != equations.rend(); ++e) {
        Values in;
        for (const Atom a : j->inputs(**e)) in.push_back(a.is_literal() ? Value(a.literal()) : values[a.var().index]);
        const Values out = cut.copy(*j, **e, in);
        for (std::uint32_t k = 0; k < (*e)->n_out; ++k) {
            const std::uint32_t i = (*e)->first_out + k;
            values[i] = out[k];
            if (is_computed(i)) continue;
            results.push_back(out[k]);
            names.push_back(i - shift);
        }
    }
    const JaxprPtr program = cut.finish(results);
    if (runs_once(*program)) return nullptr;
    refuse_constraints(*program);
    const std::vector<ArrayPtr> made = run_jaxpr(program, arrays);
    for (std::size_t k = 0; k < names.size(); ++k) computed_.emplace(names[k], made[k]);
    return computed_.at(wanted - shift);
}

ArrayPtr known_elements(const Node& n) {
    if (!n.is_tracer()) return elements(n);
    if (n.value.is_literal()) return array_of(n.value.literal());
    if (n.trace == Node::kAbstract) return nullptr;
    Trace* t = Trace::find(n.trace);
    if (!t) t = Trace::waiting_for(n);
    return t ? t->known(n.value) : nullptr;
}

}  // namespace jaxscope::jax::detail
