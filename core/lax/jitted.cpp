// SPDX-License-Identifier: Apache-2.0
#include "lax/jitted.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "ir/primitive.h"
#include "ir/registry.h"
#include "ir/transform_cache.h"

namespace jaxscope {

namespace {

/// Bodies by what they are traced of. Nothing of the caller that came first is in them: equations inside stand nowhere in the user's
/// program.
struct JittedBodies {
    using What = std::tuple<std::string, std::vector<std::uint32_t>, std::uint32_t>;  ///< name and static arguments, avals, context
    std::recursive_mutex mutex;                                                       ///< bodies call jitted functions
    std::map<What, JaxprPtr> traced;
    std::size_t size() const { return traced.size(); }
};

}  // namespace

Value jitted(Builder& b, const char* name, const std::string& key, const Values& in,
             const std::function<Value(Builder&, const Values&)>& function) {
    static const char owner = 0;
    auto& bodies = TransformCache::current().part<JittedBodies>(&owner);
    JittedBodies::What what{std::string(name) + ' ' + key, {}, b.context.id()};
    for (const Value v : in) std::get<1>(what).push_back(b.aval(v).id());
    const std::lock_guard lock(bodies.mutex);
    JaxprPtr& body = bodies.traced[std::move(what)];
    if (!body) {
        JaxprBuilder inner;
        inner.context = b.context;
        Values operands;
        for (const Value v : in) operands.push_back(inner.add_input(b.aval(v)));
        body = inner.finish({function(inner, operands)}, name);
    }
    const ParamsRef params = Params::make({{"jaxpr", Attr(Attr::JaxprRef{body, true})}, {"name", Attr(Sym(name))}});
    return b.emit(*emitted_calls().jit, in, params, body->out_avals()).front();
}

}  // namespace jaxscope
