// SPDX-License-Identifier: Apache-2.0
#include "sharding/named_program.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/interpret.h"
#include "lax/primitives.h"

namespace jaxscope::sharding {

namespace {

void collect(const Jaxpr& j, std::vector<Parts>& out) {
    for (const Eqn& e : j.eqns) {
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
                const auto named = spec(parts_from(*given));
                if (!named) return in;
                params = Params::make({{"sharding", to_attr(NamedSharding{mesh(), *named})}});
            }
            return b.append(*e.prim, in, params, make_op(*j, e).out, e.effects);
        });
        return b.finish(out, j->name);
    }
    std::vector<Parts> crossing;

private:
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
