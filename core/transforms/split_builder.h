// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "transforms/eqn_tape.h"

namespace jaxscope {

/// A builder of two halves at once: what is known goes to the known (primal) half, what depends on an unknown value to the unknown
/// (tangent, linear) half, which takes the known values that it needs as residuals. JAX's JaxprTrace, and its LinearizeTrace with it:
/// linearize runs a jvp rule here with known primals and unknown tangents, and out comes the split.
///
/// Values: `Kind::Known` are those of the known builder, `Kind::Unknown` those of the unknown half, literals belong to both.
class SplitBuilder final : public Builder {
public:
    /// The known half goes into `known`, which must outlive this builder; the unknown half is kept here until `finish_unknown`.
    /// `by_data`: partial evaluation alone (JAX's JaxprTrace), not linearize.
    explicit SplitBuilder(JaxprBuilder& known, bool outermost = false, bool by_data = false);

    /// Is this the function that the user differentiates, rather than the body of a call in it? There JAX runs custom rules where it meets
    /// them: their equations have places of their own. Inside, rules are traced while the call is evaluated, and all stand at the call.
    bool outermost() const override { return outermost_; }
    bool by_data() const { return by_data_; }
    /// While one lives a custom_jvp rule of the user's is run: JAX partially evaluates what it calls (linearize_from_jvp), known or not.
    class InRule {
    public:
        explicit InRule(SplitBuilder& b) : b_(b), outer_(b.in_rule_) { b.in_rule_ = true; }
        InRule(const InRule&) = delete;
        InRule& operator=(const InRule&) = delete;
        ~InRule() { b_.in_rule_ = outer_; }

    private:
        SplitBuilder& b_;
        bool outer_;
    };
    /// Which numbers are values of the known half even in the user's function.
    enum class Numbers : std::uint8_t {
        None,
        Folded,  ///< what rules make (`folded`): saved_residuals of a traced function has a row for each
        All      ///< those that its equations read, too: they leave the body of a shard_map as all its residuals do
    };
    void hold_numbers(Numbers which) { numbers_held_ = which; }
    /// Operands of an equation, among them numbers that the user's Python converted to arrays, as they stand for values there.
    Values held(const Jaxpr& j, std::size_t index, const Values& in);
    bool in_rule() const { return in_rule_; }

    /// The next input of the unknown half.
    Value add_unknown_input(AvalRef aval);

    /// All inputs known: into the known half. Otherwise the primitive's `partial_eval` rule, or else one equation in the unknown half.
    Values emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects = {}) override;
    AvalRef aval(Value v) const override;
    Value constant(ArrayPtr array) override;
    Value folded(LiteralRef literal) override;
    std::optional<LiteralRef> literal_of(Value v) const override { return known_.literal_of(v); }

    /// The known half, for rules that decide themselves: takes known values and literals only.
    JaxprBuilder& primal();
    /// The unknown half, for rules that decide themselves: takes any values; known ones become residuals. Gives unknown values, and
    /// never consults a partial_eval rule.
    Builder& tangent();

    /// Where a jaxpr is evaluated its equations are at work at times 0, 1, ... and what stands for a variable is let go behind the last
    /// equation that reads it. A residual that nothing holds any more is forgotten: who reads it again puts it behind all others.
    void at_time(std::uint32_t time) { time_ = time; }
    void hold(Value v, std::uint32_t until);

    struct Unknown {
        JaxprPtr jaxpr;    ///< inputs: the residuals, then the unknown inputs; outputs as asked for
        Values residuals;  ///< in the known half, one per leading input of `jaxpr`; no duplicates, no literals
    };
    /// Closes the unknown half. `outs` are unknown values, or known ones (which become residuals) and literals. Equations that no
    /// output needs are left out, and residuals that nothing reads; unknown inputs all stay. `deep`: dead code inside calls goes too
    /// (linearize: JAX's dce_jaxpr_consts), else whole equations only (JAX's tracers_to_jaxpr).
    Unknown finish_unknown(const Values& outs, bool deep, Sym name = {});

private:
    class Half;
    friend class Half;
    class Half final : public Builder {
    public:
        explicit Half(SplitBuilder& owner) : owner_(owner) {}
        Values emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects) override;
        AvalRef aval(Value v) const override { return owner_.aval(v); }
        Value constant(ArrayPtr array) override { return owner_.constant(std::move(array)); }
        Value folded(LiteralRef literal) override { return Value(literal); }  ///< what is known to the linear function is a number there
        std::optional<LiteralRef> literal_of(Value v) const override { return owner_.literal_of(v); }

    private:
        SplitBuilder& owner_;
    };

    Atom lift(Value v);
    void order_residuals();

    JaxprBuilder& known_;
    Half half_;
    bool outermost_, by_data_, in_rule_ = false;
    Numbers numbers_held_ = Numbers::None;
    EqnTape tape_;
    std::vector<std::uint32_t> inputs_;
    std::unordered_map<std::uint32_t, std::uint32_t> residual_var_;  ///< raw known value -> variable of the tape
    std::vector<std::pair<std::uint32_t, Value>> residuals_;         ///< (variable, value) in order of first use
    std::map<std::pair<std::uint32_t, std::uint32_t>, Value>
        numbers_;  ///< by line (traceback) and literal: the value that stands for it (`held`)
    std::uint32_t time_ = 0;
    std::vector<std::uint32_t> times_;                        ///< of each equation of the tape
    std::unordered_map<std::uint32_t, std::uint32_t> until_;  ///< variable -> how long it is held; empty: everything is, for ever
    std::vector<Atom> scratch_;
    std::vector<std::uint32_t> scratch_outs_;
};

/// Evaluates `j` under `b`: each equation is emitted anew with `in` for the inputs, so that a SplitBuilder splits it (JAX's eval_jaxpr
/// under a trace). Constvars with values become constants of the program; an open jaxpr's constvars must have been converted.
Values eval_jaxpr(Builder& b, const Jaxpr& j, const Values& in);
/// The same of a function whose Python JAX runs again.
Values eval_function(Builder& b, const Jaxpr& j, const Values& in);
/// The same of a rule that was traced apart: its equations stand where it is applied (`caller`), but for those that know a place of their
/// own when `keep_places`, and in the context that is in force there (`b.context`).
Values eval_rule(Builder& b, const JaxprPtr& j, const Values& in, SourceRef caller, bool keep_places);

}  // namespace jaxscope
