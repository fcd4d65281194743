// SPDX-License-Identifier: Apache-2.0
#include "analysis/stages/region_splice.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/stages/mapped_halves.h"
#include "calls/families.h"
#include "ir/interpret.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

/// A marked call that stands in a jaxpr.
struct Call {
    const NewRegion* region = nullptr;
    const MarkedCall* how = nullptr;
};

/// The marked calls of the regions that are done anew, by their names and bodies.
class Calls {
public:
    Calls(const Program& program, const std::vector<NewRegion>& regions) {
        for (const NewRegion& r : regions)
            for (const bool backward : {false, true})
                by_name_.emplace(Sym((backward ? "jaxscope_backward_" : "jaxscope_forward_") + std::to_string(r.mark)),
                                 std::pair(&r, backward));
        for (const MarkedCall& c : program.marked_calls) by_body_.emplace(c.jaxpr.get(), &c);
    }
    std::optional<Call> at(const Eqn& e) {
        if (e.prim != &jit_) return {};
        static const Sym kName("name");
        const Attr* n = e.params->find(kName);
        const Sym* text = n ? n->get<Sym>() : nullptr;
        const auto named = text ? by_name_.find(*text) : by_name_.end();
        if (named == by_name_.end()) return {};
        const auto& [region, backward] = named->second;
        const JaxprPtr body = e.params->jaxprs().at(0);
        const auto known = by_body_.find(body.get());
        if (known != by_body_.end()) return Call{region, known->second};
        const MarkedCall* unmapped =
            &unmapped_.emplace_back(std::make_unique<MarkedCall>(MarkedCall{region->mark, backward, body, {}})).operator*();
        by_body_.emplace(body.get(), unmapped);
        return Call{region, unmapped};
    }
    bool is_jit(const Eqn& e) const { return e.prim == &jit_; }

private:
    const Primitive& jit_ = kJit;
    std::unordered_map<Sym, std::pair<const NewRegion*, bool>> by_name_;
    std::unordered_map<const Jaxpr*, const MarkedCall*> by_body_;
    std::vector<std::unique_ptr<MarkedCall>> unmapped_;  ///< of captures that don't list their calls
};

/// Which forward call of one jaxpr makes the residuals of which backward call. A call without its other half is `open`: whoever holds the
/// jaxpr may have that one.
class Pairs {
public:
    Pairs(const Jaxpr& j, Calls& calls) : j_(j), maker_(j.num_vars(), kNone) {
        for (std::size_t i = 0; i < j.eqns.size(); ++i) {
            const Eqn& e = j.eqns[i];
            const std::optional<Call> call = calls.at(e);
            if (call && !call->how->backward) add_forward(i, *call);
            if (call && call->how->backward) backward_.emplace(i, find_forward(e, *call));
            for (const Atom a : j.inputs(e))
                if (const std::size_t f = residual_of(a); f != kNone && (!call || !call->how->backward || backward_.at(i) != f))
                    leaks_[f] = e.prim;
        }
        for (const Atom a : j.outvars)
            if (const std::size_t f = residual_of(a); f != kNone) leaks_[f] = nullptr;
    }
    static constexpr std::size_t kNone = SIZE_MAX;
    bool empty() const { return forward_.empty() && backward_.empty(); }
    /// Is there a call here whose other half isn't?
    bool open() const {
        return !leaks_.empty() || std::any_of(backward_.begin(), backward_.end(), [](const auto& b) { return b.second == kNone; });
    }
    bool is_whole(std::size_t forward) const { return forward != kNone && !leaks_.contains(forward); }
    std::size_t forward_of(std::size_t backward) const { return backward_.at(backward); }
    /// What reads residuals and is no backward call, in words.
    std::string reader() const {
        for (const auto& [forward, prim] : leaks_)
            if (prim) return std::string("'") + prim->name + "'";
        return "the results of the program";
    }

private:
    void add_forward(std::size_t i, const Call& call) {
        forward_.emplace(i, call);
        const Eqn& e = j_.eqns[i];
        for (std::uint32_t k = static_cast<std::uint32_t>(call.region->results); k < e.n_out; ++k) maker_[e.first_out + k] = i;
    }
    std::size_t residual_of(Atom a) const { return a.is_var() ? maker_[a.var().index] : kNone; }
    /// The one call that makes all its residuals; of a region that keeps none the last one before.
    std::size_t find_forward(const Eqn& e, const Call& call) const {
        for (auto f = forward_.rbegin(); f != forward_.rend(); ++f) {
            if (f->second.region != call.region) continue;
            const Eqn& made = j_.eqns[f->first];
            const std::size_t n = made.n_out - call.region->results;
            const auto in = j_.inputs(e);
            bool all = in.size() >= n;
            for (std::size_t r = 0; all && r < n; ++r)
                all = in[r].is_var() && in[r].var().index == made.first_out + call.region->results + r;
            if (all) return f->first;
        }
        return kNone;
    }

    const Jaxpr& j_;
    std::vector<std::size_t> maker_;  ///< per variable: the forward call of which it is a residual
    std::map<std::size_t, Call> forward_;
    std::map<std::size_t, std::size_t> backward_;    ///< to its forward call, kNone: elsewhere
    std::map<std::size_t, const Primitive*> leaks_;  ///< forward calls whose residuals are read by something else
};

class Splicer {
public:
    Splicer(const Program& program, const std::vector<NewRegion>& regions) : calls_(program, regions) {}

    JaxprPtr run(const JaxprPtr& root) {
        for (const Jaxpr* j : all_jaxprs(*root)) rebuild(*j);  // inner ones first
        if (const auto open = open_.find(root.get()); open != open_.end()) refuse(open->second);
        if (!spliced_)
            throw Error(ErrorCode::NotFound,
                        "expected the forward and backward call of this differentiation in the marked program, found none");
        return changed_.at(root.get());
    }

private:
    [[noreturn]] static void refuse(const std::string& between) {
        throw Error(ErrorCode::NoRule, "expected the forward and the backward pass of this differentiation in one jaxpr, found " + between +
                                           " between them: its pullback is called elsewhere, so the step can't be put together anew");
    }

    /// Replaces sub-jaxprs that were rebuilt, inlines jitted ones that hold one half only, then splices the pairs that stand here.
    void rebuild(const Jaxpr& j) {
        JaxprPtr whole = with_changed_subs(j);
        const Jaxpr& now = whole ? *whole : j;
        const Pairs pairs(now, calls_);
        if (!pairs.empty())
            if (JaxprPtr done = splice(now, pairs)) whole = std::move(done);
        if (pairs.open()) open_.emplace(&j, pairs.reader());
        if (whole) changed_.emplace(&j, std::move(whole));
    }

    JaxprPtr with_changed_subs(const Jaxpr& j) {
        const bool touched = std::any_of(j.eqns.begin(), j.eqns.end(), [&](const Eqn& e) { return !calls_.at(e) && holds_changed(e); });
        if (!touched) return nullptr;
        return rebuilt(j, [&](JaxprBuilder& b, std::size_t, const Eqn& e, const Values& in) {
            if (calls_.at(e) || !holds_changed(e)) return copy(b, j, e, in);
            for (const JaxprPtr& s : e.params->jaxprs()) {
                if (!open_.contains(s.get())) continue;
                if (!calls_.is_jit(e)) refuse(std::string("the body of a '") + e.prim->name + "'");
                const JaxprPtr body = changed(s);
                return inline_jaxpr(b, *body, constants_of(b, *body), in, Inlined::AsTheyAre);
            }
            return b.append(*e.prim, in, map_jaxprs(e.params, [&](const JaxprPtr& s) { return changed(s); }), j.out_avals(e), e.effects);
        });
    }

    JaxprPtr splice(const Jaxpr& j, const Pairs& pairs) {
        std::map<std::size_t, MappedForward> halves;
        std::map<std::size_t, Values> residuals;
        bool any = false;
        JaxprPtr out = rebuilt(j, [&](JaxprBuilder& b, std::size_t i, const Eqn& e, const Values& in) {
            const std::optional<Call> call = calls_.at(e);
            const std::size_t forward = !call ? Pairs::kNone : call->how->backward ? pairs.forward_of(i) : i;
            if (!pairs.is_whole(forward)) return copy(b, j, e, in);
            any = true;
            const NewRegion& r = *call->region;
            if (!call->how->backward) {
                const MappedForward& half = halves.emplace(i, map_forward(r.forward, r.results, *call->how)).first->second;
                Avals results = j.out_avals(e);
                results.resize(std::min(results.size(), r.results));
                Values made = inline_half(b, *half.jaxpr, in, results);
                residuals[i] = Values(made.begin() + static_cast<std::ptrdiff_t>(r.results), made.end());
                made.resize(r.results);
                made.resize(e.n_out);  // the old residuals have no successors one to one; only the backward call reads them
                return made;
            }
            spliced_ = true;
            const std::size_t old = j.eqns[forward].n_out - r.results;
            Values args = residuals.at(forward);
            args.insert(args.end(), in.begin() + static_cast<std::ptrdiff_t>(old), in.end());
            return inline_half(b, *map_backward(r.backward, halves.at(forward), old, *call->how), args, j.out_avals(e));
        });
        return any ? out : nullptr;
    }

    /// One new half in the place of a call: a capture's call need not have the types that it says.
    static Values inline_half(JaxprBuilder& b, const Jaxpr& half, const Values& in, const Avals& results) {
        const auto fits = [&](const Avals& wanted, const Avals& found) {
            return found.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), found.begin(), [](AvalRef x, AvalRef y) {
                       return x->dtype == y->dtype && x->shape == y->shape;
                   });
        };
        Avals given;
        for (const Value v : in) given.push_back(b.aval(v));
        if (given.size() != half.num_invars || !fits(half.in_avals(), given) || !fits(results, half.out_avals()))
            throw Error(ErrorCode::BadInput, "expected the marked calls of a region to have the types of its function, found others");
        return inline_jaxpr(b, half, constants_of(b, half), in);
    }
    static Values copy(JaxprBuilder& b, const Jaxpr& j, const Eqn& e, const Values& in) {
        return b.append(*e.prim, in, e.params, j.out_avals(e), e.effects);
    }

    /// A copy of `j` with what `apply` makes of each equation in its place.
    template <class Apply>
    static JaxprPtr rebuilt(const Jaxpr& j, Apply apply) {
        JaxprBuilder b;
        Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
        run.bind_all(b.add_signature(j));
        const Values outs = run.forward([&](const Eqn& e, const Values& in) { return apply(b, run.index(), e, in); });
        return b.finish(outs, j.name);
    }

    bool holds_changed(const Eqn& e) const {
        if (!e.params->holds_jaxpr()) return false;
        const std::vector<JaxprPtr> subs = e.params->jaxprs();
        return std::any_of(subs.begin(), subs.end(),
                           [&](const JaxprPtr& s) { return changed_.contains(s.get()) || open_.contains(s.get()); });
    }
    JaxprPtr changed(const JaxprPtr& s) const {
        const auto found = changed_.find(s.get());
        return found == changed_.end() ? s : found->second;
    }

    Calls calls_;
    bool spliced_ = false;
    std::unordered_map<const Jaxpr*, JaxprPtr> changed_;
    std::unordered_map<const Jaxpr*, std::string> open_;  ///< jaxprs that hold one half only: what reads its residuals
};

}  // namespace

JaxprPtr splice_regions(const Program& program, std::vector<NewRegion> regions) { return Splicer(program, regions).run(program.marked); }

}  // namespace jaxscope
