// SPDX-License-Identifier: Apache-2.0
#include "transforms/split_builder.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ir/interpret.h"
#include "ir/registry.h"
#include "ir/transform_cache.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/shapes/slicing.h"
#include "transforms/contexts.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

SplitBuilder::SplitBuilder(JaxprBuilder& known, bool outermost, bool by_data)
    : known_(known), half_(*this), outermost_(outermost), by_data_(by_data) {}

Value SplitBuilder::add_unknown_input(AvalRef aval) {
    inputs_.push_back(tape_.add_var(aval));
    return Value::unknown(inputs_.back());
}

JaxprBuilder& SplitBuilder::primal() {
    known_.source = source;
    known_.context = context;
    return known_;
}

Builder& SplitBuilder::tangent() {
    half_.source = source;
    half_.context = context;
    return half_;
}

Values SplitBuilder::emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects) {
    bool known = true;
    for (const Value v : in) {
        JAXSCOPE_ASSERT(v.kind() != Value::Kind::Mark);
        known = known && !v.is_unknown();
    }
    if (const auto value = fold(prim, in, params, out_avals)) return {*value};
    // JAX's partial evaluation splits a jit even where all is known, so that its body is traced again, and a checkpoint, whose known half
    // is evaluated in place.
    const Primitive& jit = *emitted_calls().jit;
    const bool split_anyway = (by_data_ || in_rule_) && (&prim == &jit || prim.flow == Flow::Remat) && !in.empty();
    if (known && !split_anyway) return primal().emit(prim, in, std::move(params), out_avals, effects);
    if (!prim.partial_eval) return tangent().emit(prim, in, std::move(params), out_avals, effects);
    Op op{&prim, std::move(params), {}, out_avals, source, context};
    op.in.reserve(in.size());
    for (const Value v : in) op.in.push_back(aval(v));
    return prim.partial_eval.fn(*this, op, in);
}

AvalRef SplitBuilder::aval(Value v) const { return v.is_unknown() ? tape_.aval(v.index()) : known_.aval(v); }
Value SplitBuilder::constant(ArrayPtr array) { return known_.constant(std::move(array)); }

Atom SplitBuilder::lift(Value v) {
    if (v.is_literal()) return Atom(v.literal());
    if (v.is_unknown()) return Atom(Var{v.index()});
    auto [it, fresh] = residual_var_.emplace(v.raw(), 0);
    if (fresh) {
        it->second = tape_.add_var(known_.aval(v));
        residuals_.emplace_back(it->second, v);
    }
    return Atom(Var{it->second});
}

Values SplitBuilder::Half::emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects) {
    if (const auto value = fold(prim, in, params, out_avals)) return {*value};
    SplitBuilder& o = owner_;
    o.scratch_.clear();
    o.scratch_outs_.clear();
    for (const Value v : in) o.scratch_.push_back(o.lift(v));
    Values out;
    for (const AvalRef a : out_avals) {
        o.scratch_outs_.push_back(o.tape_.add_var(a));
        out.push_back(Value::unknown(o.scratch_outs_.back()));
    }
    o.times_.push_back(o.time_);
    o.tape_.add(prim, prim.restage ? prim.restage.fn(params) : std::move(params), o.scratch_, o.scratch_outs_, source, context, effects);
    return out;
}

void SplitBuilder::hold(Value v, std::uint32_t until) {
    if (!v.is_unknown()) return;
    std::uint32_t& held = until_[v.index()];
    held = std::max(held, until);
}

void SplitBuilder::order_residuals() {
    struct Reading {
        std::size_t first = 0;    ///< position among all readings, of those that follow one another without a gap
        std::uint32_t until = 0;  ///< how long what read it is held
    };
    std::unordered_map<std::uint32_t, Reading> readings;
    for (const auto& [var, value] : residuals_) readings.emplace(var, Reading());
    std::vector<std::uint32_t> until(tape_.num_vars(), 0);
    for (const auto& [var, time] : until_) until[var] = time;
    tape_.hold_operands(until);
    std::size_t position = 1;
    for (std::size_t i = 0; i < tape_.entries().size(); ++i) {
        const EqnTape::Entry& e = tape_.entries()[i];
        std::uint32_t held = times_[i];
        for (const std::uint32_t v : tape_.outputs(e)) held = std::max(held, until[v]);
        for (const Atom a : tape_.inputs(e)) {
            const auto found = a.is_var() ? readings.find(a.var().index) : readings.end();
            if (found == readings.end()) continue;
            Reading& r = found->second;
            if (r.first == 0 || times_[i] > r.until) r.first = position;
            r.until = std::max(r.until, held);
            ++position;
        }
    }
    const auto place = [&](const auto& residual) {
        const Reading& r = readings.at(residual.first);
        return r.first == 0 ? SIZE_MAX : r.first;
    };
    std::stable_sort(residuals_.begin(), residuals_.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

SplitBuilder::Unknown SplitBuilder::finish_unknown(const Values& outs, bool deep, Sym name) {
    EqnTape::Signature s;
    s.name = name;
    for (const Value v : outs) s.outvars.push_back(lift(v));
    const EqnTape::Reachable needed = tape_.reachable(s.outvars);
    Unknown out;
    const auto take = [&](std::uint32_t var, Value value) {
        s.invars.push_back(var);
        out.residuals.push_back(value);
    };
    if (by_data_) {
        const std::unordered_map<std::uint32_t, Value> value_of(residuals_.begin(), residuals_.end());
        for (const std::uint32_t var : tape_.constants_in_jax_order(inputs_, s.outvars)) take(var, value_of.at(var));
    } else {
        if (!until_.empty()) order_residuals();
        for (const auto& [var, value] : residuals_)
            if (needed.vars[var]) take(var, value);
    }
    s.invars.insert(s.invars.end(), inputs_.begin(), inputs_.end());
    out.jaxpr = tape_.assemble(s, EqnTape::Order::Forward, needed.eqns, !deep);
    if (!deep) return out;
    std::vector<bool> instantiate(s.invars.size(), true);
    std::fill_n(instantiate.begin(), out.residuals.size(), false);
    DceJaxpr dce = dce_jaxpr(out.jaxpr, std::vector<bool>(outs.size(), true), instantiate);
    out.jaxpr = std::move(dce.jaxpr);
    dce.used_inputs.resize(out.residuals.size());
    out.residuals = select(out.residuals, dce.used_inputs);
    return out;
}

Value SplitBuilder::folded(LiteralRef literal) {
    // In the outermost function such a residual would be a row "from a literal", which nobody wants to see who didn't ask for it.
    return outermost_ && numbers_held_ == Numbers::None ? Value(literal) : known_.hold(literal);
}

namespace {

/// A mean divides by its own number, which stays one where the numbers of the user's Python are values (SplitBuilder::held).
bool divides_by_count(const Jaxpr& j, const Eqn& e, std::size_t index) {
    if (e.prim != &kDiv || !j.inputs(e)[1].is_literal() || !j.inputs(e)[0].is_var()) return false;
    const std::uint32_t sum = j.inputs(e)[0].var().index;
    while (index > 0 && sum < j.eqns[index - 1].first_out) --index;
    if (index == 0 || sum >= j.eqns[index - 1].first_out + j.eqns[index - 1].n_out) return false;
    const Eqn& made = j.eqns[index - 1];
    if (made.prim != &kReduceSum || j.aval(Var{sum})->size() == 0) return false;
    const std::int64_t summed = j.in_avals(made)[0]->size() / j.aval(Var{sum})->size();
    return j.inputs(e)[1].literal()->real == static_cast<double>(summed);
}

bool of_transform(const Eqn& e) {
    const std::vector<NameStack::Entry> stack = e.source->name_stack.entries();
    return std::any_of(stack.begin(), stack.end(), [](const NameStack::Entry& s) { return s.transform; });
}

/// Where the user differentiates inside of the body: the rule of a primitive brought the number along (the 2 of x**2's derivative), as what
/// the user's line makes first doesn't have it. Such numbers are no values in JAX.
bool number_of_rule(const Jaxpr& j, const Eqn& e, LiteralRef number) {
    if (!of_transform(e)) return false;
    const Eqn& first =
        *std::find_if(j.eqns.begin(), j.eqns.end(), [&](const Eqn& o) { return o.source->traceback == e.source->traceback; });
    const auto reads = [&](Atom a) { return a.is_literal() && a.literal() == number; };
    return std::none_of(j.inputs(first).begin(), j.inputs(first).end(), reads);
}

}  // namespace

Values SplitBuilder::held(const Jaxpr& j, std::size_t index, const Values& in) {
    const Eqn& e = j.eqns[index];
    Values out = in;
    if (!outermost_ || numbers_held_ != Numbers::All || divides_by_count(j, e, index)) return out;
    for (Value& v : out) {
        if (!v.is_literal() || v.literal()->aval->weak_type || number_of_rule(j, e, v.literal())) continue;
        // A derivative inside of the body reads the number that the line itself reads.
        Value& number = numbers_.try_emplace({e.source->traceback.id(), v.literal().id()}, v).first->second;
        if (number.is_literal() || !of_transform(e)) number = known_.hold(v.literal());
        v = number;
    }
    return out;
}

namespace {

/// A conversion of what turns out to be a number: JAX folds it, here and now.
std::optional<Value> folded_conversion(Builder& b, const Eqn& e, const Values& in, const Jaxpr& j) {
    if (in.size() != 1 || !in[0].is_literal() || e.prim != &kConvertElementType) return {};
    const Aval& to = *j.aval(j.output(e, 0));
    if (!to.is_array() || to.rank() != 0 || !b.aval(in[0])->is_array()) return {};
    return lax::convert_element_type(b, in[0], to.dtype, to.weak_type);
}

template <class Place, class Traced>
Values evaluate(Builder& b, const Jaxpr& j, const Values& in, Place place, Traced traced, bool evaluates = false) {
    Interpreter run(j, {.builder = &b, .evaluates = evaluates}, LiteralAsValue(), Value());
    run.bind_consts(constants_of(b, j));
    run.bind_inputs(in);
    return run.forward([&](const Eqn& e, const Values& args) {
        b.source = place(e.source);
        if (const auto number = folded_conversion(b, e, args, j)) return Values{*number};
        const EvaluatedEqn now = traced(e, args, run.index());
        return b.emit(*e.prim, now.in, now.params, j.out_avals(e), e.effects);
    });
}

/// A custom call inside a rule: JAX runs the rule anew and traces the call's body anew, so each use of the rule has a body of its own.
ParamsRef with_own_body(const ParamsRef& params) {
    const auto is_rule = [](const Params::Entry& p) { return p.second.get<Attr::Rule>() != nullptr; };
    const std::span<const Params::Entry> entries = params->entries();
    if (std::none_of(entries.begin(), entries.end(), is_rule)) return params;
    std::vector<Params::Entry> own(entries.begin(), entries.end());
    for (auto& [name, value] : own)
        if (const auto* body = value.get<Attr::JaxprRef>())
            value = Attr(Attr::JaxprRef{std::make_shared<const Jaxpr>(*body->jaxpr), body->closed});
    return Params::make(std::move(own));
}

}  // namespace

Values eval_jaxpr(Builder& b, const Jaxpr& j, const Values& in) {
    return evaluate(
        b, j, in, SourcesWithin(b.source->name_stack), [&b](const Eqn& e, const Values& x, std::size_t) { return evaluated(b, e, x); },
        true);
}
Values eval_function(Builder& b, const Jaxpr& j, const Values& in) {
    return evaluate(b, j, in, SourcesWithin(b.source->name_stack), [](const Eqn& e, const Values& x, std::size_t) {
        return EvaluatedEqn{e.params, x};
    });
}
Values eval_rule(Builder& b, const JaxprPtr& j, const Values& in, SourceRef caller, bool keep_places) {
    const auto place = [caller, keep_places, within = SourcesWithin(caller->name_stack)](SourceRef s) mutable {
        const SourceRef inside = within(s);
        if (s->own_place || (keep_places && !s->frames().empty())) return inside;
        return SourceRef(Source{caller->traceback, inside->name_stack});
    };
    auto* split = dynamic_cast<SplitBuilder*>(&b);
    if (split && !split->in_rule()) split = nullptr;
    return evaluate(b, *in_context(j, b.context), in, place, [&](const Eqn& e, const Values& x, std::size_t index) {
        const bool made_here = EvaluatingScope::now() && !e.source->own_place;
        const bool linear = split && std::any_of(x.begin(), x.end(), [](Value v) { return v.is_unknown(); });
        return EvaluatedEqn{made_here ? scatter_anew(*e.prim, with_own_body(e.params)) : with_own_body(e.params),
                            linear ? split->held(*j, index, x) : x};
    });
}

}  // namespace jaxscope
