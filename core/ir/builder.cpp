#include "ir/builder.h"

#include <algorithm>

namespace jaxscope {

Values Builder::bind(const Primitive& prim, const Values& in, ParamsRef params) {
    Op op{&prim, std::move(params), {}, {}, source, context};
    op.in.reserve(in.size());
    for (const Value v : in) op.in.push_back(aval(v));
    if (!prim.abstract_eval)
        throw Error(ErrorCode::NoRule,
                    std::string("expected a rule for the type of '") + prim.name + "', found none: " + prim.abstract_eval.absent)
            .at(source.loc());
    try {
        const Avals out = prim.abstract_eval.fn(op);
        return emit(prim, in, op.params, out);
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

// Until `finish`, values are numbered as they come: constvars and inputs, then results. Late constants (met after the first
// equation) have handles of their own, counted down from the top, and are moved in front when the jaxpr is finished.
namespace {
constexpr std::uint32_t kLateBase = (1u << 30) - 1;
constexpr std::uint32_t kLiteralBase = (1u << 29) - 1;  // handles of literals, counted down likewise
}  // namespace

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

AvalRef JaxprBuilder::aval(Value v) const {
    if (v.is_literal()) return v.literal()->aval;
    JAXSCOPE_ASSERT(v.kind() == Value::Kind::Known);
    if (kLateBase - v.index() < late_consts_.size()) return late_consts_[kLateBase - v.index()]->aval;
    if (kLiteralBase - v.index() < literal_handles_.size()) return literal_handles_[kLiteralBase - v.index()]->aval;
    return jaxpr_->aval(Var{v.index()});
}

Atom JaxprBuilder::atom(Value v) const {
    JAXSCOPE_ASSERT(v.is_literal() || v.kind() == Value::Kind::Known);
    if (v.is_literal()) return v.literal();
    if (kLiteralBase - v.index() < literal_handles_.size()) return literal_handles_[kLiteralBase - v.index()];
    return Var{v.index()};
}

Value JaxprBuilder::literal_handle(LiteralRef literal) {
    literal_handles_.push_back(literal);
    return Value::known(kLiteralBase - static_cast<std::uint32_t>(literal_handles_.size() - 1));
}

Value JaxprBuilder::constant(ArrayPtr array) {
    auto [it, fresh] = late_index_.emplace(array.get(), static_cast<std::uint32_t>(late_consts_.size()));
    if (fresh) late_consts_.push_back(std::move(array));
    return Value::known(kLateBase - it->second);
}

std::optional<LiteralRef> Builder::literal_of(Value v) const { return v.is_literal() ? std::optional(v.literal()) : std::nullopt; }
std::optional<Value> Builder::fold(const Primitive& prim, const Values& in, const ParamsRef& params, const Avals& out_avals) {
    if (!prim.fold) return std::nullopt;
    JAXSCOPE_ASSERT(in.size() == 1);
    return prim.fold.fn(*this, Op{&prim, params, {aval(in[0])}, out_avals, source, context}, in[0]);
}
std::optional<LiteralRef> JaxprBuilder::literal_of(Value v) const {
    if (v.kind() == Value::Kind::Known && kLiteralBase - v.index() < literal_handles_.size())
        return literal_handles_[kLiteralBase - v.index()];
    return Builder::literal_of(v);
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
    for (const Value v : in) jaxpr_->atoms.push_back(atom(v));
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

namespace {

/// The same jaxpr with those of `all` that it reads as further constvars, behind those it has: JAX keeps no others either.
std::shared_ptr<Jaxpr> with_constvars(const Jaxpr& j, const std::vector<ArrayPtr>& all) {
    std::vector<bool> used(all.size(), false);
    for (const std::vector<Atom>* atoms : {&j.atoms, &j.outvars})
        for (const Atom a : *atoms)
            if (a.is_var() && kLateBase - a.var().index < all.size()) used[kLateBase - a.var().index] = true;
    std::vector<ArrayPtr> late;
    std::vector<std::uint32_t> position(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        position[i] = static_cast<std::uint32_t>(late.size());
        if (used[i]) late.push_back(all[i]);
    }
    const auto n = static_cast<std::uint32_t>(late.size());
    auto out = std::make_shared<Jaxpr>();
    out->num_constvars = j.num_constvars + n;
    out->num_invars = j.num_invars;
    out->consts = j.consts;
    out->arg_names = j.arg_names;
    out->reserve(j.eqns.size());
    const auto moved = [&](Atom a) {
        if (a.is_literal()) return a;
        const std::uint32_t i = a.var().index;
        if (kLateBase - i < all.size()) return Atom(Var{j.num_constvars + position[kLateBase - i]});
        return Atom(Var{i < j.num_constvars ? i : i + n});
    };
    for (std::uint32_t i = 0; i < j.num_constvars; ++i) out->add_var(j.aval(Var{i}));
    for (const ArrayPtr& c : late) out->add_var(c->aval);
    for (std::uint32_t i = j.num_constvars; i < j.num_vars(); ++i) out->add_var(j.aval(Var{i}), j.dropped(Var{i}));
    out->consts.insert(out->consts.end(), late.begin(), late.end());
    for (const Atom a : j.atoms) out->atoms.push_back(moved(a));
    for (const Atom a : j.outvars) out->outvars.push_back(moved(a));
    out->eqns = j.eqns;
    for (Eqn& e : out->eqns) e.first_out += n;
    return out;
}

}  // namespace

JaxprPtr JaxprBuilder::finish(const Values& outs, Sym name, bool drop_unused) {
    for (const Value v : outs) jaxpr_->outvars.push_back(atom(v));
    // An open jaxpr's constvars have no values, so late constants can't join them: they get none either way round.
    if (!late_consts_.empty()) {
        JAXSCOPE_ASSERT(jaxpr_->consts.size() == jaxpr_->num_constvars);
        jaxpr_ = with_constvars(*jaxpr_, late_consts_);
    }
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
    literal_handles_.clear();
    late_consts_.clear();
    late_index_.clear();
    return done;
}

Values inline_jaxpr(JaxprBuilder& b, const Jaxpr& j, const Values& consts, const Values& in, bool as_they_are) {
    JAXSCOPE_ASSERT(consts.size() == j.num_constvars && in.size() == j.num_invars);
    Values env(j.num_vars());
    std::copy(consts.begin(), consts.end(), env.begin());
    std::copy(in.begin(), in.end(), env.begin() + j.num_constvars);
    const auto read = [&](Atom a) { return a.is_literal() ? Value(a.literal()) : env[a.var().index]; };
    const SourceRef source = b.source;
    SourcesWithin place(source->name_stack);
    const ContextRef context = b.context;
    Values args;
    for (const Eqn& e : j.eqns) {
        args.clear();
        for (const Atom a : j.inputs(e)) args.push_back(read(a));
        b.source = place(e.source);
        b.context = e.context;
        const Values out = as_they_are ? b.append(*e.prim, args, e.params, j.out_avals(e), e.effects)
                                       : b.emit(*e.prim, args, e.params, j.out_avals(e), e.effects);
        std::copy(out.begin(), out.end(), env.begin() + e.first_out);
    }
    b.source = source;
    b.context = context;
    Values outs;
    for (const Atom a : j.outvars) outs.push_back(read(a));
    return outs;
}

}  // namespace jaxscope
