// SPDX-License-Identifier: Apache-2.0
#include "picture/scope_folds.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace jaxscope {
namespace {

std::uint32_t begin_of(const std::vector<Scope>& scopes, std::uint32_t child) {
    return (child & Scope::kScopeChild) != 0 ? scopes[child & ~Scope::kScopeChild].begin : child;
}

/// Name scopes of some equations of [begin, end), evenly: all of a run of a million would take longer than anybody waits.
template <class Take>
void for_some(const Jaxpr& jaxpr, std::uint32_t begin, std::uint32_t end, const Take& take) {
    constexpr std::uint32_t kMost = 400;
    const std::uint32_t step = std::max(1u, (end - begin) / kMost);
    std::optional<NameStack> last;
    for (std::uint32_t i = begin; i < end; i += step) {
        const NameStack stack = jaxpr.eqns[i].source->name_stack;
        if (last == stack) continue;
        last = stack;
        take(stack.segments());
    }
}

/// The name scopes that all equations of a group stand in.
std::vector<NameStack::Segment> common_names(const Jaxpr& jaxpr, const Scope& around) {
    std::vector<NameStack::Segment> common;
    bool first = true;
    for_some(jaxpr, around.begin, around.end, [&](const std::vector<NameStack::Segment>& segments) {
        if (std::exchange(first, false)) common = segments;
        std::size_t same = 0;
        while (same < std::min(common.size(), segments.size()) && common[same].text == segments[same].text) ++same;
        common.resize(same);
    });
    return common;
}

/// The name scopes right below those, of the equations of a group in it.
std::vector<std::string> names_inside(const Jaxpr& jaxpr, const std::vector<NameStack::Segment>& common, const Scope& run) {
    std::vector<std::string> names;
    for_some(jaxpr, run.begin, run.end, [&](const std::vector<NameStack::Segment>& segments) {
        if (segments.size() <= common.size() || segments[common.size()].transformed || segments[common.size()].text.empty()) return;
        const std::string& name = segments[common.size()].text;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    });
    return names;
}

/// Groups that stand in a run, by name.
std::vector<std::string> groups_inside(const std::vector<Scope>& scopes, const std::vector<std::uint32_t>& children) {
    std::vector<std::string> names;
    for (const std::uint32_t child : children) {
        if ((child & Scope::kScopeChild) == 0) continue;
        const Scope& group = scopes[child & ~Scope::kScopeChild];
        if (!group.made && std::find(names.begin(), names.end(), group.label.str()) == names.end()) names.push_back(group.label.str());
    }
    return names;
}

/// What a run is called: by the name scopes in it that its neighbours aren't in ("Conv_0, GroupNorm_0"), by the groups in it, else by its
/// numbers.
Sym run_label(const Jaxpr& jaxpr, const std::vector<Scope>& scopes, const Scope& around, const Scope& run) {
    constexpr std::size_t kMostNames = 2;
    std::vector<std::string> names = names_inside(jaxpr, common_names(jaxpr, around), run);
    if (names.empty()) names = groups_inside(scopes, run.children);
    if (names.empty()) return Sym("equations " + std::to_string(run.begin) + " - " + std::to_string(run.end - 1));
    std::string text = names.front();
    for (std::size_t k = 1; k < std::min(names.size(), kMostNames); ++k) text += ", " + names[k];
    return Sym(names.size() > kMostNames ? text + ", \u2026" : text);
}

/// Puts children [first, stop) of a scope, of which `all` are its own, into a group; what stands for that among the children.
std::uint32_t add_group(std::vector<Scope>& scopes, std::uint32_t parent, const std::vector<std::uint32_t>& all, std::size_t first,
                        std::size_t stop, Sym label) {
    scopes.push_back({.label = label,
                      .run = false,
                      .made = true,
                      .library = false,
                      .begin = begin_of(scopes, all[first]),
                      .end = stop < all.size() ? begin_of(scopes, all[stop]) : scopes[parent].end,
                      .parent = parent,
                      .children = {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(stop)}});
    return Scope::kScopeChild | static_cast<std::uint32_t>(scopes.size() - 1);
}

/// Puts runs of a scope's children into scopes of their own. `length`: of the run that begins at a child, 0: none; `label`: of such a run.
template <class Length, class Label>
void fold_runs(std::vector<Scope>& scopes, const Length& length, const Label& label) {
    const std::size_t before = scopes.size();
    for (std::uint32_t s = 0; s < before; ++s) {
        const std::vector<std::uint32_t> all = std::move(scopes[s].children);
        std::vector<std::uint32_t> kept;
        for (std::size_t k = 0; k < all.size();) {
            const std::size_t run = length(all, k);
            if (run == 0 || run == all.size()) {
                kept.push_back(all[k++]);
                continue;
            }
            kept.push_back(add_group(scopes, s, all, k, k + run, label(all[k], run)));
            k += run;
        }
        scopes[s].children = std::move(kept);
    }
}

/// Do two scopes hold the same primitives, making values of the same types?
bool alike(const Jaxpr& jaxpr, const Scope& a, const Scope& b) {
    if (a.label != b.label || a.end - a.begin != b.end - b.begin) return false;
    for (std::uint32_t k = 0; k < a.end - a.begin; ++k) {
        const Eqn &x = jaxpr.eqns[a.begin + k], &y = jaxpr.eqns[b.begin + k];
        if (x.prim != y.prim || x.n_out != y.n_out) return false;
        if (x.n_out > 0 && jaxpr.aval(jaxpr.output(x, 0)) != jaxpr.aval(jaxpr.output(y, 0))) return false;
    }
    return true;
}

/// "model.py:44" where the user's own line is one, else how many they are.
std::string line_or_count(const Jaxpr& jaxpr, std::uint32_t begin, std::uint32_t end) {
    const SourceLoc first = jaxpr.eqns[begin].source.loc();
    bool same = first.line > 0;
    for (std::uint32_t i = begin + 1; i < end && same; ++i) {
        const SourceLoc loc = jaxpr.eqns[i].source.loc();
        same = loc.line == first.line && loc.file == first.file;
    }
    if (!same) return std::to_string(end - begin) + " equations";
    return first.file.substr(first.file.rfind('/') + 1) + ":" + std::to_string(first.line);
}

/// Children of a crowded scope in a row that one name scope holds, where modules are called one after the other in one function: a group.
/// So are those between two modules.
void put_names_together(std::vector<Scope>& scopes, const Jaxpr& jaxpr, std::uint32_t s) {
    constexpr std::size_t kFewest = 2, kFewestBetween = 3;
    const std::vector<NameStack::Segment> common = common_names(jaxpr, scopes[s]);
    const auto name_of = [&](std::uint32_t eqn) {
        const std::vector<NameStack::Segment> segments = jaxpr.eqns[eqn].source->name_stack.segments();
        return segments.size() > common.size() && !segments[common.size()].transformed ? segments[common.size()].text : std::string();
    };
    const std::vector<std::uint32_t> all = scopes[s].children;
    const auto end_of = [&](std::size_t k) { return k + 1 < all.size() ? begin_of(scopes, all[k + 1]) : scopes[s].end; };
    std::vector<std::string> names;
    for (std::size_t k = 0; k < all.size(); ++k) {
        const std::string first = name_of(begin_of(scopes, all[k]));
        names.push_back(first == name_of(end_of(k) - 1) ? first : std::string());
    }
    if (std::all_of(names.begin(), names.end(), [](const std::string& name) { return name.empty(); })) return;
    std::vector<std::uint32_t> kept;
    for (std::size_t k = 0; k < all.size();) {
        std::size_t stop = k + 1;
        while (stop < all.size() && names[stop] == names[k]) ++stop;
        const bool named = !names[k].empty();
        if (stop - k < (named ? kFewest : kFewestBetween)) {
            kept.insert(kept.end(), all.begin() + static_cast<std::ptrdiff_t>(k), all.begin() + static_cast<std::ptrdiff_t>(stop));
            k = stop;
            continue;
        }
        const Sym label(named ? names[k] : line_or_count(jaxpr, begin_of(scopes, all[k]), end_of(stop - 1)));
        kept.push_back(add_group(scopes, s, all, k, stop, label));
        k = stop;
    }
    if (kept.size() > 1) scopes[s].children = std::move(kept);
}

}  // namespace

void dissolve_wrappers(std::vector<Scope>& scopes) {
    const auto wraps = [&](std::uint32_t child) {
        if ((child & Scope::kScopeChild) == 0 || !scopes[child & ~Scope::kScopeChild].library) return false;
        const std::vector<std::uint32_t>& inner = scopes[child & ~Scope::kScopeChild].children;
        return std::all_of(inner.begin(), inner.end(), [](std::uint32_t c) { return (c & Scope::kScopeChild) != 0; });
    };
    for (Scope& scope : scopes) {
        if (scope.library) continue;
        for (std::size_t k = 0; k < scope.children.size();) {
            if (!wraps(scope.children[k])) {
                ++k;
                continue;
            }
            const std::vector<std::uint32_t> inner = std::move(scopes[scope.children[k] & ~Scope::kScopeChild].children);
            const auto at = scope.children.erase(scope.children.begin() + static_cast<std::ptrdiff_t>(k));
            scope.children.insert(at, inner.begin(), inner.end());
        }
    }
}

void fold_small(std::vector<Scope>& scopes, const Jaxpr& jaxpr) {
    constexpr std::size_t kFewest = 4;
    constexpr double kSmall = 1.0 / 1024, kLarge = 1 << 16;
    const auto elements = [&](std::uint32_t i) {
        const Eqn& eqn = jaxpr.eqns[i];
        double most = 0;
        for (std::uint32_t k = 0; k < eqn.n_out; ++k) {
            double count = 1;
            for (const auto dim : jaxpr.aval(jaxpr.output(eqn, k))->shape) count *= static_cast<double>(dim);
            most = std::max(most, count);
        }
        return most;
    };
    double largest = 0;
    for (std::uint32_t i = 0; i < jaxpr.eqns.size(); ++i) largest = std::max(largest, elements(i));
    if (largest < kLarge) return;
    const auto small = [&](std::uint32_t child) {
        return (child & Scope::kScopeChild) == 0 && !jaxpr.eqns[child].params->holds_jaxpr() && elements(child) <= largest * kSmall;
    };
    fold_runs(
        scopes,
        [&](const std::vector<std::uint32_t>& all, std::size_t k) -> std::size_t {
            std::size_t run = 0;
            while (k + run < all.size() && small(all[k + run])) ++run;
            return run >= kFewest ? run : 0;
        },
        [](std::uint32_t, std::size_t run) { return Sym(std::to_string(run) + " small equations"); });
}

void fold_repeats(std::vector<Scope>& scopes, const Jaxpr& jaxpr) {
    constexpr std::size_t kFewest = 3;
    const auto scope_of = [&](std::uint32_t child) {
        return (child & Scope::kScopeChild) != 0 ? &scopes[child & ~Scope::kScopeChild] : nullptr;
    };
    fold_runs(
        scopes,
        [&](const std::vector<std::uint32_t>& all, std::size_t k) -> std::size_t {
            const Scope* first = scope_of(all[k]);
            std::size_t run = 1;
            while (first != nullptr && k + run < all.size()) {
                const Scope* next = scope_of(all[k + run]);
                if (next == nullptr || !alike(jaxpr, *first, *next)) break;
                ++run;
            }
            return first != nullptr && run >= kFewest ? run : 0;
        },
        [&](std::uint32_t first, std::size_t run) { return Sym(scope_of(first)->label.str() + " \u00d7" + std::to_string(run)); });
}

void tell_repeats_apart(std::vector<Scope>& scopes, const Jaxpr& jaxpr) {
    for (const Scope& scope : scopes) {
        std::unordered_map<Sym, std::vector<Scope*>> alike;
        for (const std::uint32_t child : scope.children)
            if ((child & Scope::kScopeChild) != 0)
                alike[scopes[child & ~Scope::kScopeChild].label].push_back(&scopes[child & ~Scope::kScopeChild]);
        for (const auto& [label, groups] : alike) {
            if (groups.size() < 2) continue;
            std::set<std::string> names;
            std::vector<std::vector<std::string>> inside;
            const auto common = common_names(jaxpr, scope);
            for (const Scope* group : groups)
                inside.push_back(group->made ? std::vector<std::string>() : names_inside(jaxpr, common, *group));
            for (const auto& own : inside)
                if (own.size() == 1) names.insert(own.front());
            for (std::size_t k = 0; k < groups.size(); ++k)
                groups[k]->label = Sym(names.size() == groups.size() ? inside[k].front() : label.str() + " " + std::to_string(k + 1));
        }
    }
}

void split_crowded(std::vector<Scope>& scopes, const Jaxpr& jaxpr, std::uint32_t limit, bool by_names) {
    for (std::uint32_t s = 0; s < scopes.size(); ++s) {  // grows while it runs
        if (scopes[s].children.size() <= limit) continue;
        if (by_names) put_names_together(scopes, jaxpr, s);
        const auto count = static_cast<std::uint32_t>(scopes[s].children.size());
        if (count <= limit) continue;
        std::uint32_t size = 10;  // round sizes, so that runs begin at round numbers
        while (std::uint64_t{size} * limit < count) size *= 10;
        const std::vector<std::uint32_t> all = std::move(scopes[s].children);
        std::vector<std::uint32_t> runs;
        for (std::uint32_t k = 0; k < count; k += size) {
            const std::uint32_t stop = std::min(k + size, count);
            if (stop - k == 1) {
                runs.push_back(all[k]);
                continue;
            }
            runs.push_back(add_group(scopes, s, all, k, stop, {}));
            scopes.back().run = true;
            scopes.back().label = run_label(jaxpr, scopes, scopes[s], scopes.back());
        }
        scopes[s].children = std::move(runs);
    }
}

}  // namespace jaxscope
