#include "calls/remat.h"

#include <unordered_map>

#include "calls/families.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

JaxprPtr checkpoint(const JaxprPtr& j, const PolicyPtr& policy, SourceRef source) {
    JaxprBuilder b;
    const Values in = b.add_signature(*j);
    const JaxprPtr body = convert_constvars(j);
    RematParams p;
    p.jaxpr = {body, false};
    p.policy = policy;
    p.prevent_cse = Attr(true);
    b.source = source;
    const Values out = b.emit(kRemat, in, make_params(p), body->out_avals(), body->effects);
    return b.finish(out, j->name);
}

namespace {

class PolicyReplacer {
public:
    PolicyReplacer(const std::function<bool(const Eqn&)>& chosen, const PolicyPtr& policy) : chosen_(chosen), policy_(policy) {}
    int found = 0;

    JaxprPtr visit(const JaxprPtr& j) {
        if (const auto seen = done_.find(j.get()); seen != done_.end()) return seen->second;
        std::shared_ptr<Jaxpr> copy;
        for (std::size_t i = 0; i < j->eqns.size(); ++i) {
            const Eqn& e = j->eqns[i];
            if (!e.params->holds_jaxpr()) continue;
            const ParamsRef params = replaced(e);
            if (params == e.params) continue;
            if (!copy) copy = std::make_shared<Jaxpr>(*j);
            copy->eqns[i].params = params;
        }
        return done_[j.get()] = copy ? JaxprPtr(copy) : j;
    }

private:
    ParamsRef replaced(const Eqn& e) {
        ParamsRef params = map_jaxprs(e.params, [this](const JaxprPtr& inner) { return visit(inner); });
        if (e.prim->flow != Flow::Remat || e.params->as<RematParams>().differentiated || !chosen_(e)) return params;
        ++found;
        return with_param(params, "policy", to_attr(policy_));
    }
    const std::function<bool(const Eqn&)>& chosen_;
    PolicyPtr policy_;
    std::unordered_map<const Jaxpr*, JaxprPtr> done_;
};

}  // namespace

JaxprPtr replace_policy(const JaxprPtr& j, const std::function<bool(const Eqn&)>& chosen, const PolicyPtr& policy, int* found) {
    PolicyReplacer r(chosen, policy);
    JaxprPtr out = r.visit(j);
    if (found) *found = r.found;
    return out;
}

}  // namespace jaxscope
