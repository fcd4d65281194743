// SPDX-License-Identifier: Apache-2.0
#include "ir/primitive.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "ir/registry.h"

namespace jaxscope {

namespace {
struct Registry {
    std::vector<const Primitive*> known;
    EmittedCalls calls;
    std::unordered_map<Sym, const Primitive*> by_name;
    std::mutex mutex;
};
Registry& registry() {
    static auto& r = *new Registry;  // equations in static objects point here until the end
    return r;
}
}  // namespace

void set_primitive_families(std::span<const std::span<const Primitive* const>> families, const EmittedCalls& calls) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    r.known.clear();
    r.calls = calls;
    for (const auto& family : families)
        for (const Primitive* p : family) {
            r.known.push_back(p);
            r.by_name.insert_or_assign(Sym(p->name.c_str()), p);
            for (const char* older : p->older_names) r.by_name.insert_or_assign(Sym(older), p);
        }
}

const Primitive& primitive(Sym name) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    const auto found = r.by_name.find(name);
    if (found != r.by_name.end()) return *found->second;
    auto* made = r.calls.undeclared ? new Primitive(*r.calls.undeclared) : new Primitive;  // as many as there are names, kept for good
    made->name = name.c_str();
    made->opaque = true;
    r.by_name.emplace(name, made);
    return *made;
}

const EmittedCalls& emitted_calls() {
    JAXSCOPE_ASSERT(registry().calls.jit != nullptr);
    return registry().calls;
}

std::optional<Sym> given_name(const Primitive& prim, const ParamsRef& params) {
    if (prim.residual != ResidualLabel::Name) return std::nullopt;
    static const Sym name("name");
    const Attr* a = params->find(name);
    const Sym* given = a ? a->get<Sym>() : nullptr;
    return given ? std::optional(*given) : std::nullopt;
}

std::string_view param_of_today(const Primitive& prim, std::string_view name) {
    for (const OlderParam& p : prim.older_params)
        if (name == p.older) return p.name;
    return name;
}

std::span<const Primitive* const> all_primitives() { return registry().known; }

Op make_op(const Jaxpr& j, const Eqn& e) { return make_op(j, e, e.source); }
Op make_op(const Jaxpr& j, const Eqn& e, SourceRef source) { return {e.prim, e.params, j.in_avals(e), j.out_avals(e), source, e.context}; }

}  // namespace jaxscope
