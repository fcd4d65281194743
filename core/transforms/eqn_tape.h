// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"

namespace jaxscope {

/// Equations over a variable space that need not be dense: what transformations collect before they know which inputs, equations
/// and outputs remain. Variables are numbers of the caller's choosing, below `num_vars`; every one that is used stands in `avals`.
/// `assemble` makes a jaxpr of it, with variables renumbered. Costs are linear.
class EqnTape {
public:
    struct Entry {
        const Primitive* prim;
        ParamsRef params;
        std::uint32_t in_begin, n_in, out_begin, n_out;
        SourceRef source;
        ContextRef context;
        EffectSet effects;
    };

    std::uint32_t add_var(AvalRef aval) {
        avals_.push_back(aval);
        if (!dropped_.empty()) dropped_.push_back(false);
        if (!ids_.empty()) ids_.push_back(fresh_.var_id(fresh_.add_var(aval)));
        return static_cast<std::uint32_t>(avals_.size() - 1);
    }
    /// The variables of `j`, under their own numbers, as the first ones. What is assembled has the same variables (Jaxpr::var_id).
    void add_vars_of(const Jaxpr& j);
    AvalRef aval(std::uint32_t var) const { return avals_[var]; }
    std::uint32_t num_vars() const { return static_cast<std::uint32_t>(avals_.size()); }

    void add(const Primitive& prim, ParamsRef params, std::span<const Atom> in, std::span<const std::uint32_t> out, SourceRef source,
             ContextRef context, EffectSet effects = {});
    /// An equation of `j`, whose variables were added by `add_vars_of`.
    void add(const Jaxpr& j, const Eqn& e);
    void reserve(std::size_t n_eqns);

    const std::vector<Entry>& entries() const { return entries_; }
    std::span<const Atom> inputs(const Entry& e) const { return {atoms_.data() + e.in_begin, e.n_in}; }
    std::span<Atom> inputs(const Entry& e) { return {atoms_.data() + e.in_begin, e.n_in}; }
    std::span<const std::uint32_t> outputs(const Entry& e) const { return {outs_.data() + e.out_begin, e.n_out}; }
    std::span<std::uint32_t> outputs(const Entry& e) { return {outs_.data() + e.out_begin, e.n_out}; }

    struct Signature {
        std::vector<std::uint32_t> constvars;
        std::vector<ArrayPtr> consts;
        std::vector<std::uint32_t> invars;
        std::vector<Atom> outvars;
        std::vector<Sym> arg_names;
        Sym name;
    };
    /// Order of the equations: as added, or from the last to the first (what backward walks collect).
    enum class Order { Forward, Reverse };
    /// Every variable read must be a constvar, an invar, or the result of an earlier equation.
    /// `keep`: only these equations (empty: all). `drop_unused` as for JaxprBuilder::finish; without it results that `j` of `add_vars_of`
    /// drops stay dropped, and no others.
    JaxprPtr assemble(const Signature& signature, Order order = Order::Forward, const std::vector<bool>& keep = {},
                      bool drop_unused = false) const;

    struct Reachable {
        std::vector<bool> eqns, vars;
    };
    /// Equations that `outs` depend on, or that have effects, and the variables that those or `outs` read.
    Reachable reachable(std::span<const Atom> outs) const;
    /// What `outs` and `inputs` depend on that no equation makes, `inputs` left out: in the order in which JAX's tracers_to_jaxpr meets its
    /// constants. Each reading of one is a tracer of its own there, and tracers are sorted topologically from the ends.
    std::vector<std::uint32_t> constants_in_jax_order(std::span<const std::uint32_t> inputs, std::span<const Atom> outs) const;
    /// Each equation's operands are held as long as its results: `until` has, for each variable, the time up to which somebody holds it.
    void hold_operands(std::vector<std::uint32_t>& until) const;

private:
    Avals avals_;
    std::vector<bool> dropped_;       ///< per variable; empty: none
    std::vector<std::uint64_t> ids_;  ///< Jaxpr::var_id of each; empty: of its own in every jaxpr
    Jaxpr fresh_;                     ///< numbers those that `j` of `add_vars_of` doesn't have
    std::vector<Entry> entries_;
    std::vector<Atom> atoms_;
    std::vector<std::uint32_t> outs_;
};

}  // namespace jaxscope
