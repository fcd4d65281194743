// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive_name.h"
#include "ir/value.h"

namespace jaxscope {

class Builder;
class ElementBuilder;
class SplitBuilder;
class TransposeSink;
struct KernelSpec;
struct PartitionRule;
struct PolicyQuery;
struct TextForm;

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
    bool words_of_jax = false;  ///< JAX refuses it in this sentence, whatever is done with the equation
};
/// A rule is a function, or a stated reason why there is none, which the user reads.
template <class Fn>
struct Rule {
    Fn* fn = nullptr;
    const char* absent = "not written";
    bool words_of_jax = false;
    constexpr Rule() = default;
    constexpr Rule(NoRule n) : absent(n.why), words_of_jax(n.words_of_jax) {}  // NOLINT(google-explicit-constructor)
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

/// An operand of a call, or its primal.
struct ClosedOperand {
    std::size_t operand;
    bool primal;
};
struct Reclosed {
    ParamsRef params;
    std::vector<ClosedOperand> operands;
};
/// The user's Python runs under jax.jvp, and a function in it closes over tracers: `stop_gradient` of one takes its primal there and then,
/// so that this is what the call closes over. `tangent`: which operands are such tracers if they are closed over. None: nothing changes.
using RecloseFn = std::optional<Reclosed>(const Op& op, const std::vector<bool>& tangent);

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
/// What an equation of a half takes: an input of the original equation, one of its results (a known one, which is a residual too), or a
/// residual, by its position in `PartialEvalCustomResult::residuals`. What the staged half takes and doesn't have becomes a residual.
struct HalfInput {
    enum class From : std::uint8_t { Original, Result, Residual } from;
    std::size_t index;
    static HalfInput original(std::size_t i) { return {From::Original, i}; }
    static HalfInput result(std::size_t k) { return {From::Result, k}; }
    static HalfInput residual(std::size_t k) { return {From::Residual, k}; }
};
/// What it gives: a result of the original equation, or a residual.
struct HalfOutput {
    enum class To : std::uint8_t { Result, Residual } to;
    std::size_t index;
    static HalfOutput result(std::size_t k) { return {To::Result, k}; }
    static HalfOutput residual(std::size_t k) { return {To::Residual, k}; }
};
/// An equation of the known or staged half.
struct HalfEqn {
    const Primitive* prim;
    ParamsRef params;
    std::vector<HalfInput> inputs;
    std::vector<HalfOutput> outputs;
    EffectSet effects = {};
};
struct PartialEvalCustomResult {
    std::optional<HalfEqn> known, staged;
    std::vector<bool> unknown_out, inst_out;
    Avals residuals;                           ///< new values made by the known half and taken by the staged one
    std::vector<std::size_t> residual_inputs;  ///< inputs of the equation that the staged half needs besides (they become residuals too)
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
/// Sharding: which dimensions of operands and results are one, so that devices may have a part of them each (partition_rule.h).
using PartitionFn = PartitionRule(const Op& op);

// ---- Traits: what code asks of a primitive instead of comparing names ---------------------------------------------------------

/// Where control goes when an equation runs.
enum class Flow : std::uint8_t {
    Straight,     ///< nowhere else: it is computed
    Call,         ///< into its `body`, which may stand in its place
    RuledCall,    ///< the same when it runs; transformations ask the rule that comes with it first
    Remat,        ///< into its `body`, behind a barrier where its parameters ask for one
    Barrier,      ///< results are the operands, and wait for all of them
    Scan,         ///< into its `body`, once for each step
    While,        ///< into cond_jaxpr and body_jaxpr, in turn
    Cond,         ///< into one of its branches
    LinearSolve,  ///< into the `solve` of its jaxprs
};
/// Matrix products and convolutions: what most checkpoint policies look for.
enum class Product : std::uint8_t { None, Dot, Convolution, ScaledDot };
/// What JAX's residual lists call a result that is saved.
enum class ResidualLabel : std::uint8_t {
    Output,    ///< "output of NAME"
    Name,      ///< "named 'h'", after parameter `name`, by which policies find it too (checkpoint_name)
    Function,  ///< "output of jitted function 'f'", after parameter `name`
    Operand,   ///< that of its operand: it is looked through
};
/// Are the results the operands, element by element in memory order? Asked where their sizes in bytes agree.
using ViewFn = bool(const Op& op);
constexpr bool always_a_view(const Op&) { return true; }
/// A parameter's name in JAX before 0.10.2, and today's.
struct OlderParam {
    const char* older;
    const char* name;
};

/// A primitive, declared once: all that jaxscope knows of it. One definition, one entry in its family's list.
struct Primitive {
    PrimitiveName name;
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
    Rule<RecloseFn> reclose = NoRule{"what it closes over isn't told apart"};
    Rule<LowerFn> lower;
    Rule<KernelFn> kernel;
    Rule<ExpandFn> expand;
    Rule<CostFn> cost;
    Rule<PartitionFn> partition;

    Flow flow = Flow::Straight;
    const char* body = nullptr;      ///< the parameter that holds the jaxpr of a call, remat or scan
    bool custom_derivative = false;  ///< calls a function that brings its own rule for derivatives, which `inline_rules` may drop
    Rule<ViewFn> view = NoRule{"makes new values"};
    Product product = Product::None;
    ResidualLabel residual = ResidualLabel::Output;
    const TextForm* text = nullptr;            ///< how its text differs from a list of all parameters (print/text_form.h)
    std::span<const char* const> older_names;  ///< in captures and texts of JAX before 0.10.2
    std::span<const OlderParam> older_params = {};
    bool opaque = false;  ///< unknown to jaxscope but for traits: shown with its recorded avals, neither differentiated nor run

    /// Holds jaxprs that its rules transform (jit, scan, ...).
    constexpr bool calls() const { return flow != Flow::Straight && flow != Flow::Barrier; }
};
/// What checkpoint_name calls the result of an application; nothing for other primitives.
std::optional<Sym> given_name(const Primitive& prim, const ParamsRef& params);

/// The primitive of that name, today's or an older one, from the registry, or else an opaque one made for it.
const Primitive& primitive(Sym name);
/// Today's name of a parameter that may go by an older one.
std::string_view param_of_today(const Primitive& prim, std::string_view name);
/// All known primitives, for tables and tests.
std::span<const Primitive* const> all_primitives();

}  // namespace jaxscope
