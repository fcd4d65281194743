// What JAX's printer leaves out because it is a default or stands in the result's type: print_rules.cpp the other way round.
#include <algorithm>
#include <iterator>

#include "io/text/values.h"

namespace jaxscope {

namespace {

using Entries = std::vector<Params::Entry>;

Attr* find(Entries& entries, std::string_view name) {
    for (auto& [n, value] : entries)
        if (n.str() == name) return &value;
    return nullptr;
}
void set_default(Entries& entries, const char* name, Attr value) {
    if (!find(entries, name)) entries.emplace_back(name, std::move(value));
}
Attr repeated(const Attr& value, std::size_t n) { return Attr::tuple(Attrs(n, value)); }

void jit(Entries& e, const Avals& in, const Avals& out) {
    const Attr unspecified = Attr::Object{"UnspecifiedValue", {}, "UnspecifiedValue"};
    set_default(e, "compiler_options_kvs", Attr::tuple({}));
    Attr::Record mesh;
    mesh.type = "Mesh";
    mesh.fields.emplace_back("axes", Attr::tuple({}));
    mesh.text = "Mesh()";
    set_default(e, "ctx_mesh", std::make_shared<const Attr::Record>(std::move(mesh)));
    set_default(e, "donated_invars", repeated(false, in.size()));
    set_default(e, "in_layouts", repeated(Attr(), in.size()));
    set_default(e, "in_shardings", repeated(unspecified, in.size()));
    set_default(e, "inline", false);
    set_default(e, "keep_unused", false);
    set_default(e, "name", "f");
    set_default(e, "out_layouts", repeated(Attr(), out.size()));
    set_default(e, "out_shardings", repeated(unspecified, out.size()));
}

/// `<function CustomVJPCallPrimitive.bind.<locals>.<lambda> at 0x7fa22951c9a0>` of JAX before 0.7: its last name.
std::string short_function_name(const std::string& text) {
    constexpr std::string_view kFunction = "<function ";
    const std::size_t end = text.rfind(" at 0x");
    if (!text.starts_with(kFunction) || end == std::string::npos || end < kFunction.size()) return text;
    const std::string name = text.substr(kFunction.size(), end - kFunction.size());
    return name.substr(name.rfind('.') + 1);
}
/// A function that is printed by its name alone.
void function_of_name(Entries& e, std::string_view shown, const char* param) {
    const auto at = std::find_if(e.begin(), e.end(), [&](const auto& p) { return p.first.str() == shown; });
    if (at == e.end()) return;
    const Sym name = at->second.get<Sym>()            ? *at->second.get<Sym>()
                     : at->second.get<Attr::Object>() ? Sym(short_function_name(at->second.get<Attr::Object>()->text.str()))
                                                      : Sym{};
    e.erase(at);
    e.emplace_back(param, Attr::Object{"function", name, name});
}
void custom_call(Entries& e, bool vjp) {
    // `name=` is that of call_jaxpr, which the parser has taken from there already.
    std::erase_if(e, [](const auto& p) { return p.first.str() == "name"; });
    set_default(e, "num_consts", std::int64_t{0});
    function_of_name(e, "jvp", "jvp_jaxpr_fun");
    for (const char* older : {"jvp_jaxpr_fun", "fwd_jaxpr_thunk"}) function_of_name(e, older, older);
    function_of_name(e, "fwd", "fwd_jaxpr_thunk");
    function_of_name(e, "bwd", "bwd");
    if (vjp) set_default(e, "out_trees", Attr::Object{"function", "out_trees_", "out_trees_"});
}

void custom_lin(Entries& e, const Avals& in, const Avals& out) {
    function_of_name(e, "bwd", "bwd");
    Attrs avals(out.begin(), out.end());
    set_default(e, "out_avals", Attr::list(std::move(avals)));
    const Attr* residuals = find(e, "num_res");
    const auto* n = residuals ? residuals->get<std::int64_t>() : nullptr;
    const std::size_t tangents = n && *n >= 0 && *n <= static_cast<std::int64_t>(in.size()) ? in.size() - static_cast<std::size_t>(*n) : 0;
    set_default(e, "in_zeros", Attr::list(Attrs(tangents, Attr(false))));  // JAX 0.4.30 has none
}

void dot_general(Entries& e) {
    for (const char* name : {"out_sharding", "precision", "preferred_element_type"}) set_default(e, name, Attr());
    Attr* numbers = find(e, "dimension_numbers");
    const Attr::Seq* pair = numbers ? numbers->get_seq() : nullptr;
    if (!pair) return;
    Attrs outer;  // lists back to tuples
    for (const Attr& half : pair->items) {
        Attrs inner;
        if (half.get_seq())
            for (const Attr& dims : half.get_seq()->items) inner.push_back(dims.get_seq() ? Attr::tuple(dims.get_seq()->items) : dims);
        outer.push_back(Attr::tuple(std::move(inner)));
    }
    *numbers = Attr::tuple(std::move(outer));
}

void broadcast_in_dim(Entries& e, const Avals& out) {
    set_default(e, "broadcast_dimensions", Attr::tuple({}));
    if (!out.empty()) set_default(e, "shape", to_attr(out[0]->shape));
    set_default(e, "sharding", Attr());
}

}  // namespace

std::vector<Params::Entry> with_hidden_params(std::string_view primitive, std::vector<Params::Entry> e, const Avals& in, const Avals& out) {
    static constexpr std::string_view kAccuracy[] = {"exp", "exp2", "log", "expm1", "log1p", "tanh", "logistic",
                                                     "sin", "cos",  "tan", "sqrt",  "rsqrt", "cbrt"};
    if (primitive == "jit") jit(e, in, out);
    if (primitive == "custom_jvp_call") custom_call(e, false);
    if (primitive == "custom_vjp_call") custom_call(e, true);
    if (primitive == "custom_lin") custom_lin(e, in, out);
    if (primitive == "dot_general") dot_general(e);
    if (primitive == "broadcast_in_dim") broadcast_in_dim(e, out);
    if (primitive == "convert_element_type") set_default(e, "sharding", Attr());
    if (primitive == "mul") set_default(e, "out_dtype", Attr());
    if (std::find(std::begin(kAccuracy), std::end(kAccuracy), primitive) != std::end(kAccuracy)) set_default(e, "accuracy", Attr());
    return e;
}

}  // namespace jaxscope
