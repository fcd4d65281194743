// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

#include <fmt/core.h>

#include <jaxscope/checkpoint.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/error.h"
#include "ir/registry.h"
#include "trace/refusals.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax {

namespace detail {

namespace {

thread_local Trace* t_current = nullptr;
/// What waits while ensure_compile_time_eval lives: operations on its tracers are still recorded there.
thread_local Trace* t_waiting = nullptr;
thread_local NameStack t_scopes;
std::atomic<std::uint64_t> g_serial{1};

/// The last traces of this thread that ended: a value that outlived one is told by it.
struct Ended {
    std::uint64_t serial = 0;
    const char* what = "";
    std::string function;
};
thread_local std::array<Ended, 256> t_ended;

}  // namespace

void leaked(const Node& n) {
    if (n.trace == Node::kAbstract)
        throw Error(ErrorCode::BadUsage,
                    "expected an array, found a ShapeDtypeStruct of type " + long_aval(n.aval) + ", which has no elements");
    std::string text = fmt::format(
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a reference to an "
        "intermediate value with type {} wrapped in a tracer to escape the scope of the transformation.",
        long_aval(n.aval));
    if (const Ended& t = t_ended[n.trace % t_ended.size()]; t.serial == n.trace)
        text += fmt::format(" The function being traced when the value leaked was {} traced for {}.", t.function, t.what);
    text += n.where.line > 0 ? fmt::format(" The leaked value was created on line {}:{} ({})", n.where.file, n.where.line, n.where.function)
                             : std::string(" The leaked value is an argument of the function");
    throw Error(ErrorCode::BadUsage, text).advise("return the value from the transformed function instead of keeping it elsewhere");
}

void initialise() { register_all_primitives(); }

JaxprPtr Traced::open() const { return consts.empty() ? jaxpr : convert_constvars(jaxpr); }
bool Traced::captures_tracers() const {
    for (const Array& a : consts)
        if (a.is_tracer()) return true;
    return false;
}

const NameStack& current_scopes() { return t_scopes; }

Trace* Trace::current() { return t_current; }
Trace* Trace::find(std::uint64_t serial) {
    for (Trace* t = t_current; t; t = t->outer_)
        if (t->serial_ == serial) return t;
    return nullptr;
}

Trace::Trace(const char* what, std::string function)
    : what_(what),
      function_(std::move(function)),
      serial_(g_serial.fetch_add(1)),
      outer_(t_current ? t_current : t_waiting),
      waits_(t_current == nullptr) {
    initialise();
    t_current = this;
    t_waiting = nullptr;
}
Trace::~Trace() {
    t_ended[serial_ % t_ended.size()] = {serial_, what_, std::move(function_)};
    t_current = waits_ ? nullptr : outer_;
    t_waiting = waits_ ? outer_ : nullptr;
}

Trace* Trace::waiting_for(const Node& n) {
    if (t_current || !n.is_tracer() || n.value.is_literal()) return nullptr;
    for (Trace* t = t_waiting; t; t = t->outer_)
        if (t->serial_ == n.trace) return t;
    return nullptr;
}
namespace {
/// Of two, either of which may be none.
Trace* inner(Trace* a, Trace* b) { return !a || (b && b->serial() > a->serial()) ? b : a; }
}  // namespace
Trace* Trace::waiting_for(const std::vector<Array>& values) {
    Trace* t = nullptr;
    if (any_waits())
        for (const Array& a : values)
            if (a.has_value()) t = inner(t, waiting_for(*a.node()));
    return t;
}
Trace* Trace::waiting_for(std::span<const Operand> operands) {
    Trace* t = nullptr;
    if (any_waits())
        for (const Operand& x : operands)
            if (x.kind == Operand::Kind::array && x.node) t = inner(t, waiting_for(*x.node));
    return t;
}
bool Trace::any_waits() { return t_waiting != nullptr; }
Trace::Resumed::Resumed(Trace* t) : resumed_(t), waiting_(t_waiting) {
    if (t) t_current = t, t_waiting = nullptr;
}
Trace::Resumed::~Resumed() {
    if (resumed_) t_current = nullptr, t_waiting = waiting_;
}

Sym Trace::name_of_input(std::size_t i) {
    if (later_names_) input_names_ = std::exchange(later_names_, nullptr)();
    return input_names_.at(i);
}

Array Trace::input(AvalRef aval, Sym name) {
    input_names_.push_back(name);
    return wrap(builder_.add_input(aval, name), Where("", 0, ""));
}

std::vector<std::size_t> Trace::inputs_of(Value v) {
    const ::jaxscope::Jaxpr& j = builder_.jaxpr();
    std::vector<bool> needed(j.num_vars());
    if (v.kind() != Value::Kind::Known || v.index() >= needed.size()) return {};
    needed[v.index()] = true;
    for (auto e = j.eqns.rbegin(); e != j.eqns.rend(); ++e) {
        bool makes = false;
        for (std::uint32_t k = 0; k < e->n_out; ++k) makes = makes || needed[e->first_out + k];
        if (!makes) continue;
        for (const Atom a : j.inputs(*e))
            if (!a.is_literal() && a.var().index < needed.size()) needed[a.var().index] = true;
    }
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < j.num_invars; ++i)
        if (needed[j.num_constvars + i]) out.push_back(i);
    return out;
}

const Node* Trace::recorded(const Operand& x) const {
    const bool here = x.kind == Operand::Kind::array && x.node && x.node->trace == serial_ && x.node->begin != x.node->end;
    return here ? x.node : nullptr;
}

std::uint32_t Trace::begin_of(const Node& n, const Where& where) const {
    // What a function of ours computed on the way to its result has a name there, and the same place.
    const bool same_place = n.trace == serial_ && n.begin != n.end && n.where.line == where.line && n.where.file == where.file;
    return same_place ? n.begin : position();
}

std::uint32_t Trace::evaluate_in_order(std::span<const Operand> in, const Where& where) {
    std::uint32_t begin = position(), last = 0;
    bool in_order = true;
    for (const Operand& x : in) {
        const Node* n = recorded(x);
        if (!n) continue;
        begin = std::min(begin, x.temporary ? n->begin : begin_of(*n, where));
        if (!x.temporary) continue;
        in_order = in_order && n->end > last;
        last = n->end;
    }
    if (!in_order) put_in_order(in);
    return begin;
}

void Trace::put_in_order(std::span<const Operand> in) {
    std::vector<EvaluationOrder::Part> parts;
    std::vector<std::size_t> operand;
    // Evaluated from the last to the first: each part begins where the one before it ended.
    for (std::size_t i = in.size(); i-- > 0;) {
        const Node* n = in[i].temporary ? recorded(in[i]) : nullptr;
        if (!n) continue;
        if (!parts.empty() && n->end <= parts.back().end) return;  // neither that order nor its reverse, or one value twice
        parts.push_back({parts.empty() ? n->begin : parts.back().end, n->end});
        operand.push_back(i);
    }
    if (parts.back().end == position()) order_.arrange(builder_.jaxpr(), std::move(parts), operand);
}

Array Trace::wrap(Value v, const Where& where, std::uint32_t begin) {
    auto* n = new Node;
    n->begin = begin;
    n->end = position();
    n->aval = builder_.aval(v);
    n->trace = serial_;
    n->value = v;
    n->where = where;
    return Array::adopt(n);
}

void Trace::take(const Array& a) { taken_.push_back(a); }
bool Trace::was_taken(const Node& n) const {
    const auto same = [&](const Array& a) {
        const Node& t = *a.node();
        return &t == &n || (n.is_tracer() && !n.value.is_literal() && t.trace == n.trace && t.value == n.value);
    };
    for (const Trace* t = this; t; t = t->outer_)
        if (std::any_of(t->taken_.begin(), t->taken_.end(), same)) return true;
    return false;
}

Value Trace::lift(const Node& n) {
    if (was_taken(n)) refuse_deleted(n);
    return lifted(n);
}
Value Trace::lifted(const Node& n) {
    if (n.trace == serial_) return n.value;
    if (n.deleted() && eager()) refuse_deleted(n);
    if (n.value.is_literal()) return n.value;
    if (n.array) {
        constant_of_.try_emplace(n.array.get(), Array::of(&n));
        return builder_.constant(n.array);
    }
    // As in JAX only what runs the program asks for the elements of a deleted array.
    if (!n.deleted() && !find(n.trace)) leaked(n);
    const auto [at, fresh] = lifted_.try_emplace(&n, Value());
    if (fresh) {
        auto stand_in = std::make_shared<ArrayConst>();
        stand_in->aval = n.aval;
        constant_of_.emplace(stand_in.get(), Array::of(&n));
        at->second = builder_.constant(stand_in);
    }
    return at->second;
}

Value Trace::kept_number(const Builder& b, Value v, bool converted) {
    // A weak number beside a weak value of its kind needs no conversion, and stays one.
    if (!keeps_numbers() || !v.is_literal() || (v.literal()->aval->weak_type && !converted) || &b != &builder_) return v;
    const Array number = concrete(array_of(v.literal()));
    for (Trace* t = this; t; t = t->keeps_numbers_ ? nullptr : t->outer_) t->numbers_.push_back(number);
    return lift(*number.node());
}
Value kept_factor(const Builder& b, Value number, bool converted) {
    return t_current ? t_current->kept_number(b, number, converted) : number;
}
std::vector<bool> Trace::kept_numbers(const Traced& t) const {
    std::vector<bool> out;
    for (const Array& c : t.consts)
        out.push_back(std::any_of(numbers_.begin(), numbers_.end(), [&](const Array& n) { return n.node() == c.node(); }));
    return out;
}

Traced Trace::finish(const std::vector<Array>& outs) {
    Values values;
    for (const Array& a : outs) {
        if (!a.has_value())
            throw Error(ErrorCode::BadUsage, "expected arrays as results of the traced function, found an Array without a value");
        values.push_back(lifted(*a.node()));  // one that was taken may be given back
    }
    Traced t;
    const JaxprPtr made = order_.applied(builder_.finish(values, Sym(function_)));
    for (const ArrayPtr& c : made->consts) {
        const auto known = constant_of_.find(c.get());
        t.consts.push_back(known == constant_of_.end() ? concrete(c) : known->second);  // else one that a rule made
    }
    t.jaxpr = made;
    if (t.captures_tracers()) {
        auto open = std::make_shared<::jaxscope::Jaxpr>(*made);
        open->consts.clear();
        t.jaxpr = std::move(open);
    }
    return t;
}

void belongs_to(const Array& out, const Operand& x) {
    if (!x.temporary || x.kind != Operand::Kind::array || !x.node || x.node->begin == x.node->end) return;
    auto* n = const_cast<Node*>(out.node());
    if (n && n->trace == x.node->trace) n->begin = std::min(n->begin, x.node->begin);
}

}  // namespace detail

// What scopes there are is the thread's: the outer ones come back when a scope ends.
namespace {
thread_local std::vector<NameStack> t_outer_scopes;
}
named_scope::named_scope(const char* name) {
    t_outer_scopes.push_back(detail::t_scopes);
    detail::t_scopes = detail::t_scopes.scope(name);
}
named_scope::~named_scope() {
    detail::t_scopes = t_outer_scopes.back();
    t_outer_scopes.pop_back();
}

ensure_compile_time_eval::ensure_compile_time_eval() : trace_(std::exchange(detail::t_current, nullptr)) {
    if (trace_) detail::t_waiting = static_cast<detail::Trace*>(trace_);
}
ensure_compile_time_eval::~ensure_compile_time_eval() {
    if (!trace_) return;
    detail::t_current = static_cast<detail::Trace*>(trace_);
    detail::t_waiting = nullptr;
}

}  // namespace jaxscope::jax
