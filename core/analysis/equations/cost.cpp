// SPDX-License-Identifier: Apache-2.0
#include "analysis/equations/cost.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/equations/linearity.h"

namespace jaxscope {

namespace {

using Costs = std::unordered_map<const Jaxpr*, Cost>;

Cost leaf_cost(const Jaxpr& j, const Eqn& e) {
    const Op op = make_op(j, e);
    Cost c;
    for (const AvalRef a : op.in) c.bytes += static_cast<double>(a->bytes());
    for (const AvalRef a : op.out) c.bytes += static_cast<double>(a->bytes());
    if (e.prim->cost) return {e.prim->cost.fn(op).flops, c.bytes};
    for (const AvalRef a : op.out) c.flops += static_cast<double>(a->size());
    return c;
}

Cost call_cost(const Eqn& e, const Costs& known) {
    Cost sum, dearest;
    const std::vector<JaxprPtr> subs = e.params->jaxprs();
    for (const JaxprPtr& s : subs) {
        const Cost& c = known.at(s.get());
        sum.flops += c.flops;
        sum.bytes += c.bytes;
        if (c.flops >= dearest.flops) dearest = c;
    }
    if (e.params->find("branches")) sum = dearest;
    const auto n = static_cast<double>(repetitions(e));
    return {sum.flops * n, sum.bytes * n};
}

Cost eqn_cost(const Jaxpr& j, const Eqn& e, const Costs& known) {
    // reductions and sorts hold a comparator: their own rule knows how often it runs
    if (!e.params->holds_jaxpr() || e.prim->cost) return leaf_cost(j, e);
    return call_cost(e, known);
}

/// Costs of all jaxprs below `root`, each once, inner ones first.
Costs costs_below(const Jaxpr& root) {
    Costs known;
    for (const Jaxpr* j : all_jaxprs(root)) {
        Cost total;
        for (const Eqn& e : j->eqns) {
            const Cost c = eqn_cost(*j, e, known);
            total.flops += c.flops;
            total.bytes += c.bytes;
        }
        known.emplace(j, total);
    }
    return known;
}

using Work = std::map<std::string, WorkByPrimitive>;

/// What of a jaxpr depends on no tangent. Nested jaxprs are at most as deep as the reader's limit; an answer is kept for every one and
/// set of tangents, so that a body that is named often is walked once.
class Recomputed {
public:
    const Work& of(const Jaxpr& j, const std::vector<bool>& linear_inputs) {
        std::pair key{&j, linear_inputs};
        if (const auto seen = known_.find(key); seen != known_.end()) return seen->second;
        Work work;
        const std::vector<bool> linear = linearity_.variables(j, linear_inputs);
        for (const Eqn& e : j.eqns) {
            if (e.params->holds_jaxpr() && !e.prim->cost)
                add_call(work, j, e, linear);
            else if (!depends_on_tangent(j, e, linear))
                add(work[e.prim->name.c_str()], 1, 1, leaf_cost(j, e).flops);
        }
        return known_[std::move(key)] = std::move(work);
    }

private:
    static void add(WorkByPrimitive& to, double times, double count, double flops) {
        to.count = static_cast<std::int64_t>(std::min(static_cast<double>(to.count) + times * count, 9e18));
        to.flops += times * flops;
    }
    static bool depends_on_tangent(const Jaxpr& j, const Eqn& e, const std::vector<bool>& linear) {
        const auto in = j.inputs(e);
        return std::any_of(in.begin(), in.end(), [&](Atom a) { return a.is_var() && linear[a.var().index]; });
    }
    void add_call(Work& work, const Jaxpr& j, const Eqn& e, const std::vector<bool>& linear) {
        const auto times = static_cast<double>(repetitions(e));
        for (const JaxprPtr& s : e.params->jaxprs())
            for (const auto& [name, w] : of(*s, linearity_.inputs_of(j, e, linear, *s)))
                add(work[name], times, static_cast<double>(w.count), w.flops);
    }
    Linearity linearity_;
    std::map<std::pair<const Jaxpr*, std::vector<bool>>, Work> known_;
};

}  // namespace

std::int64_t repetitions(const Eqn& e) {
    const Attr* length = e.params->find("length");
    const auto* n = length ? length->get<std::int64_t>() : nullptr;
    return n && e.params->holds_jaxpr() ? *n : 1;
}

Cost cost_of(const Jaxpr& jaxpr) { return costs_below(jaxpr).at(&jaxpr); }
Cost cost_of(const Jaxpr& jaxpr, const Eqn& eqn) {
    Costs known;
    for (const JaxprPtr& s : eqn.params->jaxprs()) known.merge(costs_below(*s));
    return eqn_cost(jaxpr, eqn, known);
}

std::map<std::string, WorkByPrimitive> recomputed_work(const Jaxpr& unknown, std::size_t num_residuals) {
    std::vector<bool> linear(unknown.num_constvars + unknown.num_invars, false);
    for (std::size_t i = unknown.num_constvars + num_residuals; i < linear.size(); ++i) linear[i] = true;
    return Recomputed().of(unknown, linear);
}

}  // namespace jaxscope
