#include "transforms/checkpoint.h"

#include <unordered_map>

#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {
const Sym kRemat("remat2");
}

JaxprPtr checkpoint(const JaxprPtr& j, const PolicyPtr& policy, SourceRef source) {
    JaxprBuilder b;
    Values in;
    for (std::uint32_t i = 0; i < j->num_constvars; ++i)
        in.push_back(b.add_constvar(j->aval(j->constvar(i)), i < j->consts.size() ? j->consts[i] : nullptr));
    for (std::uint32_t i = 0; i < j->num_invars; ++i)
        in.push_back(b.add_input(j->aval(j->invar(i)), j->arg_names.empty() ? Sym() : j->arg_names[i]));
    const JaxprPtr body = convert_constvars(j);
    RematParams p;
    p.jaxpr = {body, false};
    p.policy = policy;
    p.prevent_cse = Attr(true);
    b.source = source;
    const Values out = b.emit(primitive(kRemat), in, make_params(p), body->out_avals(), effects_of(*body));
    return b.finish(out, j->name);
}

namespace {

class PolicyReplacer {
public:
    PolicyReplacer(std::optional<int> site, const PolicyPtr& policy) : site_(site), policy_(policy) {}
    int sites() const { return next_site_; }

    JaxprPtr visit(const JaxprPtr& j) {
        if (const auto found = done_.find(j.get()); found != done_.end()) return found->second;
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
        std::vector<Params::Entry> entries(e.params->entries().begin(), e.params->entries().end());
        bool changed = false;
        if (Sym(e.prim->name) == kRemat && !e.params->as<RematParams>().differentiated) {
            const int here = next_site_++;
            if (!site_ || *site_ == here)
                for (auto& [name, value] : entries)
                    if (name == Sym("policy")) {
                        value = to_attr(policy_);
                        changed = true;
                    }
        }
        for (auto& [name, value] : entries) changed = descend(value) || changed;
        return changed ? Params::make(std::move(entries)) : e.params;
    }
    bool descend(Attr& a) {
        if (const auto* ref = a.get<Attr::JaxprRef>()) {
            const JaxprPtr j = visit(ref->jaxpr);
            if (j == ref->jaxpr) return false;
            a = Attr(Attr::JaxprRef{j, ref->closed});
            return true;
        }
        const Attr::Seq* s = a.holds_jaxpr() ? a.get_seq() : nullptr;
        if (!s) return false;
        Attrs items = s->items;
        bool changed = false;
        for (Attr& item : items) changed = descend(item) || changed;
        if (changed) a = Attr::seq(s->kind, std::move(items));
        return changed;
    }
    std::optional<int> site_;
    PolicyPtr policy_;
    int next_site_ = 0;
    std::unordered_map<const Jaxpr*, JaxprPtr> done_;
};

}  // namespace

JaxprPtr replace_policy(const JaxprPtr& j, std::optional<int> site, const PolicyPtr& policy) {
    PolicyReplacer r(site, policy);
    JaxprPtr out = r.visit(j);
    if (site && (*site < 0 || *site >= r.sites()))
        throw Error(ErrorCode::NotFound,
                    "expected a checkpoint site below " + std::to_string(r.sites()) + ", found " + std::to_string(*site));
    return out;
}

}  // namespace jaxscope
