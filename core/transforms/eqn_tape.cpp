// SPDX-License-Identifier: Apache-2.0
#include "transforms/eqn_tape.h"

#include <algorithm>

#include "base/cancel.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

void EqnTape::add_vars_of(const Jaxpr& j) {
    JAXSCOPE_ASSERT(avals_.empty());
    avals_.reserve(j.num_vars());
    for (std::uint32_t i = 0; i < j.num_vars(); ++i) {
        avals_.push_back(j.aval(Var{i}));
        ids_.push_back(j.var_id(Var{i}));
        if (j.dropped(Var{i})) dropped_.resize(i + 1, false), dropped_[i] = true;
    }
    if (!dropped_.empty()) dropped_.resize(avals_.size(), false);
}

void EqnTape::reserve(std::size_t n_eqns) {
    entries_.reserve(n_eqns);
    atoms_.reserve(2 * n_eqns);
    outs_.reserve(n_eqns);
}

void EqnTape::add(const Primitive& prim, ParamsRef params, std::span<const Atom> in, std::span<const std::uint32_t> out, SourceRef source,
                  ContextRef context, EffectSet effects) {
    Entry e{&prim,
            std::move(params),
            static_cast<std::uint32_t>(atoms_.size()),
            static_cast<std::uint32_t>(in.size()),
            static_cast<std::uint32_t>(outs_.size()),
            static_cast<std::uint32_t>(out.size()),
            source,
            context,
            effects};
    atoms_.insert(atoms_.end(), in.begin(), in.end());
    outs_.insert(outs_.end(), out.begin(), out.end());
    entries_.push_back(std::move(e));
}

void EqnTape::add(const Jaxpr& j, const Eqn& e) {
    const auto out_begin = static_cast<std::uint32_t>(outs_.size());
    for (std::uint32_t k = 0; k < e.n_out; ++k) outs_.push_back(e.first_out + k);
    const std::span<const Atom> in = j.inputs(e);
    entries_.push_back(
        Entry{e.prim, e.params, static_cast<std::uint32_t>(atoms_.size()), e.n_in, out_begin, e.n_out, e.source, e.context, e.effects});
    atoms_.insert(atoms_.end(), in.begin(), in.end());
}

EqnTape::Reachable EqnTape::reachable(std::span<const Atom> outs) const {
    Reachable r{std::vector<bool>(entries_.size()), std::vector<bool>(avals_.size())};
    for (const Atom a : outs)
        if (a.is_var()) r.vars[a.var().index] = true;
    for (std::size_t i = entries_.size(); i-- > 0;) {
        bool used = has_effects(entries_[i].effects);
        for (const std::uint32_t v : outputs(entries_[i])) used = used || r.vars[v];
        if (!used) continue;
        r.eqns[i] = true;
        for (const Atom a : inputs(entries_[i]))
            if (a.is_var()) r.vars[a.var().index] = true;
    }
    return r;
}

void EqnTape::hold_operands(std::vector<std::uint32_t>& until) const {
    JAXSCOPE_ASSERT(until.size() == avals_.size());
    for (auto e = entries_.rbegin(); e != entries_.rend(); ++e) {
        std::uint32_t held = 0;
        for (const std::uint32_t v : outputs(*e)) held = std::max(held, until[v]);
        for (const Atom a : inputs(*e))
            if (a.is_var()) until[a.var().index] = std::max(until[a.var().index], held);
    }
}

namespace {

/// JAX's toposort, whose order shows in texts: nodes are numbers, `parents` gives what one is made of.
template <class Parents>
std::vector<std::uint32_t> topological(std::vector<std::uint32_t> ends, std::size_t num_nodes, Parents parents) {
    std::vector<std::uint32_t> children(num_nodes, 0), unique;
    std::vector<bool> is_end(num_nodes, false);
    for (const std::uint32_t n : ends)
        if (!is_end[n]) is_end[n] = true, unique.push_back(n);
    for (std::vector<std::uint32_t> stack = unique; !stack.empty();) {
        const std::uint32_t n = stack.back();
        stack.pop_back();
        if (children[n]++ > 0) continue;
        parents(n, [&](std::uint32_t p) { stack.push_back(p); });
    }
    std::vector<std::uint32_t> childless, sorted;
    for (const std::uint32_t n : unique)
        if (--children[n] == 0) childless.push_back(n);
    while (!childless.empty()) {
        const std::uint32_t n = childless.back();
        childless.pop_back();
        sorted.push_back(n);
        parents(n, [&](std::uint32_t p) {
            if (children[p] == 1)
                childless.push_back(p);
            else
                --children[p];
        });
    }
    std::reverse(sorted.begin(), sorted.end());
    return sorted;
}

}  // namespace

std::vector<std::uint32_t> EqnTape::constants_in_jax_order(std::span<const std::uint32_t> inputs, std::span<const Atom> outs) const {
    constexpr std::uint32_t kUnset = UINT32_MAX;
    // Nodes: the variables, then one for each operand, results of the whole, and equations that have effects.
    const auto first_operand = num_vars();
    const auto first_out = static_cast<std::uint32_t>(first_operand + atoms_.size());
    const auto first_effect = static_cast<std::uint32_t>(first_out + outs.size());
    std::vector<std::uint32_t> maker(num_vars(), kUnset), ends(inputs.begin(), inputs.end());
    std::vector<bool> given(num_vars(), false);
    for (const std::uint32_t v : inputs) given[v] = true;
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        for (const std::uint32_t v : outputs(entries_[i])) maker[v] = i;
    const auto node = [&](Atom a, std::size_t alone) {
        const std::uint32_t v = a.var().index;
        return given[v] || maker[v] != kUnset ? v : static_cast<std::uint32_t>(alone);
    };
    for (std::size_t k = 0; k < outs.size(); ++k)
        if (outs[k].is_var()) ends.push_back(node(outs[k], first_out + k));
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        if (has_effects(entries_[i].effects)) ends.push_back(first_effect + i);
    const auto sorted = topological(std::move(ends), first_effect + entries_.size(), [&](std::uint32_t n, const auto& take) {
        const std::uint32_t at = n >= first_effect ? n - first_effect : n < first_operand ? maker[n] : kUnset;
        if (at == kUnset) return;
        const Entry& e = entries_[at];
        for (std::uint32_t i = 0; i < e.n_in; ++i)
            if (const Atom a = atoms_[e.in_begin + i]; a.is_var()) take(node(a, first_operand + e.in_begin + i));
    });
    std::vector<std::uint32_t> constants;
    std::vector<bool> seen(num_vars(), false);
    for (const std::uint32_t n : sorted) {
        if (n < first_operand || n >= first_effect) continue;
        const std::uint32_t v = (n < first_out ? atoms_[n - first_operand] : outs[n - first_out]).var().index;
        if (!seen[v]) seen[v] = true, constants.push_back(v);
    }
    return constants;
}

JaxprPtr EqnTape::assemble(const Signature& s, Order order, const std::vector<bool>& keep, bool drop_unused) const {
    constexpr std::uint32_t kUnset = UINT32_MAX;
    JaxprBuilder b;
    std::vector<std::uint32_t> number(avals_.size(), kUnset);
    const auto bind = [&](std::uint32_t var, Value v) {
        number[var] = v.index();
        if (!ids_.empty()) b.jaxpr().set_var_id(Var{v.index()}, ids_[var]);
    };
    for (std::size_t i = 0; i < s.constvars.size(); ++i)
        bind(s.constvars[i], b.add_constvar(avals_[s.constvars[i]], i < s.consts.size() ? s.consts[i] : nullptr));
    for (std::size_t i = 0; i < s.invars.size(); ++i)
        bind(s.invars[i], b.add_input(avals_[s.invars[i]], i < s.arg_names.size() ? s.arg_names[i] : Sym()));
    const auto read = [&](Atom a) {
        if (a.is_literal()) return Value(a.literal());
        JAXSCOPE_ASSERT(number[a.var().index] != kUnset);
        return Value::known(number[a.var().index]);
    };
    b.jaxpr().reserve(entries_.size());
    Values in;
    Avals out_avals;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const std::size_t at = order == Order::Forward ? i : entries_.size() - 1 - i;
        check_cancelled();
        if (!keep.empty() && !keep[at]) continue;
        const Entry& e = entries_[at];
        in.clear();
        out_avals.clear();
        for (const Atom a : inputs(e)) in.push_back(read(a));
        for (const std::uint32_t v : outputs(e)) out_avals.push_back(avals_[v]);
        b.source = e.source;
        b.context = e.context;
        const Values out = b.append(*e.prim, in, e.params, out_avals, e.effects);
        for (std::size_t k = 0; k < out.size(); ++k) {
            bind(outputs(e)[k], out[k]);
            if (!dropped_.empty() && dropped_[outputs(e)[k]]) b.jaxpr().set_dropped(Var{out[k].index()}, true);
        }
    }
    Values outs;
    for (const Atom a : s.outvars) outs.push_back(read(a));
    return b.finish(outs, s.name, drop_unused);
}

}  // namespace jaxscope
