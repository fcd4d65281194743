#include "transforms/inline_rules.h"

#include <set>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/followed.h"
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
        Values env;
        for (std::uint32_t i = 0; i < j.num_constvars; ++i)
            env.push_back(b.add_constvar(j.aval(j.constvar(i)), i < j.consts.size() ? j.consts[i] : nullptr));
        for (std::uint32_t i = 0; i < j.num_invars; ++i)
            env.push_back(b.add_input(j.aval(j.invar(i)), j.arg_names.empty() ? Sym() : j.arg_names[i]));
        env.resize(j.num_vars());
        const auto read = [&](Atom a) { return a.is_literal() ? Value(a.literal()) : env[a.var().index]; };
        for (std::size_t i = 0; i < j.eqns.size(); ++i) {
            const Eqn& e = j.eqns[i];
            Values in;
            for (const Atom a : j.inputs(e)) in.push_back(read(a));
            b.source = e.source;
            b.context = e.context;
            Values out;
            if (chosen(e)) {
                const JaxprPtr body = visit(custom_body(e));
                if (body->num_constvars > 0 && j.consts.size() != j.num_constvars)
                    throw Error(ErrorCode::NoRule, "expected a function without constants of its own, found " +
                                                       std::to_string(body->num_constvars) + " in '" + printable(body->name.str(), 60) +
                                                       "'")
                        .at(e.source.loc());
                out = inline_jaxpr(b, *body, constants_of(b, *body), in);
            } else {
                out = b.emit(*e.prim, in, params[i], j.out_avals(e), e.effects);
            }
            std::copy(out.begin(), out.end(), env.begin() + e.first_out);
        }
        Values outs;
        for (const Atom a : j.outvars) outs.push_back(read(a));
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
        throw Error(ErrorCode::NotFound, "expected a function with a custom rule, such as " + (known.empty() ? "none" : known) +
                                             ", found '" + printable(name, 60) + "'");
    }
    return out;
}

}  // namespace jaxscope
