// SPDX-License-Identifier: Apache-2.0
#include "sharding/named_program.h"

#include <algorithm>

#include "base/error.h"
#include "calls/sharding/sharded_call.h"
#include "ir/builder.h"
#include "ir/interpret.h"
#include "lax/primitives.h"

namespace jaxscope::sharding {

namespace {

/// What a call inside says of its operands or results, the last ones where there are more: constants in front are replicated.
std::vector<Parts> parts_in(const Attr& list, std::size_t values) {
    std::vector<Parts> out(values);
    const Attr::Seq* given = list.get_seq();
    const std::size_t n = given ? std::min(given->items.size(), values) : 0;
    for (std::size_t i = 0; i < n; ++i) out[values - n + i] = parts_from(given->items[i]);
    return out;
}

void collect(const Jaxpr& j, std::vector<Parts>& out) {
    for (const Eqn& e : j.eqns) {
        if (e.prim == &kShardedCall) {
            const auto& p = make_op(j, e).as<ShardedCallParams>();
            for (const Parts& parts : parts_in(p.in_parts, e.n_in)) out.push_back(parts);
            for (const Parts& parts : parts_in(p.out_parts, e.n_out)) out.push_back(parts);
        }
        const Attr* given = e.prim == &kShardingConstraint ? e.params->find("partitions") : nullptr;
        if (given) out.push_back(parts_from(*given));
        for (const JaxprPtr& inner : e.params->jaxprs()) collect(*inner, out);
    }
}

class Naming {
public:
    Naming(const std::vector<Parts>& all, std::int64_t devices) {
        for (const Parts& p : all) {
            if (std::find(known_.begin(), known_.end(), p) != known_.end()) continue;
            known_.push_back(p);
            if (!named_parts(known_, devices)) crossing.push_back(p), known_.pop_back();
        }
        named_ = *named_parts(known_, devices);
    }
    const Mesh& mesh() const { return named_.mesh; }
    std::optional<Spec> spec(const Parts& p) const {
        const auto at = std::find(known_.begin(), known_.end(), p);
        if (at == known_.end()) return std::nullopt;
        return named_.specs[static_cast<std::size_t>(at - known_.begin())];
    }
    JaxprPtr constrained(const JaxprPtr& j) const {
        JaxprBuilder b;
        Interpreter run(*j, {.builder = &b}, LiteralAsValue(), Value());
        run.bind_all(b.add_signature(*j));
        const Values out = run.forward([&](const Eqn& e, const Values& in) {
            ParamsRef params = e.params->holds_jaxpr() ? map_jaxprs(e.params, [&](const JaxprPtr& x) { return constrained(x); }) : e.params;
            if (const Attr* given = e.prim == &kShardingConstraint ? e.params->find("partitions") : nullptr) {
                const Parts parts = parts_from(*given);
                if (const std::size_t rank = b.aval(in[0])->shape.size(); parts && parts->size() != rank)
                    throw Error(ErrorCode::BadUsage, "with_sharding_constraint with partitions=" + to_text(parts) + " is for " +
                                                         std::to_string(parts->size()) + " dimensions, found an array of " +
                                                         std::to_string(rank))
                        .at(e.source.loc());
                const auto named = spec(parts);
                if (!named) return in;
                params = Params::make({{"sharding", to_attr(NamedSharding{mesh(), *named})}});
            }
            if (e.prim == &kShardedCall) {
                const auto& p = make_op(*j, e).as<ShardedCallParams>();
                const Values out = b.append(*e.prim, annotated(b, in, p.in_parts), params, make_op(*j, e).out, e.effects);
                return annotated(b, out, p.out_parts);
            }
            return b.append(*e.prim, in, params, make_op(*j, e).out, e.effects);
        });
        return b.finish(out, j->name);
    }
    std::vector<Parts> crossing;

private:
    /// Values with a spec lie as it says; the others are left alone.
    Values annotated(JaxprBuilder& b, Values values, const Attr& list) const {
        const std::vector<Parts> parts = parts_in(list, values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            if (const auto named = parts[i] ? spec(parts[i]) : std::nullopt)
                values[i] = b.append(kShardingConstraint, {values[i]}, Params::make({{"sharding", to_attr(NamedSharding{mesh(), *named})}}),
                                     {b.aval(values[i])})[0];
        return values;
    }
    std::vector<Parts> known_;
    NamedParts named_;
};

}  // namespace

NamedProgram named_program(const JaxprPtr& program, const std::vector<Parts>& in, const std::vector<Parts>& out, std::int64_t devices) {
    std::vector<Parts> all = in;
    all.insert(all.end(), out.begin(), out.end());
    collect(*program, all);
    const Naming names(all, devices);
    NamedProgram made;
    made.crossing = names.crossing;
    made.request.program = names.constrained(program);
    made.request.mesh = names.mesh();
    const auto specs = [&](const std::vector<Parts>& parts) {
        std::vector<std::optional<Spec>> list;
        for (const Parts& p : parts) list.emplace_back(names.spec(p).value_or(Spec{}));
        return list;
    };
    made.request.in = specs(in);
    made.request.out = specs(out);
    return made;
}

}  // namespace jaxscope::sharding
