#include "analysis/region_splice.h"

#include <algorithm>
#include <unordered_map>

#include "ir/builder.h"

namespace jaxscope {

namespace {

class Splicer {
public:
    Splicer(int mark, const Jaxpr& forward, const Jaxpr& backward, std::size_t results)
        : forward_name_("jaxscope_forward_" + std::to_string(mark)),
          backward_name_("jaxscope_backward_" + std::to_string(mark)),
          forward_(forward),
          backward_(backward),
          results_(results) {}

    JaxprPtr run(const JaxprPtr& root) {
        for (const Jaxpr* j : all_jaxprs(*root)) {  // inner ones first: recursion over nesting is not needed
            JaxprPtr changed = rebuild(*j);
            if (changed) changed_.emplace(j, std::move(changed));
        }
        if (!spliced_)
            throw Error(ErrorCode::NotFound,
                        "expected the forward and backward call of this differentiation in one jaxpr, found none: the pullback is "
                        "called elsewhere, so the step can't be put together anew");
        return changed_.at(root.get());
    }

private:
    static bool is_call(const Eqn& e, Sym name) {
        const Attr* n = e.params->find("name");
        const Sym* text = n ? n->get<Sym>() : nullptr;
        return text && *text == name;
    }
    bool holds_changed(const Eqn& e) const {
        if (!e.params->holds_jaxpr()) return false;
        const std::vector<JaxprPtr> subs = e.params->jaxprs();
        return std::any_of(subs.begin(), subs.end(), [&](const JaxprPtr& s) { return changed_.count(s.get()) > 0; });
    }

    /// The jaxpr with its marked calls and changed sub-jaxprs replaced; nothing where there are none.
    JaxprPtr rebuild(const Jaxpr& j) {
        const bool touched =
            std::any_of(j.eqns.begin(), j.eqns.end(), [&](const Eqn& e) { return is_call(e, forward_name_) || holds_changed(e); });
        if (!touched) return nullptr;
        JaxprBuilder b;
        env_.assign(j.num_vars(), Value());
        residuals_.clear();
        for (std::uint32_t i = 0; i < j.num_constvars; ++i)
            env_[i] = b.add_constvar(j.aval(Var{i}), j.consts.empty() ? nullptr : j.consts[i]);
        for (std::uint32_t i = 0; i < j.num_invars; ++i)
            env_[j.num_constvars + i] = b.add_input(j.aval(j.invar(i)), i < j.arg_names.size() ? j.arg_names[i] : Sym());
        for (const Eqn& e : j.eqns) copy(b, j, e);
        Values outs;
        for (const Atom a : j.outvars) outs.push_back(read(a));
        return b.finish(outs, j.name);
    }

    Value read(Atom a) const { return a.is_literal() ? Value(a.literal()) : env_[a.var().index]; }

    void copy(JaxprBuilder& b, const Jaxpr& j, const Eqn& e) {
        Values in;
        for (const Atom a : j.inputs(e)) in.push_back(read(a));
        b.source = e.source;
        b.context = e.context;
        Values out;
        if (is_call(e, forward_name_))
            out = forward_call(b, e, in);
        else if (is_call(e, backward_name_))
            out = backward_call(b, in);
        else
            out = b.emit(*e.prim, in, map_jaxprs(e.params, [&](const JaxprPtr& s) { return changed(s); }), j.out_avals(e), e.effects);
        // The old residuals have no successors one to one; only the backward call reads them.
        for (std::size_t k = 0; k < std::min<std::size_t>(out.size(), e.n_out); ++k) env_[e.first_out + k] = out[k];
    }
    JaxprPtr changed(const JaxprPtr& s) const {
        const auto found = changed_.find(s.get());
        return found == changed_.end() ? s : found->second;
    }

    Values forward_call(JaxprBuilder& b, const Eqn& e, const Values& in) {
        JAXSCOPE_ASSERT(in.size() == forward_.num_constvars + forward_.num_invars && e.n_out >= results_);
        old_residuals_ = e.n_out - results_;
        const auto split = in.begin() + forward_.num_constvars;
        Values out = inline_jaxpr(b, forward_, Values(in.begin(), split), Values(split, in.end()));
        residuals_.assign(out.begin() + static_cast<std::ptrdiff_t>(results_), out.end());
        have_residuals_ = true;
        out.resize(results_);
        return out;
    }
    Values backward_call(JaxprBuilder& b, const Values& in) {
        if (!have_residuals_ || in.size() < old_residuals_)
            throw Error(ErrorCode::NotFound, "expected the forward call before the backward call, found it nowhere");
        Values args = residuals_;
        args.insert(args.end(), in.begin() + static_cast<std::ptrdiff_t>(old_residuals_), in.end());
        JAXSCOPE_ASSERT(args.size() == backward_.num_invars);
        spliced_ = true;
        return inline_jaxpr(b, backward_, {}, args);
    }

    Sym forward_name_, backward_name_;
    const Jaxpr &forward_, &backward_;
    std::size_t results_, old_residuals_ = 0;
    bool have_residuals_ = false, spliced_ = false;
    Values env_, residuals_;
    std::unordered_map<const Jaxpr*, JaxprPtr> changed_;
};

}  // namespace

JaxprPtr splice_region(const JaxprPtr& marked, int mark, const Jaxpr& forward, const Jaxpr& backward, std::size_t results) {
    return Splicer(mark, forward, backward, results).run(marked);
}

}  // namespace jaxscope
