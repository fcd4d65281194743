// SPDX-License-Identifier: Apache-2.0
#include "calls/host/callbacks.h"

#include <algorithm>

#include "calls/control_flow.h"
#include "calls/host/debug.h"
#include "ir/kernel_builder.h"
#include "lax/ops.h"
#include "lax/rule_support.h"

// pure_callback and io_callback (callback.py and ffi.py of JAX 0.10.2).
namespace jaxscope {

namespace {

constexpr const char* kResults = "result_avals";

Avals results_of(const ParamsRef& params) {
    Avals out;
    const Attr* a = params->find(kResults);
    const Attr::Seq* types = a ? a->get_seq() : nullptr;
    for (const Attr& t : types ? types->items : Attrs())
        if (const auto* aval = t.get<AvalRef>()) out.push_back(*aval);
    return out;
}
Attr types_attr(const Avals& types) { return Attr::tuple(Attrs(types.begin(), types.end())); }

Avals callback_abstract_eval(const Op& op) {
    for (const auto& [name, value] : op.params->entries()) ParamReads::note(name);
    return results_of(op.params);
}
KernelSpec callback_kernel(const Op&) { return {RuntimeKernel{}}; }

[[noreturn]] void refuse(const Op& op, const std::string& words, ErrorCode code = ErrorCode::NotDifferentiable) {
    throw Error(code, words).at(op.source.loc());
}
Values pure_jvp(Builder&, const Op& op, const Values&, const Values&, const Values&) {
    refuse(op, "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients.");
}
void pure_transpose(Builder&, const Op& op, const Values&, const Values&, TransposeSink&) {
    refuse(op, "Pure callbacks do not support transpose. Please use `jax.custom_vjp` to use callbacks while taking gradients.");
}
Values io_jvp(Builder&, const Op& op, const Values&, const Values&, const Values&) { refuse(op, "IO callbacks do not support JVP."); }
void io_transpose(Builder&, const Op& op, const Values&, const Values&, TransposeSink&) {
    refuse(op, "IO callbacks do not support transpose.");
}

/// One call for each example: a scan over those operands that are mapped; the body takes the others as constants.
BatchResult one_by_one(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size, std::int64_t unroll) {
    const auto is_mapped = [&](std::size_t i) { return dims[i] != kNotMapped; };
    Values consts, elements;
    Avals element_types, const_types;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (is_mapped(i)) {
            elements.push_back(moveaxis(b, x[i], dims[i], 0));
            element_types.push_back(unstacked(b.aval(elements.back())));
        } else if (!b.literal_of(x[i])) {
            consts.push_back(x[i]);
            const_types.push_back(b.aval(x[i]));
        }
    }
    JaxprBuilder body;
    body.source = b.source;
    body.context = b.context;
    Values const_in, element_in, in;
    for (const AvalRef a : const_types) const_in.push_back(body.add_input(a));
    for (const AvalRef a : element_types) element_in.push_back(body.add_input(a));
    std::size_t next_const = 0, next_element = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        in.push_back(is_mapped(i) ? element_in[next_element++] : b.literal_of(x[i]) ? Value(*b.literal_of(x[i])) : const_in[next_const++]);
    const EffectSet effects = host_effect(*op.prim, op.params);
    const Avals types = results_of(op.params);
    ScanParams p;
    p.jaxpr = {body.finish(body.emit(*op.prim, in, op.params, types, effects)), true};
    p.length = size;
    p.num_consts = static_cast<std::int64_t>(consts.size());
    p.unroll = Attr(unroll);
    Avals out_types;
    for (const AvalRef t : types) out_types.push_back(stacked(t, size));
    BatchResult r{b.emit(kScan, joined(consts, elements), make_params(p), out_types, effects), {}};
    r.out_dims.assign(r.out.size(), 0);
    return r;
}

/// One call for all examples: operands that aren't mapped get a leading axis of `others`.
BatchResult all_at_once(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size, std::int64_t others) {
    Values in;
    for (std::size_t i = 0; i < x.size(); ++i)
        in.push_back(dims[i] == kNotMapped ? batch_to_front(b, x[i], kNotMapped, others) : moveaxis(b, x[i], dims[i], 0));
    Avals types = results_of(op.params);
    for (AvalRef& t : types) t = stacked(t, size);
    BatchResult r{b.bind(*op.prim, in, with_param(op.params, kResults, types_attr(types))), {}};
    r.out_dims.assign(r.out.size(), 0);
    return r;
}

BatchResult pure_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Attr* given = op.params->find("vmap_method");
    const std::string method = given && given->get<Sym>() ? given->get<Sym>()->str() : "";
    if (method == "sequential") return one_by_one(b, op, x, dims, size, 1);
    if (method == "sequential_unrolled") return one_by_one(b, op, x, dims, size, std::max<std::int64_t>(size, 1));
    if (method == "expand_dims") return all_at_once(b, op, x, dims, size, 1);
    if (method == "broadcast_all") return all_at_once(b, op, x, dims, size, size);
    refuse(op,
           "vmap is only supported for the pure_callback primitive when vmap_method is one of 'sequential', 'sequential_unrolled', "
           "'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None.",
           ErrorCode::NoRule);
}
BatchResult io_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    if (host_effect(*op.prim, op.params).contains(EffectKind::OrderedIO))
        refuse(op, "Cannot `vmap` ordered IO callback.", ErrorCode::NoRule);
    return one_by_one(b, op, x, dims, size, 1);
}

constexpr Primitive callback(const char* name, JvpFn* jvp, TransposeFn* transpose, BatchFn* batch) {
    return {.name = name,
            .abstract_eval = callback_abstract_eval,
            .jvp = jvp,
            .transpose = transpose,
            .batch = batch,
            .lower = NoRule{"it is the user's function"},
            .kernel = callback_kernel,
            .expand = NoRule{"it is the user's function"},
            .cost = NoRule{"what the user's function costs isn't known"}};
}

}  // namespace

constinit const Primitive kPureCallback = callback("pure_callback", pure_jvp, pure_transpose, pure_batch);
constinit const Primitive kIoCallback = callback("io_callback", io_jvp, io_transpose, io_batch);

ParamsRef callback_params(Attr callback, const Avals& results, std::vector<Params::Entry> more) {
    more.emplace_back("callback", std::move(callback));
    more.emplace_back(kResults, types_attr(results));
    more.emplace_back("sharding", Attr());
    return Params::make(std::move(more));
}

EffectSet host_effect(const Primitive& prim, const ParamsRef& params) {
    if (&prim == &kDebugPrint || &prim == &kDebugCallback) return debug_effect(params);
    if (&prim != &kIoCallback) return {};
    const Attr* ordered = params->find("ordered");
    return EffectSet(ordered && ordered->get<bool>() && *ordered->get<bool>() ? EffectKind::OrderedIO : EffectKind::IO);
}

const HostFunction* host_function(const ParamsRef& params) {
    static const Sym name("callback");
    const Attr* a = params->find(name);
    const auto* object = a ? a->get<Attr::Object>() : nullptr;
    return object ? object->host.get() : nullptr;
}

bool calls_host(const Jaxpr& program) {
    const std::vector<const Jaxpr*> bodies = all_jaxprs(program);  // each once, however often it is called
    return std::any_of(bodies.begin(), bodies.end(), [](const Jaxpr* body) {
        return std::any_of(body->eqns.begin(), body->eqns.end(), [](const Eqn& e) { return host_function(e.params) != nullptr; });
    });
}

bool must_run(const Primitive& prim) { return &prim == &kIoCallback || &prim == &kDebugPrint || &prim == &kDebugCallback; }

}  // namespace jaxscope
