// SPDX-License-Identifier: Apache-2.0
#include "lax/jitted.h"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "ir/interpret.h"
#include "ir/primitive.h"
#include "ir/registry.h"
#include "ir/transform_cache.h"
#include "lax/jitted_scope.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {

namespace {

/// Bodies by what they are traced of. Nothing of the caller that came first is in them: equations inside stand nowhere in the user's
/// program.
struct JittedBodies {
    /// Name and static arguments, avals, context, scope; does JAX evaluate a jaxpr (EvaluatingScope)?
    using What = std::tuple<std::string, std::vector<std::uint32_t>, std::uint32_t, std::uint64_t, bool>;
    std::recursive_mutex mutex;  ///< bodies call jitted functions
    std::map<What, JaxprPtr> traced;
    std::size_t size() const { return traced.size(); }
};

/// The equations of a body, each emitted by itself.
Values one_by_one(Builder& b, const Jaxpr& body, const Values& in) {
    Values consts;
    for (std::uint32_t i = 0; i < body.num_constvars; ++i) consts.push_back(b.constant(body.consts[i]));
    Interpreter run(body, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_consts(consts);
    run.bind_inputs(in);
    return run.forward([&](const Eqn& e, const Values& args) { return b.emit(*e.prim, args, e.params, body.out_avals(e), e.effects); });
}

}  // namespace

std::uint64_t& jitted_scope() {
    thread_local std::uint64_t scope = 0;
    return scope;
}

bool& jit_disabled() {
    thread_local bool disabled = false;
    return disabled;
}

Values jitted(Builder& b, const char* name, const std::string& key, const Values& in, const std::function<JaxprPtr(const Avals&)>& trace) {
    static const char owner = 0;
    auto& bodies = TransformCache::current().part<JittedBodies>(&owner);
    JittedBodies::What what{std::string(name) + ' ' + key, {}, b.context.id(), jitted_scope(), EvaluatingScope::now()};
    Avals avals;
    for (const Value v : in) {
        avals.push_back(b.aval(v));
        std::get<1>(what).push_back(avals.back().id());
    }
    if (jit_disabled()) return one_by_one(b, *trace(avals), in);
    const std::lock_guard lock(bodies.mutex);
    JaxprPtr& body = bodies.traced[std::move(what)];
    if (!body) body = trace(avals);
    const ParamsRef params = Params::make({{"jaxpr", Attr(Attr::JaxprRef{body, true})}, {"name", Attr(Sym(name))}});
    return b.emit(*emitted_calls().jit, in, params, body->out_avals());
}

Value jitted(Builder& b, const char* name, const std::string& key, const Values& in,
             const std::function<Value(Builder&, const Values&)>& function) {
    const std::function<JaxprPtr(const Avals&)> trace = [&](const Avals& avals) {
        JaxprBuilder inner;
        inner.context = b.context;
        Values operands;
        for (const AvalRef a : avals) operands.push_back(inner.add_input(a));
        return inner.finish({function(inner, operands)}, name);
    };
    return jitted(b, name, key, in, trace).front();
}

Value indexed_along(Builder& b, Value x, Value at, std::int64_t axis, OutOfBounds mode, bool through_where, bool unique) {
    const Dims shape = b.aval(x)->shape, positions = b.aval(at)->shape;
    const auto a = static_cast<std::size_t>(axis);
    const DType type = b.aval(at)->dtype;
    Value from = at;
    if (mode == OutOfBounds::FillOrDrop) {
        const Value below = lax::lt(b, at, make_literal(AvalRef(type, {}), std::int64_t{0}));
        const Value wrapped = lax::add(b, at, make_literal(AvalRef(type, {}), shape[a]));
        from = through_where ? jitted(b, "_where", "", {below, wrapped, at},
                                      [](Builder& i, const Values& w) { return lax::select(i, w[0], w[1], w[2]); })
                             : lax::select(b, below, wrapped, at);
    }
    Dims dims;
    for (std::size_t i = 0; i < positions.size(); ++i) dims.push_back(static_cast<std::int64_t>(i));
    Dims with_one = positions;
    with_one.push_back(1);
    const Value index = lax::broadcast_in_dim(b, from, with_one, dims);
    GatherParams p;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size() - 1 + positions.size()); ++i)
        if (i < axis || i >= axis + static_cast<std::int64_t>(positions.size())) p.dimension_numbers.offset_dims.push_back(i);
    p.dimension_numbers.collapsed_slice_dims = {axis};
    p.dimension_numbers.start_index_map = {axis};
    p.slice_sizes = shape;
    p.slice_sizes[a] = 1;
    p.mode = mode;
    p.unique_indices = unique;
    return lax::gather(b, x, index, p);
}

Value take(Builder& b, Value x, Value at, std::optional<std::int64_t> axis, OutOfBounds mode,
           Value (*inside)(Builder& b, Value at, std::int64_t size), bool unique) {
    const std::string key = (axis ? std::to_string(*axis) : "flat") +
                            (inside                      ? ",wrap"
                             : mode == OutOfBounds::Clip ? ",clip"
                                                         : "") +
                            (unique ? ",unique" : "");
    return jitted(b, "_take", key, {x, at}, [axis, mode, inside, unique](Builder& i, const Values& v) {
        const Value from = axis ? v[0] : lax::reshape(i, v[0], {element_count(i.aval(v[0])->shape)});
        const std::int64_t along = axis.value_or(0);
        const Value positions = inside ? inside(i, v[1], i.aval(from)->shape[static_cast<std::size_t>(along)]) : v[1];
        return indexed_along(i, from, positions, along, mode, true, unique);
    });
}

}  // namespace jaxscope
