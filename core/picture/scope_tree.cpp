// SPDX-License-Identifier: Apache-2.0
#include "picture/scope_tree.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "picture/scope_folds.h"

namespace jaxscope {
namespace {

/// Where an equation belongs: groups, outermost first.
struct Segments {
    std::vector<Sym> labels;
    std::size_t once = 0;          ///< so many of them aren't called again: parts, the function that was traced, name scopes
    std::size_t library_from = 0;  ///< from here on functions of libraries
};

constexpr const char *kForward = "forward", *kBackward = "backward", *kRecomputed = "recomputed";

/// Of Python's qualified name the function's own: "step" of "program.<locals>.step".
std::string own_name(Sym function) {
    const std::string& name = function.str();
    return name.substr(name.rfind('.') + 1);
}

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
        : traced_(jaxpr.name.str()),
          half_(grouping == Grouping::Half),
          suggested_(half_ || grouping == Grouping::Auto),
          grouping_(suggested_ ? choose(jaxpr) : grouping) {}
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
        Segments out;
        if (grouping_ == Grouping::Scope)
            for (const NameStack::Segment& s : stack_of(source).segments())
                if (!s.text.empty()) out.labels.emplace_back(s.text);
        out.once = out.library_from = out.labels.size();
        // What no name scope holds where others do (an optimizer) has its functions at least.
        if (grouping_ == Grouping::Function || (suggested_ && out.labels.empty())) add_functions(source, out);
        return out;
    }
    void add_functions(const Source& source, Segments& out) const {
        // What autodiff made of a function stands apart from the function; the transformations' own names would part it further.
        const char* part = half_ ? nullptr : part_of(role_of(source));
        if (part != nullptr) out.labels.emplace_back(part);
        out.once = out.labels.size();
        for (auto frame = source.frames().rbegin(); frame != source.frames().rend(); ++frame) {
            if (!frame->project || frame->function.str() == "<module>") continue;
            out.labels.push_back(frame->function);
            if (own_name(frame->function) == traced_) out.once = out.labels.size();
        }
        out.library_from = out.labels.size();
        if (part == nullptr && !half_ && out.once == out.labels.size()) add_library(source, out.labels);
    }
    /// What a library does for the traced function itself: the stages of an optimizer, by the functions that made them (of
    /// `scale_by_adam.<locals>.update_fn` the first).
    static void add_library(const Source& source, std::vector<Sym>& labels) {
        for (auto frame = source.frames().rbegin(); frame != source.frames().rend(); ++frame) {
            if (frame->project) continue;
            const std::string whole = frame->function.str();
            const Sym name(whole.substr(0, whole.find(".<locals>")));
            if (!name.empty() && name.str().front() != '<' && (labels.empty() || name != labels.back())) labels.push_back(name);
        }
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
    std::string traced_;
    bool half_, suggested_;
    Grouping grouping_;
    std::unordered_map<std::uint32_t, Segments> table_;
};

constexpr std::uint32_t kShortestCall = 16;  // equations; what repeats sooner (updates leaf by leaf) is no call worth a group

/// In Python: modules that are called in a loop have name scopes of their own.
bool same_place(const Eqn& a, const Eqn& b) { return a.source->traceback == b.source->traceback && a.prim == b.prim && a.n_out == b.n_out; }

bool same_application(const Jaxpr& jaxpr, std::uint32_t a, std::uint32_t b) {
    const Eqn &x = jaxpr.eqns[a], &y = jaxpr.eqns[b];
    return same_place(x, y) && (x.n_out == 0 || jaxpr.aval(jaxpr.output(x, 0)) == jaxpr.aval(jaxpr.output(y, 0)));
}

/// Scopes that are being made.
class Nesting {
public:
    explicit Nesting(const Jaxpr& jaxpr) : jaxpr_(jaxpr), scopes_(1), again_(1, 0) {
        scopes_[0].label = jaxpr.name;
        scopes_[0].end = static_cast<std::uint32_t>(jaxpr.eqns.size());
    }
    void add(std::uint32_t i, const Segments& path) {
        std::size_t common = 0;
        while (common < path.labels.size() && common + 1 < open_.size() && scopes_[open_[common + 1]].label == path.labels[common])
            ++common;
        common = called_again(i, path.once, common);
        close_to(common + 1, i);
        for (std::size_t k = common; k < path.labels.size(); ++k) {
            const auto id = static_cast<std::uint32_t>(scopes_.size());
            scopes_[open_.back()].children.push_back(Scope::kScopeChild | id);
            scopes_.push_back({.label = path.labels[k],
                               .run = false,
                               .made = false,
                               .library = k >= path.library_from,
                               .begin = i,
                               .end = 0,
                               .parent = open_.back(),
                               .children = {}});
            again_.push_back(i);
            open_.push_back(id);
        }
        scopes_[open_.back()].children.push_back(i);
    }
    std::vector<Scope> take() {
        close_to(0, static_cast<std::uint32_t>(jaxpr_.eqns.size()));
        return std::move(scopes_);
    }

private:
    /// How many of the open scopes an equation goes on with, of `common` that have its names. A function that a loop calls again starts
    /// over with its first equation: that is the next group, not more of the last one. (Updates leaf by leaf start over, too, but sooner.)
    std::size_t called_again(std::uint32_t i, std::size_t once, std::size_t common) {
        std::size_t out = common;
        for (std::size_t k = common; k > once; --k) {
            const std::uint32_t id = open_[k], begin = scopes_[id].begin;
            if (!same_place(jaxpr_.eqns[begin], jaxpr_.eqns[i])) continue;
            const std::uint32_t since = i - std::exchange(again_[id], i);
            if (out == common && since >= kShortestCall && same_application(jaxpr_, begin, i)) out = k - 1;
        }
        return out;
    }
    void close_to(std::size_t depth, std::uint32_t end) {
        for (; open_.size() > depth; open_.pop_back()) scopes_[open_.back()].end = end;
    }
    const Jaxpr& jaxpr_;
    std::vector<Scope> scopes_;
    std::vector<std::uint32_t> again_;  ///< of each scope: where its first equation's place came last
    std::vector<std::uint32_t> open_{0};
};

std::vector<Scope> nest_runs(const Jaxpr& jaxpr, Grouping grouping) {
    SegmentTable table(jaxpr, grouping);
    Nesting nesting(jaxpr);
    for (std::uint32_t i = 0; i < jaxpr.eqns.size(); ++i) nesting.add(i, table.of(jaxpr.eqns[i].source));
    return nesting.take();
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
        // Of functions of a library that only call each other the innermost says what is done.
        if (s != 0) scope.label = scope.library ? only.label : Sym(scope.label.str() + "/" + only.label.str());
        std::vector<std::uint32_t> inherited = std::move(only.children);
        scope.children = std::move(inherited);
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
    dissolve_wrappers(tree.scopes);
    if (grouping != Grouping::Flat) {
        fold_small(tree.scopes, jaxpr);
        fold_repeats(tree.scopes, jaxpr);
    }
    tell_repeats_apart(tree.scopes, jaxpr);
    split_crowded(tree.scopes, jaxpr, max_children, grouping != Grouping::Flat);
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
