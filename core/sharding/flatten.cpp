// SPDX-License-Identifier: Apache-2.0
#include "sharding/flatten.h"

#include <algorithm>

#include "base/error.h"
#include "calls/control_flow.h"
#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/primitive.h"
#include "ir/types/type_mesh.h"
#include "lax/collectives/collectives.h"
#include "lax/params/placement.h"
#include "lax/primitives.h"
#include "sharding/mesh.h"

namespace jaxscope::sharding {

AvalRef without_sharding(AvalRef a) {
    if (a->sharding.empty()) return a;
    Aval plain = *a;
    plain.sharding = {};
    return plain;
}

namespace {

/// Those in bodies of loops, branches and shard_maps stay until these are cut themselves; in one device's program they bind nothing.
enum class Constraints : std::uint8_t { Stay, Go };
JaxprPtr plain(const Jaxpr& j, Constraints constraints);

ParamsRef unsharded(const ParamsRef& params) {
    ParamsRef out = params;
    for (const char* name : {"sharding", "out_sharding"})
        if (const Attr* a = params->find(name); a && !a->is_none()) out = with_param(out, name, {});
    return out;
}
ParamsRef with_plain_bodies(const ParamsRef& params, Constraints constraints) {
    return params->holds_jaxpr() ? map_jaxprs(params, [&](const JaxprPtr& j) { return plain(*j, constraints); }) : params;
}

Avals plain_results(const Jaxpr& j, const Eqn& e) {
    Avals out;
    for (std::uint32_t k = 0; k < e.n_out; ++k) out.push_back(without_sharding(j.aval(j.output(e, k))));
    return out;
}

/// Constvars and inputs of `j` without shardings, as inputs of `b`.
Values signature(JaxprBuilder& b, const Jaxpr& j) {
    Values out;
    for (std::uint32_t i = 0; i < j.num_constvars; ++i)
        out.push_back(b.add_constvar(without_sharding(j.aval(j.constvar(i))), i < j.consts.size() ? j.consts[i] : nullptr));
    for (std::uint32_t i = 0; i < j.num_invars; ++i)
        out.push_back(b.add_input(without_sharding(j.aval(j.invar(i))), i < j.arg_names.size() ? j.arg_names[i] : Sym()));
    return out;
}

JaxprPtr plain(const Jaxpr& j, Constraints constraints) {
    JaxprBuilder b;
    const Values in = signature(b, j);
    Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_all(in);
    const Values out = run.forward([&](const Eqn& e, const Values& x) {
        const bool go = constraints == Constraints::Go;
        if (go && (e.prim == &kShardingConstraint || e.prim == &kReshard)) return x;
        return b.append(*e.prim, x, with_plain_bodies(go ? unsharded(e.params) : e.params, constraints), plain_results(j, e), e.effects);
    });
    return b.finish(out, j.name);
}

bool asks_for_barrier(const ParamsRef& params) {
    const auto flag = [&](const char* name) {
        const Attr* a = params->find(name);
        const bool* b = a ? a->get<bool>() : nullptr;
        return b && *b;
    };
    return flag("differentiated") && flag("prevent_cse");
}

class Flattening {
public:
    explicit Flattening(JaxprBuilder& b) : b_(b) {}

    Values body(const Jaxpr& j, const Values& all) {
        Interpreter run(j, {.builder = &b_, .doing = "partitioning"}, LiteralAsValue(), Value());
        run.bind_all(all);
        return run.forward([&](const Eqn& e, const Values& in) { return equation(j, e, in); });
    }

private:
    Values equation(const Jaxpr& j, const Eqn& e, const Values& in) {
        switch (e.prim->flow) {
            case Flow::Call:
            case Flow::RuledCall:
                return called(e, in);
            case Flow::Remat:
                return called(e, asks_for_barrier(e.params) ? b_.bind(kOptimizationBarrier, in, {}) : in);
            default:
                break;
        }
        if (e.prim->flow == Flow::Straight && !e.prim->partition && e.prim->expand && e.effects.empty() &&
            !names_mesh_axes(make_op(j, e))) {
            if (const JaxprPtr expanded = e.prim->expand.fn(make_op(j, e))) return body(*expanded, with_consts(*expanded, in));
        }
        if (e.prim->flow == Flow::While) {
            // One answer an example, under vmap: devices go on or not as one bool says, so the loop is written as one over that.
            Op op = make_op(j, e);
            if (op.as<WhileParams>().cond_jaxpr.jaxpr->out_avals().at(0)->rank() > 0) {
                for (AvalRef& a : op.in) a = without_sharding(a);
                op.params = with_plain_bodies(op.params, Constraints::Stay);
                return body(*e.prim->expand.fn(op), in);
            }
        }
        if (e.prim == &kDevicePut) return between_spaces(make_op(j, e), in);
        if (e.prim == &kReshard) return {resharded(e, in[0])};
        if (e.prim == &kShardingConstraint) return b_.append(*e.prim, in, e.params, plain_results(j, e), e.effects);
        Values out = b_.append(*e.prim, in, with_plain_bodies(unsharded(e.params), Constraints::Stay), plain_results(j, e), e.effects);
        if (out.size() == 1) out[0] = as_typed(out[0], e.params);
        return out;
    }
    /// What an operation of explicit types says of its result (`out_sharding`) is a constraint. Axes that the compiler chooses may cut
    /// further what it doesn't.
    Value as_typed(Value v, const ParamsRef& params) {
        const Attr* given = params->find("out_sharding");
        if (!given || given->is_none()) given = params->find("sharding");
        if (!binds(v, given)) return v;
        const Attr::Record& sharding = *given->get_record();
        const auto named = named_sharding_from(*given);
        const std::size_t said = sharding.fields.empty() ? 0 : explicit_axes(sharding.fields[0].second).size();
        if (!named || said == 0) return v;
        Attrs open;
        for (std::int64_t d = 0; said < named->mesh.axes.size() && d < b_.aval(v)->rank(); ++d)
            if (named->spec.at(static_cast<std::size_t>(d)).empty()) open.emplace_back(d);
        const ParamsRef says = Params::make({{"sharding", *given}, {"unconstrained_dims", Attr::seq(Attr::SeqKind::Set, open)}});
        return b_.append(kShardingConstraint, {v}, says, {b_.aval(v)})[0];
    }
    /// What goes from one memory space to another goes as it lies; where a sharding says how it is to lie, the device's side does so.
    Values between_spaces(const Op& op, Values x) {
        const auto& p = op.as<DevicePutParams>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const AvalRef to = without_sharding(op.out[i]);
            if (to->space == op.in[i]->space) continue;
            const bool away = to->space == MemorySpace::Host;
            if (away) x[i] = constrained(x[i], &p.devices[i]);
            DevicePutParams alone{.devices = {Attr(Attr::Enum{"MemorySpace", away ? "Host" : "Device"})}, .srcs = {Attr()}};
            if (i < p.copy_semantics.size()) alone.copy_semantics = {p.copy_semantics[i]};
            x[i] = b_.append(kDevicePut, {x[i]}, make_params(alone), {to})[0];
            if (!away) x[i] = constrained(x[i], &p.devices[i]);
        }
        return x;
    }
    Values called(const Eqn& e, Values in) {
        const Attr* held = e.params->find(e.prim->body);
        const auto* ref = held ? held->get<Attr::JaxprRef>() : nullptr;
        if (!ref) throw Error(ErrorCode::BadInput, std::string("expected a jaxpr in ") + e.prim->name);
        constrain(in, e.params->find("in_shardings"));
        Values out = body(*ref->jaxpr, with_consts(*ref->jaxpr, in));
        constrain(out, e.params->find("out_shardings"));
        return out;
    }
    Values with_consts(const Jaxpr& j, const Values& in) {
        Values all;
        for (std::uint32_t i = 0; i < j.num_constvars; ++i) {
            ArrayPtr value = i < j.consts.size() ? j.consts[i] : nullptr;
            if (!value) {
                auto unknown = std::make_shared<ArrayConst>();
                unknown->aval = j.aval(j.constvar(i));
                value = std::move(unknown);
            }
            all.push_back(b_.constant(std::move(value)));
        }
        all.insert(all.end(), in.begin(), in.end());
        return all;
    }
    /// What jit says of its inputs or results are constraints.
    void constrain(Values& values, const Attr* shardings) {
        const Attr::Seq* list = shardings ? shardings->get_seq() : nullptr;
        for (std::size_t i = 0; list && i < list->items.size() && i < values.size(); ++i)
            values[i] = constrained(values[i], &list->items[i]);
    }
    /// A constraint but for its operand, whose type says how that lies.
    Value resharded(const Eqn& e, Value v) {
        return binds(v, e.params->find("dst_sharding")) ? b_.append(*e.prim, {v}, e.params, {b_.aval(v)})[0] : v;
    }
    bool binds(Value v, const Attr* sharding) const {
        const Attr::Record* r = sharding ? sharding->get_record() : nullptr;
        return r && r->type == Sym("NamedSharding") && b_.aval(v)->rank() != 0;
    }
    Value constrained(Value v, const Attr* sharding) {
        if (!binds(v, sharding)) return v;
        return b_.append(kShardingConstraint, {v}, Params::make({{"sharding", *sharding}}), {b_.aval(v)})[0];
    }
    JaxprBuilder& b_;
};

/// What calls take or give and nobody reads is left behind where they were inlined. Nobody computes it: it has no place on any device.
JaxprPtr without_unread(const JaxprPtr& given) {
    const Jaxpr& j = *given;
    std::vector<bool> read(j.num_vars(), false), live(j.eqns.size(), false);
    const auto note = [&](Atom a) {
        if (a.is_var()) read[a.var().index] = true;
    };
    for (const Atom a : j.outvars) note(a);
    for (std::size_t i = j.eqns.size(); i-- > 0;) {
        const Eqn& e = j.eqns[i];
        live[i] = e.n_out == 0 || !e.effects.empty();
        for (std::uint32_t k = 0; k < e.n_out; ++k) live[i] = live[i] || read[e.first_out + k];
        for (const Atom a : j.inputs(e))
            if (live[i]) note(a);
    }
    if (std::find(live.begin(), live.end(), false) == live.end()) return given;
    Jaxpr out = j;
    out.eqns.clear();
    for (std::size_t i = 0; i < live.size(); ++i)
        if (live[i]) out.eqns.push_back(j.eqns[i]);
    return std::make_shared<const Jaxpr>(std::move(out));
}

}  // namespace

JaxprPtr flattened(const Jaxpr& j) {
    JaxprBuilder b;
    const Values in = signature(b, j);
    return without_unread(b.finish(Flattening(b).body(j, in), j.name));
}

JaxprPtr without_shardings(const Jaxpr& j) { return plain(j, Constraints::Go); }

}  // namespace jaxscope::sharding
