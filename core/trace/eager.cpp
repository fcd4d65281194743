// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "base/intern.h"
#include "calls/host/callbacks.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "trace/device_calls.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

namespace {

bool same(const Attr& a, const Attr& b);

/// Do two jaxprs compute the same, equation by equation? Names, places and shared variables don't count.
bool same(const ::jaxscope::Jaxpr& a, const ::jaxscope::Jaxpr& b) {
    if (&a == &b) return true;
    if (a.num_constvars != b.num_constvars || a.num_invars != b.num_invars || a.consts != b.consts || a.eqns.size() != b.eqns.size() ||
        a.num_vars() != b.num_vars() || a.atoms != b.atoms || a.outvars != b.outvars)
        return false;
    for (std::uint32_t i = 0; i < a.num_vars(); ++i)
        if (!(a.aval(Var{i}) == b.aval(Var{i}))) return false;
    for (std::size_t i = 0; i < a.eqns.size(); ++i) {
        const Eqn &x = a.eqns[i], &y = b.eqns[i];
        if (x.prim != y.prim || x.n_in != y.n_in || x.n_out != y.n_out || !(x.context == y.context)) return false;
        if (x.params == y.params) continue;
        const auto p = x.params->entries(), q = y.params->entries();
        if (p.size() != q.size()) return false;
        for (std::size_t k = 0; k < p.size(); ++k)
            if (!(p[k].first == q[k].first) || !same(p[k].second, q[k].second)) return false;
    }
    return true;
}

bool same(const Attr& a, const Attr& b) {
    if (const auto* x = a.get<Attr::JaxprRef>(), *y = b.get<Attr::JaxprRef>(); x && y)
        return x->closed == y->closed && same(*x->jaxpr, *y->jaxpr);
    if (const auto* x = a.get_seq(), *y = b.get_seq(); x && y) {
        if (x->kind != y->kind || x->items.size() != y->items.size()) return false;
        for (std::size_t i = 0; i < x->items.size(); ++i)
            if (!same(x->items[i], y->items[i])) return false;
        return true;
    }
    return a == b;
}

/// Equal for jaxprs that are the `same`.
std::size_t hash_of_jaxpr(const ::jaxscope::Jaxpr& j) {
    std::size_t h = hash_mix(j.num_invars, j.num_vars());
    for (const Eqn& e : j.eqns) {
        h = hash_mix(h, reinterpret_cast<std::size_t>(e.prim));
        if (!e.params->holds_jaxpr()) h = hash_mix(h, e.params->hash());
    }
    for (const Atom a : j.atoms) h = hash_mix(h, a.raw());
    for (const Atom a : j.outvars) h = hash_mix(h, a.raw());
    for (std::uint32_t i = 0; i < j.num_vars(); ++i) h = hash_mix(h, j.aval(Var{i}).id());
    return h;
}

constexpr std::int64_t kKept = 1 << 16;  ///< bytes for temporaries that an operation keeps between its runs

struct Compiled {
    JaxprPtr jaxpr;
    std::shared_ptr<Executable> executable;
    std::mutex running;  ///< an executable has one arena
};

std::shared_ptr<Compiled> compiled(const JaxprPtr& j) {
    auto made = std::make_shared<Compiled>();
    made->jaxpr = j;
    made->executable = compile_here(j);
    return made;
}

/// What was compiled for operations outside of jit. Entries stay: there are as many as the program has kinds of operations.
class Executables {
public:
    std::shared_ptr<Compiled> get(const JaxprPtr& j) {
        const std::size_t h = hash_of_jaxpr(*j);
        const std::lock_guard lock(mutex_);
        auto [first, last] = known_.equal_range(h);
        for (auto i = first; i != last; ++i)
            if (same(*i->second->jaxpr, *j)) return i->second;
        auto made = compiled(j);
        if (known_.size() >= kMost) known_.clear();
        known_.emplace(h, made);
        return made;
    }

private:
    static constexpr std::size_t kMost = 4096;
    std::mutex mutex_;
    std::unordered_multimap<std::size_t, std::shared_ptr<Compiled>> known_;
};

}  // namespace

std::vector<ArrayPtr> run_jaxpr(const JaxprPtr& j, std::span<const ArrayPtr> in) {
    static Executables executables;
    std::vector<ArrayPtr> out;
    if (j->eqns.empty() && j->num_constvars == 0) {
        for (const Atom a : j->outvars) out.push_back(a.is_literal() ? array_of(a.literal()) : in[a.var().index]);
        return out;
    }
    // A function that the program brought along is another one each time: nothing is found again, and kept ones would never be let go.
    const std::shared_ptr<Compiled> c = calls_host(*j) ? compiled(j) : executables.get(j);
    std::vector<const ArrayConst*> inputs;
    for (const ArrayPtr& a : in) inputs.push_back(a.get());
    const std::lock_guard lock(c->running);
    c->executable->run_in_place(inputs, {}, out);
    // An operation alone is rarely repeated at once: what large ones needed meanwhile isn't kept for it.
    if (c->executable->plan().planned_peak > kKept) c->executable->release_memory();
    return out;
}

}  // namespace jaxscope::jax::detail
