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

namespace {

/// Letter case aside. A number at the end is the whole number: line 24 isn't line 240.
bool contains(std::string_view in, std::string_view text) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    for (auto at = in.begin();; ++at) {
        at = std::search(at, in.end(), text.begin(), text.end(), same);
        if (at == in.end()) return false;
        const auto behind = at + static_cast<std::ptrdiff_t>(text.size());
        if (text.find(':') == text.npos || !is_digit(text.back()) || behind == in.end() || !is_digit(*behind)) return true;
    }
}

}  // namespace

std::vector<EqnPath> find_equations(const Jaxpr& root, std::string_view text, std::size_t most) {
    std::vector<EqnPath> by_title, by_place;
    if (text.empty()) return by_title;
    visit_jaxprs(root, 0, [&](const Jaxpr& jaxpr, const JaxprPath& path) {
        for (std::uint32_t i = 0; i < jaxpr.eqns.size() && by_title.size() < most; ++i) {
            const Eqn& eqn = jaxpr.eqns[i];
            if (contains(equation_title(eqn), text))
                by_title.push_back({path, i});
            else if (by_place.size() < most &&
                     (contains(eqn.source->name_stack.str(), text) || contains(eqn.source->summary().str(), text)))
                by_place.push_back({path, i});
        }
        return by_title.size() < most;
    });
    by_place.resize(std::min(by_place.size(), most - by_title.size()));
    by_title.insert(by_title.end(), by_place.begin(), by_place.end());
    return by_title;
}

}  // namespace jaxscope
