// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/params.h"
#include "ir/source.h"
#include "ir/types/aval.h"
#include "ir/types/effects.h"
#include "ir/types/literal.h"

namespace jaxscope {

struct Primitive;

/// A variable of one jaxpr: a dense index. Constvars come first, then invars, then the results of the equations in order.
struct Var {
    std::uint32_t index = 0;
    friend bool operator==(Var, Var) = default;
};

/// What an equation or a jaxpr's result refers to: a variable or a literal. 4 bytes.
class Atom {
public:
    Atom() = default;
    Atom(Var v) : raw_(v.index) {}                      // NOLINT(google-explicit-constructor)
    Atom(LiteralRef l) : raw_(l.id() | kLiteralBit) {}  // NOLINT(google-explicit-constructor)
    bool is_literal() const { return (raw_ & kLiteralBit) != 0; }
    bool is_var() const { return !is_literal(); }
    Var var() const { return Var{raw_}; }
    LiteralRef literal() const { return LiteralRef::from_id(raw_ & ~kLiteralBit); }
    std::uint32_t raw() const { return raw_; }
    friend bool operator==(Atom, Atom) = default;

private:
    static constexpr std::uint32_t kLiteralBit = 1u << 31;
    std::uint32_t raw_ = 0;
};

/// An equation: 48 bytes. Its results are the `n_out` variables from `first_out` on.
struct Eqn {
    const Primitive* prim = nullptr;
    ParamsRef params;
    std::uint32_t in_begin = 0;  ///< into Jaxpr::atoms
    std::uint32_t first_out = 0;
    std::uint32_t n_in = 0;
    std::uint32_t n_out = 0;
    SourceRef source;
    ContextRef context;
    EffectSet effects;  ///< of this equation; empty for pure ones
};

/// Variables `first` and on that are known by numbers, `id` and on, throughout a program: one number is one variable of JAX's, which
/// jaxprs made of one another share (dead code elimination keeps them), and prints under one name.
struct SharedVars {
    std::uint32_t first = 0, count = 0, id = 0;
    friend bool operator==(const SharedVars&, const SharedVars&) = default;
};

/// A jaxpr, open or closed: immutable once built, shared by pointer. A jaxpr that is one object in JAX is one object here.
/// Built by JaxprBuilder or the readers only; `check_jaxpr` (type_check.h) stands between readers and everything else.
class Jaxpr {
public:
    Sym name;  ///< of the function it came from, may be empty
    std::uint32_t num_constvars = 0;
    std::uint32_t num_invars = 0;
    std::vector<ArrayPtr> consts;  ///< values of the constvars; empty for an open jaxpr
    std::vector<Eqn> eqns;
    std::vector<Atom> atoms;  ///< inputs of all equations
    std::vector<Atom> outvars;
    std::vector<Sym> arg_names;  ///< of the invars, empty or one each: debug information
    EffectSet effects;
    std::vector<SharedVars> shared_vars;  ///< by `first`, not overlapping; mostly none

    std::uint32_t num_vars() const { return static_cast<std::uint32_t>(vars_.size()); }
    Var constvar(std::uint32_t i) const { return Var{i}; }
    Var invar(std::uint32_t i) const { return Var{num_constvars + i}; }
    AvalRef aval(Var v) const { return AvalRef::from_id(vars_[v.index] & ~kDroppedBit); }
    AvalRef aval(Atom a) const { return a.is_literal() ? a.literal()->aval : aval(a.var()); }
    /// JAX's DropVar: a result that nothing uses, printed `_`.
    bool dropped(Var v) const { return (vars_[v.index] & kDroppedBit) != 0; }
    /// Which variable it is in JAX: there jaxprs made of one another's equations share variables, and the printer their names. Numbers are
    /// unique in the process; copies of a jaxpr have the same ones.
    std::uint64_t var_id(Var v) const;
    /// Upper half of the var_id of variables that a capture numbers throughout the program (SharedVars); the lower half is that number.
    static constexpr std::uint32_t kSharedSpace = UINT32_MAX;
    /// Makes `v` the same variable as another one: `id` is its var_id.
    void set_var_id(Var v, std::uint64_t id);
    std::span<const Atom> inputs(const Eqn& e) const { return {atoms.data() + e.in_begin, e.n_in}; }
    Var output(const Eqn& e, std::uint32_t k) const { return Var{e.first_out + k}; }
    Avals in_avals() const;  ///< of the invars
    Avals const_avals() const;
    Avals out_avals() const;
    Avals in_avals(const Eqn& e) const;
    Avals out_avals(const Eqn& e) const;
    /// The number under which a variable is known throughout the program (SharedVars), if it is.
    std::optional<std::uint32_t> shared_id(Var v) const;
    /// For builders and readers.
    Var add_var(AvalRef aval, bool dropped = false);
    void set_dropped(Var v, bool dropped);
    void reserve(std::size_t n_eqns);
    void reserve_vars(std::size_t n) { vars_.reserve(n); }
    /// Bytes of memory held by this jaxpr alone, sub-jaxprs not counted.
    std::size_t memory_bytes() const;

private:
    static constexpr std::uint32_t kDroppedBit = 1u << 31;
    std::uint64_t own_id(Var v) const { return std::uint64_t{space_} << 32 | v.index; }
    static std::uint32_t next_space();
    std::vector<std::uint32_t> vars_;  ///< aval id and the dropped bit of each variable
    std::uint32_t space_ = next_space();
    std::vector<std::uint64_t> var_ids_;  ///< 0, or absent behind the last that isn't: its own
};

/// Equations of `j` and, for each equation that names it, of every sub-jaxpr: JAX's recursive count. Saturates at 2^63-1.
std::int64_t count_equations(const Jaxpr& j);
/// All distinct jaxprs below `j` (itself included, last), inner ones before outer ones.
std::vector<const Jaxpr*> all_jaxprs(const Jaxpr& j);
/// How deep jaxprs nest; `j` alone is 1.
int nesting_depth(const Jaxpr& j);

}  // namespace jaxscope
