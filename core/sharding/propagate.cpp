// SPDX-License-Identifier: Apache-2.0
#include "sharding/propagate.h"

#include <algorithm>
#include <unordered_map>

#include "base/cancel.h"
#include "base/error.h"
#include "calls/control_flow.h"
#include "calls/loops/scan.h"
#include "lax/primitives.h"
#include "sharding/flatten.h"
#include "sharding/partition.h"

namespace jaxscope::sharding {

namespace {

std::vector<int> own_factors(PartitionRule& rule, AvalRef a, std::size_t whole_front = 0) {
    std::vector<int> out(a->shape.size(), PartitionRule::kWhole);
    for (std::size_t d = whole_front; d < out.size(); ++d) out[d] = rule.new_factor();
    return out;
}
/// Constants, carries and scanned inputs; a carry is one with its result. Steps are made one after the other: the leading dimension is
/// whole.
PartitionRule rule_of_loop(const Op& op, std::size_t consts, std::size_t carries) {
    PartitionRule rule;
    for (std::size_t i = 0; i < op.in.size(); ++i) rule.in.push_back(own_factors(rule, op.in[i], i < consts + carries ? 0 : 1));
    for (std::size_t k = 0; k < op.out.size(); ++k) rule.out.push_back(k < carries ? rule.in[consts + k] : own_factors(rule, op.out[k], 1));
    return rule;
}
PartitionRule rule_of_cond(const Op& op) {
    PartitionRule rule;
    for (std::size_t i = 0; i < op.in.size(); ++i) rule.in.push_back(own_factors(rule, op.in[i]));
    for (const AvalRef a : op.out) rule.out.push_back(own_factors(rule, a));
    return rule;
}

[[noreturn]] void other_mesh(const Op& op, const Mesh& mesh, const std::string& found) {
    throw Error(ErrorCode::NoRule, "expected " + op.prim->name + " over " + to_text(mesh) + ", found " + found).at(op.source.loc());
}
std::vector<Spec> specs_param(const Op& op, const char* name) {
    const Attr* a = op.params->find(name);
    const Attr::Seq* list = a ? a->get_seq() : nullptr;
    if (!list) throw Error(ErrorCode::BadInput, std::string("expected a list of specs in ") + op.prim->name + "'s " + name);
    std::vector<Spec> out;
    for (const Attr& item : list->items) out.push_back(spec_from(item));
    return out;
}

}  // namespace

PartitionRule rule_of(const Op& op) {
    if (op.prim == &kScan) {
        const auto& p = op.as<ScanParams>();
        return rule_of_loop(op, static_cast<std::size_t>(p.num_consts), static_cast<std::size_t>(p.num_carry));
    }
    if (op.prim == &kWhile) {
        const auto& p = op.as<WhileParams>();
        return rule_of_loop(op, static_cast<std::size_t>(p.cond_nconsts + p.body_nconsts), op.out.size());
    }
    if (op.prim == &kCond) return rule_of_cond(op);
    if (op.prim->partition) return op.prim->partition.fn(op);
    PartitionRule whole;
    for (const AvalRef a : op.in) whole.in.emplace_back(a->shape.size(), PartitionRule::kWhole);
    for (const AvalRef a : op.out) whole.out.emplace_back(a->shape.size(), PartitionRule::kWhole);
    return whole;
}

std::optional<ManualRegion> manual_region(const Op& op, const Mesh& mesh) {
    if (!op.prim->body || op.prim->calls() || !op.params->find("in_specs")) return std::nullopt;
    const Attr* m = op.params->find("mesh");
    const Mesh own = mesh_from(m ? *m : Attr());
    if (!(own == mesh)) other_mesh(op, mesh, to_text(own));
    const Attr* axes = op.params->find("newly_manual_axes");
    if (const Attr::Seq* manual = axes ? axes->get_seq() : nullptr; manual && manual->items.size() != mesh.axes.size())
        other_mesh(op, mesh, std::to_string(manual->items.size()) + " of its axes");
    const Attr* body = op.params->find(op.prim->body);
    const auto* ref = body ? body->get<Attr::JaxprRef>() : nullptr;
    if (!ref) throw Error(ErrorCode::BadInput, std::string("expected a jaxpr in ") + op.prim->name);
    ManualRegion out{specs_param(op, "in_specs"), specs_param(op, "out_specs"), ref->jaxpr};
    if (out.in.size() != op.in.size() || out.out.size() != op.out.size() || ref->jaxpr->num_invars != op.in.size() ||
        ref->jaxpr->outvars.size() != op.out.size() || ref->jaxpr->num_constvars != 0)
        throw Error(ErrorCode::BadInput, std::string("expected a spec for each operand and result of ") + op.prim->name)
            .at(op.source.loc());
    return out;
}

std::optional<Spec> constraint_of(const Op& op, const Mesh& mesh) {
    if (op.prim != &kShardingConstraint) return std::nullopt;
    const Attr* given = op.params->find("sharding");
    const std::optional<NamedSharding> s = given ? named_sharding_from(*given) : std::nullopt;
    if (!s) return std::nullopt;
    if (!(s->mesh == mesh)) other_mesh(op, mesh, to_text(s->mesh));
    shard_shape(op.in.at(0)->shape, *s);
    return s->spec;
}

namespace {

/// A body of a loop or branch, and which values outside its inputs and results are. A scanned one has a leading dimension more.
struct Inner {
    struct Tie {
        Var outside;
        bool scanned = false;
    };
    JaxprPtr flat;
    std::vector<std::vector<Tie>> in, out;
    std::vector<Placed> seen;  ///< what was known outside when it was last looked at
};

std::vector<Inner::Tie> tie(Atom a, bool scanned = false) {
    return a.is_var() ? std::vector<Inner::Tie>{{a.var(), scanned}} : std::vector<Inner::Tie>();
}
/// `first`: which operand is the body's first input. A carry is one with its result.
Inner inner_of(const JaxprPtr& body, const Jaxpr& j, const Eqn& e, std::size_t first, std::size_t consts, std::size_t carries) {
    Inner out{flattened(*body)};
    const auto in = j.inputs(e);
    for (std::size_t i = first; i < in.size(); ++i) {
        out.in.push_back(tie(in[i], i >= first + consts + carries));
        const std::size_t carry = i - first - consts;
        if (i >= first + consts && carry < carries) out.in.back().push_back({Var{e.first_out + static_cast<std::uint32_t>(carry)}});
    }
    for (std::uint32_t k = 0; k < e.n_out; ++k) out.out.push_back({{Var{e.first_out + k}, k >= carries}});
    return out;
}
std::vector<Inner> inners_of(const Jaxpr& j, const Eqn& e, const Op& op) {
    std::vector<Inner> out;
    if (op.prim == &kScan) {
        const auto& p = op.as<ScanParams>();
        out.push_back(inner_of(p.jaxpr.jaxpr, j, e, 0, static_cast<std::size_t>(p.num_consts), static_cast<std::size_t>(p.num_carry)));
    } else if (op.prim == &kWhile) {
        const auto& p = op.as<WhileParams>();
        out.push_back(inner_of(p.body_jaxpr.jaxpr, j, e, static_cast<std::size_t>(p.cond_nconsts), static_cast<std::size_t>(p.body_nconsts),
                               e.n_out));
    } else if (op.prim == &kCond) {
        const std::size_t operands = op.in.size() - 1;
        for (const JaxprPtr& branch : op.as<CondParams>().branches) {
            out.push_back(inner_of(branch, j, e, 1, operands, 0));
            for (auto& ties : out.back().out) ties[0].scanned = false;
        }
    }
    return out;
}

class Propagation {
public:
    Propagation(const Jaxpr& j, const Mesh& mesh, std::vector<Placed>& at) : j_(j), mesh_(mesh), at_(at) {
        for (const Eqn& e : j.eqns) {
            const Op op = make_op(j, e);
            if (std::vector<Inner> inners = inners_of(j, e, op); !inners.empty()) inners_.emplace(rules_.size(), std::move(inners));
            if (const auto region = manual_region(op, mesh)) {
                fix_region(e, *region);
                rules_.emplace_back();
                continue;
            }
            if (const auto spec = constraint_of(op, mesh)) at_[e.first_out] = {*spec, true};
            rules_.push_back(rule_of(op));
        }
    }
    void run() {
        // What is said first wins, so few rounds change anything; the count is bounded to stay linear.
        for (int round = 0; round < 4; ++round) {
            changed_ = false;
            for (std::size_t i = 0; i < j_.eqns.size(); ++i) spread(i);
            for (std::size_t i = j_.eqns.size(); i-- > 0;) spread(i);
            if (!changed_) return;
        }
    }

private:
    void fix_region(const Eqn& e, const ManualRegion& region) {
        for (std::uint32_t k = 0; k < e.n_out; ++k)
            if (Placed& p = at_[e.first_out + k]; !p.fixed) p = {region.out[k], true};
        const auto in = j_.inputs(e);
        for (std::uint32_t i = 0; i < e.n_in; ++i)
            if (in[i].is_var())
                if (Placed& p = at_[in[i].var().index]; !p.fixed && p.spec.replicated()) p.spec = region.in[i];
    }
    template <class F>
    void each_dim(std::size_t i, F&& f) {
        const Eqn& e = j_.eqns[i];
        const PartitionRule& rule = rules_[i];
        const auto in = j_.inputs(e);
        for (std::uint32_t k = 0; k < rule.out.size(); ++k)
            for (std::size_t d = 0; d < rule.out[k].size(); ++d)
                if (rule.out[k][d] >= 0) f(rule.out[k][d], Var{e.first_out + k}, d);
        for (std::uint32_t k = 0; k < rule.in.size(); ++k)
            for (std::size_t d = 0; d < rule.in[k].size(); ++d)
                if (rule.in[k][d] >= 0 && in[k].is_var()) f(rule.in[k][d], in[k].var(), d);
    }
    /// What is known outside goes into the bodies, and what follows there comes out.
    void spread_inside(std::size_t i) {
        const auto found = inners_.find(i);
        if (found == inners_.end()) return;
        for (Inner& inner : found->second) {
            std::vector<Placed> at = known_inside(inner);
            const auto same = [](const Placed& a, const Placed& b) { return a.fixed == b.fixed && a.spec.same(b.spec); };
            if (std::equal(at.begin(), at.end(), inner.seen.begin(), inner.seen.end(), same)) continue;
            inner.seen = at;
            Propagation(*inner.flat, mesh_, at).run();
            for (std::size_t k = 0; k < inner.in.size(); ++k)
                lift(inner.in[k], at[inner.flat->invar(static_cast<std::uint32_t>(k)).index].spec);
            for (std::size_t k = 0; k < inner.out.size(); ++k)
                if (const Atom a = inner.flat->outvars[k]; a.is_var()) lift(inner.out[k], at[a.var().index].spec);
        }
    }
    std::vector<Placed> known_inside(const Inner& inner) const {
        const Jaxpr& flat = *inner.flat;
        std::vector<Placed> at(flat.num_vars());
        for (std::uint32_t c = 0; c < flat.num_constvars; ++c) at[c].fixed = true;
        const auto put = [&](Var v, const std::vector<Inner::Tie>& ties) {
            for (const Inner::Tie& t : ties) {
                Spec spec = at_[t.outside.index].spec;
                if (t.scanned && !spec.dims.empty()) spec.dims.erase(spec.dims.begin());
                if (at[v.index].spec.replicated()) at[v.index].spec = std::move(spec);
            }
        };
        for (std::size_t k = 0; k < inner.in.size(); ++k) put(flat.invar(static_cast<std::uint32_t>(k)), inner.in[k]);
        for (std::size_t k = 0; k < inner.out.size(); ++k)
            if (const Atom a = flat.outvars[k]; a.is_var() && !at[a.var().index].fixed) put(a.var(), inner.out[k]);
        return at;
    }
    void lift(const std::vector<Inner::Tie>& ties, const Spec& spec) {
        for (const Inner::Tie& t : ties)
            for (std::size_t d = 0; d < spec.dims.size(); ++d) {
                const std::size_t outside = d + (t.scanned ? 1 : 0);
                if (!spec.dims[d].empty() && fits(t.outside, outside, spec.dims[d], 0)) place(t.outside, outside, spec.dims[d]);
            }
    }
    void spread(std::size_t i) {
        check_cancelled();
        spread_inside(i);
        const PartitionRule& rule = rules_[i];
        std::vector<AxisNames> axes(rule.divides.size());
        each_dim(i, [&](int factor, Var v, std::size_t d) {
            AxisNames& chosen = axes[static_cast<std::size_t>(factor)];
            if (chosen.empty()) chosen = at_[v.index].spec.at(d);
        });
        each_dim(i, [&](int factor, Var v, std::size_t d) {
            const AxisNames& chosen = axes[static_cast<std::size_t>(factor)];
            if (!chosen.empty() && fits(v, d, chosen, rule.divides[static_cast<std::size_t>(factor)])) place(v, d, chosen);
        });
    }
    bool fits(Var v, std::size_t d, const AxisNames& names, std::int64_t divided) const {
        const Placed& p = at_[v.index];
        if (p.fixed || !p.spec.at(d).empty()) return false;
        const std::int64_t parts = mesh_.size_of(names);
        if ((divided != 0 && divided % parts != 0) || j_.aval(v)->shape[d] < parts) return false;
        const AxisNames used = p.spec.axes();
        return std::none_of(names.begin(), names.end(), [&](Sym n) { return std::find(used.begin(), used.end(), n) != used.end(); });
    }
    void place(Var v, std::size_t d, const AxisNames& names) {
        Spec& spec = at_[v.index].spec;
        if (spec.dims.size() <= d) spec.dims.resize(d + 1);
        spec.dims[d] = names;
        changed_ = true;
    }
    const Jaxpr& j_;
    const Mesh& mesh_;
    std::vector<Placed>& at_;
    std::vector<PartitionRule> rules_;
    std::unordered_map<std::size_t, std::vector<Inner>> inners_;  ///< by equation
    bool changed_ = false;
};

}  // namespace

std::vector<Placed> propagate(const Jaxpr& j, const Mesh& mesh, const std::vector<std::optional<Spec>>& in,
                              const std::vector<std::optional<Spec>>& out) {
    std::vector<Placed> at(j.num_vars());
    for (std::uint32_t i = 0; i < j.num_constvars; ++i) at[i].fixed = true;  // every device has the program's constants
    for (std::size_t i = 0; i < in.size(); ++i)
        if (in[i]) at[j.num_constvars + i] = {*in[i], true};
    for (std::size_t k = 0; k < out.size(); ++k)
        if (out[k] && j.outvars[k].is_var())
            if (Placed& p = at[j.outvars[k].var().index]; !p.fixed) p.spec = *out[k];
    Propagation(j, mesh, at).run();
    return at;
}

}  // namespace jaxscope::sharding
