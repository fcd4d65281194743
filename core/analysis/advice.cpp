// SPDX-License-Identifier: Apache-2.0
#include "analysis/advice.h"

#include <algorithm>
#include <set>

#include "analysis/stages/subject.h"
#include "calls/families.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

struct Candidate {
    PolicyPtr policy;
    bool inside = false;  ///< in the checkpoints that the function has, else around it
};

PolicyPtr saves_names(const std::set<std::string>& names, const std::string& but) {
    Attrs saved;
    for (const std::string& name : names)
        if (name != but) saved.emplace_back(Sym(name));
    return saved.empty() ? make_policy(Sym("nothing_saveable")) : make_policy(Sym("save_only_these_names"), std::move(saved));
}

std::vector<Candidate> candidates(const ResidualReport& now, bool has_checkpoints) {
    constexpr std::size_t kMostNames = 8;  // each is a derivation of the whole function
    std::vector<Candidate> out;
    std::set<std::string> names;
    for (const ResidualRow& r : now.rows)
        if (!r.name.empty()) names.insert(r.name);
    std::size_t tried = 0;
    for (const std::string& name : names) {
        if (tried++ >= kMostNames) break;
        if (has_checkpoints) out.push_back({saves_names(names, name), true});
        out.push_back({make_policy(Sym("save_any_names_but_these"), {Attr(Sym(name))})});
    }
    if (!names.empty()) out.push_back({saves_names(names, {})});
    for (const char* name : {"dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable"}) {
        if (has_checkpoints) out.push_back({make_policy(Sym(name)), true});
        out.push_back({make_policy(Sym(name))});
    }
    return out;
}

/// As Python writes it: names are strings there.
std::string python_of(const PolicySpec& policy) {
    std::string args;
    for (const Attr& a : policy.args)
        if (const Sym* name = a.get<Sym>()) args += (args.empty() ? "'" : ", '") + name->str() + "'";
    return "policy=jax.checkpoint_policies." + policy.name.str() + (args.empty() ? "" : "(" + args + ")");
}

/// "model.py:12", with what stands before it.
std::string at_place(const std::string& before, const SourceLoc& loc) {
    return loc.line <= 0 ? "" : before + loc.file.substr(loc.file.rfind('/') + 1) + ":" + std::to_string(loc.line);
}

/// The first checkpoint in a function; null: it has none.
const Eqn* first_checkpoint(const Jaxpr& function) {
    for (const Jaxpr* j : all_jaxprs(function))
        for (const Eqn& e : j->eqns)
            if (e.prim == &kRemat) return &e;
    return nullptr;
}

/// What to write, and where.
std::string python_of(const Candidate& c, const Subject& s, const Program& program, const Eqn* checkpoint) {
    const std::string policy = python_of(*c.policy);
    if (c.inside) return policy + "  # in each jax.checkpoint of " + s.name + at_place(", as at ", checkpoint->source.loc());
    const bool named = !s.name.empty() && s.name.find_first_of("<> .") == std::string::npos;  // no lambda
    const std::string f = named ? s.name : "f";
    const SourceLoc loc = s.region ? program.regions[static_cast<std::size_t>(*s.region)].source.loc() : SourceLoc{};
    return f + " = jax.checkpoint(" + f + ", " + policy + ")" + at_place("  # before it is differentiated at ", loc);
}

}  // namespace

std::vector<TriedPolicy> try_policies(const Inspection& inspection) {
    const ResidualReport& now = inspection.residuals();
    Choices plain = inspection.choices();
    plain.clear_policies();
    const Subject subject = make_subject(inspection.program(), plain);
    const Eqn* checkpoint = first_checkpoint(*subject.jaxpr);
    std::vector<TriedPolicy> out;
    for (const Candidate& candidate : candidates(now, checkpoint != nullptr)) {
        check_cancelled();
        Choices c = plain;
        if (candidate.inside)
            c.replace_policy.push_back({{}, candidate.policy});
        else
            c.policy = candidate.policy;
        try {
            const Inspection other(inspection.program_ptr(), std::move(c), &inspection);
            TriedPolicy t{python_of(candidate, subject, inspection.program(), checkpoint), other.residuals().total_bytes, {}};
            if (t.total_bytes >= now.total_bytes) continue;
            for (const ResidualRow& r : other.residuals().rows) t.kept.insert(r.maker);
            out.push_back(std::move(t));
        } catch (const Error& e) {  // what can't be derived is no advice
            if (e.code == ErrorCode::Cancelled) throw;
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const TriedPolicy& x, const TriedPolicy& y) { return x.total_bytes > y.total_bytes; });
    return out;
}

std::optional<Advice> advice_on(const ResidualReport& now, const ResidualRow& row, const std::vector<TriedPolicy>& tried) {
    if (row.maker.empty()) return {};
    for (const TriedPolicy& t : tried)
        if (!t.kept.contains(row.maker)) return Advice{t.python, now.total_bytes - t.total_bytes};
    return {};
}

}  // namespace jaxscope
