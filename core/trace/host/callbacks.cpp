// SPDX-License-Identifier: Apache-2.0
// pure_callback, io_callback and debug::callback.
#include "calls/host/callbacks.h"

#include <fmt/core.h>

#include <jaxscope/callbacks.h>
#include <jaxscope/checkpoint.h>

#include <mutex>

#include "base/error.h"
#include "calls/host/debug.h"
#include "ir/types/element.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/host/host.h"

namespace jaxscope::jax::detail {

std::string arguments_tree(const std::vector<std::string>& positional, const std::vector<std::string>& names,
                           const std::vector<std::string>& named) {
    std::string out = "PyTreeDef(((";
    for (std::size_t i = 0; i < positional.size(); ++i) out += (i ? ", " : "") + positional[i];
    out += positional.size() == 1 ? ",), {" : "), {";
    for (std::size_t i = 0; i < names.size(); ++i) out += (i ? ", '" : "'") + names[i] + "': " + named[i];
    return out + "}))";
}

std::vector<Array> record_effect(const Primitive& prim, std::span<const Operand> in, const ParamsRef& params, const Avals& types,
                                 const Where& where) {
    return apply(in, where, [&](Builder& b, const Values& v) { return b.emit(prim, v, params, types, host_effect(prim, params)); });
}

namespace {

class FromCpp final : public HostFunction {
public:
    explicit FromCpp(HostCallable* f) : f_(f) {}
    Call& call() { return f_->call(); }
    std::vector<ArrayPtr> call(const std::vector<ArrayPtr>& operands) const override {
        std::vector<Array> leaves(operands.size()), results;
        for (std::size_t i = 0; i < operands.size(); ++i) leaves[i] = concrete(operands[i]);
        // A function that calls itself through what it runs is the user's; others wait, as in Python.
        const std::lock_guard lock(running_);
        const ensure_compile_time_eval not_traced;
        const InUsersLine left = InUsersLine::left();
        f_->call().run(leaves.data(), results);
        std::vector<ArrayPtr> out;
        for (const Array& a : results) {
            if (!a.has_value())
                throw Error(ErrorCode::BadUsage, "expected arrays as results of a callback, found an Array without a value");
            out.push_back(elements(*a.node()));
        }
        return out;
    }

private:
    std::unique_ptr<HostCallable> f_;
    mutable std::recursive_mutex running_;
};

std::string tree_of_arguments(const Call& call) {
    const std::vector<PyTreeDef> trees = make_tree(call.arguments()).children();
    std::vector<std::string> positional, names, named;
    for (const std::size_t i : call.order) {
        std::string text = trees[i].str();
        text = text.substr(text.find('(') + 1);
        text.pop_back();
        (call.keywords[i] ? named : positional).push_back(text);
        if (call.keywords[i]) names.emplace_back(call.keywords[i]);
    }
    return arguments_tree(positional, names, named);
}

Avals result_types(const std::vector<Array>& results) {
    Avals out;
    for (const Array& a : results) {
        const Aval& t = *a.node()->aval;
        if (byte_size(t.dtype) == 8 && t.dtype != DType::C64)
            throw Error(ErrorCode::BadUsage, "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled");
        out.emplace_back(t.dtype, t.shape);
    }
    return out;
}

void check_vmap_method(const char* method) {
    if (!method) return;
    const std::string_view m = method;
    if (m == "sequential" || m == "sequential_unrolled" || m == "expand_dims" || m == "broadcast_all") return;
    throw Error(ErrorCode::BadUsage, fmt::format("vmap_method must be on of the allowed methods ['sequential', 'sequential_unrolled', "
                                                 "'expand_dims', 'broadcast_all', 'legacy_vectorized', None], but got: {}",
                                                 method));
}

struct Equation {
    const Primitive& primitive;
    ParamsRef params;
};
Equation equation_of(const HostCallOptions& o, Attr::Object function, const std::string& tree, const Avals& types) {
    const auto flat = [&] {
        function.type = "_FlatCallback";
        function.text = fmt::format("_FlatCallback(callback_func=<function {} at 0x_>, in_tree={})", o.name, tree);
        return Attr(function);
    };
    switch (o.kind) {
        case HostCallKind::pure:
            check_vmap_method(o.vmap_method);
            return {kPureCallback, callback_params(flat(), types, {{"vmap_method", o.vmap_method ? Attr(o.vmap_method) : Attr()}})};
        case HostCallKind::io:
            return {kIoCallback, callback_params(flat(), types, {{"ordered", Attr(o.ordered)}})};
        case HostCallKind::debug:
            break;
    }
    function.type = "function";
    function.name = "_flat_callback";
    function.text = "<function debug_callback.<locals>._debug_callback.<locals>._flat_callback at 0x_>";
    const Sym effect(o.ordered ? "OrderedDebug" : "Debug");
    return {kDebugCallback, Params::make({{"callback", Attr(function)},
                                          {"effect", Attr(Attr::Object{o.ordered ? "OrderedDebugEffect" : "DebugEffect", {}, effect})},
                                          {"partitioned", Attr(o.partitioned)}})};
}

std::vector<Array> host_call_of(HostCallable* f, const std::vector<Array>& results, const HostCallOptions& options) {
    std::unique_ptr<HostCallable> owned(f);
    Call& call = f->call();
    call.where = options.where;
    refuse_statics(call);
    const Avals types = result_types(results);
    const std::vector<Array> leaves = leaves_of(call);
    const auto function = std::make_shared<FromCpp>(owned.release());
    const Equation e = equation_of(options, {.host = function}, tree_of_arguments(call), types);
    std::vector<Operand> operands;
    for (const Array& leaf : leaves) operands.emplace_back(leaf, options.where.file, options.where.line, options.where.function);
    return record_effect(e.primitive, operands, e.params, types, options.where);
}

}  // namespace

std::vector<Array> host_call(HostCallable* f, const std::vector<Array>& results, const HostCallOptions& options) {
    return at_place(options.where, [&] { return host_call_of(f, results, options); });
}

}  // namespace jaxscope::jax::detail
