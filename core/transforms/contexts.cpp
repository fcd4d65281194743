// SPDX-License-Identifier: Apache-2.0
#include "transforms/contexts.h"

#include "ir/params.h"
#include "ir/transform_cache.h"

namespace jaxscope {

namespace {

ContextRef merged(ContextRef own, const EqnContext& outer) {
    EqnContext c = *own;
    if (c.compute_type.empty()) c.compute_type = outer.compute_type;
    if (c.mesh.empty()) c.mesh = outer.mesh;
    if (c.metadata.empty()) c.metadata = outer.metadata;
    c.threefry_partitionable = outer.threefry_partitionable;
    return c;
}

}  // namespace

JaxprPtr in_context(const JaxprPtr& j, ContextRef outer) {
    if (outer == ContextRef() || *outer == EqnContext()) return j;
    static const CachedTransform<std::uint32_t, JaxprPtr> cache;
    return cache.get(j, outer.id(), outer.id(), [&]() -> JaxprPtr {
        auto out = std::make_shared<Jaxpr>(*j);
        for (Eqn& e : out->eqns) {
            e.context = merged(e.context, *outer);
            if (e.params->holds_jaxpr()) e.params = map_jaxprs(e.params, [&](const JaxprPtr& inner) { return in_context(inner, outer); });
        }
        return out;
    });
}

}  // namespace jaxscope
