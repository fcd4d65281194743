// SPDX-License-Identifier: Apache-2.0
#include "transforms/cut.h"

#include <unordered_map>

#include "ir/builder.h"

namespace jaxscope {

JaxprCutter::JaxprCutter(const Jaxpr& j) : j_(j), last_read_(j.num_vars(), 0) {
    const auto end = static_cast<std::uint32_t>(j.eqns.size());
    for (std::uint32_t i = 0; i < end; ++i)
        for (const Atom a : j.inputs(j.eqns[i]))
            if (a.is_var()) last_read_[a.var().index] = i;
    for (const Atom a : j.outvars)
        if (a.is_var()) last_read_[a.var().index] = end;
}

JaxprCut JaxprCutter::cut(std::uint32_t begin, std::uint32_t end, Sym name, const std::function<bool(const Eqn&)>& left_out) const {
    std::vector<const Eqn*> eqns;
    for (std::uint32_t i = begin; i < end; ++i)
        if (!left_out || !left_out(j_.eqns[i])) eqns.push_back(&j_.eqns[i]);
    JaxprCut out;
    JaxprBuilder b;
    std::unordered_map<std::uint32_t, Value> values;
    for (const Eqn* e : eqns)
        for (std::uint32_t k = 0; k < e->n_out; ++k) values.emplace(e->first_out + k, Value());
    for (const Eqn* e : eqns)
        for (const Atom a : j_.inputs(*e))
            if (a.is_var() && !values.contains(a.var().index)) {
                values.emplace(a.var().index, b.add_input(j_.aval(a)));
                out.in.push_back(a.var());
            }
    Values results;
    for (const Eqn* e : eqns) {
        Values in;
        for (const Atom a : j_.inputs(*e)) in.push_back(a.is_literal() ? Value(a.literal()) : values.at(a.var().index));
        b.source = e->source;
        b.context = e->context;
        const Values made = b.append(*e->prim, in, e->params, j_.out_avals(*e), e->effects);
        for (std::uint32_t k = 0; k < e->n_out; ++k) {
            values[e->first_out + k] = made[k];
            if (last_read_[e->first_out + k] < end) continue;
            out.out.push_back(j_.output(*e, k));
            results.push_back(made[k]);
        }
    }
    out.jaxpr = b.finish(results, name);
    return out;
}

}  // namespace jaxscope
