// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/sym.h"

namespace jaxscope {

/// The classes of effects in JAX 0.10.2 (subclasses of jax._src.effects.Effect), and Other for those that we don't know.
enum class EffectKind : std::uint8_t {
    Read,
    Write,
    Accum,
    NamedAxis,
    IO,
    OrderedIO,
    Debug,
    OrderedDebug,
    InternalMutableArray,
    Generic,
    Ffi,
    NoDce,
    SingleSideCollective,
    BufferCallback,
    ShapeAssertion,
    CheckifyError,
    Box,
    Comms,
    Semaphore,
    Delay,
    CallTf,
    CallTfOrdered,
    Other,
};

/// In which of JAX's lists of effect types a kind stands. Other stands in none: what we don't know is allowed nowhere.
struct EffectTraits {
    bool ref = false;                         ///< state of a mutable reference: RefEffect
    bool dceable = false;                     ///< goes with an equation whose results nobody needs: dceable_effects
    bool ordered = false;                     ///< ordered_effects
    bool remat_allowed = false;               ///< remat_allowed_effects
    bool control_flow_allowed = false;        ///< control_flow_allowed_effects
    bool custom_derivatives_allowed = false;  ///< custom_derivatives_allowed_effects
    bool lowerable = false;                   ///< lowerable_effects
    bool partial_eval_pure = false;           ///< no effect to partial_eval_jaxpr_custom, which may compute the equation again
};
const EffectTraits& traits_of(EffectKind kind);

/// One effect. `text` is JAX's own, kept as it was read.
struct Effect {
    EffectKind kind = EffectKind::Other;
    int input = -1;  ///< Read, Write, Accum: the position of the input, where the text says it
    Sym name;        ///< NamedAxis: the axis
    Sym text;
    /// From what `str(effect)` is in Python.
    static Effect parse(Sym text);
    friend bool operator==(const Effect&, const Effect&) = default;
};

/// Effects of an equation or a jaxpr, each once, in the order given: 4 bytes, interned.
class EffectSet {
public:
    EffectSet() = default;
    EffectSet(const std::vector<Effect>& effects);  // NOLINT(google-explicit-constructor)
    explicit EffectSet(EffectKind kind);            ///< of a kind that needs no more than its name
    bool empty() const { return id_ == 0; }
    const std::vector<Effect>& list() const;
    bool contains(EffectKind kind) const;
    /// Those of which `trait` holds, or doesn't hold (EffectTypeSet.filter_in and filter_not_in).
    EffectSet filter_in(bool EffectTraits::*trait) const { return filtered(trait, true); }
    EffectSet filter_not_in(bool EffectTraits::*trait) const { return filtered(trait, false); }
    EffectSet operator|(EffectSet more) const;
    std::uint32_t id() const { return id_; }
    std::string str() const;  ///< "Debug, IO", for people
    friend bool operator==(EffectSet a, EffectSet b) { return a.id_ == b.id_; }

private:
    EffectSet filtered(bool EffectTraits::*trait, bool wanted) const;
    std::uint32_t id_ = 0;
};

/// Do they keep an equation from being dropped when its results aren't used (JAX's has_effects)?
inline bool has_effects(EffectSet effects) { return !effects.empty() && !effects.filter_not_in(&EffectTraits::dceable).empty(); }

}  // namespace jaxscope
