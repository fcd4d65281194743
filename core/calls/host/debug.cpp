// SPDX-License-Identifier: Apache-2.0
#include "calls/host/debug.h"

#include "calls/families.h"
#include "ir/kernel_builder.h"
#include "lax/ops.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "transforms/policies.h"

// debug_print and debug_callback (debugging.py of JAX 0.10.2). Python isn't run here; what a C++ program brings along is
// (host_functions.h).
namespace jaxscope {

namespace {

constexpr std::int64_t kMostCalls = 4096;

/// Parameters say what Python prints or calls: no value depends on them.
Avals debug_abstract_eval(const Op& op) {
    for (const auto& [name, value] : op.params->entries()) ParamReads::note(name);
    return {};
}
/// Nothing comes of it: a run counts it, may keep what it looks at, and calls a C++ program's function.
KernelSpec debug_kernel(const Op&) { return {RuntimeKernel{}}; }
Values debug_jvp(Builder&, const Op&, const Values&, const Values&, const Values&) { return {}; }
void debug_transpose(Builder&, const Op&, const Values&, const Values&, TransposeSink&) {}

/// One call for each example, as in JAX.
BatchResult debug_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    if (size > kMostCalls)
        throw Error(ErrorCode::NoRule, std::string("expected at most ") + std::to_string(kMostCalls) + " examples of a " + op.prim->name +
                                           ", which JAX calls for each one, found " + std::to_string(size))
            .at(op.source.loc());
    for (std::int64_t i = 0; i < size; ++i) {
        Values one = x;
        for (std::size_t k = 0; k < x.size(); ++k) {
            if (dims[k] == kNotMapped) continue;
            const auto axis = static_cast<std::size_t>(dims[k]);
            Dims limit = b.aval(x[k])->shape, start(limit.size(), 0);
            start[axis] = i;
            limit[axis] = i + 1;
            // As JAX's index_in_dim writes it, strides and all.
            const Value row = size == 1 ? x[k] : b.bind1(kSlice, {x[k]}, make_params(SliceParams{start, limit, Dims(limit.size(), 1)}));
            one[k] = lax::squeeze(b, row, {dims[k]});
        }
        b.emit(*op.prim, one, op.params, {}, debug_effect(op.params));
    }
    return {};
}

/// JAX's _debug_partial_eval_custom: a call whose inputs are known happens in the forward pass, and again in the backward pass unless
/// the policy saves it and that needs a value which isn't there.
PartialEvalCustomResult debug_partial_eval_custom(const PartialEvalCustomArgs& a) {
    PartialEvalCustomResult r;
    HalfEqn whole{a.op.prim, a.op.params, {}, {}, a.eqn.effects};
    bool unknown = false, all_there = true;
    for (std::size_t i = 0; i < a.unknown_in.size(); ++i) {
        whole.inputs.push_back(HalfInput::original(i));
        unknown = unknown || a.unknown_in[i];
        all_there = all_there && a.inst_in[i];
    }
    if (!unknown) r.known = whole;
    const bool saved = !unknown && a.policy(*a.op.prim, a.op.in, a.op.params).kind == PolicyVerdict::Kind::Save;
    if (saved && !all_there) return r;
    for (std::size_t i = 0; i < a.inst_in.size(); ++i)
        if (!a.inst_in[i]) r.residual_inputs.push_back(i);
    r.staged = std::move(whole);
    return r;
}

constexpr Primitive debug(const char* name) {
    return {.name = name,
            .abstract_eval = debug_abstract_eval,
            .jvp = debug_jvp,
            .partial_eval_custom = debug_partial_eval_custom,
            .transpose = debug_transpose,
            .batch = debug_batch,
            .lower = NoRule{"has no result"},
            .kernel = debug_kernel,
            .expand = NoRule{"has no result"},
            .cost = NoRule{"Python isn't run"}};
}
constexpr const char* kPartitioned = "partitioned";

bool looks(const Eqn& e) { return e.prim == &kDebugPrint || e.prim == &kDebugCallback; }

}  // namespace

constinit const Primitive kDebugPrint = debug("debug_print"), kDebugCallback = debug("debug_callback");

EffectSet debug_effect(const ParamsRef& params) {
    if (const Attr* effect = params->find("effect"))
        if (const auto* o = effect->get<Attr::Object>()) return std::vector{Effect::parse(o->text)};
    const Attr* ordered = params->find("ordered");
    return EffectSet(ordered && ordered->get<bool>() && *ordered->get<bool>() ? EffectKind::OrderedDebug : EffectKind::Debug);
}

bool each_device_looks(const ParamsRef& params) {
    const Attr* a = params->find(kPartitioned);
    const bool* said = a ? a->get<bool>() : nullptr;
    return said && *said;
}

JaxprPtr with_each_device_looking(const Jaxpr& j) {
    auto out = std::make_shared<Jaxpr>(j);
    for (Eqn& e : out->eqns) {
        if (looks(e))
            e.params = with_param(e.params, kPartitioned, Attr(true));
        else if (e.params->holds_jaxpr())
            e.params = map_jaxprs(e.params, [](const JaxprPtr& body) { return with_each_device_looking(*body); });
    }
    return out;
}

std::span<const Primitive* const> debug_primitives() {
    static constexpr const Primitive* all[] = {&kDebugPrint, &kDebugCallback};
    return all;
}

}  // namespace jaxscope
