// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "base/intern.h"
#include "calls/host/callbacks.h"
#include "ir/builder.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "trace/debug_nans.h"
#include "trace/device_calls.h"
#include "trace/trace.h"
#include "trace/within_memory.h"

namespace jaxscope::jax::detail {

namespace {

bool same(const Attr& a, const Attr& b);

/// Do two jaxprs compute the same, equation by equation, of the operands that stand in their places? Names, places and shared variables
/// don't count.
bool same_equations(const ::jaxscope::Jaxpr& a, const ::jaxscope::Jaxpr& b) {
    if (a.num_constvars != b.num_constvars || a.num_invars != b.num_invars || a.consts != b.consts || a.eqns.size() != b.eqns.size() ||
        a.num_vars() != b.num_vars() || a.outvars != b.outvars)
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
bool same(const ::jaxscope::Jaxpr& a, const ::jaxscope::Jaxpr& b) { return &a == &b || (a.atoms == b.atoms && same_equations(a, b)); }

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

/// A program with its literals in places of their own: `x * 3` and `x * 4` are one program of x and a number.
struct Opened {
    std::vector<LiteralRef> literals;   ///< each once, in the order in which they are met
    std::vector<std::uint32_t> places;  ///< per operand: a variable, or behind all of those the number of a literal
};
Opened opened(const ::jaxscope::Jaxpr& j) {
    Opened out;
    out.places.reserve(j.atoms.size());
    std::unordered_map<std::uint32_t, std::uint32_t> known;
    for (const Atom a : j.atoms) {
        if (a.is_var()) {
            out.places.push_back(a.raw());
            continue;
        }
        const auto [at, is_new] = known.try_emplace(a.raw(), static_cast<std::uint32_t>(out.literals.size()));
        if (is_new) out.literals.push_back(a.literal());
        out.places.push_back(j.num_vars() + at->second);
    }
    return out;
}
/// The same program as a function of its inputs, then of its literals.
JaxprPtr with_literals_as_inputs(const ::jaxscope::Jaxpr& j, const Opened& o) {
    JaxprBuilder b;
    Values values = b.add_signature(j);
    Values literals;
    for (const LiteralRef l : o.literals) literals.push_back(b.add_input(l->aval));
    const auto place = [&](const Eqn& e, std::uint32_t k) { return o.places[e.in_begin + k]; };
    for (const Eqn& e : j.eqns) {
        Values in;
        for (std::uint32_t k = 0; k < e.n_in; ++k)
            in.push_back(place(e, k) < j.num_vars() ? values[place(e, k)] : literals[place(e, k) - j.num_vars()]);
        for (const Value v : b.copy(j, e, in)) values.push_back(v);
    }
    Values outs;
    for (const Atom a : j.outvars) outs.push_back(a.is_literal() ? Value(a.literal()) : values[a.var().index]);
    return b.finish(outs, j.name);
}
/// Equal for programs that differ in their literals' values alone.
std::size_t hash_of(const ::jaxscope::Jaxpr& j, const Opened& o) {
    std::size_t h = hash_mix(j.num_invars, j.num_vars());
    for (const Eqn& e : j.eqns) {
        h = hash_mix(h, reinterpret_cast<std::size_t>(e.prim));
        if (!e.params->holds_jaxpr()) h = hash_mix(h, e.params->hash());
    }
    for (const std::uint32_t p : o.places) h = hash_mix(h, p);
    for (const LiteralRef l : o.literals) h = hash_mix(h, l->aval.id());
    for (const Atom a : j.outvars) h = hash_mix(h, a.raw());
    for (std::uint32_t i = 0; i < j.num_vars(); ++i) h = hash_mix(h, j.aval(Var{i}).id());
    return h;
}

constexpr std::int64_t kKept = 1 << 16;  ///< bytes for temporaries that an operation keeps between its runs

struct Compiled {
    JaxprPtr jaxpr;  ///< as it was met first
    Opened opened;   ///< of that
    std::shared_ptr<Executable> executable;
    std::mutex running;  ///< an executable has one arena
};

std::shared_ptr<Compiled> compiled(const JaxprPtr& j, Opened o) {
    auto made = std::make_shared<Compiled>();
    made->jaxpr = j;
    made->executable = compile_here(o.literals.empty() ? j : with_literals_as_inputs(*j, o));
    made->opened = std::move(o);
    return made;
}
bool runs(const Compiled& c, const ::jaxscope::Jaxpr& j, const Opened& o) {
    const auto of = [](LiteralRef a, LiteralRef b) { return a->aval == b->aval; };
    return c.opened.places == o.places &&
           std::equal(c.opened.literals.begin(), c.opened.literals.end(), o.literals.begin(), o.literals.end(), of) &&
           same_equations(*c.jaxpr, j);
}

/// What was compiled for operations outside of jit. Entries stay: there are as many as the program has kinds of operations.
class Executables {
public:
    std::shared_ptr<Compiled> get(const JaxprPtr& j, Opened o) {
        const std::size_t h = hash_of(*j, o);
        const std::lock_guard lock(mutex_);
        auto [first, last] = known_.equal_range(h);
        for (auto i = first; i != last; ++i)
            if (runs(*i->second, *j, o)) return i->second;
        auto made = compiled(j, std::move(o));
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
    if (checks_values()) return run_checked(j, in);
    if (j->eqns.empty() && j->num_constvars == 0) {
        for (const Atom a : j->outvars) out.push_back(a.is_literal() ? array_of(a.literal()) : in[a.var().index]);
        return out;
    }
    // A function that the program brought along is another one each time: nothing is found again, and kept ones would never be let go.
    Opened o = opened(*j);
    std::vector<ArrayPtr> literals;
    for (const LiteralRef l : o.literals) literals.push_back(array_of(l));
    const std::shared_ptr<Compiled> c = calls_host(*j) ? compiled(j, std::move(o)) : executables.get(j, std::move(o));
    std::vector<const ArrayConst*> inputs;
    for (const ArrayPtr& a : in) inputs.push_back(a.get());
    for (const ArrayPtr& a : literals) inputs.push_back(a.get());
    const std::lock_guard lock(c->running);
    within_memory(c->executable->plan().planned_peak, [&] { c->executable->run_in_place(inputs, {}, out); });
    // An operation alone is rarely repeated at once: what large ones needed meanwhile isn't kept for it.
    if (c->executable->plan().planned_peak > kKept) c->executable->release_memory();
    return out;
}

}  // namespace jaxscope::jax::detail
