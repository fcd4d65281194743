// SPDX-License-Identifier: Apache-2.0
#include "calls/closures.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "lax/primitives.h"
#include "transforms/eqn_tape.h"

// What the bodies of calls close over, when their Python runs under jax.jvp.
namespace jaxscope {

namespace {

/// An atom of the body, or the primal of what is closed over under it.
struct Reading {
    Atom atom;
    bool primal = false;
    /// Of a variable: one number for it and one for its primal.
    std::uint64_t key() const { return 2 * std::uint64_t{atom.var().index} + primal; }
};
struct NewEqn {
    ParamsRef params;
    std::vector<Reading> in;
};

/// The equations of one body, as they read what it closes over.
class PrimalReader {
public:
    PrimalReader(const Jaxpr& j, std::size_t count, const std::vector<bool>& tangent) : j_(j), count_(count), tangent_(tangent) {}

    bool reread() {
        bool changed = false;
        for (const Eqn& e : j_.eqns) changed = reread(e) || changed;
        return changed;
    }
    /// `meet(i, primal)` for each reading of what is closed over, in the order in which JAX meets them.
    template <class Meet>
    void readings(Meet meet) const {
        const auto met = [&](const Reading& r) {
            if (const auto i = closed_over(r.atom)) meet(*i, r.primal);
        };
        for (const NewEqn& e : eqns_)
            for (const Reading& r : e.in) met(r);
        for (const Atom a : j_.outvars) met({a});
    }
    /// Reads what the user wrote this closed-over input, whatever is read in its place now?
    bool was_read(std::size_t i) const {
        return std::find(j_.atoms.begin(), j_.atoms.end(), closed(i)) != j_.atoms.end() ||
               std::find(j_.outvars.begin(), j_.outvars.end(), closed(i)) != j_.outvars.end();
    }

    JaxprPtr assembled(const std::vector<ClosedOperand>& inputs) const {
        EqnTape tape;
        tape.add_vars_of(j_);
        std::unordered_map<std::uint64_t, std::uint32_t> primals;
        EqnTape::Signature s;
        s.name = j_.name;
        s.consts = j_.consts;
        s.outvars = j_.outvars;
        for (std::uint32_t i = 0; i < j_.num_constvars; ++i) s.constvars.push_back(i);
        const auto take = [&](std::uint32_t var, std::size_t input) {
            s.invars.push_back(var);
            if (!j_.arg_names.empty()) s.arg_names.push_back(j_.arg_names[input]);
        };
        for (const ClosedOperand& o : inputs) {
            std::uint32_t var = closed(o.operand).var().index;
            if (o.primal) var = primals[Reading{closed(o.operand), true}.key()] = tape.add_var(j_.aval(closed(o.operand)));
            take(var, o.operand);
        }
        for (std::size_t i = count_; i < j_.num_invars; ++i) take(closed(i).var().index, i);
        for (std::size_t i = 0; i < eqns_.size(); ++i) {
            const Eqn& e = j_.eqns[i];
            std::vector<Atom> in;
            for (const Reading& r : eqns_[i].in) in.push_back(r.primal ? Atom(Var{primals.at(r.key())}) : r.atom);
            std::vector<std::uint32_t> out;
            for (std::uint32_t k = 0; k < e.n_out; ++k) out.push_back(e.first_out + k);
            tape.add(*e.prim, eqns_[i].params, in, out, e.source, e.context, e.effects);
        }
        return tape.assemble(s);
    }

private:
    Atom closed(std::size_t i) const { return j_.invar(static_cast<std::uint32_t>(i)); }
    std::optional<std::size_t> closed_over(Atom a) const {
        if (!a.is_var() || a.var().index < j_.num_constvars || a.var().index >= j_.num_constvars + count_) return {};
        return a.var().index - j_.num_constvars;
    }
    /// Is it closed over, and has a tangent? Then Python holds the tracer of jax.jvp itself here.
    bool is_tracer(Atom a) const {
        const auto i = closed_over(a);
        return i && tangent_[*i];
    }

    bool reread(const Eqn& e) {
        const std::span<const Atom> in = j_.inputs(e);
        NewEqn& now = eqns_.emplace_back();
        now.params = e.params;
        const bool stops = e.prim == &kStopGradient && is_tracer(in[0]);
        std::optional<Reclosed> call;
        if (e.prim->reclose) {
            std::vector<bool> tangent;
            for (const Atom a : in) tangent.push_back(is_tracer(a));
            call = e.prim->reclose.fn(make_op(j_, e), tangent);
        }
        if (call) {
            now.params = call->params;
            for (const ClosedOperand& o : call->operands) now.in.push_back({in[o.operand], o.primal});
        } else {
            for (const Atom a : in) now.in.push_back({a, stops});
        }
        return stops || call;
    }

    const Jaxpr& j_;
    std::size_t count_;
    const std::vector<bool>& tangent_;
    std::vector<NewEqn> eqns_;
};

/// As JAX meets them, in one body after the other: a closed-over value becomes an input where it is read first. What nothing read before
/// stays, behind.
std::vector<ClosedOperand> ordered_inputs(const std::vector<PrimalReader>& readers, const std::vector<std::size_t>& order,
                                          std::size_t count) {
    std::unordered_map<std::size_t, std::size_t> first;
    for (const std::size_t b : order) readers[b].readings([&](std::size_t i, bool primal) { first.emplace(2 * i + primal, first.size()); });
    std::vector<std::pair<std::size_t, ClosedOperand>> placed;
    for (std::size_t i = 0; i < count; ++i)
        for (const bool primal : {false, true}) {
            const auto found = first.find(2 * i + primal);
            if (found != first.end())
                placed.push_back({found->second, {i, primal}});
            else if (!primal && std::none_of(readers.begin(), readers.end(), [&](const PrimalReader& r) { return r.was_read(i); }))
                placed.push_back({SIZE_MAX, {i, false}});
        }
    std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<ClosedOperand> out;
    for (const auto& [at, operand] : placed) out.push_back(operand);
    return out;
}

}  // namespace

PrimalReads read_primals(const std::vector<JaxprPtr>& bodies, const std::vector<std::size_t>& order, std::size_t count,
                         const std::vector<bool>& tangent) {
    if (std::find(tangent.begin(), tangent.end(), true) == tangent.end()) return {};
    std::vector<PrimalReader> readers;
    bool changed = false;
    for (const JaxprPtr& j : bodies) changed = readers.emplace_back(*j, count, tangent).reread() || changed;
    if (!changed) return {};
    PrimalReads out;
    out.inputs = ordered_inputs(readers, order, count);
    for (const PrimalReader& r : readers) out.bodies.push_back(r.assembled(out.inputs));
    return out;
}

PrimalReads read_primals(const JaxprPtr& j, std::size_t count, const std::vector<bool>& tangent) {
    return read_primals({j}, {0}, count, tangent);
}

std::size_t count_unnamed(const Jaxpr& j) {
    const auto named = std::find_if(j.arg_names.begin(), j.arg_names.end(), [](Sym s) { return !s.empty(); });
    return static_cast<std::size_t>(named - j.arg_names.begin());
}

std::vector<ClosedOperand> with_rest(std::vector<ClosedOperand> closed, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) closed.push_back({i, false});
    return closed;
}

Picks picks_of(const std::vector<ClosedOperand>& operands) {
    Picks out;
    for (const ClosedOperand& o : operands) out.push_back(o.primal ? kNew : static_cast<int>(o.operand));
    return out;
}

}  // namespace jaxscope
