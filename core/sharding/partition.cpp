// SPDX-License-Identifier: Apache-2.0
#include "sharding/partition.h"

#include <algorithm>

#include "base/error.h"
#include "calls/control_flow.h"
#include "calls/host/debug.h"
#include "calls/loops/scan.h"
#include "ir/interpret.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/reductions/windows.h"
#include "sharding/flatten.h"
#include "sharding/one_mesh.h"
#include "sharding/propagate.h"
#include "sharding/reshard.h"

namespace jaxscope::sharding {

const char* kind_name(Finding::Kind kind) {
    switch (kind) {
        case Finding::Kind::ComputedWhole:
            return "computed-whole";
        case Finding::Kind::Padded:
            return "padded";
        case Finding::Kind::NotHonoured:
            return "not-honoured";
    }
    return "";
}

namespace {

using OptionalSpecs = std::vector<std::optional<Spec>>;

/// What padding must be, so that a reduction doesn't see it.
LiteralRef neutral_of(Combine combine, DType dtype) {
    const AvalRef scalar(dtype, {});
    if (combine == Combine::Sum)
        return is_float(dtype) || is_complex(dtype) ? make_literal(scalar, 0.0) : make_literal(scalar, std::int64_t{0});
    return extremum_identity(dtype, combine == Combine::Max);
}

/// Writes the program of one device for one jaxpr; bodies of loops by one of its own each.
class DeviceWriter {
public:
    struct Written {
        JaxprPtr jaxpr;
        std::vector<Spec> in, out;
    };
    /// `manual`: axes along which the program is one device's already, as it stands in a shard_map over them.
    DeviceWriter(const JaxprPtr& flat, Partitioned& report, const OptionalSpecs& in, const OptionalSpecs& out, std::int64_t times = 1,
                 AxisNames manual = {})
        : j_(*flat),
          report_(report),
          move_(b_, report),
          at_(propagate(*flat, report.mesh, in, out)),
          kept_(kept()),
          wanted_out_(out),
          manual_(std::move(manual)) {
        move_.times = times;
    }

    /// `whole`: the program itself, whose results JAX returns whole where devices can't have equal parts of them; it takes such inputs
    /// whole.
    Written write(bool whole = false) {
        Written w;
        Values values;
        for (std::uint32_t i = 0; i < j_.num_constvars; ++i)
            values.push_back(b_.add_constvar(j_.aval(j_.constvar(i)), i < j_.consts.size() ? j_.consts[i] : nullptr));
        for (std::uint32_t i = 0; i < j_.num_invars; ++i) {
            Placed& p = at_[j_.invar(i).index];
            if (whole && !p.fixed && !uneven_dims(j_.aval(j_.invar(i))->shape, {report_.mesh, p.spec}).empty()) p.spec = {};
            const Spec& spec = p.spec;
            values.push_back(b_.add_input(local(j_.aval(j_.invar(i)), spec), i < j_.arg_names.size() ? j_.arg_names[i] : Sym()));
            w.in.push_back(spec);
        }
        values_.assign(j_.num_vars(), Value());
        std::copy(values.begin(), values.end(), values_.begin());
        EqnWalk walk(j_, {.builder = &b_, .doing = "partitioning"});
        walk.forward([&](const Eqn& e) { equation(e); });
        Values results;
        for (std::size_t k = 0; k < j_.outvars.size(); ++k) {
            const Atom a = j_.outvars[k];
            Spec natural = a.is_var() ? at_[a.var().index].spec : Spec{};
            const bool said = k < wanted_out_.size() && wanted_out_[k];
            if (whole && !said) natural = even(a, std::move(natural));
            w.out.push_back(said ? *wanted_out_[k] : natural);
            if (const Eqn* e = a.is_var() ? maker_of(a.var()) : nullptr) b_.source = e->source, move_.asked_by = e->prim;
            results.push_back(read(a, w.out.back()));
        }
        w.jaxpr = b_.finish(results, j_.name);
        return w;
    }

private:
    AvalRef local(AvalRef a, const Spec& spec) const {
        return a->is_array() ? with_shape(a, shard_shape(a->shape, {report_.mesh, spec})) : a;
    }
    Value read(Atom a, const Spec& spec) {
        if (a.is_literal()) return a.literal();
        const Placed& p = at_[a.var().index];
        return move_.moved(values_[a.var().index], j_.aval(a), p.spec, spec);
    }
    void put(const Eqn& e, std::uint32_t k, Value v, const Spec& natural) {
        const Var out{e.first_out + k};
        values_[out.index] = move_.moved(v, j_.aval(out), natural, at_[out.index].spec);
    }

    /// How a result of the program lies that would lie so inside of it.
    Spec even(Atom a, Spec spec) {
        const AvalRef aval = j_.aval(a);
        if (uneven_dims(aval->shape, {report_.mesh, spec}).empty()) return spec;
        const Placed& p = at_[a.var().index];
        if (p.fixed)
            report_.findings.push_back({Finding::Kind::NotHonoured, &kShardingConstraint, source_of(a.var()), aval, to_text(spec),
                                        aval->bytes() - bytes_per_device(aval, {report_.mesh, spec})});
        return {};
    }
    const Eqn* maker_of(Var v) const {
        const auto behind = std::upper_bound(j_.eqns.begin(), j_.eqns.end(), v.index, [](auto i, const Eqn& e) { return i < e.first_out; });
        if (behind == j_.eqns.begin()) return nullptr;
        const Eqn& e = *std::prev(behind);
        return v.index < e.first_out + e.n_out ? &e : nullptr;
    }
    SourceRef source_of(Var v) const {
        const Eqn* e = maker_of(v);
        return e ? e->source : SourceRef();
    }

    void equation(const Eqn& e) {
        const Op op = make_op(j_, e);
        for (std::uint32_t k = 0; k < e.n_out; ++k) {
            const Placed& p = at_[e.first_out + k];
            report_.values.push_back({e.prim, e.params, e.source, op.out[k], p.spec, p.fixed, filled(op, e.first_out)});
        }
        move_.asked_by = op.prim;
        if (is_constraint(*op.prim)) return constraint(e, op);
        if (const auto region = manual_region(op, report_.mesh)) return manual(e, *region);
        if (op.prim == &kScan) return scan(e, op);
        if (op.prim == &kWhile) return loop(e, op);
        if (op.prim == &kCond) return cond(e, op);
        if (op.out.empty() && each_device_looks(e.params)) return look(e);
        plain(e, op);
    }
    bool filled(const Op& op, std::uint32_t out) const { return op.prim == &kBroadcastInDim && op.in[0]->rank() == 0 && !kept_[out]; }
    /// What another than an elementwise equation reads, or a result is.
    std::vector<bool> kept() const {
        std::vector<bool> out(j_.num_vars(), false);
        const auto note = [&](Atom a) {
            if (a.is_var()) out[a.var().index] = true;
        };
        for (const Atom a : j_.outvars) note(a);
        for (const Eqn& e : j_.eqns)
            if (e.prim->partition.fn != partition_elementwise)
                for (const Atom a : j_.inputs(e)) note(a);
        return out;
    }
    /// Values as each device has them: nobody asks for more.
    void look(const Eqn& e) {
        Values in;
        for (const Atom a : j_.inputs(e)) in.push_back(a.is_literal() ? Value(a.literal()) : values_[a.var().index]);
        b_.append(*e.prim, in, e.params, {}, e.effects);
    }

    void constraint(const Eqn& e, const Op& op) {
        const Spec& spec = at_[e.first_out].spec;
        if (!uneven_dims(op.in[0]->shape, {report_.mesh, spec}).empty()) {
            std::int64_t padded = bytes_per_device(op.in[0], {report_.mesh, spec});
            for (const AxisNames& axes : spec.dims) padded *= report_.mesh.size_of(axes);
            report_.findings.push_back({Finding::Kind::Padded, op.prim, op.source, op.in[0], to_text(spec), padded - op.in[0]->bytes()});
        }
        values_[e.first_out] = read(j_.inputs(e)[0], spec);
    }

    void manual(const Eqn& e, const ManualRegion& region) {
        AxisNames all = manual_;
        all.insert(all.end(), region.manual.begin(), region.manual.end());
        if (all.size() < report_.mesh.axes.size()) return partly_manual(e, region, all);
        fully_manual(e, region);
    }
    /// The body is cut along the other axes, as the program around it is.
    void partly_manual(const Eqn& e, const ManualRegion& region, const AxisNames& manual) {
        OptionalSpecs in, out;
        Values x;
        for (std::uint32_t i = 0; i < e.n_in; ++i) {
            const Atom a = j_.inputs(e)[i];
            in.emplace_back(region.rest(spec_at(a), region.in[i], j_.aval(a)->shape, report_.mesh));
            x.push_back(read(a, joined(region.in[i], *in.back())));
        }
        const JaxprPtr body = with_each_device_looking(*flattened(*region.body));
        const Written w = DeviceWriter(body, report_, in, out, move_.times, manual).write(true);
        Values constants;
        for (std::uint32_t c = 0; c < w.jaxpr->num_constvars; ++c) constants.push_back(b_.constant(w.jaxpr->consts.at(c)));
        const Values r = inline_jaxpr(b_, *w.jaxpr, constants, x);
        for (std::uint32_t k = 0; k < e.n_out; ++k) put(e, k, r[k], joined(region.out[k], w.out[k]));
    }
    /// The body is a device's program already.
    void fully_manual(const Eqn& e, const ManualRegion& region) {
        Values in;
        for (std::uint32_t i = 0; i < e.n_in; ++i) in.push_back(read(j_.inputs(e)[i], region.in[i]));
        const JaxprPtr body = with_each_device_looking(*without_shardings(*flattened(*region.body)));
        Interpreter run(*body, {.builder = &b_, .doing = "partitioning"}, LiteralAsValue(), Value());
        run.bind_all(in);
        const Values out = run.forward([&](const Eqn& inner, const Values& x) {
            const Op op = make_op(*body, inner);
            move_.asked_by = nullptr;
            note_meetings(op);
            return b_.append(*inner.prim, x, inner.params, op.out, inner.effects);
        });
        move_.asked_by = e.prim;
        for (std::uint32_t k = 0; k < e.n_out; ++k) put(e, k, out[k], region.out[k]);
    }

    /// A collective of a shard_map whose body is cut further: of what a device has of its operands.
    void note_meeting(const Op& op, const ParamsRef& params, const Values& in, const Avals& out) {
        Op local = op;
        local.params = params;
        for (std::size_t i = 0; i < in.size(); ++i) local.in[i] = b_.aval(in[i]);
        local.out = out;
        move_.asked_by = nullptr;
        move_.note(local);
        move_.asked_by = op.prim;
    }
    /// Of a device's program that stands in the program already: its collectives, those of its loops too.
    void note_meetings(const Op& op) {
        if (names_mesh_axes(op)) return move_.note(op);
        const std::int64_t outer = move_.times;
        if (op.prim->flow == Flow::Scan) move_.times *= op.as<ScanParams>().length;
        if (op.prim->flow == Flow::While) move_.times = 0;
        for (const JaxprPtr& inner : op.params->jaxprs())
            for (const Eqn& e : inner->eqns) note_meetings(make_op(*inner, e));
        move_.times = outer;
    }

    // ---- Equations that a rule cuts

    struct Cut {
        std::vector<AxisNames> axes;  ///< per factor
        std::vector<bool> result;     ///< per factor: some result has it
    };
    /// `summed_first`: dimensions that are summed over take their axes before those of the results do.
    Cut cut_of(const Eqn& e, const PartitionRule& rule, bool summed_first = false) const {
        Cut cut;
        cut.axes.resize(rule.divides.size());
        cut.result.resize(rule.divides.size());
        std::vector<AxisNames> all_used(rule.apart ? std::max(rule.in.size(), rule.out.size()) : 1);
        const auto offer = [&](std::size_t k, const std::vector<int>& factors, const Spec& spec, bool summed_alone = false) {
            AxisNames& used = all_used[rule.apart ? k : 0];
            for (std::size_t d = 0; d < factors.size(); ++d) {
                if (factors[d] < 0 || spec.at(d).empty()) continue;
                const auto f = static_cast<std::size_t>(factors[d]);
                const AxisNames& names = spec.at(d);
                const bool taken =
                    std::any_of(names.begin(), names.end(), [&](Sym n) { return std::find(used.begin(), used.end(), n) != used.end(); });
                if (summed_alone && cut.result[f]) continue;
                const bool summed_whole = !cut.result[f] && rule.combine == Combine::Whole;
                if (!cut.axes[f].empty() || taken || summed_whole) continue;
                if (rule.divides[f] != 0 && rule.divides[f] % report_.mesh.size_of(names) != 0) continue;
                cut.axes[f] = names;
                used.insert(used.end(), names.begin(), names.end());
            }
        };
        for (const std::vector<int>& factors : rule.out)
            for (const int f : factors)
                if (f >= 0) cut.result[static_cast<std::size_t>(f)] = true;
        const auto in = j_.inputs(e);
        for (std::size_t i = 0; summed_first && i < rule.in.size(); ++i)
            if (in[i].is_var()) offer(i, rule.in[i], at_[in[i].var().index].spec, true);
        for (std::size_t k = 0; k < rule.out.size(); ++k) offer(k, rule.out[k], at_[e.first_out + k].spec);
        for (std::size_t i = 0; i < rule.in.size(); ++i)
            if (in[i].is_var()) offer(i, rule.in[i], at_[in[i].var().index].spec);
        return cut;
    }
    /// The same axes may cut a result, or what is summed over: gradients of weights that are cut as the samples are. The one that sends
    /// less is taken: operands are gathered in the first case, the result's parts put together in the second.
    Cut best_cut(const Eqn& e, const Op& op, const PartitionRule& rule) const {
        Cut cut = cut_of(e, rule);
        if (rule.combine != Combine::Sum || rule.apart) return cut;
        const auto better = [&](const Cut& other) {
            if (other.axes != cut.axes && sent(e, op, rule, other) < sent(e, op, rule, cut)) cut = other;
        };
        better(cut_of(e, rule, true));
        if (rule.part) {
            Cut whole = cut;
            for (std::size_t f = 0; f < whole.axes.size(); ++f)
                if (!whole.result[f]) whole.axes[f].clear();
            better(whole);
        }
        return cut;
    }
    std::int64_t sent(const Eqn& e, const Op& op, const PartitionRule& rule, const Cut& cut) const {
        std::int64_t bytes = 0, parts = 1;
        for (std::size_t f = 0; f < cut.axes.size(); ++f)
            if (!cut.result[f]) parts *= report_.mesh.size_of(cut.axes[f]);
        for (std::size_t i = 0; i < op.in.size(); ++i)
            if (const Atom a = j_.inputs(e)[i]; a.is_var()) bytes += gathered(op.in[i], at_[a.var().index].spec, spec_of(rule.in[i], cut));
        for (std::size_t k = 0; k < op.out.size(); ++k) {
            const Spec natural = spec_of(rule.out[k], cut);
            bytes += gathered(op.out[k], natural, at_[e.first_out + k].spec);
            bytes += bytes_per_device(op.out[k], {report_.mesh, natural}) * (parts - 1) / parts;
        }
        return bytes;
    }
    /// What a device gets of others, at most, so that a value that lies as `from` says lies as `to` says.
    std::int64_t gathered(AvalRef a, const Spec& from, const Spec& to) const {
        Spec met = from;
        for (std::size_t d = 0; d < met.dims.size(); ++d)
            if (met.dims[d] != to.at(d)) met.dims[d].clear();
        return bytes_per_device(a, {report_.mesh, met}) - bytes_per_device(a, {report_.mesh, from});
    }
    static Spec spec_of(const std::vector<int>& factors, const Cut& cut) {
        Spec out;
        for (const int f : factors) out.dims.push_back(f >= 0 ? cut.axes[static_cast<std::size_t>(f)] : AxisNames());
        return out;
    }
    /// An operand that must be whole where it was cut is worth knowing.
    void note_whole(const Op& op, std::size_t i, const Spec& have, const PartitionRule& rule, const Cut& cut) {
        const auto whole = [&](int f) {
            if (f < 0) return true;
            const auto k = static_cast<std::size_t>(f);
            return !cut.result[k] && (rule.combine == Combine::Whole || (rule.part && cut.axes[k].empty()));
        };
        Spec met = have;
        bool any = false;
        for (std::size_t d = 0; d < rule.in[i].size() && d < met.dims.size(); ++d) {
            if (!whole(rule.in[i][d]) || met.dims[d].empty()) continue;
            met.dims[d].clear();
            any = true;
        }
        if (!any) return;
        const std::int64_t others = bytes_per_device(op.in[i], {report_.mesh, met}) - bytes_per_device(op.in[i], {report_.mesh, have});
        report_.findings.push_back({Finding::Kind::ComputedWhole, op.prim, op.source, op.in[i], to_text(have), others});
    }

    void plain(const Eqn& e, const Op& op) {
        const PartitionRule rule = rule_of(op);
        const Cut cut = best_cut(e, op, rule);
        Values in;
        for (std::size_t i = 0; i < op.in.size(); ++i) {
            const Atom a = j_.inputs(e)[i];
            if (a.is_var()) note_whole(op, i, at_[a.var().index].spec, rule, cut);
            const Spec spec = spec_of(rule.in[i], cut);
            Value v = read(a, spec);
            for (std::size_t d = 0; d < rule.in[i].size(); ++d) {
                const int f = rule.in[i][d];
                const std::int64_t size = op.in[i]->shape[d];
                if (f < 0 || rule.part || cut.result[static_cast<std::size_t>(f)] || size % report_.mesh.size_of(spec.at(d)) == 0) continue;
                v = move_.masked(v, d, spec.at(d), size, neutral_of(rule.combine, op.in[i]->dtype));
            }
            in.push_back(v);
        }
        std::vector<Spec> natural;
        std::vector<Dims> shapes;
        bool any_cut = false;
        for (std::size_t k = 0; k < op.out.size(); ++k) {
            natural.push_back(spec_of(rule.out[k], cut));
            shapes.push_back(shard_shape(op.out[k]->shape, {report_.mesh, natural[k]}));
            any_cut = any_cut || !natural[k].replicated();
        }
        for (const AxisNames& a : cut.axes) any_cut = any_cut || !a.empty();
        const ParamsRef params = any_cut && rule.params ? rule.params(op, shapes) : op.params;
        Avals avals;
        for (std::size_t k = 0; k < op.out.size(); ++k)
            avals.push_back(op.out[k]->is_array() ? with_shape(op.out[k], shapes[k]) : op.out[k]);
        AxisNames summed;
        for (std::size_t f = 0; f < cut.axes.size(); ++f)
            if (!cut.result[f]) summed.insert(summed.end(), cut.axes[f].begin(), cut.axes[f].end());
        const AxisNames placed = rule.placed >= 0 ? cut.axes[static_cast<std::size_t>(rule.placed)] : AxisNames();
        Values out;
        if (rule.part && !(summed.empty() && placed.empty())) {
            const auto which = [&](const AxisNames& axes) { return axes.empty() ? std::nullopt : std::optional(move_.position(axes)); };
            out.push_back(rule.part(b_, {op, in, params, avals[0], which(summed), which(placed)}));
        } else {
            out = b_.append(*op.prim, in, params, avals, e.effects);
        }
        if (!manual_.empty() && names_mesh_axes(op)) note_meeting(op, params, in, avals);
        for (std::uint32_t k = 0; k < out.size(); ++k) finish(e, k, out[k], natural[k], rule.combine, summed);
    }
    /// Puts sums together: where each device keeps a part of them alone, in one step.
    void finish(const Eqn& e, std::uint32_t k, Value v, Spec natural, Combine combine, const AxisNames& summed) {
        if (!summed.empty()) {
            const Var out{e.first_out + k};
            const Spec& wanted = at_[out.index].spec;
            const Dims& shape = j_.aval(out)->shape;
            for (std::size_t d = 0; d < shape.size() && combine == Combine::Sum; ++d)
                if (natural.at(d).empty() && wanted.at(d) == summed && shape[d] % report_.mesh.size_of(summed) == 0) {
                    natural.dims.resize(std::max(natural.dims.size(), d + 1));
                    natural.dims[d] = summed;
                    return put(e, k, move_.scattered(v, d, summed), natural);
                }
            v = move_.combined(v, combine, summed);
        }
        put(e, k, v, natural);
    }

    // ---- Loops and branches

    /// `times`: how often it runs each time that this program does; 0: not known.
    Written body_of(const JaxprPtr& body, const OptionalSpecs& in, const OptionalSpecs& out, std::int64_t times) {
        return DeviceWriter(flattened(*body), report_, in, out, move_.times * times, manual_).write();
    }
    static Spec inner(const Spec& spec) {
        Spec out = spec;
        if (!out.dims.empty()) out.dims.erase(out.dims.begin());
        return out;
    }
    static Spec outer(Spec spec) {
        spec.dims.insert(spec.dims.begin(), AxisNames());
        return spec;
    }
    Spec spec_at(Atom a) const { return a.is_var() ? at_[a.var().index].spec : Spec{}; }

    void scan(const Eqn& e, const Op& op) {
        const ScanView view(op);
        const std::size_t carried = view.num_consts + view.num_carry;
        OptionalSpecs in, out(view.num_carry + view.num_ys);
        Values x;
        for (std::size_t i = 0; i < op.in.size(); ++i) {
            const Atom a = j_.inputs(e)[i];
            Spec spec = i >= view.num_consts && i < carried ? at_[e.first_out + (i - view.num_consts)].spec : spec_at(a);
            if (i >= carried && !spec.dims.empty()) spec.dims[0].clear();
            x.push_back(read(a, spec));
            in.push_back(i < carried ? spec : inner(spec));
            if (i >= view.num_consts && i < carried) out[i - view.num_consts] = spec;
        }
        // What it stacks is made as it is wanted, so that sums are put together part by part.
        for (std::size_t k = view.num_carry; k < out.size(); ++k)
            if (const Spec& wanted = at_[e.first_out + k].spec; !wanted.replicated() && wanted.at(0).empty()) out[k] = inner(wanted);
        const Written body = body_of(view.body, in, out, op.as<ScanParams>().length);
        const Values r = view.emit(b_, x, body.jaxpr, view.num_consts, view.num_carry);
        for (std::uint32_t k = 0; k < e.n_out; ++k) put(e, k, r[k], k < view.num_carry ? body.out[k] : outer(body.out[k]));
    }
    void loop(const Eqn& e, const Op& op) {
        const auto& p = op.as<WhileParams>();
        const auto cond_consts = static_cast<std::size_t>(p.cond_nconsts), consts = cond_consts + static_cast<std::size_t>(p.body_nconsts);
        OptionalSpecs for_cond, for_body, carried;
        Values x;
        for (std::size_t i = 0; i < op.in.size(); ++i) {
            const Spec spec = i < consts ? spec_at(j_.inputs(e)[i]) : at_[e.first_out + (i - consts)].spec;
            x.push_back(read(j_.inputs(e)[i], spec));
            if (i < cond_consts || i >= consts) for_cond.emplace_back(spec);
            if (i >= cond_consts) for_body.emplace_back(spec);
            if (i >= consts) carried.emplace_back(spec);
        }
        WhileParams local = p;
        local.cond_jaxpr.jaxpr = body_of(p.cond_jaxpr.jaxpr, for_cond, {Spec{}}, 0).jaxpr;
        const Written body = body_of(p.body_jaxpr.jaxpr, for_body, carried, 0);
        local.body_jaxpr.jaxpr = body.jaxpr;
        const Values r = b_.bind(*op.prim, x, make_params(local));
        for (std::uint32_t k = 0; k < e.n_out; ++k) put(e, k, r[k], *carried[k]);
    }
    void cond(const Eqn& e, const Op& op) {
        CondParams local = op.as<CondParams>();
        OptionalSpecs in, out;
        Values x{read(j_.inputs(e)[0], {})};
        for (std::size_t i = 1; i < op.in.size(); ++i) {
            in.emplace_back(spec_at(j_.inputs(e)[i]));
            x.push_back(read(j_.inputs(e)[i], *in.back()));
        }
        for (std::uint32_t k = 0; k < e.n_out; ++k) out.emplace_back(at_[e.first_out + k].spec);
        for (JaxprPtr& branch : local.branches) branch = body_of(branch, in, out, 1).jaxpr;
        const Values r = b_.bind(*op.prim, x, with_param(op.params, "branches", ::jaxscope::to_attr(local.branches)));
        for (std::uint32_t k = 0; k < e.n_out; ++k) put(e, k, r[k], *out[k]);
    }

    const Jaxpr& j_;
    Partitioned& report_;
    JaxprBuilder b_;
    Resharding move_;
    std::vector<Placed> at_;
    std::vector<bool> kept_;
    OptionalSpecs wanted_out_;
    AxisNames manual_;
    Values values_;
};

}  // namespace

Partitioned partition(const PartitionRequest& given) {
    const PartitionRequest request = over_one_mesh(given);
    Partitioned out;
    out.mesh = request.mesh;
    const JaxprPtr flat = flattened(*request.program);
    for (std::uint32_t i = 0; i < flat->num_invars; ++i) out.in_avals.push_back(flat->aval(flat->invar(i)));
    for (const Atom a : flat->outvars) out.out_avals.push_back(flat->aval(a));
    DeviceWriter::Written w = DeviceWriter(flat, out, request.in, request.out).write(true);
    out.body = std::move(w.jaxpr);
    out.in = std::move(w.in);
    out.out = std::move(w.out);
    return out;
}

}  // namespace jaxscope::sharding
