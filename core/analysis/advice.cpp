// SPDX-License-Identifier: Apache-2.0
#include "analysis/advice.h"

#include <algorithm>
#include <set>

#include "transforms/policies.h"

namespace jaxscope {

namespace {

std::vector<PolicyPtr> candidates(const ResidualReport& now) {
    constexpr std::size_t kMostNames = 8;  // each is a derivation of the whole function
    std::vector<PolicyPtr> out;
    std::set<std::string> names;
    for (const ResidualRow& r : now.rows)
        if (!r.name.empty()) names.insert(r.name);
    for (const std::string& name : names)
        if (out.size() < kMostNames) out.push_back(make_policy(Sym("save_any_names_but_these"), {Attr(Sym(name))}));
    if (!names.empty()) {
        Attrs all;
        for (const std::string& name : names) all.emplace_back(Sym(name));
        out.push_back(make_policy(Sym("save_only_these_names"), std::move(all)));
    }
    for (const char* name : {"dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable"})
        out.push_back(make_policy(Sym(name)));
    return out;
}

/// As Python writes it: names are strings there.
std::string python_of(const PolicySpec& policy) {
    std::string args;
    for (const Attr& a : policy.args)
        if (const Sym* name = a.get<Sym>()) args += (args.empty() ? "'" : ", '") + name->str() + "'";
    return "jax.checkpoint(f, policy=jax.checkpoint_policies." + policy.name.str() + (args.empty() ? "" : "(" + args + ")") + ")";
}

std::ptrdiff_t count(const std::vector<std::string>& avals, const std::string& aval) {
    return std::count(avals.begin(), avals.end(), aval);
}

}  // namespace

std::vector<TriedPolicy> try_policies(const Inspection& inspection) {
    const ResidualReport& now = inspection.residuals();
    std::vector<TriedPolicy> out;
    for (const PolicyPtr& policy : candidates(now)) {
        check_cancelled();
        Choices c = inspection.choices();
        c.clear_policies();
        c.policy = policy;
        try {
            const Inspection other(inspection.program_ptr(), std::move(c), &inspection);
            TriedPolicy t{python_of(*policy), other.residuals().total_bytes, {}};
            if (t.total_bytes >= now.total_bytes) continue;
            for (const ResidualRow& r : other.residuals().rows) t.avals.push_back(r.aval);
            out.push_back(std::move(t));
        } catch (const Error& e) {  // what can't be derived is no advice
            if (e.code == ErrorCode::Cancelled) throw;
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const TriedPolicy& x, const TriedPolicy& y) { return x.total_bytes > y.total_bytes; });
    return out;
}

std::optional<Advice> advice_on(const ResidualReport& now, const ResidualRow& row, const std::vector<TriedPolicy>& tried) {
    const auto kept = std::count_if(now.rows.begin(), now.rows.end(), [&](const ResidualRow& r) { return r.aval == row.aval; });
    for (const TriedPolicy& t : tried)
        if (count(t.avals, row.aval) < kept) return Advice{t.python, now.total_bytes - t.total_bytes};
    return {};
}

}  // namespace jaxscope
