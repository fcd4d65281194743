#include "analysis/cost.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/linearity.h"

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

/// Walks the unknown part with what is linear in it; nested jaxprs are at most as deep as the reader's limit.
class Recomputed {
public:
    std::map<std::string, WorkByPrimitive> found;

    void walk(const Jaxpr& j, const std::vector<bool>& linear, double times) {
        for (const Eqn& e : j.eqns) {
            if (e.params->holds_jaxpr())
                walk_call(j, e, linear, times);
            else if (!depends_on_tangent(j, e, linear))
                count(j, e, times);
        }
    }

private:
    static bool depends_on_tangent(const Jaxpr& j, const Eqn& e, const std::vector<bool>& linear) {
        const auto in = j.inputs(e);
        return std::any_of(in.begin(), in.end(), [&](Atom a) { return a.is_var() && linear[a.var().index]; });
    }
    void walk_call(const Jaxpr& j, const Eqn& e, const std::vector<bool>& linear, double times) {
        const double inner_times = times * static_cast<double>(repetitions(e));
        for (const JaxprPtr& s : e.params->jaxprs()) walk(*s, linear_variables(*s, linear_inputs_of(j, e, linear, *s)), inner_times);
    }
    void count(const Jaxpr& j, const Eqn& e, double times) {
        WorkByPrimitive& w = found[e.prim->name];
        w.count += static_cast<std::int64_t>(times);
        w.flops += times * leaf_cost(j, e).flops;
    }
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
    Recomputed r;
    r.walk(unknown, linear_variables(unknown, linear), 1);
    return r.found;
}

}  // namespace jaxscope
