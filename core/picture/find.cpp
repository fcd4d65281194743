// SPDX-License-Identifier: Apache-2.0
#include "picture/find.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "picture/graph_model.h"

namespace jaxscope {

void visit_jaxprs(const Jaxpr& root, std::size_t again, const std::function<bool(const Jaxpr&, const JaxprPath&)>& visit) {
    std::unordered_set<const Jaxpr*> seen{&root};
    std::vector<std::pair<const Jaxpr*, JaxprPath>> pending{{&root, {}}};
    for (std::size_t next = 0; next < pending.size(); ++next) {
        const auto [jaxpr, path] = pending[next];
        if (!visit(*jaxpr, path)) return;
        for (std::uint32_t i = 0; i < jaxpr->eqns.size(); ++i) {
            if (!jaxpr->eqns[i].params->holds_jaxpr()) continue;
            for (const SubJaxpr& sub : sub_jaxprs(jaxpr->eqns[i])) {
                if (!seen.insert(sub.jaxpr.get()).second) {
                    if (sub.jaxpr->eqns.size() >= again) continue;
                    again -= sub.jaxpr->eqns.size() + 1;
                }
                JaxprPath inner = path;
                inner.steps.push_back({i, sub.param, sub.index});
                pending.emplace_back(sub.jaxpr.get(), std::move(inner));
            }
        }
    }
}

std::optional<EqnPath> equation_at_line(const Jaxpr& root, const std::string& file, int line) {
    std::optional<EqnPath> found;
    visit_jaxprs(root, 0, [&](const Jaxpr& jaxpr, const JaxprPath& path) {
        for (std::uint32_t i = 0; i < jaxpr.eqns.size() && !found; ++i) {
            const SourceLoc loc = jaxpr.eqns[i].source.loc();
            if (loc.line == line && loc.file == file) found = EqnPath{path, i};
        }
        return !found;
    });
    return found;
}

std::vector<EqnPath> find_equations(const Jaxpr& root, std::string_view text, std::size_t most) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    std::vector<EqnPath> found;
    visit_jaxprs(root, 0, [&](const Jaxpr& jaxpr, const JaxprPath& path) {
        for (std::uint32_t i = 0; i < jaxpr.eqns.size() && found.size() < most; ++i) {
            const std::string title = equation_title(jaxpr.eqns[i]);
            if (std::search(title.begin(), title.end(), text.begin(), text.end(), same) != title.end()) found.push_back({path, i});
        }
        return found.size() < most;
    });
    return found;
}

}  // namespace jaxscope
