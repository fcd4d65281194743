// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include <algorithm>

#include "ir/partition_rule.h"
#include "ir/registry.h"
#include "ir/types/manual_axes.h"
#include "ir/types/type_mesh.h"

namespace jaxscope {

namespace {

/// Do its operands vary over the same axes of a mesh, and its results with them? Collectives say so themselves, and calls by their bodies.
bool varies_as_operands(const Primitive& prim) {
    if (prim.flow != Flow::Straight || prim.body) return false;
    const auto own = emitted_calls().collectives;
    return std::find(own.begin(), own.end(), &prim) == own.end();
}

/// As jax.lax's functions do in the body of a shard_map: operands that vary over fewer axes than others are made to vary. Gives the axes.
std::vector<Sym> vary_together(Builder& b, Values& in, Avals& avals) {
    std::vector<Sym> all;
    for (const AvalRef a : avals) all = axes_joined(std::move(all), varying_axes(*a));
    for (std::size_t i = 0; i < in.size(); ++i) {
        const AvalRef wanted = with_varying(avals[i], all);
        const std::vector<Sym> added = axes_without(varying_axes(*wanted), varying_axes(*avals[i]));
        if (added.empty()) continue;
        Attrs axes(added.begin(), added.end());
        in[i] = b.emit(*emitted_calls().vary, {in[i]}, Params::make({{"axes", Attr::tuple(std::move(axes))}}), {wanted}).front();
        avals[i] = wanted;
    }
    return all;
}

bool is_explicit(AvalRef a) { return a->sharding.str().starts_with("P("); }

/// What the parameters say of the result's own sharding; null for nothing.
const Attr* given_sharding(const ParamsRef& params) {
    for (const char* name : {"sharding", "out_sharding"})
        if (const Attr* a = params->find(name); a && a->get_record()) return a;
    return nullptr;
}

/// Types that say how a mesh cuts them: a dimension of a result that is one of an operand's is cut as that is. Others aren't said to be.
void keep_specs(const Op& op, Avals& out) {
    Op whole = op;
    whole.out = out;
    if (std::any_of(out.begin(), out.end(), [](AvalRef a) { return !a->is_array(); })) return;
    const PartitionRule rule = op.prim->partition ? op.prim->partition.fn(whole) : PartitionRule();
    std::vector<std::vector<Sym>> names(rule.divides.size());
    for (std::size_t i = 0; i < rule.in.size() && i < op.in.size(); ++i) {
        const auto spec = explicit_spec(*op.in[i]);
        for (std::size_t d = 0; d < rule.in[i].size() && d < spec.size(); ++d)
            if (const int f = rule.in[i][d]; f >= 0 && names[static_cast<std::size_t>(f)].empty())
                names[static_cast<std::size_t>(f)] = spec[d];
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
        std::vector<std::vector<Sym>> spec;
        for (const int f : k < rule.out.size() ? rule.out[k] : std::vector<int>())
            spec.push_back(f >= 0 ? names[static_cast<std::size_t>(f)] : std::vector<Sym>());
        out[k] = with_explicit_spec(out[k], spec);
    }
}

}  // namespace

Values Builder::bind(const Primitive& prim, const Values& given, ParamsRef params) {
    Op op{&prim, std::move(params), {}, {}, source, context};
    op.in.reserve(given.size());
    bool varying = false;
    for (const Value v : given) {
        op.in.push_back(aval(v));
        varying = varying || !op.in.back()->sharding.empty();
    }
    Values in = given;
    std::vector<Sym> axes;
    varying = varying && varies_as_operands(prim);
    if (varying) axes = vary_together(*this, in, op.in);
    if (!prim.abstract_eval)
        throw Error(ErrorCode::NoRule,
                    std::string("expected a rule for the type of '") + prim.name + "', found none: " + prim.abstract_eval.absent)
            .at(source.loc());
    try {
        Avals out = prim.abstract_eval.fn(op);
        const bool says_itself = &prim == emitted_calls().reshard || &prim == emitted_calls().constraint;
        if (varying && !says_itself && std::any_of(op.in.begin(), op.in.end(), is_explicit)) keep_specs(op, out);
        for (AvalRef& a : out)
            if (varying) a = with_varying(a, axes);
        if (types_have_mesh() && out.size() == 1 && prim.flow == Flow::Straight && !says_itself)
            if (const Attr* sharding = given_sharding(op.params)) out.front() = cut_by(out.front(), *sharding);
        return emit(prim, in, std::move(op.params), out);
    } catch (Error& e) {
        e.at(source.loc());
        throw;
    }
}

Value Builder::bind1(const Primitive& prim, const Values& in, ParamsRef params) {
    Values out = bind(prim, in, std::move(params));
    JAXSCOPE_ASSERT(out.size() == 1);
    return out.front();
}

JaxprBuilder::JaxprBuilder() : jaxpr_(std::make_shared<Jaxpr>()) {}

void Value::too_many() {
    throw Error(ErrorCode::LimitExceeded, "expected at most " + std::to_string(kMaxIndex) + " values in one jaxpr, found more");
}

Value JaxprBuilder::add_constvar(AvalRef aval, ArrayPtr value) {
    JAXSCOPE_ASSERT(jaxpr_->num_invars == 0 && jaxpr_->eqns.empty());
    if (value) jaxpr_->consts.push_back(std::move(value));
    ++jaxpr_->num_constvars;
    return Value::known(jaxpr_->add_var(aval).index);
}

Value JaxprBuilder::add_input(AvalRef aval, Sym name) {
    JAXSCOPE_ASSERT(jaxpr_->eqns.empty());
    if (!name.empty()) jaxpr_->arg_names.resize(jaxpr_->num_invars);
    if (!name.empty() || !jaxpr_->arg_names.empty()) jaxpr_->arg_names.push_back(name);
    ++jaxpr_->num_invars;
    return Value::known(jaxpr_->add_var(aval).index);
}

Values JaxprBuilder::add_signature(const Jaxpr& j) {
    Values out;
    for (std::uint32_t i = 0; i < j.num_constvars; ++i)
        out.push_back(add_constvar(j.aval(j.constvar(i)), i < j.consts.size() ? j.consts[i] : nullptr));
    for (std::uint32_t i = 0; i < j.num_invars; ++i)
        out.push_back(add_input(j.aval(j.invar(i)), j.arg_names.empty() ? Sym() : j.arg_names[i]));
    return out;
}

namespace {
/// A rule of transposition needs the value of an operand whose cotangent is asked for. No rule of ours makes such equations: a custom rule
/// does.
[[noreturn]] void refuse_nonlinear() {
    throw Error(ErrorCode::NotDifferentiable,
                "expected a function that is linear in its tangents, found one that needs the value of what it is to be linear in");
}
}  // namespace

AvalRef JaxprBuilder::aval(Value v) const {
    switch (v.kind()) {
        case Value::Kind::Known:
            return jaxpr_->aval(Var{v.index()});
        case Value::Kind::Literal:
            return v.literal()->aval;
        case Value::Kind::HeldLiteral:
            return held_literals_[v.index()]->aval;
        case Value::Kind::Constant:
            return late_consts_[v.index()]->aval;
        case Value::Kind::Mark:
            if (v.is_linear()) refuse_nonlinear();
            break;
        case Value::Kind::Unknown:
            break;
    }
    broken_invariant("a value that this jaxpr knows", __FILE__, __LINE__);
}

/// Where a constant is read until `finish`: no variable of the jaxpr, so that nobody takes it for the first one.
constexpr Var kConstantPlace{0x3fffffff};

void JaxprBuilder::add_atom(std::vector<Atom>& to, Value v) {
    switch (v.kind()) {
        case Value::Kind::Known:
            to.emplace_back(Var{v.index()});
            return;
        case Value::Kind::Literal:
            to.emplace_back(v.literal());
            return;
        case Value::Kind::HeldLiteral:
            to.emplace_back(held_literals_[v.index()]);
            return;
        case Value::Kind::Constant:
            late_uses_.push_back({&to == &jaxpr_->outvars, static_cast<std::uint32_t>(to.size()), v.index()});
            to.emplace_back(kConstantPlace);
            return;
        case Value::Kind::Mark:
            if (v.is_linear()) refuse_nonlinear();
            break;
        case Value::Kind::Unknown:
            break;
    }
    broken_invariant("an operand that this jaxpr knows", __FILE__, __LINE__);
}

Value JaxprBuilder::hold(LiteralRef literal) {
    held_literals_.push_back(literal);
    return Value::held_literal(static_cast<std::uint32_t>(held_literals_.size() - 1));
}

Value JaxprBuilder::constant(ArrayPtr array) {
    // One that the signature holds already stays one, as it does when JAX traces.
    if (const auto known = std::find(jaxpr_->consts.begin(), jaxpr_->consts.end(), array);
        known != jaxpr_->consts.end() && jaxpr_->consts.size() == jaxpr_->num_constvars)
        return Value::known(static_cast<std::uint32_t>(known - jaxpr_->consts.begin()));
    auto [it, fresh] = late_index_.emplace(array.get(), static_cast<std::uint32_t>(late_consts_.size()));
    if (fresh) late_consts_.push_back(std::move(array));
    return Value::constant(it->second);
}

std::optional<LiteralRef> Builder::literal_of(Value v) const { return v.is_literal() ? std::optional(v.literal()) : std::nullopt; }
std::optional<LiteralRef> JaxprBuilder::literal_of(Value v) const {
    return v.kind() == Value::Kind::HeldLiteral ? held_literals_[v.index()] : Builder::literal_of(v);
}
std::optional<Value> Builder::folded_by_rule(const Primitive& prim, const Values& in, const ParamsRef& params, const Avals& out_avals) {
    JAXSCOPE_ASSERT(in.size() == 1);
    return prim.fold.fn(*this, Op{&prim, params, {aval(in[0])}, out_avals, source, context}, in[0]);
}
Values JaxprBuilder::emit(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects) {
    if (const auto value = fold(prim, in, params, out_avals)) return {*value};
    return append(prim, in, prim.restage ? prim.restage.fn(params) : std::move(params), out_avals, effects);
}

Values JaxprBuilder::append(const Primitive& prim, const Values& in, ParamsRef params, const Avals& out_avals, EffectSet effects) {
    Eqn e;
    e.prim = &prim;
    e.params = std::move(params);
    e.in_begin = static_cast<std::uint32_t>(jaxpr_->atoms.size());
    e.n_in = static_cast<std::uint32_t>(in.size());
    e.first_out = jaxpr_->num_vars();
    e.n_out = static_cast<std::uint32_t>(out_avals.size());
    e.source = source;
    e.context = context;
    e.effects = effects;
    for (const Value v : in) add_atom(jaxpr_->atoms, v);
    Values out;
    out.reserve(out_avals.size());
    for (const AvalRef a : out_avals) out.push_back(Value::known(jaxpr_->add_var(a).index));
    jaxpr_->eqns.push_back(std::move(e));
    return out;
}

Values JaxprBuilder::copy(const Jaxpr& from, const Eqn& eqn, const Values& in) {
    source = eqn.source;
    context = eqn.context;
    return emit(*eqn.prim, in, eqn.params, from.out_avals(eqn), eqn.effects);
}

std::size_t JaxprBuilder::num_eqns() const { return jaxpr_->eqns.size(); }

/// Those of the late constants that are read become further constvars, behind those that are there, in the order in which they are first
/// read: JAX makes them then, and keeps no others either.
void JaxprBuilder::hoist_constants() {
    constexpr auto kUnread = UINT32_MAX;
    std::vector<ArrayPtr> late;
    std::vector<std::uint32_t> position(late_consts_.size(), kUnread);
    for (const LateUse& use : late_uses_) {
        if (position[use.constant] != kUnread) continue;
        position[use.constant] = static_cast<std::uint32_t>(late.size());
        late.push_back(late_consts_[use.constant]);
    }
    Jaxpr& j = *jaxpr_;
    const auto n = static_cast<std::uint32_t>(late.size());
    auto out = std::make_shared<Jaxpr>();
    out->num_constvars = j.num_constvars + n;
    out->num_invars = j.num_invars;
    // An open jaxpr's constvars have no values, and those that join them have none either: it is looked at, and never run as it is.
    const bool open = j.consts.size() != j.num_constvars;
    out->consts = std::move(j.consts);
    if (!open) out->consts.insert(out->consts.end(), late.begin(), late.end());
    out->arg_names = std::move(j.arg_names);
    out->reserve_vars(j.num_vars() + n);
    for (std::uint32_t i = 0; i < j.num_constvars; ++i) out->add_var(j.aval(Var{i}));
    for (const ArrayPtr& c : late) out->add_var(c->aval);
    for (std::uint32_t i = j.num_constvars; i < j.num_vars(); ++i) out->add_var(j.aval(Var{i}), j.dropped(Var{i}));
    out->eqns = std::move(j.eqns);
    out->atoms = std::move(j.atoms);
    out->outvars = std::move(j.outvars);
    for (Eqn& e : out->eqns) e.first_out += n;
    for (std::vector<Atom>* atoms : {&out->atoms, &out->outvars})
        for (Atom& a : *atoms)
            if (a.is_var() && a.var().index >= j.num_constvars) a = Var{a.var().index + n};
    for (const LateUse& use : late_uses_)
        (use.result ? out->outvars : out->atoms)[use.position] = Var{j.num_constvars + position[use.constant]};
    jaxpr_ = std::move(out);
}

JaxprPtr JaxprBuilder::finish(const Values& outs, Sym name, bool drop_unused) {
    for (const Value v : outs) add_atom(jaxpr_->outvars, v);
    if (!late_consts_.empty()) hoist_constants();
    if (!jaxpr_->arg_names.empty()) jaxpr_->arg_names.resize(jaxpr_->num_invars);
    jaxpr_->name = name;
    if (drop_unused) {
        std::vector<bool> used(jaxpr_->num_vars(), false);
        for (const Atom a : jaxpr_->atoms)
            if (a.is_var()) used[a.var().index] = true;
        for (const Atom a : jaxpr_->outvars)
            if (a.is_var()) used[a.var().index] = true;
        for (const Eqn& e : jaxpr_->eqns)
            for (std::uint32_t k = 0; k < e.n_out; ++k) jaxpr_->set_dropped(jaxpr_->output(e, k), !used[e.first_out + k]);
    }
    for (const Eqn& e : jaxpr_->eqns) jaxpr_->effects = jaxpr_->effects | e.effects;
    JaxprPtr done = std::move(jaxpr_);
    jaxpr_ = std::make_shared<Jaxpr>();
    late_consts_.clear();
    late_uses_.clear();
    held_literals_.clear();
    late_index_.clear();
    return done;
}

JaxprPtr JaxprBuilder::so_far(const Values& outs) const {
    JaxprBuilder copy(*this);
    copy.jaxpr_ = std::make_shared<Jaxpr>(*jaxpr_);
    return copy.finish(outs);
}

}  // namespace jaxscope
