#include "transforms/eqn_tape.h"

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
