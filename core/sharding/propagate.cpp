// SPDX-License-Identifier: Apache-2.0
#include "sharding/propagate.h"

#include <algorithm>
#include <unordered_map>

#include "base/cancel.h"
#include "base/error.h"
#include "calls/control_flow.h"
#include "calls/loops/scan.h"
#include "lax/collectives/collectives.h"
#include "lax/params/placement.h"
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

/// Dimensions of the operand and of the result along which devices of a shard_map exchange parts: gathered, scattered, split and joined.
/// The result may lack one of the operand's, or have one more.
struct Exchanged {
    std::vector<std::int64_t> whole;
    std::int64_t gone = -1, made = -1;
};
std::optional<Exchanged> exchanged(const Op& op) {
    if (op.prim == &kAllGather || op.prim == &kAllGatherInvariant) {
        const auto& p = op.as<AllGatherParams>();
        return p.tiled ? Exchanged{.whole = {p.all_gather_dimension}} : Exchanged{.made = p.all_gather_dimension};
    }
    if (op.prim == &kReduceScatter) {
        const auto& p = op.as<ReduceScatterParams>();
        return Exchanged{.whole = {p.scatter_dimension}, .gone = p.tiled ? -1 : p.scatter_dimension};
    }
    if (op.prim == &kAllToAll) {
        const auto& p = op.as<AllToAllParams>();  // tiled or not: the operand has both dimensions, and so has the result
        return Exchanged{.whole = {p.split_axis, p.concat_axis}};
    }
    return std::nullopt;
}
std::optional<PartitionRule> rule_of_exchange(const Op& op) {
    const auto e = op.in.size() == 1 && op.out.size() == 1 ? exchanged(op) : std::nullopt;
    if (!e) return std::nullopt;
    PartitionRule rule;
    std::vector<int> in = own_factors(rule, op.in[0]);
    for (const std::int64_t d : e->whole) {
        if (d < 0 || d >= std::ssize(in)) return std::nullopt;
        in[static_cast<std::size_t>(d)] = PartitionRule::kWhole;
    }
    std::vector<int> out = in;
    if (e->gone >= 0) out.erase(out.begin() + e->gone);
    if (e->made >= 0 && e->made <= std::ssize(out)) out.insert(out.begin() + e->made, PartitionRule::kWhole);
    if (out.size() != op.out[0]->shape.size()) return std::nullopt;
    rule.in = {in};
    rule.out = {out};
    return rule;
}
/// Devices that meet along axes of a shard_map may each have a part of the value along others, where its dimensions stay apart.
PartitionRule rule_of_meeting(const Op& op) {
    if (auto rule = rule_of_exchange(op)) return *std::move(rule);
    PartitionRule rule;
    const bool alike = op.in.size() == op.out.size() &&
                       std::equal(op.in.begin(), op.in.end(), op.out.begin(), [](AvalRef a, AvalRef b) { return a->shape == b->shape; });
    for (const AvalRef a : op.in)
        rule.in.push_back(alike ? own_factors(rule, a) : std::vector<int>(a->shape.size(), PartitionRule::kWhole));
    for (std::size_t k = 0; k < op.out.size(); ++k)
        rule.out.push_back(alike ? rule.in[k] : std::vector<int>(op.out[k]->shape.size(), PartitionRule::kWhole));
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
    if (names_mesh_axes(op)) return rule_of_meeting(op);
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
    AxisNames manual;
    const Attr* axes = op.params->find("newly_manual_axes");
    if (const Attr::Seq* list = axes ? axes->get_seq() : nullptr) {
        for (const Attr& item : list->items)
            if (const Sym* name = item.get<Sym>()) manual.push_back(*name);
    } else {
        for (const Mesh::Axis& a : mesh.axes) manual.push_back(a.name);
    }
    const Attr* body = op.params->find(op.prim->body);
    const auto* ref = body ? body->get<Attr::JaxprRef>() : nullptr;
    if (!ref) throw Error(ErrorCode::BadInput, std::string("expected a jaxpr in ") + op.prim->name);
    ManualRegion out{specs_param(op, "in_specs"), specs_param(op, "out_specs"), ref->jaxpr, std::move(manual)};
    if (out.in.size() != op.in.size() || out.out.size() != op.out.size() || ref->jaxpr->num_invars != op.in.size() ||
        ref->jaxpr->outvars.size() != op.out.size() || ref->jaxpr->num_constvars != 0)
        throw Error(ErrorCode::BadInput, std::string("expected a spec for each operand and result of ") + op.prim->name)
            .at(op.source.loc());
    return out;
}

Spec ManualRegion::rest(const Spec& whole, const Spec& lead, const Dims& shape, const Mesh& mesh) const {
    Spec further_cut;
    further_cut.dims.resize(shape.size());
    const AxisNames taken = lead.axes();
    const auto is_in = [](const AxisNames& names, Sym n) { return std::find(names.begin(), names.end(), n) != names.end(); };
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const AxisNames &names = whole.at(d), &first = lead.at(d);
        if (names.size() <= first.size() || !std::equal(first.begin(), first.end(), names.begin())) continue;
        const AxisNames further(names.begin() + static_cast<std::ptrdiff_t>(first.size()), names.end());
        const bool own = std::any_of(further.begin(), further.end(), [&](Sym n) { return is_in(manual, n) || is_in(taken, n); });
        if (!own && shape[d] % mesh.size_of(names) == 0) further_cut.dims[d] = further;
    }
    return further_cut;
}
Spec joined(const Spec& lead, const Spec& rest) {
    Spec out = lead;
    out.dims.resize(std::max(lead.dims.size(), rest.dims.size()));
    for (std::size_t d = 0; d < rest.dims.size(); ++d) out.dims[d].insert(out.dims[d].end(), rest.dims[d].begin(), rest.dims[d].end());
    return out;
}

bool is_constraint(const Primitive& prim) { return &prim == &kShardingConstraint || &prim == &kReshard; }
std::optional<Placed> constraint_of(const Op& op, const Mesh& mesh) {
    if (!is_constraint(*op.prim)) return std::nullopt;
    const Attr* given = op.params->find(op.prim == &kReshard ? "dst_sharding" : "sharding");
    const std::optional<NamedSharding> s = given ? named_sharding_from(*given) : std::nullopt;
    if (!s) return std::nullopt;
    if (!(s->mesh == mesh)) other_mesh(op, mesh, to_text(s->mesh));
    shard_shape(op.in.at(0)->shape, *s);
    Placed out{s->spec, true};
    if (const Attr* open = op.params->find("unconstrained_dims"); open && open->get_seq())
        for (const Attr& d : open->get_seq()->items)
            if (const auto* i = d.get<std::int64_t>()) out.open.push_back(*i);
    return out;
}

namespace {

/// A body of a loop or branch, and which values outside its inputs and results are. A scanned one has a leading dimension more.
struct Inner {
    struct Tie {
        Var outside;
        bool scanned = false;
        Spec lead = {};  ///< of a shard_map over some axes: how it cuts the value
    };
    std::optional<ManualRegion> region;  ///< such a shard_map
    JaxprPtr flat;
    std::vector<std::vector<Tie>> in, out;
    std::vector<Placed> seen;  ///< what was known outside when it was last looked at
};

std::vector<Inner::Tie> tie(Atom a, bool scanned = false) {
    return a.is_var() ? std::vector<Inner::Tie>{{a.var(), scanned}} : std::vector<Inner::Tie>();
}
/// `first`: which operand is the body's first input. A carry is one with its result.
Inner inner_of(const JaxprPtr& body, const Jaxpr& j, const Eqn& e, std::size_t first, std::size_t consts, std::size_t carries) {
    Inner out{.flat = flattened(*body)};
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

/// The body of a shard_map over some axes, which is cut along the others.
Inner inner_of(const ManualRegion& region, const Jaxpr& j, const Eqn& e) {
    Inner out{.region = region, .flat = flattened(*region.body)};
    const auto in = j.inputs(e);
    for (std::uint32_t i = 0; i < e.n_in; ++i) {
        out.in.push_back(tie(in[i]));
        for (Inner::Tie& t : out.in.back()) t.lead = region.in[i];
    }
    for (std::uint32_t k = 0; k < e.n_out; ++k) out.out.push_back({{Var{e.first_out + k}, false, region.out[k]}});
    return out;
}

class Propagation {
public:
    Propagation(const Jaxpr& j, const Mesh& mesh, std::vector<Placed>& at) : j_(j), mesh_(mesh), at_(at) {
        for (const Eqn& e : j.eqns) {
            const Op op = make_op(j, e);
            if (std::vector<Inner> inners = inners_of(j, e, op); !inners.empty()) inners_.emplace(rules_.size(), std::move(inners));
            if (const auto region = manual_region(op, mesh)) {
                const bool partly = region->manual.size() < mesh.axes.size();
                fix_region(e, *region, partly);
                if (partly) inners_.emplace(rules_.size(), std::vector<Inner>{inner_of(*region, j, e)});
                rules_.emplace_back();
                continue;
            }
            if (const auto said = constraint_of(op, mesh)) at_[e.first_out] = *said;
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
    /// Where it is over some axes (`partly`), its results may be cut along others.
    void fix_region(const Eqn& e, const ManualRegion& region, bool partly) {
        for (std::uint32_t k = 0; k < e.n_out; ++k)
            if (Placed& p = at_[e.first_out + k]; !p.fixed && (!partly || p.spec.replicated())) p = {region.out[k], !partly};
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
                if (inner.region) spec = inner.region->rest(spec, t.lead, j_.aval(t.outside)->shape, mesh_);
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
                if (!spec.dims[d].empty() && !t.lead.at(d).empty()) extend(t.outside, d, t.lead.at(d), spec.dims[d]);
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
        if (!p.spec.at(d).empty() || (p.fixed && !std::count(p.open.begin(), p.open.end(), static_cast<std::int64_t>(d)))) return false;
        const std::int64_t parts = mesh_.size_of(names);
        if ((divided != 0 && divided % parts != 0) || j_.aval(v)->shape[d] < parts) return false;
        const AxisNames used = p.spec.axes();
        return std::none_of(names.begin(), names.end(), [&](Sym n) { return std::find(used.begin(), used.end(), n) != used.end(); });
    }
    /// A dimension that a shard_map cuts by `lead`, cut further.
    void extend(Var v, std::size_t d, const AxisNames& lead, const AxisNames& names) {
        Placed& p = at_[v.index];
        const AxisNames used = p.spec.axes();
        const bool taken =
            std::any_of(names.begin(), names.end(), [&](Sym n) { return std::find(used.begin(), used.end(), n) != used.end(); });
        if (p.fixed || p.spec.at(d) != lead || taken || j_.aval(v)->shape[d] % (mesh_.size_of(lead) * mesh_.size_of(names)) != 0) return;
        p.spec.dims[d].insert(p.spec.dims[d].end(), names.begin(), names.end());
        changed_ = true;
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
