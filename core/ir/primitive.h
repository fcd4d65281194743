#pragma once
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/value.h"

namespace jaxscope {

class Builder;
class ElementBuilder;
class SplitBuilder;
class TransposeSink;
struct KernelSpec;
struct PolicyQuery;

/// An application of a primitive as its rules see it: typed parameters, avals of inputs, avals of outputs (empty while they are
/// being derived), where it stands.
struct Op {
    const Primitive* prim;
    ParamsRef params;
    Avals in;
    Avals out;
    SourceRef source;
    ContextRef context;
    template <class P>
    const P& as() const {
        return params->template as<P>();
    }
};
Op make_op(const Jaxpr& j, const Eqn& e);
/// The same where a transformation has it: `source` is in the name stack of all that it stands in.
Op make_op(const Jaxpr& j, const Eqn& e, SourceRef source);

struct NoRule {
    const char* why;
};
/// A rule is a function, or a stated reason why there is none, which the user reads.
template <class Fn>
struct Rule {
    Fn* fn = nullptr;
    const char* absent = "not written";
    constexpr Rule() = default;
    constexpr Rule(NoRule n) : absent(n.why) {}  // NOLINT(google-explicit-constructor)
    template <std::convertible_to<Fn*> G>
    constexpr Rule(G g) : fn(g), absent(nullptr) {}  // NOLINT(google-explicit-constructor)
    explicit constexpr operator bool() const { return fn != nullptr; }
};

// ---- The kinds of rules -----------------------------------------------------------------------------------------------------

/// Result avals from op.params and op.in. Throws Error{TypeMismatch} with JAX's reason when the inputs don't fit.
using AbstractEvalFn = Avals(const Op& op);

/// Forward mode for primitives whose primal result is the primitive itself: x inputs, y outputs (already bound), dx tangents of the
/// inputs (`Value::zero()` where symbolically zero; at least one isn't). Returns one tangent per output, zero allowed.
using JvpFn = Values(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);

struct PrimalsTangents {
    Values primals, tangents;
};
/// Forward mode where primals and tangents come of one new application (scan, remat, custom_jvp, ...).
using JvpCallFn = PrimalsTangents(Builder& b, const Op& op, const Values& x, const Values& dx);

/// JAX's primitive_linearizations: known values and equations go to `b.primal()`, the linear ones to `b.tangent()`.
using LinearizeFn = PrimalsTangents(SplitBuilder& b, const Op& op, const Values& x, const Values& dx);

/// JAX's custom_partial_eval_rules: an application in which some inputs are unknown, met while linearizing.
using PartialEvalFn = Values(SplitBuilder& b, const Op& op, const Values& x);

/// JAX's const_fold_rules and forwarding_rules, asked while tracing: the value of an application of one operand that needs no equation (a
/// literal: by `b.folded`). None: it needs one.
using FoldFn = std::optional<Value>(Builder& b, const Op& op, Value x);

/// Parameters of an application that is traced again, where JAX doesn't keep them as they are.
using RestageFn = ParamsRef(const ParamsRef& params);

/// Reverse mode of a linear application. x: known values, or `Value::linear()` where the cotangent is wanted; ct: cotangents of the
/// outputs, possibly zero. Reports to the sink, in JAX's order.
using TransposeFn = void(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink);

constexpr int kNotMapped = -1;
struct BatchResult {
    Values out;
    std::vector<int> out_dims;  ///< position of the batch axis per output, kNotMapped where it has none
};
/// vmap: x with batch axes at `dims` (kNotMapped: none), `size` the length of the axis.
using BatchFn = BatchResult(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);

struct DceResult {
    std::vector<bool> used_inputs;
    bool dropped = false;            ///< the whole equation goes
    ParamsRef params;                ///< of the smaller equation
    std::vector<bool> kept_inputs;   ///< which inputs the smaller equation takes (usually = used_inputs)
    std::vector<bool> kept_outputs;  ///< which outputs it gives
};
/// JAX's dce_rules. Without one an equation stays whole as soon as one output is used.
using DceFn = DceResult(const Op& op, const std::vector<bool>& used_outputs);

struct PartialEvalCustomArgs {
    const Op& op;
    const Jaxpr& jaxpr;
    const Eqn& eqn;
    std::vector<bool> unknown_in, inst_in;
    const PolicyQuery& policy;
};
/// An equation of the known or staged half. Inputs are indices: >= 0 an input of the original equation (n_in + k: its k-th output,
/// where a known output is a residual too), -1-k the k-th residual. What the staged half takes and doesn't have becomes a residual.
struct HalfEqn {
    const Primitive* prim;
    ParamsRef params;
    std::vector<int> inputs;
    std::vector<int> outputs;  ///< >= 0 an output of the original equation, -1-k the k-th residual
    EffectSet effects = {};
};
struct PartialEvalCustomResult {
    std::optional<HalfEqn> known, staged;
    std::vector<bool> unknown_out, inst_out;
    Avals residuals;                   ///< new values made by the known half and taken by the staged one
    std::vector<int> residual_inputs;  ///< inputs of the equation that the staged half needs besides (they become residuals too)
};
/// JAX's partial_eval_jaxpr_custom_rules: how an equation holding jaxprs splits under a policy.
using PartialEvalCustomFn = PartialEvalCustomResult(const PartialEvalCustomArgs& args);

/// Element-wise and index-mapping lowering: the scalar at output index `i` (kernel_builder.h).
struct KScalar;
struct KIndex;
using LowerFn = KScalar(ElementBuilder& k, const Op& op, const KIndex& i);
/// Everything else that runs as one kernel: reductions, products, convolutions, scatters, sorts, library calls (kernel_builder.h).
using KernelFn = KernelSpec(const Op& op);
/// A jaxpr of simpler primitives that computes the same.
using ExpandFn = JaxprPtr(const Op& op);

struct Cost {
    double flops = 0;
    double bytes = 0;
};
using CostFn = Cost(const Op& op);
/// Sharding: specs of inputs and outputs that fit together (filled in by the issue 'Sharding').
using PartitionFn = void(const Op& op);

/// A primitive, declared once: all that jaxscope knows of it. One definition, one entry in its family's list.
struct Primitive {
    const char* name = nullptr;
    Rule<AbstractEvalFn> abstract_eval;
    Rule<FoldFn> fold = NoRule{"JAX keeps the equation"};
    Rule<RestageFn> restage = NoRule{"JAX keeps its parameters"};
    Rule<JvpFn> jvp;
    Rule<JvpCallFn> jvp_call;
    Rule<LinearizeFn> linearize;
    Rule<PartialEvalFn> partial_eval;
    Rule<PartialEvalCustomFn> partial_eval_custom;
    Rule<TransposeFn> transpose;
    Rule<BatchFn> batch;
    Rule<DceFn> dce;
    Rule<LowerFn> lower;
    Rule<KernelFn> kernel;
    Rule<ExpandFn> expand;
    Rule<CostFn> cost;
    Rule<PartitionFn> partition;
    bool call = false;    ///< holds jaxprs that its rules transform (jit, scan, ...)
    bool opaque = false;  ///< unknown to jaxscope: shown with its recorded avals, neither differentiated nor run
    /// JAX's name for its results in residual lists when it isn't "output of NAME" (pjit: "output of jitted function '...'").
};

/// The primitive of that name, from the registry, or else an opaque one made for it. JAX's older names are normalised before (io).
const Primitive& primitive(Sym name);
/// All known primitives, for tables and tests.
std::span<const Primitive* const> all_primitives();

}  // namespace jaxscope
