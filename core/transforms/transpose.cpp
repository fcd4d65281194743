// SPDX-License-Identifier: Apache-2.0
#include "transforms/transpose.h"

#include <algorithm>

#include "ir/interpret.h"
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
          run_(j, {.builder = &b, .doing = "transposing", .evaluates = true}, LiteralAsValue(), Value::linear()),
          ct_(j.num_vars(), Value::zero()),
          linear_place_(outermost ? b.source->name_stack.transform(stack_names::kTranspose) : b.source->name_stack) {}

    Values run(const Values& x, const Values& ct, const Values& sums) {
        run_.bind_consts(constants_of(b_, j_));
        run_.bind_inputs(x);
        std::copy(sums.begin(), sums.end(), ct_.begin() + j_.num_constvars);
        run_.forward([&](const Eqn& e, const Values& in) { return evaluate_nonlinear(e, in); });
        for (std::size_t k = 0; k < j_.outvars.size(); ++k) accumulate(j_.outvars[k], ct[k]);
        for (auto i = linear_.rbegin(); i != linear_.rend(); ++i) run_.visit(*i, [&](const Eqn& e, const Values& in) { transpose(e, in); });
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

    void accumulate(Atom a, Value ct) {
        if (!run_.read(a).is_linear() || ct.is_zero()) return;
        Value& sum = ct_[a.var().index];
        sum = add_tangents(b_, sum, ct);
    }

    /// What depends on linear inputs stays unset, which is `linear`, and waits.
    Values evaluate_nonlinear(const Eqn& e, const Values& in) {
        if (std::none_of(in.begin(), in.end(), [](Value v) { return v.is_linear(); }))
            return b_.emit(*e.prim, in, e.params, j_.out_avals(e), e.effects);
        linear_.push_back(run_.index());
        return {};
    }

    void transpose(const Eqn& e, const Values& x) {
        const Values ct(ct_.begin() + e.first_out, ct_.begin() + e.first_out + e.n_out);
        if (e.effects.empty() && std::all_of(ct.begin(), ct.end(), [](Value v) { return v.is_zero(); })) return;
        if (!e.prim->transpose)
            throw missing_rule(*e.prim, e.prim->transpose, "transpose rule",
                               std::string("Transpose rule (for reverse-mode differentiation) for '") + e.prim->name + "' not implemented");
        b_.source = linear_place_(e.source);
        Sink sink(*this, e, x);
        e.prim->transpose.fn(b_, make_op(j_, e, b_.source), ct, x, sink);
        sink.flush();
    }

    JaxprBuilder& b_;
    const Jaxpr& j_;
    Interpreter<LiteralAsValue, Value> run_;
    Values ct_;
    std::vector<std::size_t> linear_;
    SourcesWithin linear_place_;
};

struct TransposeKey {
    std::vector<bool> linear_in, nonzero_ct, instantiate;
    bool rematted;
    friend bool operator==(const TransposeKey&, const TransposeKey&) = default;
};

Values rematted_backward_pass(JaxprBuilder& b, const JaxprPtr& j, const TransposeKey& key, const Values& x, const Values& ct) {
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

TransposedJaxpr make_transposed(const JaxprPtr& j, const TransposeKey& key) {
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

const TransposedJaxpr& transposed(const JaxprPtr& j, const TransposeKey& key) {
    JAXSCOPE_ASSERT(key.linear_in.size() == j->num_invars && key.nonzero_ct.size() == j->outvars.size());
    static const CachedTransform<TransposeKey, TransposedJaxpr> cache;
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
