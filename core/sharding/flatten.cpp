// SPDX-License-Identifier: Apache-2.0
#include "sharding/flatten.h"

#include "base/error.h"
#include "calls/control_flow.h"
#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/primitive.h"
#include "lax/collectives/collectives.h"
#include "lax/params/placement.h"
#include "lax/primitives.h"

namespace jaxscope::sharding {

AvalRef without_sharding(AvalRef a) {
    if (a->sharding.empty()) return a;
    Aval plain = *a;
    plain.sharding = {};
    return plain;
}

ParamsRef without_shardings(const ParamsRef& params) {
    ParamsRef out = params;
    for (const char* name : {"sharding", "out_sharding"})
        if (const Attr* a = params->find(name); a && !a->is_none()) out = with_param(out, name, {});
    return out->holds_jaxpr() ? map_jaxprs(out, [](const JaxprPtr& j) { return without_shardings(*j); }) : out;
}

namespace {

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
                op.params = without_shardings(op.params);
                return body(*e.prim->expand.fn(op), in);
            }
        }
        if (e.prim == &kReshard) return {constrained(in[0], e.params->find("dst_sharding"))};
        return b_.append(*e.prim, in, e.prim == &kShardingConstraint ? e.params : without_shardings(e.params), plain_results(j, e),
                         e.effects);
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
    Value constrained(Value v, const Attr* sharding) {
        const Attr::Record* r = sharding ? sharding->get_record() : nullptr;
        if (!r || r->type != Sym("NamedSharding") || b_.aval(v)->rank() == 0) return v;
        return b_.append(kShardingConstraint, {v}, Params::make({{"sharding", *sharding}}), {b_.aval(v)})[0];
    }
    JaxprBuilder& b_;
};

}  // namespace

JaxprPtr flattened(const Jaxpr& j) {
    JaxprBuilder b;
    const Values in = signature(b, j);
    return b.finish(Flattening(b).body(j, in), j.name);
}

JaxprPtr without_shardings(const Jaxpr& j) {
    JaxprBuilder b;
    const Values in = signature(b, j);
    Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_all(in);
    const Values out = run.forward([&](const Eqn& e, const Values& x) {
        // A constraint inside of one device's program binds nothing.
        return e.prim == &kShardingConstraint ? x : b.append(*e.prim, x, without_shardings(e.params), plain_results(j, e), e.effects);
    });
    return b.finish(out, j.name);
}

}  // namespace jaxscope::sharding
