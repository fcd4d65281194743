// SPDX-License-Identifier: Apache-2.0
#include "ir/jaxpr.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/cancel.h"

namespace jaxscope {

namespace {

Avals avals_of(const Jaxpr& j, std::uint32_t first, std::uint32_t n) {
    Avals out;
    out.reserve(n);
    for (std::uint32_t i = 0; i < n; ++i) out.push_back(j.aval(Var{first + i}));
    return out;
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    return __builtin_add_overflow(a, b, &r) ? std::numeric_limits<std::int64_t>::max() : r;
}

}  // namespace

Avals Jaxpr::in_avals() const { return avals_of(*this, num_constvars, num_invars); }
Avals Jaxpr::const_avals() const { return avals_of(*this, 0, num_constvars); }
Avals Jaxpr::out_avals() const {
    Avals out;
    for (const Atom a : outvars) out.push_back(aval(a));
    return out;
}
Avals Jaxpr::in_avals(const Eqn& e) const {
    Avals out;
    out.reserve(e.n_in);
    for (const Atom a : inputs(e)) out.push_back(aval(a));
    return out;
}
Avals Jaxpr::out_avals(const Eqn& e) const { return avals_of(*this, e.first_out, e.n_out); }

std::optional<std::uint32_t> Jaxpr::shared_id(Var v) const {
    if (shared_vars.empty()) return std::nullopt;
    const auto after = std::upper_bound(shared_vars.begin(), shared_vars.end(), v.index,
                                        [](std::uint32_t index, const SharedVars& s) { return index < s.first; });
    if (after == shared_vars.begin()) return std::nullopt;
    const SharedVars& run = after[-1];
    return v.index - run.first < run.count ? std::optional(run.id + (v.index - run.first)) : std::nullopt;
}

Var Jaxpr::add_var(AvalRef aval, bool dropped) {
    vars_.push_back(aval.id() | (dropped ? kDroppedBit : 0));
    return Var{static_cast<std::uint32_t>(vars_.size() - 1)};
}
std::uint64_t Jaxpr::var_id(Var v) const {
    if (v.index < var_ids_.size() && var_ids_[v.index]) return var_ids_[v.index];
    const std::optional<std::uint32_t> shared = shared_id(v);
    return shared ? std::uint64_t{kSharedSpace} << 32 | *shared : own_id(v);
}
void Jaxpr::set_var_id(Var v, std::uint64_t id) {
    if (id == own_id(v)) return;
    if (var_ids_.size() <= v.index) var_ids_.resize(v.index + 1, 0);
    var_ids_[v.index] = id;
}
std::uint32_t Jaxpr::next_space() {
    static std::atomic<std::uint32_t> next{1};
    return next++;
}
void Jaxpr::set_dropped(Var v, bool dropped) { vars_[v.index] = (vars_[v.index] & ~kDroppedBit) | (dropped ? kDroppedBit : 0); }
void Jaxpr::reserve(std::size_t n_eqns) {
    eqns.reserve(n_eqns);
    atoms.reserve(2 * n_eqns);
    vars_.reserve(n_eqns + num_constvars + num_invars);
}
std::size_t Jaxpr::memory_bytes() const {
    return sizeof(*this) + eqns.capacity() * sizeof(Eqn) + atoms.capacity() * sizeof(Atom) + vars_.capacity() * sizeof(std::uint32_t) +
           var_ids_.capacity() * sizeof(std::uint64_t) + outvars.capacity() * sizeof(Atom) + arg_names.capacity() * sizeof(Sym) +
           consts.capacity() * sizeof(ArrayPtr);
}

std::vector<const Jaxpr*> all_jaxprs(const Jaxpr& root) {
    std::vector<const Jaxpr*> out;
    std::unordered_set<const Jaxpr*> seen;
    // An explicit stack: a hostile file may nest as deeply as the reader's limit allows, on whatever thread asks.
    struct Visit {
        const Jaxpr* jaxpr;
        bool children_done;
    };
    std::vector<Visit> stack{{&root, false}};
    while (!stack.empty()) {
        const Visit v = stack.back();
        stack.pop_back();
        if (v.children_done) {
            out.push_back(v.jaxpr);
            continue;
        }
        if (!seen.insert(v.jaxpr).second) continue;
        check_cancelled();
        stack.push_back({v.jaxpr, true});
        for (auto e = v.jaxpr->eqns.rbegin(); e != v.jaxpr->eqns.rend(); ++e) {
            if (!e->params->holds_jaxpr()) continue;
            const std::vector<JaxprPtr> subs = e->params->jaxprs();
            for (auto s = subs.rbegin(); s != subs.rend(); ++s) stack.push_back({s->get(), false});
        }
    }
    return out;
}

namespace {
/// fold(jaxpr, values of its sub-jaxprs per equation) over all jaxprs below `root`, each once.
template <class T, class Fold>
T fold_jaxprs(const Jaxpr& root, Fold fold) {
    std::unordered_map<const Jaxpr*, T> done;
    for (const Jaxpr* j : all_jaxprs(root)) {
        std::vector<T> below;
        for (const Eqn& e : j->eqns)
            if (e.params->holds_jaxpr())
                for (const JaxprPtr& s : e.params->jaxprs()) below.push_back(done.at(s.get()));
        done[j] = fold(*j, below);
    }
    return done.at(&root);
}
}  // namespace

std::int64_t count_equations(const Jaxpr& root) {
    return fold_jaxprs<std::int64_t>(root, [](const Jaxpr& j, const std::vector<std::int64_t>& below) {
        std::int64_t n = static_cast<std::int64_t>(j.eqns.size());
        for (const std::int64_t b : below) n = saturating_add(n, b);
        return n;
    });
}

int nesting_depth(const Jaxpr& root) {
    return fold_jaxprs<int>(root, [](const Jaxpr&, const std::vector<int>& below) {
        int deepest = 0;
        for (const int b : below) deepest = std::max(deepest, b);
        return deepest + 1;
    });
}

}  // namespace jaxscope
