// SPDX-License-Identifier: Apache-2.0
#include "transforms/inline_rules.h"

#include <set>
#include <unordered_map>

#include "base/suggest.h"
#include "ir/builder.h"
#include "ir/followed.h"
#include "ir/interpret.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

/// The body of a call whose function brings a rule for its derivatives; null for everything else.
JaxprPtr custom_body(const Eqn& e) {
    const Attr* body = e.prim->custom_derivative ? e.params->find(e.prim->body) : nullptr;
    const auto* ref = body ? body->get<Attr::JaxprRef>() : nullptr;
    return ref ? ref->jaxpr : nullptr;
}

class RuleInliner {
public:
    explicit RuleInliner(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
    std::set<std::string> met;  ///< functions with rules

    JaxprPtr visit(const JaxprPtr& j) {
        if (!j) return j;
        if (const auto seen = done_.find(j.get()); seen != done_.end()) return seen->second;
        std::vector<ParamsRef> params;
        bool same = true;
        for (const Eqn& e : j->eqns) {
            params.push_back(e.params->holds_jaxpr() ? map_jaxprs(e.params, [this](const JaxprPtr& s) { return visit(s); }) : e.params);
            same = same && params.back() == e.params && !chosen(e);
        }
        return done_[j.get()] = same ? j : rebuilt(*j, params);
    }

private:
    bool chosen(const Eqn& e) {
        const JaxprPtr body = custom_body(e);
        if (!body) return false;
        met.insert(body->name.str());
        return names_.contains(body->name.str());
    }

    JaxprPtr rebuilt(const Jaxpr& j, const std::vector<ParamsRef>& params) {
        JaxprBuilder b;
        Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
        run.bind_all(b.add_signature(j));
        const Values outs = run.forward([&](const Eqn& e, const Values& in) {
            if (!chosen(e)) return b.emit(*e.prim, in, params[run.index()], j.out_avals(e), e.effects);
            const JaxprPtr body = visit(custom_body(e));
            if (body->num_constvars > 0 && j.consts.size() != j.num_constvars)
                throw Error(ErrorCode::NoRule, "expected a function without constants of its own, found " +
                                                   std::to_string(body->num_constvars) + " in '" + printable(body->name.str(), 60) + "'")
                    .at(e.source.loc());
            return inline_jaxpr(b, *body, constants_of(b, *body), in);
        });
        return b.finish(outs, j.name);
    }

    std::set<std::string> names_;
    std::unordered_map<const Jaxpr*, JaxprPtr> done_;
};

}  // namespace

ProgramPtr inline_rules(const Program& program, const std::vector<std::string>& names) {
    refuse_runaway(*program.jaxpr);
    RuleInliner inliner(names);
    auto out = std::make_shared<Program>(program);
    out->jaxpr = inliner.visit(program.jaxpr);
    out->marked = inliner.visit(program.marked);
    for (Region& r : out->regions) r.jaxpr = inliner.visit(r.jaxpr);
    for (const std::string& name : names) {
        if (inliner.met.contains(name)) continue;
        std::string known;
        for (const std::string& m : inliner.met) known += (known.empty() ? "" : ", ") + printable(m, 60);
        throw unknown_name(ErrorCode::NotFound, "expected a function with a custom rule, such as " + (known.empty() ? "none" : known), name,
                           views_of(inliner.met));
    }
    return out;
}

}  // namespace jaxscope
