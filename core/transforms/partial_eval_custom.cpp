// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/interpret.h"
#include "ir/transform_cache.h"
#include "lax/primitives.h"
#include "transforms/eqn_tape.h"
#include "transforms/jaxpr_util.h"
#include "transforms/partial_eval.h"

namespace jaxscope {

namespace {

/// One walk of JAX's _partial_eval_jaxpr_custom_cached. Variables of the jaxpr keep their numbers in both tapes; those that rules and
/// offloading make are added behind them, the same in both.
class PolicySplit {
public:
    PolicySplit(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& inst_in, const PolicyQuery& policy)
        : j_(*j), unknown_in_(unknown_in), inst_in_(inst_in), policy_(policy) {
        known_.add_vars_of(j_);
        staged_.add_vars_of(j_);
        unknown_.resize(j_.num_vars());
        inst_.resize(j_.num_vars());
        is_residual_.resize(j_.num_vars());
        for (std::uint32_t i = 0; i < j_.num_constvars; ++i) write(i, false, true);
        for (std::uint32_t i = 0; i < j_.num_invars; ++i) write(j_.invar(i).index, unknown_in[i], inst_in[i]);
    }

    CustomPartialEval run(const std::vector<bool>& ensure_out_unknown, const std::vector<bool>& ensure_out_inst) {
        EqnWalk(j_, {.doing = "partial evaluation of"}).forward([&](const Eqn& e) { visit(e); });
        CustomPartialEval out;
        for (std::size_t k = 0; k < j_.outvars.size(); ++k) {
            const Atom a = j_.outvars[k];
            if (ensure_out_inst[k]) ensure_instantiated(a);
            const bool lit = a.is_literal();
            out.unknown_out.push_back((!lit && unknown_[a.var().index]) || ensure_out_unknown[k]);
            out.inst_out.push_back(lit || inst_[a.var().index] || ensure_out_inst[k]);
        }
        out.num_residuals = static_cast<int>(residuals_.size());
        out.known = known_half(out.unknown_out);
        out.staged = staged_half(out.inst_out);
        return out;
    }

private:
    void write(std::uint32_t v, bool unknown, bool inst) {
        JAXSCOPE_ASSERT(!unknown || inst);
        unknown_[v] = unknown;
        inst_[v] = inst;
    }
    std::uint32_t new_var(AvalRef aval) {
        const std::uint32_t v = known_.add_var(aval);
        JAXSCOPE_ASSERT(staged_.add_var(aval) == v);
        unknown_.push_back(false);
        inst_.push_back(false);
        is_residual_.push_back(false);
        return v;
    }
    void add_residual(std::uint32_t v) {
        if (is_residual_[v]) return;
        is_residual_[v] = true;
        residuals_.push_back(v);
    }
    void ensure_instantiated(Atom a) {
        if (a.is_var() && !inst_[a.var().index]) add_residual(a.var().index);
    }

    void visit(const Eqn& e) {
        if (e.prim->partial_eval_custom) return visit_call(e);
        bool any_unknown = false;
        for (const Atom a : j_.inputs(e)) any_unknown = any_unknown || (a.is_var() && unknown_[a.var().index]);
        if (any_unknown) return stage(e, true);
        known_.add(j_, e);
        // Effects happen once, in the known half, whatever the policy says.
        const PolicyVerdict verdict = policy_(*e.prim, j_.in_avals(e), e.params);
        if (!e.effects.filter_not_in(&EffectTraits::partial_eval_pure).empty() || verdict.kind == PolicyVerdict::Kind::Save)
            for (std::uint32_t k = 0; k < e.n_out; ++k) write(e.first_out + k, false, false);
        else if (verdict.kind == PolicyVerdict::Kind::Offload)
            offload(e, verdict);
        else
            stage(e, false);
    }

    void stage(const Eqn& e, bool unknown) {
        for (const Atom a : j_.inputs(e)) ensure_instantiated(a);
        staged_.add(j_, e);
        for (std::uint32_t k = 0; k < e.n_out; ++k) write(e.first_out + k, unknown, true);
    }

    static MemorySpace space_of(Sym kind) {
        if (kind == Sym("device")) return MemorySpace::Device;
        if (kind == Sym("pinned_host") || kind == Sym("unpinned_host")) return MemorySpace::Host;
        throw Error(ErrorCode::BadUsage, "Unknown memory kind " + kind.str());
    }
    static ParamsRef device_put_params(MemorySpace to, std::uint32_t n) {
        const Attr space = Attr::Enum{"MemorySpace", to == MemorySpace::Host ? "Host" : "Device"};
        return Params::make({{"copy_semantics", Attr::tuple({Attr(Attr::Enum{"ArrayCopySemantics", "ALWAYS_COPY"})})},
                             {"devices", Attr::tuple(Attrs(n, space))},
                             {"srcs", Attr::tuple({Attr()})}});
    }

    /// The result is put away by the known half and fetched by the staged one; what crosses lies in the other memory.
    void offload(const Eqn& e, const PolicyVerdict& verdict) {
        const MemorySpace to = space_of(verdict.dst), from = space_of(verdict.src);
        std::vector<Atom> here, there;
        std::vector<std::uint32_t> here_vars, there_vars;
        for (std::uint32_t k = 0; k < e.n_out; ++k) {
            const Var v{e.first_out + k};
            Aval moved = *j_.aval(v);
            // JAX asserts it: `offload_src` is where the value is, which `offload_dst` takes it away from.
            if (moved.space != from)
                throw Error(ErrorCode::BadUsage, "expected what the policy puts away to lie in its offload_src '" + verdict.src.str() +
                                                     "', found " + to_text(j_.aval(v)) + " in " +
                                                     (moved.space == MemorySpace::Host ? "host" : "device") + " memory")
                    .at(e.source.loc())
                    .advise("offload_src is where values are computed: offload_dot_with_no_batch_dims(\"device\", \"pinned_host\")");
            moved.space = to;
            const std::uint32_t r = new_var(moved);
            here.emplace_back(v);
            here_vars.push_back(v.index);
            there.emplace_back(Var{r});
            there_vars.push_back(r);
        }
        // They stand where the checkpointed function was called; for a program's outermost call that is nowhere, and residual lists show
        // "output of device_put from ".
        known_.add(kDevicePut, device_put_params(to, e.n_out), here, there_vars, policy_.source, e.context);
        staged_.add(kDevicePut, device_put_params(from, e.n_out), there, here_vars, policy_.source, e.context);
        for (const std::uint32_t r : there_vars) {
            write(r, false, true);
            add_residual(r);
        }
        for (const std::uint32_t v : here_vars) write(v, false, true);
    }

    void visit_call(const Eqn& e) {
        const Op op = make_op(j_, e);
        PartialEvalCustomArgs args{op, j_, e, {}, {}, policy_};
        const std::span<const Atom> in = j_.inputs(e);
        for (const Atom a : in) {
            args.unknown_in.push_back(a.is_var() && unknown_[a.var().index]);
            args.inst_in.push_back(a.is_literal() || inst_[a.var().index]);
        }
        const PartialEvalCustomResult r = e.prim->partial_eval_custom.fn(args);
        std::vector<std::uint32_t> fresh;
        for (const AvalRef a : r.residuals) fresh.push_back(new_var(a));
        if (r.known) add_half(known_, *r.known, e, fresh, false);
        for (const std::size_t i : r.residual_inputs) ensure_instantiated(in[i]);
        if (r.staged) add_half(staged_, *r.staged, e, fresh, true);
        for (std::uint32_t k = 0; k < e.n_out; ++k) write(e.first_out + k, r.unknown_out[k], r.inst_out[k]);
    }

    void add_half(EqnTape& tape, const HalfEqn& half, const Eqn& e, const std::vector<std::uint32_t>& fresh, bool staged) {
        std::vector<Atom> in;
        std::vector<std::uint32_t> out;
        for (const HalfInput i : half.inputs) {
            switch (i.from) {
                case HalfInput::From::Original:
                    in.push_back(j_.inputs(e)[i.index]);
                    if (staged) ensure_instantiated(in.back());
                    break;
                case HalfInput::From::Result:
                    in.emplace_back(j_.output(e, static_cast<std::uint32_t>(i.index)));
                    add_residual(in.back().var().index);
                    break;
                case HalfInput::From::Residual:
                    in.emplace_back(Var{fresh[i.index]});
                    if (staged) add_residual(in.back().var().index);
                    break;
            }
        }
        for (const HalfOutput o : half.outputs)
            out.push_back(o.to == HalfOutput::To::Residual ? fresh[o.index] : j_.output(e, static_cast<std::uint32_t>(o.index)).index);
        tape.add(*half.prim, half.params, in, out, e.source, e.context, half.effects);
    }

    EqnTape::Signature signature() const {
        EqnTape::Signature s;
        s.name = j_.name;
        s.consts = j_.consts;
        for (std::uint32_t i = 0; i < j_.num_constvars; ++i) s.constvars.push_back(i);
        return s;
    }
    JaxprPtr known_half(const std::vector<bool>& unknown_out) const {
        EqnTape::Signature s = signature();
        for (std::uint32_t i = 0; i < j_.num_invars; ++i)
            if (!unknown_in_[i]) s.invars.push_back(j_.invar(i).index);
        s.outvars = select(j_.outvars, unknown_out, false);
        for (const std::uint32_t r : residuals_) s.outvars.emplace_back(Var{r});
        return known_.assemble(s);
    }
    JaxprPtr staged_half(const std::vector<bool>& inst_out) const {
        EqnTape::Signature s = signature();
        s.invars = residuals_;
        for (std::uint32_t i = 0; i < j_.num_invars; ++i)
            if (inst_in_[i]) s.invars.push_back(j_.invar(i).index);
        s.outvars = select(j_.outvars, inst_out);
        return staged_.assemble(s);
    }

    const Jaxpr& j_;
    const std::vector<bool>&unknown_in_, &inst_in_;
    const PolicyQuery& policy_;
    EqnTape known_, staged_;
    std::vector<bool> unknown_, inst_, is_residual_;
    std::vector<std::uint32_t> residuals_;
};

struct CustomSplitKey {
    std::vector<bool> unknown_in, inst_in, ensure_out_unknown, ensure_out_inst;
    PolicyPtr policy;
    SourceRef source;  ///< where the policy is in force: there what offloads stands

    static bool same_content(const PolicySpec& a, const PolicySpec& b) { return a.verdicts.empty() && b.verdicts.empty() && a == b; }
    /// JAX knows policies by identity, and what offloads then stands where the first call of the body stands. A policy that is parsed again
    /// for the same place is the same one here.
    friend bool operator==(const CustomSplitKey& x, const CustomSplitKey& y) {
        const auto flags = [](const CustomSplitKey& k) {
            return std::tie(k.unknown_in, k.inst_in, k.ensure_out_unknown, k.ensure_out_inst);
        };
        if (flags(x) != flags(y)) return false;
        return x.policy == y.policy || (x.policy && y.policy && x.source == y.source && same_content(*x.policy, *y.policy));
    }
};

template <class T>
std::vector<T> made_where(const std::vector<bool>& which, bool wanted, T (*make)(std::size_t)) {
    std::vector<T> out;
    for (std::size_t i = 0; i < which.size(); ++i)
        if (which[i] == wanted) out.push_back(make(i));
    return out;
}

CallHalves start_halves(const PartialEvalCustomArgs& args, const CustomPartialEval& split, const char* param, const JaxprPtr& known,
                        bool closed) {
    CallHalves h;
    h.result.unknown_out = split.unknown_out;
    h.result.inst_out = split.inst_out;
    h.result.residual_inputs = not_instantiated(args);
    h.known_in = negated(args.unknown_in);
    h.known_out = negated(split.unknown_out);
    h.staged_in = args.inst_in;
    h.staged_out = split.inst_out;
    h.new_staged_inputs = split.num_residuals;
    h.result.known = HalfEqn{args.op.prim, with_param(args.op.params, param, Attr(Attr::JaxprRef{known, closed})),
                             originals_where(args.unknown_in, false), results_where(split.unknown_out, false), known->effects};
    h.result.staged = HalfEqn{args.op.prim,
                              with_param(args.op.params, param, Attr(Attr::JaxprRef{split.staged, closed})),
                              {},
                              results_where(split.inst_out),
                              split.staged->effects};
    return h;
}

}  // namespace

std::vector<HalfInput> originals_where(const std::vector<bool>& which, bool wanted) {
    return made_where(which, wanted, HalfInput::original);
}
std::vector<HalfOutput> results_where(const std::vector<bool>& which, bool wanted) { return made_where(which, wanted, HalfOutput::result); }

std::vector<std::size_t> not_instantiated(const PartialEvalCustomArgs& args) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < args.inst_in.size(); ++i)
        if (!args.inst_in[i] && args.jaxpr.inputs(args.eqn)[i].is_var()) out.push_back(i);
    return out;
}

CustomPartialEval partial_eval_jaxpr_custom(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& inst_in,
                                            const std::vector<bool>& ensure_out_unknown, const std::vector<bool>& ensure_out_inst,
                                            const PolicyQuery& policy) {
    JAXSCOPE_ASSERT(unknown_in.size() == j->num_invars && inst_in.size() == j->num_invars);
    static const CachedTransform<CustomSplitKey, CustomPartialEval> cache;
    const CustomSplitKey key{unknown_in, inst_in, ensure_out_unknown, ensure_out_inst, policy.spec, policy.source};
    const std::size_t h = hash_mix(hash_mix(hash_of(unknown_in), hash_of(inst_in)), policy.spec ? policy.spec->name.id() : 0);
    return cache.get(j, key, h, [&] { return PolicySplit(j, unknown_in, inst_in, policy).run(ensure_out_unknown, ensure_out_inst); });
}

CustomPartialEval partial_eval_jaxpr_custom(const JaxprPtr& j, const std::vector<bool>& unknown_in, const std::vector<bool>& inst_in,
                                            bool ensure_out_unknown, bool ensure_out_inst, const PolicyQuery& policy) {
    const std::size_t n = j->outvars.size();
    return partial_eval_jaxpr_custom(j, unknown_in, inst_in, std::vector<bool>(n, ensure_out_unknown),
                                     std::vector<bool>(n, ensure_out_inst), policy);
}

CallHalves call_partial_eval_custom(const PartialEvalCustomArgs& args, const char* param) {
    Attr::JaxprRef body;
    from_attr(*args.op.params->find(param), body);
    const CustomPartialEval split = partial_eval_jaxpr_custom(body.jaxpr, args.unknown_in, args.inst_in, false, false, args.policy);
    CallHalves h = start_halves(args, split, param, split.known, body.closed);
    const Avals staged_in = split.staged->in_avals();
    for (int k = 0; k < split.num_residuals; ++k) {
        h.result.residuals.push_back(staged_in[static_cast<std::size_t>(k)]);
        h.result.known->outputs.push_back(HalfOutput::residual(static_cast<std::size_t>(k)));
        h.result.staged->inputs.push_back(HalfInput::residual(static_cast<std::size_t>(k)));
    }
    for (const HalfInput i : originals_where(args.inst_in)) h.result.staged->inputs.push_back(i);
    h.new_known_outputs = split.num_residuals;
    return h;
}

CallHalves closed_call_partial_eval_custom(const PartialEvalCustomArgs& args, const char* param,
                                           const std::vector<bool>& no_input_forward) {
    Attr::JaxprRef body;
    from_attr(*args.op.params->find(param), body);
    const CustomPartialEval split = partial_eval_jaxpr_custom(body.jaxpr, args.unknown_in, args.inst_in, false, false, args.policy);
    const Jaxpr& known = *split.known;
    const std::size_t num_primals = known.outvars.size() - static_cast<std::size_t>(split.num_residuals);
    const std::vector<HalfInput> known_in = originals_where(args.unknown_in, false);
    const std::vector<HalfOutput> known_out = results_where(split.unknown_out, false);
    // A residual of the body that is one of its known inputs, or one of its known outputs that the caller uses, isn't given twice.
    std::vector<std::optional<HalfInput>> forward(known.num_vars());
    for (std::uint32_t i = 0; i < known.num_invars; ++i)
        if (no_input_forward.empty() || !no_input_forward[known_in[i].index]) forward[known.invar(i).index] = known_in[i];
    for (std::size_t k = 0; k < num_primals; ++k) {
        const Atom a = known.outvars[k];
        if (a.is_var() && !args.jaxpr.dropped(args.jaxpr.output(args.eqn, static_cast<std::uint32_t>(known_out[k].index))))
            forward[a.var().index] = HalfInput::result(known_out[k].index);
    }
    std::vector<bool> keep(known.outvars.size(), true);
    CallHalves h;
    std::vector<HalfInput> staged_inputs;
    Avals residuals;
    for (std::size_t k = num_primals; k < known.outvars.size(); ++k) {
        const std::optional<HalfInput>& found = forward[known.outvars[k].var().index];
        keep[k] = !found;
        staged_inputs.push_back(found ? *found : HalfInput::residual(residuals.size()));
        if (!found) residuals.push_back(known.aval(known.outvars[k]));
    }
    h = start_halves(args, split, param, prune_outputs(split.known, keep), body.closed);
    for (const HalfOutput o : residuals_between<HalfOutput>(0, residuals.size())) h.result.known->outputs.push_back(o);
    h.result.residuals = std::move(residuals);
    for (const HalfInput i : originals_where(args.inst_in)) staged_inputs.push_back(i);
    h.result.staged->inputs = std::move(staged_inputs);
    h.new_known_outputs = static_cast<int>(h.result.residuals.size());
    return h;
}

}  // namespace jaxscope
