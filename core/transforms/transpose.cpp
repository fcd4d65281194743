#include "transforms/transpose.h"

#include <algorithm>

#include "ir/primitive.h"
#include "ir/transform_cache.h"
#include "transforms/jaxpr_util.h"
#include "transforms/partial_eval.h"

namespace jaxscope {

namespace {

class BackwardPass {
public:
    BackwardPass(JaxprBuilder& b, const Jaxpr& j, bool outermost)
        : b_(b),
          j_(j),
          env_(j.num_vars()),
          ct_(j.num_vars(), Value::zero()),
          nonlinear_place_(b.source->name_stack),
          linear_place_(outermost ? b.source->name_stack.transform(stack_names::kTranspose) : b.source->name_stack) {}

    Values run(const Values& x, const Values& ct, const Values& sums) {
        const Values consts = constants_of(b_, j_);
        std::copy(consts.begin(), consts.end(), env_.begin());
        std::copy(x.begin(), x.end(), env_.begin() + j_.num_constvars);
        const SourceRef source = b_.source;
        const ContextRef context = b_.context;
        std::copy(sums.begin(), sums.end(), ct_.begin() + j_.num_constvars);
        evaluate_nonlinear();
        for (std::size_t k = 0; k < j_.outvars.size(); ++k) accumulate(j_.outvars[k], ct[k]);
        for (auto i = linear_.rbegin(); i != linear_.rend(); ++i) {
            try {
                transpose(j_.eqns[*i]);
            } catch (Error& error) {
                error.at(j_.eqns[*i].source.loc()).in("transposing " + eqn_label(j_, *i));
                throw;
            }
        }
        b_.source = source;
        b_.context = context;
        return Values(ct_.begin() + j_.num_constvars, ct_.begin() + j_.num_constvars + j_.num_invars);
    }

private:
    class Sink final : public TransposeSink {
    public:
        Sink(BackwardPass& pass, const Eqn& e, const Values& x) : pass_(pass), eqn_(e), x_(x) {}
        void add(std::size_t operand, Value cotangent) override { given_.emplace_back(operand, cotangent); }
        bool wanted(std::size_t operand) const override { return x_[operand].is_linear(); }
        /// Sums are made when the rule is done, as JAX does: its rules return their cotangents.
        void flush() {
            for (const auto& [operand, ct] : given_) pass_.accumulate(pass_.j_.inputs(eqn_)[operand], ct);
        }

    private:
        BackwardPass& pass_;
        const Eqn& eqn_;
        const Values& x_;
        std::vector<std::pair<std::size_t, Value>> given_;
    };

    Value read(Atom a) const { return a.is_literal() ? Value(a.literal()) : env_[a.var().index]; }

    void accumulate(Atom a, Value ct) {
        if (a.is_literal() || !env_[a.var().index].is_linear() || ct.is_zero()) return;
        Value& sum = ct_[a.var().index];
        sum = add_tangents(b_, sum, ct);
    }

    void evaluate_nonlinear() {
        Values in;
        for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
            const Eqn& e = j_.eqns[i];
            in.clear();
            bool linear = false;
            for (const Atom a : j_.inputs(e)) {
                in.push_back(read(a));
                linear = linear || in.back().is_linear();
            }
            if (linear) {
                for (std::uint32_t k = 0; k < e.n_out; ++k) env_[e.first_out + k] = Value::linear();
                linear_.push_back(i);
            } else {
                b_.source = nonlinear_place_(e.source);
                b_.context = e.context;
                const Values out = b_.emit(*e.prim, in, e.params, j_.out_avals(e), e.effects);
                std::copy(out.begin(), out.end(), env_.begin() + e.first_out);
            }
        }
    }

    void transpose(const Eqn& e) {
        Values ct, x;
        bool all_zero = true;
        for (std::uint32_t k = 0; k < e.n_out; ++k) {
            ct.push_back(ct_[e.first_out + k]);
            all_zero = all_zero && ct.back().is_zero();
        }
        if (all_zero && e.effects.empty()) return;
        for (const Atom a : j_.inputs(e)) x.push_back(read(a));
        if (!e.prim->transpose) {
            Error error(e.prim->opaque ? ErrorCode::UnknownPrimitive : ErrorCode::NoRule,
                        std::string("Transpose rule (for reverse-mode differentiation) for '") + e.prim->name + "' not implemented");
            if (!e.prim->opaque)
                error.in(std::string("jaxscope has no transpose rule for '") + e.prim->name + "': " + e.prim->transpose.absent);
            throw error;
        }
        b_.source = linear_place_(e.source);
        b_.context = e.context;
        Sink sink(*this, e, x);
        e.prim->transpose.fn(b_, make_op(j_, e, b_.source), ct, x, sink);
        sink.flush();
    }

    JaxprBuilder& b_;
    const Jaxpr& j_;
    Values env_, ct_;
    std::vector<std::size_t> linear_;
    SourcesWithin nonlinear_place_, linear_place_;
};

struct Key {
    std::vector<bool> linear_in, nonzero_ct, instantiate;
    bool rematted;
    friend bool operator==(const Key&, const Key&) = default;
};

Values rematted_backward_pass(JaxprBuilder& b, const JaxprPtr& j, const Key& key, const Values& x, const Values& ct) {
    // Nonlinear work is split off first, so that it stands in front of the linear part and is evaluated under the recomputation's name.
    const PartialEvalJaxpr& split = partial_eval_jaxpr(j, key.linear_in, false, false);
    const SourceRef source = b.source;
    b.source = Source{{}, source->name_stack.scope(stack_names::kRematted)};
    Values in = inline_jaxpr(b, *split.known, constants_of(b, *split.known), select(x, key.linear_in, false));
    b.source = source;
    in.erase(in.begin(), in.end() - split.num_residuals_out);
    const std::size_t num_residuals = in.size();
    in.resize(split.unknown->num_invars, Value::linear());
    Values cts = backward_pass(b, *split.unknown, in, select(ct, split.unknown_out));
    Values out;
    std::size_t next = num_residuals;
    for (const bool linear : key.linear_in) out.push_back(linear ? cts[next++] : Value::zero());
    return out;
}

TransposedJaxpr make_transposed(const JaxprPtr& j, const Key& key) {
    JaxprBuilder b;
    Values x, ct;
    const Avals in_avals = j->in_avals(), out_avals = j->out_avals();
    for (std::size_t i = 0; i < in_avals.size(); ++i) x.push_back(key.linear_in[i] ? Value::linear() : b.add_input(in_avals[i]));
    for (std::size_t k = 0; k < out_avals.size(); ++k)
        ct.push_back(key.nonzero_ct[k] ? b.add_input(tangent_aval(out_avals[k])) : Value::zero());
    Values cts = key.rematted ? rematted_backward_pass(b, j, key, x, ct) : backward_pass(b, *j, x, ct);
    TransposedJaxpr out;
    Values outs;
    for (std::size_t i = 0; i < key.instantiate.size(); ++i)
        if (key.instantiate[i] && key.linear_in[i]) cts[i] = instantiate_zero(b, cts[i], in_avals[i]);
    for (const Value v : cts) {
        out.nonzero_in.push_back(!v.is_zero());
        if (!v.is_zero()) outs.push_back(v);
    }
    out.jaxpr = b.finish(outs, j->name);
    return out;
}

const TransposedJaxpr& transposed(const JaxprPtr& j, const Key& key) {
    JAXSCOPE_ASSERT(key.linear_in.size() == j->num_invars && key.nonzero_ct.size() == j->outvars.size());
    static const CachedTransform<Key, TransposedJaxpr> cache;
    return cache.get(j, key,
                     hash_mix(hash_mix(hash_of(key.linear_in), hash_of(key.nonzero_ct)), hash_mix(hash_of(key.instantiate), key.rematted)),
                     [&] { return make_transposed(j, key); });
}

}  // namespace

Values backward_pass(JaxprBuilder& b, const Jaxpr& j, const Values& x, const Values& ct, const Values& sums, bool outermost) {
    JAXSCOPE_ASSERT(x.size() == j.num_invars && ct.size() == j.outvars.size() && (sums.empty() || sums.size() == x.size()));
    if (std::all_of(ct.begin(), ct.end(), [](Value v) { return v.is_zero(); }) && j.effects.empty())
        return sums.empty() ? Values(x.size(), Value::zero()) : sums;
    return BackwardPass(b, j, outermost).run(x, ct, sums);
}

const TransposedJaxpr& transpose_jaxpr(const JaxprPtr& j, const std::vector<bool>& linear_in, const std::vector<bool>& nonzero_ct,
                                       const std::vector<bool>& instantiate) {
    return transposed(j, {linear_in, nonzero_ct, instantiate, false});
}
const TransposedJaxpr& transpose_rematted_jaxpr(const JaxprPtr& j, const std::vector<bool>& linear_in,
                                                const std::vector<bool>& nonzero_ct) {
    return transposed(j, {linear_in, nonzero_ct, {}, true});
}

}  // namespace jaxscope
