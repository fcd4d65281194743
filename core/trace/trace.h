// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tracing: a thread's stack of jaxprs being built. In: operations on Arrays. Out: closed jaxprs and what they closed over. Never here: what
// an operation emits (numpy, lax), what is done to a traced function (functions.cpp).
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/types/literal_array.h"
#include "trace/evaluation_order.h"
#include "trace/known_values.h"
#include "trace/node.h"

namespace jaxscope::jax::detail {

/// A traced function: its constvars stand for `consts`, arrays or tracers of an outer trace.
struct Traced {
    JaxprPtr jaxpr;
    std::vector<Array> consts;
    /// Its constvars as leading inputs.
    JaxprPtr open() const;
    bool captures_tracers() const;
};

class Trace {
public:
    /// Becomes the thread's current trace. `what`: "jit", "checkpoint", as JAX's errors call it.
    Trace(const char* what, std::string function);
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    Array input(AvalRef aval, Sym name = {});
    /// The inputs that a value of this trace was computed from, by number.
    std::vector<std::size_t> inputs_of(Value v);
    Sym name_of_input(std::size_t i);
    /// The names of all inputs, made when an error asks for one.
    void name_inputs(std::function<std::vector<Sym>()> names) { later_names_ = std::move(names); }
    /// What the inputs are, where operations on them are run as they come (KnownValues): under grad, jvp and vmap, not under jit.
    void inputs_are(std::vector<Array> inputs) {
        known_.inputs_are(std::move(inputs));
        known_inputs_ = true;
    }
    /// The elements of a value of this trace, where they are known while it goes on; else null.
    ArrayPtr known(Value v) { return known_inputs_ ? known_.of(builder_, v, constant_of_) : nullptr; }
    /// The array as a value of this trace. Throws for a leaked tracer, one of another thread, and for a
    /// deleted array where operations are run as they come.
    Value lift(const Node& n);
    /// `begin`: the position of the first equation of the expression that it is the value of.
    Array wrap(Value v, const Where& where, std::uint32_t begin);
    Array wrap(Value v, const Where& where) { return wrap(v, where, position()); }
    /// Puts what operands without a name were computed by in the order of the operands. Returns where the whole expression begins.
    std::uint32_t evaluate_in_order(std::span<const Operand> in, const Where& where);
    /// Where the expression begins that an operand with a name belongs to; here, where it is no part of one.
    std::uint32_t begin_of(const Node& n, const Where& where) const;
    Traced finish(const std::vector<Array>& outs);

    /// Are its operations run as they come, as far as anybody can tell: under grad and vmap outside of jit?
    bool eager() const { return known_inputs_ && (!outer_ || outer_->eager()); }
    /// A call that donates has taken the array's memory: what reads it from now on is refused, as where operations run at once.
    void take(const Array& a);

    /// From now on a number that an array is multiplied with or divided by is a constant of the trace: so residuals show it, as JAX lists
    /// it.
    void keep_numbers() { keeps_numbers_ = true; }
    /// The value to compute with in place of such a number: itself, or the constant. `b`: where it is computed with. `converted`: it was
    /// given as one of another kind.
    Value kept_number(const Builder& b, Value v, bool converted);
    /// For each constant of what was traced: is it such a number?
    std::vector<bool> kept_numbers(const Traced& t) const;

    JaxprBuilder& builder() { return builder_; }
    std::uint64_t serial() const { return serial_; }
    Trace* outer() const { return outer_; }
    const char* what() const { return what_; }
    const std::string& function() const { return function_; }
    /// The innermost one, or null.
    static Trace* current();
    /// The trace that a value belongs to where it waits for ensure_compile_time_eval to end; else null.
    static Trace* waiting_for(const Node& n);
    /// The innermost of all these values.
    static Trace* waiting_for(const std::vector<Array>& values);
    static Trace* waiting_for(std::span<const Operand> operands);
    static bool any_waits();
    /// While it lives, a waiting trace is the current one. Null: nothing changes.
    class Resumed {
    public:
        explicit Resumed(Trace* t);
        ~Resumed();
        Resumed(const Resumed&) = delete;
        Resumed& operator=(const Resumed&) = delete;

    private:
        Trace *resumed_, *waiting_;
    };
    /// By serial: a trace of this thread's stack, or null.
    static Trace* find(std::uint64_t serial);

private:
    const Node* recorded(const Operand& x) const;  ///< null: nothing of this trace computed it
    void put_in_order(std::span<const Operand> in);
    std::uint32_t position() const { return static_cast<std::uint32_t>(builder_.num_eqns()); }
    const char* what_;
    std::string function_;
    std::uint64_t serial_;
    Trace* outer_;  ///< the one before it, which may wait
    bool waits_;    ///< did it?
    bool keeps_numbers() const { return keeps_numbers_ || (known_inputs_ && outer_ && outer_->keeps_numbers()); }
    bool was_taken(const Node& n) const;
    Value lifted(const Node& n);
    bool keeps_numbers_ = false;
    std::vector<Array> numbers_, taken_;
    std::vector<Sym> input_names_;
    std::function<std::vector<Sym>()> later_names_;
    JaxprBuilder builder_;
    KnownValues known_;
    bool known_inputs_ = false;
    EvaluationOrder order_;
    std::unordered_map<const Node*, Value> lifted_;             ///< tracers of outer traces, deleted arrays
    std::unordered_map<const ArrayConst*, Array> constant_of_;  ///< what the builder's constants are: arrays, or stand for (tracers)
};

/// The thread's scopes, in which operations are traced.
const NameStack& current_scopes();

/// What an operation writes: its operands as values, its results.
using Emit = std::function<Values(Builder&, const Values&)>;
/// Applies an operation (these and the next ones: apply.cpp): recorded where a function is traced, run at once elsewhere. Numbers come as
/// weakly typed literals.
std::vector<Array> apply(std::span<const Operand> in, const Where& where, const Emit& emit);
Array apply1(std::initializer_list<Operand> in, const std::function<Value(Builder&, const Values&)>& emit);
Array apply1(std::initializer_list<Operand> in, const Where& where, const std::function<Value(Builder&, const Values&)>& emit);

/// A number that an array is multiplied with or divided by, as the current trace keeps it (Trace::kept_number).
Value kept_factor(const Builder& b, Value number, bool converted = false);

/// Results of a jaxpr without constvars at `in`: inlined into the current trace, or run.
std::vector<Array> call(const JaxprPtr& open, const std::vector<Array>& in, const Where& where);
/// One equation: the primitive applied to arrays as they are.
std::vector<Array> bind_primitive(const Primitive& prim, const std::vector<Array>& in, const ParamsRef& params, const Where& where);

/// What an operand without a name was computed by belongs to the expression that `out` is the value of.
void belongs_to(const Array& out, const Operand& operand);

/// While a function of ours computes with others of ours: what these record stands in the user's line.
class InUsersLine {
public:
    explicit InUsersLine(const Where& where) : InUsersLine(&where, true) {}
    /// While the user's own function is called meanwhile: its operations stand where they stand.
    static InUsersLine left() { return InUsersLine(nullptr, false); }
    ~InUsersLine();
    InUsersLine(const InUsersLine&) = delete;
    InUsersLine& operator=(const InUsersLine&) = delete;

private:
    InUsersLine(const Where* where, bool keeps_outer);
    const Where* outer_;
};
/// Where the user's own call stands that we are in; `where`, if we are in none.
const Where& users_line(const Where& where);
/// The interned place of what is traced next, in the thread's scopes.
SourceRef source_of(const Where& where);
/// JAX's error for a tracer whose value is asked for; `function`: "bool", "float", ...
[[noreturn]] void concretization_error(const Node& n, const char* function, const Where& where);
/// Of an Array without a value.
[[noreturn]] void refuse_none();
/// JAX's error for a tracer whose trace has ended.
[[noreturn]] void leaked(const Node& n);
LiteralRef literal_of(const Operand& number);
/// A number that was made an array because the function takes one: in the trace it is a number again, and a literal where it is read.
Array number_as_given(const Array& a);

/// Throws what JAX does where a constraint of sharded_jit would run outside of one (sharding/constraint.cpp).
void refuse_constraints(const ::jaxscope::Jaxpr& open);

/// Runs a jaxpr without constvars (eager.cpp): structurally equal ones are compiled once.
std::vector<ArrayPtr> run_jaxpr(const JaxprPtr& open, std::span<const ArrayPtr> in);
using ::jaxscope::array_of;
/// The arrays that calls of jitted functions in a jaxpr donate, which is run outside of jit: there these are calls as any others (jit.cpp).
class DonatedArrays {
public:
    /// Before the run. Throws JAX's errors for an array that one call donates twice, and for one that is read behind the call that it was
    /// donated to, which deletes it; warns, once, of donations that can't be used.
    DonatedArrays(const ::jaxscope::Jaxpr& open, const std::vector<Array>& in, const Where& where);
    /// After it: deletes them.
    void consume(const Where& where) const;

private:
    std::vector<Array> arrays_;
};

/// Registers the primitives, once.
void initialise();

}  // namespace jaxscope::jax::detail
