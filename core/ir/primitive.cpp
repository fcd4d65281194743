#include "ir/primitive.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "ir/registry.h"

namespace jaxscope {

namespace {
struct Registry {
    std::vector<const Primitive*> known;
    std::unordered_map<Sym, const Primitive*> by_name;
    std::mutex mutex;
};
Registry& registry() {
    static auto& r = *new Registry;  // equations in static objects point here until the end
    return r;
}
}  // namespace

void set_primitive_families(std::span<const std::span<const Primitive* const>> families) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    r.known.clear();
    for (const auto& family : families)
        for (const Primitive* p : family) {
            r.known.push_back(p);
            JAXSCOPE_ASSERT(r.by_name.insert_or_assign(Sym(p->name), p).first->second == p);
        }
}

const Primitive& primitive(Sym name) {
    Registry& r = registry();
    std::lock_guard lock(r.mutex);
    const auto found = r.by_name.find(name);
    if (found != r.by_name.end()) return *found->second;
    auto* made = new Primitive;  // as many as there are names, kept for good
    made->name = name.c_str();
    made->opaque = true;
    r.by_name.emplace(name, made);
    return *made;
}

std::span<const Primitive* const> all_primitives() { return registry().known; }

Op make_op(const Jaxpr& j, const Eqn& e) { return make_op(j, e, e.source); }
Op make_op(const Jaxpr& j, const Eqn& e, SourceRef source) { return {e.prim, e.params, j.in_avals(e), j.out_avals(e), source, e.context}; }

}  // namespace jaxscope
