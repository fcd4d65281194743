// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"
#include "ir/value.h"

namespace jaxscope {

/// Where new equations go. Rules know no more of it than this: the same jvp rule serves forward mode (one jaxpr), linearize
/// (known half and linear half) and partial evaluation.
class Builder {
public:
    virtual ~Builder() = default;
    /// Applies a primitive: derives the result avals by its abstract_eval and appends an equation.
    Values bind(const Primitive& prim, const Values& in, ParamsRef params = {});
    Value bind1(const Primitive& prim, const Values& in, ParamsRef params = {});
    /// The same with result avals given: opaque primitives and copies of existing equations, whose avals are recorded.
    virtual Values emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects = {}) = 0;
    virtual AvalRef aval(Value v) const = 0;
    /// A constant array of the program (becomes a constvar).
    virtual Value constant(ArrayPtr array) = 0;
    /// A scalar that a rule computes while building: zeros of rank 0, a converted literal. The literal itself, but where a jaxpr is
    /// split: there JAX holds it for a value of the known half, and the unknown half takes it as a residual.
    virtual Value folded(LiteralRef literal) { return literal; }
    /// The literal that `v` is or stands for, if any.
    virtual std::optional<LiteralRef> literal_of(Value v) const;
    /// The result of an application that needs no equation, by the primitive's fold rule.
    std::optional<Value> fold(const Primitive& prim, const Values& in, const ParamsRef& params, const Avals& out_avals) {
        return prim.fold ? folded_by_rule(prim, in, params, out_avals) : std::nullopt;
    }

    /// Is this the function that the user transforms, rather than the body of a call in it? Its Python is run by JAX, so that calls of
    /// custom rules close over values there; elsewhere their jaxprs are evaluated, and what they closed over is an argument.
    virtual bool outermost() const { return false; }

private:
    std::optional<Value> folded_by_rule(const Primitive& prim, const Values& in, const ParamsRef& params, const Avals& out_avals);

public:
    /// Provenance of what is emitted next; transformations set it to that of the equation at work.
    SourceRef source;
    ContextRef context;
};

/// Builds one jaxpr.
class JaxprBuilder final : public Builder {
public:
    JaxprBuilder();
    Value add_constvar(AvalRef aval, ArrayPtr value = nullptr);  ///< before the first invar
    Value add_input(AvalRef aval, Sym name = {});                ///< before the first equation
    /// Constvars and inputs like those of `j`, with their values and names: the constvars, then the inputs.
    Values add_signature(const Jaxpr& j);
    Values emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects = {}) override;
    AvalRef aval(Value v) const override;
    /// Constants met after the inputs: collected, and hoisted to constvars by `finish`.
    Value constant(ArrayPtr array) override;
    /// A value that stands for a literal and is none: where it is read, and in the results, stands the literal.
    Value hold(LiteralRef literal);
    std::optional<LiteralRef> literal_of(Value v) const override;
    /// Copies one equation of `from` as it is (params, avals, source, effects), its inputs replaced.
    Values copy(const Jaxpr& from, const Eqn& eqn, const Values& in);
    std::size_t num_eqns() const;
    /// `outs` may hold literals. `drop_unused`: results that nothing reads are marked dropped. JAX does so for what partial evaluation by
    /// data stages (tracers_to_jaxpr); what it traces keeps a variable for every result.
    JaxprPtr finish(const Values& outs, Sym name = {}, bool drop_unused = false);
    /// What `finish` would give; the builder goes on.
    JaxprPtr so_far(const Values& outs) const;
    Jaxpr& jaxpr() { return *jaxpr_; }
    bool outermost() const override { return outermost_; }
    void set_outermost() { outermost_ = true; }

    /// Appends an equation as it is: what a transformation has collected already and nothing traces again.
    Values append(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects = {});

private:
    void add_atom(std::vector<Atom>& to, Value v);
    void hoist_constants();
    /// Where a late constant is read: in the inputs of equations or in the results, at `position`, stands a variable without meaning
    /// until `finish` numbers the constant.
    struct LateUse {
        bool result;
        std::uint32_t position, constant;
    };
    std::shared_ptr<Jaxpr> jaxpr_;
    bool outermost_ = false;
    std::vector<ArrayPtr> late_consts_;
    std::vector<LateUse> late_uses_;
    std::vector<LiteralRef> held_literals_;
    std::unordered_map<const ArrayConst*, std::uint32_t> late_index_;
};

/// Receives cotangents in transposition. Several for one operand are summed with add_any, in the order they come.
class TransposeSink {
public:
    virtual ~TransposeSink() = default;
    virtual void add(std::size_t operand, Value cotangent) = 0;
    /// Is anybody going to read this operand's cotangent?
    virtual bool wanted(std::size_t operand) const = 0;
};

}  // namespace jaxscope
