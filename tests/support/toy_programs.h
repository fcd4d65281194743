#pragma once
// Small jaxprs for tests of what only looks at programs: built of primitives by name, known or not.
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/primitive.h"

namespace jaxscope::toy {

inline SourceRef source(const std::string& name_stack, const std::string& function = {}, int line = 1) {
    Traceback s;
    if (!function.empty()) s.frames.push_back({.file = "/model.py", .function = Sym(function), .line = line, .project = true});
    s.summary = Sym("/model.py:" + std::to_string(line) + ":0" + (function.empty() ? "" : " (" + function + ")"));
    return Source{s, NameStack::parse(name_stack)};
}

/// Applies `name` and gives one f32[n] result.
inline Value apply(JaxprBuilder& b, const char* name, const Values& in, std::int64_t n = 4, ParamsRef params = {}) {
    return b.emit(primitive(name), in, std::move(params), {AvalRef(DType::F32, {n})}).front();
}

inline ParamsRef with_jaxpr(const JaxprPtr& inner, const char* name = nullptr) {
    std::vector<Params::Entry> entries{{Sym("jaxpr"), Attr(Attr::JaxprRef{inner, true})}};
    if (name != nullptr) entries.emplace_back(Sym("name"), Attr(Sym(name)));
    return Params::make(std::move(entries));
}

/// x -> sin -> sin -> ..., `n` equations, eight of which at a time stand in the scope block_K.
inline JaxprPtr chain(std::uint32_t n, bool scopes = true) {
    JaxprBuilder b;
    Value x = b.add_input(AvalRef(DType::F32, {4}), "x");
    for (std::uint32_t i = 0; i < n; ++i) {
        b.source = scopes ? source("model/block_" + std::to_string(i / 8)) : SourceRef{};
        x = apply(b, "sin", {x});
    }
    return b.finish({x}, "chain");
}

/// f(x, w) = jit[silu](x @ w) + x, with the jit's body of two equations.
inline JaxprPtr with_call() {
    JaxprBuilder inner;
    const Value a = inner.add_input(AvalRef(DType::F32, {4}), "a");
    const Value s = apply(inner, "logistic", {a});
    const JaxprPtr silu = inner.finish({apply(inner, "mul", {a, s})}, "silu");
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {4}), "x");
    const Value w = b.add_input(AvalRef(DType::F32, {4, 4}), "w");
    const Value y = apply(b, "dot_general", {x, w});
    const Value z = apply(b, "jit", {y}, 4, with_jaxpr(silu, "silu"));
    return b.finish({apply(b, "add", {z, x})}, "f");
}

}  // namespace jaxscope::toy
