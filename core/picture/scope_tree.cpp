// SPDX-License-Identifier: Apache-2.0
#include "picture/scope_tree.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace jaxscope {
namespace {

using Segments = std::vector<Sym>;

constexpr const char *kForward = "forward", *kBackward = "backward", *kRecomputed = "recomputed";

/// A group that says which part of a differentiated function it is, rather than a function.
bool is_part(Sym label) { return label == Sym(kForward) || label == Sym(kBackward) || label == Sym(kRecomputed); }

/// What linearize and transposition add: left out where a half of a split is shown, which says so already.
NameStack without_autodiff(NameStack stack) {
    NameStack out;
    for (const NameStack::Entry& e : stack.entries()) {
        if (e.transform && (e.name == stack_names::kJvp || e.name == stack_names::kTranspose)) continue;
        out = e.transform ? out.transform(e.name) : out.scope(e.name);
    }
    return out;
}

/// Group paths per distinct source; equations share sources, so this is worked out once for each.
class SegmentTable {
public:
    SegmentTable(const Jaxpr& jaxpr, Grouping grouping)
        : half_(grouping == Grouping::Half), grouping_(half_ || grouping == Grouping::Auto ? choose(jaxpr) : grouping) {}
    bool functions() const { return grouping_ == Grouping::Function; }
    const Segments& of(SourceRef source) {
        auto [it, fresh] = table_.try_emplace(source.id());
        if (fresh) it->second = make(*source);
        return it->second;
    }

private:
    /// Name scopes where the program gives most equations one; else functions, for what libraries name now and then (einsum) says little.
    Grouping choose(const Jaxpr& jaxpr) const {
        std::unordered_map<std::uint32_t, bool> known;
        std::size_t named = 0;
        for (const Eqn& eqn : jaxpr.eqns) {
            const auto [it, fresh] = known.try_emplace(eqn.source.id(), false);
            if (fresh) {
                const std::vector<NameStack::Segment> segments = stack_of(*eqn.source).segments();
                it->second = std::any_of(segments.begin(), segments.end(), [](const auto& s) { return !s.text.empty() && !s.transformed; });
            }
            named += it->second ? 1 : 0;
        }
        return named * 2 > jaxpr.eqns.size() ? Grouping::Scope : Grouping::Function;
    }
    Segments make(const Source& source) const {
        if (grouping_ == Grouping::Flat) return {};
        Segments segments;
        if (grouping_ == Grouping::Scope) {
            for (const NameStack::Segment& s : stack_of(source).segments())
                if (!s.text.empty()) segments.emplace_back(s.text);
            return segments;
        }
        // What autodiff made of a function stands apart from the function; the transformations' own names would part it further.
        if (const char* part = half_ ? nullptr : part_of(role_of(source))) segments.emplace_back(part);
        for (auto frame = source.frames().rbegin(); frame != source.frames().rend(); ++frame)
            if (frame->project && frame->function.str() != "<module>") segments.push_back(frame->function);
        return segments;
    }
    static const char* part_of(Role role) {
        switch (role) {
            case Role::Forward:
                return kForward;
            case Role::Backward:
                return kBackward;
            case Role::Recomputed:
                return kRecomputed;
            case Role::Plain:
                break;
        }
        return nullptr;
    }
    NameStack stack_of(const Source& source) const { return half_ ? without_autodiff(source.name_stack) : source.name_stack; }
    bool half_;
    Grouping grouping_;
    std::unordered_map<std::uint32_t, Segments> table_;
};

constexpr std::uint32_t kShortestCall = 16;  // equations; what repeats sooner (updates leaf by leaf) is no call worth a group

bool same_application(const Jaxpr& jaxpr, std::uint32_t a, std::uint32_t b) {
    const Eqn &x = jaxpr.eqns[a], &y = jaxpr.eqns[b];
    return x.source == y.source && x.prim == y.prim && x.n_out == y.n_out &&
           (x.n_out == 0 || jaxpr.aval(jaxpr.output(x, 0)) == jaxpr.aval(jaxpr.output(y, 0)));
}

std::vector<Scope> nest_runs(const Jaxpr& jaxpr, Grouping grouping) {
    SegmentTable table(jaxpr, grouping);
    std::vector<Scope> scopes(1);
    scopes[0].label = jaxpr.name;
    scopes[0].end = static_cast<std::uint32_t>(jaxpr.eqns.size());
    std::vector<std::uint32_t> open{0};
    for (std::uint32_t i = 0; i < jaxpr.eqns.size(); ++i) {
        const Segments& path = table.of(jaxpr.eqns[i].source);
        std::size_t common = 0;
        while (common < path.size() && common + 1 < open.size() && scopes[open[common + 1]].label == path[common]) ++common;
        // A function that a loop calls again starts over with its first equation: that is the next group, not more of the last one.
        for (std::size_t k = table.functions() ? common : 0; k > 0; --k) {
            const Scope& scope = scopes[open[k]];
            if (i - scope.begin < kShortestCall || is_part(scope.label) || !same_application(jaxpr, scope.begin, i)) continue;
            common = k - 1;
            break;
        }
        while (open.size() > common + 1) {
            scopes[open.back()].end = i;
            open.pop_back();
        }
        for (std::size_t k = common; k < path.size(); ++k) {
            const auto id = static_cast<std::uint32_t>(scopes.size());
            scopes[open.back()].children.push_back(Scope::kScopeChild | id);
            scopes.push_back({.label = path[k], .run = false, .begin = i, .end = 0, .parent = open.back(), .children = {}});
            open.push_back(id);
        }
        scopes[open.back()].children.push_back(i);
    }
    for (const std::uint32_t id : open) scopes[id].end = static_cast<std::uint32_t>(jaxpr.eqns.size());
    return scopes;
}

/// Drops scopes of one equation and joins chains of scopes that hold nothing but each other.
void simplify(std::vector<Scope>& scopes) {
    for (std::size_t s = scopes.size(); s-- > 0;) {  // inner scopes stand behind outer ones
        Scope& scope = scopes[s];
        for (std::uint32_t& child : scope.children) {
            if ((child & Scope::kScopeChild) == 0) continue;
            const Scope& inner = scopes[child & ~Scope::kScopeChild];
            if (inner.end - inner.begin == 1) child = inner.begin;
        }
        if (scope.children.size() != 1 || (scope.children[0] & Scope::kScopeChild) == 0) continue;
        Scope& only = scopes[scope.children[0] & ~Scope::kScopeChild];
        if (s != 0) scope.label = Sym(scope.label.str() + "/" + only.label.str());
        std::vector<std::uint32_t> inherited = std::move(only.children);
        scope.children = std::move(inherited);
    }
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

/// What a run is called: by the name scopes in it that its neighbours aren't in ("Conv_0, GroupNorm_0"), else by its numbers.
Sym run_label(const Jaxpr& jaxpr, const Scope& around, const Scope& run) {
    std::vector<NameStack::Segment> common;
    bool first = true;
    for_some(jaxpr, around.begin, around.end, [&](const std::vector<NameStack::Segment>& segments) {
        if (std::exchange(first, false)) common = segments;
        std::size_t same = 0;
        while (same < std::min(common.size(), segments.size()) && common[same].text == segments[same].text) ++same;
        common.resize(same);
    });
    constexpr std::size_t kMostNames = 2;
    std::vector<std::string> names;
    for_some(jaxpr, run.begin, run.end, [&](const std::vector<NameStack::Segment>& segments) {
        if (segments.size() <= common.size() || segments[common.size()].transformed || segments[common.size()].text.empty()) return;
        const std::string& name = segments[common.size()].text;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    });
    if (names.empty()) return Sym("equations " + std::to_string(run.begin) + " - " + std::to_string(run.end - 1));
    std::string text = names.front();
    for (std::size_t k = 1; k < std::min(names.size(), kMostNames); ++k) text += ", " + names[k];
    return Sym(names.size() > kMostNames ? text + ", \u2026" : text);
}

/// Puts the children of a crowded scope into at most `limit` runs, and goes on with the runs.
void split_crowded(std::vector<Scope>& scopes, const Jaxpr& jaxpr, std::uint32_t limit) {
    for (std::uint32_t s = 0; s < scopes.size(); ++s) {  // grows while it runs
        const auto count = static_cast<std::uint32_t>(scopes[s].children.size());
        if (count <= limit) continue;
        std::uint32_t size = 10;  // round sizes, so that runs begin at round numbers
        while (std::uint64_t{size} * limit < count) size *= 10;
        const std::vector<std::uint32_t> all = std::move(scopes[s].children);
        std::vector<std::uint32_t> runs;
        const auto begin_of = [&](std::uint32_t child) {
            return (child & Scope::kScopeChild) != 0 ? scopes[child & ~Scope::kScopeChild].begin : child;
        };
        for (std::uint32_t k = 0; k < count; k += size) {
            const std::uint32_t stop = std::min(k + size, count);
            if (stop - k == 1) {
                runs.push_back(all[k]);
                continue;
            }
            Scope run{.label = {}, .run = true, .begin = begin_of(all[k]), .end = 0, .parent = s, .children = {}};
            run.end = stop < count ? begin_of(all[stop]) : scopes[s].end;
            run.label = run_label(jaxpr, scopes[s], run);
            run.children.assign(all.begin() + k, all.begin() + stop);
            runs.push_back(Scope::kScopeChild | static_cast<std::uint32_t>(scopes.size()));
            scopes.push_back(std::move(run));
        }
        scopes[s].children = std::move(runs);
    }
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
            const auto begin_of = [&](std::uint32_t child) {
                return (child & Scope::kScopeChild) != 0 ? scopes[child & ~Scope::kScopeChild].begin : child;
            };
            Scope fold{.label = label(all[k], run), .run = false, .begin = begin_of(all[k]), .end = 0, .parent = s, .children = {}};
            fold.end = k + run < all.size() ? begin_of(all[k + run]) : scopes[s].end;
            fold.children.assign(all.begin() + static_cast<std::ptrdiff_t>(k), all.begin() + static_cast<std::ptrdiff_t>(k + run));
            kept.push_back(Scope::kScopeChild | static_cast<std::uint32_t>(scopes.size()));
            scopes.push_back(std::move(fold));
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

/// Blocks of a model in a row: one group.
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

/// Equations in a row that make next to nothing beside the jaxpr's largest value: one group, where there are large ones.
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

/// Groups of one name on one level get numbers: "block 1", "block 2".
void number_repeats(std::vector<Scope>& scopes) {
    for (const Scope& scope : scopes) {
        std::unordered_map<Sym, std::uint32_t> count, next;
        for (const std::uint32_t child : scope.children)
            if ((child & Scope::kScopeChild) != 0) ++count[scopes[child & ~Scope::kScopeChild].label];
        for (const std::uint32_t child : scope.children) {
            if ((child & Scope::kScopeChild) == 0) continue;
            Sym& label = scopes[child & ~Scope::kScopeChild].label;
            if (count[label] > 1) label = Sym(label.str() + " " + std::to_string(++next[label]));
        }
    }
}

/// Parents and innermost scopes anew; scopes that were dropped stay in the vector, unreachable.
void link(ScopeTree& tree) {
    std::vector<std::uint32_t> pending{0};
    while (!pending.empty()) {
        const std::uint32_t s = pending.back();
        pending.pop_back();
        for (const std::uint32_t child : tree.scopes[s].children) {
            if ((child & Scope::kScopeChild) == 0) {
                tree.scope_of_eqn[child] = s;
                continue;
            }
            tree.scopes[child & ~Scope::kScopeChild].parent = s;
            pending.push_back(child & ~Scope::kScopeChild);
        }
    }
}

}  // namespace

Role role_of(const Source& source) {
    const NameStack stack = source.name_stack;
    if (stack.has_scope(stack_names::kRematted)) return Role::Recomputed;
    if (stack.has_transform(stack_names::kTranspose)) return Role::Backward;
    if (stack.has_transform(stack_names::kJvp)) return Role::Forward;
    return Role::Plain;
}

Role role_around(const Jaxpr& root, const JaxprPath& path) {
    Role role = Role::Plain;
    JaxprPath at;
    for (const JaxprPath::Step& step : path.steps) {
        role = std::max(role, role_of(*resolve(root, EqnPath{at, step.eqn}).source));
        at.steps.push_back(step);
    }
    return role;
}

Role role_of(const Jaxpr& root, const EqnPath& path) {
    return std::max(role_around(root, path.jaxpr), role_of(*resolve(root, path).source));
}

ScopeTree build_scope_tree(const Jaxpr& jaxpr, Grouping grouping, std::uint32_t max_children) {
    ScopeTree tree;
    tree.scopes = nest_runs(jaxpr, grouping);
    simplify(tree.scopes);
    if (grouping != Grouping::Flat) {
        fold_small(tree.scopes, jaxpr);
        fold_repeats(tree.scopes, jaxpr);
    }
    number_repeats(tree.scopes);
    split_crowded(tree.scopes, jaxpr, max_children);
    tree.scope_of_eqn.resize(jaxpr.eqns.size());
    link(tree);
    return tree;
}

std::string scope_title(Sym label) {
    std::string text = label.str();
    // Python's qualified names: the enclosing functions say less than they take room.
    for (std::size_t at = text.find(".<locals>."); at != std::string::npos; at = text.find(".<locals>.")) {
        const std::size_t begin = text.rfind('/', at) == std::string::npos ? 0 : text.rfind('/', at) + 1;
        text.erase(begin, at + 10 - begin);
    }
    // "jvp(loss)" is the forward pass of loss, "transpose(jvp(loss))" its backward pass.
    const std::vector<NameStack::Entry> entries = NameStack::parse(text).entries();
    std::size_t at = 0;
    const auto take = [&](Sym name) { return at < entries.size() && entries[at] == NameStack::Entry{name, true} && ++at > 0; };
    const bool transposed = take(stack_names::kTranspose);
    if (!take(stack_names::kJvp)) return text;
    const char* word = transposed ? kBackward : kForward;
    NameStack rest;
    const bool named = at < entries.size() && !entries[at].transform && !entries[at].name.empty();
    rest = rest.scope(named ? Sym(entries[at].name.str() + ' ' + word) : Sym(word));
    for (at += at < entries.size() && !entries[at].transform ? 1 : 0; at < entries.size(); ++at)
        rest = entries[at].transform ? rest.transform(entries[at].name) : rest.scope(entries[at].name);
    return rest.str();
}

}  // namespace jaxscope
