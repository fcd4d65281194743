#include "ir/print/print_rules.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ir/primitive.h"
#include "ir/print/attr_text.h"

namespace jaxscope {

namespace {

void drop(PrintRule& r, std::string_view name) {
    std::erase_if(r.params, [&](const PrintedParam& p) { return p.name == name; });
}
PrintedParam* find(PrintRule& r, std::string_view name) {
    for (PrintedParam& p : r.params)
        if (p.name == name) return &p;
    return nullptr;
}
bool is_none(const Attr& a) { return a.is_none(); }
bool is_zero(const Attr& a) { return a.get<std::int64_t>() && *a.get<std::int64_t>() == 0; }
bool is_false(const Attr& a) { return a.get<bool>() && !*a.get<bool>(); }
bool is_empty(const Attr& a) { return a.is_none() || (a.get_seq() && a.get_seq()->items.empty()); }
bool is_unspecified(const Attr& a) { return a.get<Attr::Object>() && a.get<Attr::Object>()->type.str() == "UnspecifiedValue"; }
bool is_empty_mesh(const Attr& a) {
    const Attr::Record* r = a.get_record();
    return a.is_none() || (r && r->type.str() == "Mesh" && !r->fields.empty() && is_empty(r->fields[0].second));
}
template <class Test>
bool all_items(const Attr& a, Test test) {
    const Attr::Seq* s = a.get_seq();
    return s && std::all_of(s->items.begin(), s->items.end(), test);
}
template <class Test>
void drop_if(PrintRule& r, std::string_view name, Test test) {
    if (const PrintedParam* p = find(r, name); p && p->value && test(*p->value)) drop(r, name);
}

/// A function's own name, where JAX prints that and not the object.
std::string function_name(const Attr& a) {
    if (const auto* rule = a.get<Attr::Rule>()) return rule->text.str();
    if (const auto* object = a.get<Attr::Object>()) {
        if (!object->name.empty()) return object->name.str();
        // A WrappedFun's text: its transformations, then the function that it wraps.
        const std::string text = object->text.str();
        constexpr std::string_view kCore = "\nCore: ";
        const std::size_t core = text.rfind(kCore);
        return core == std::string::npos ? text : text.substr(core + kCore.size(), text.find('\n', core + 1) - core - kCore.size());
    }
    return str_text(a);
}
void put(PrintRule& r, const std::string& name, std::string text) { r.params.push_back({name, nullptr, std::move(text)}); }
void sort_by_name(PrintRule& r) {
    std::sort(r.params.begin(), r.params.end(), [](const PrintedParam& a, const PrintedParam& b) { return a.name < b.name; });
}
/// Replaces parameter `from` by `to=` the name of its function.
void name_function(PrintRule& r, std::string_view from, const std::string& to) {
    const PrintedParam* p = find(r, from);
    if (!p || !p->value) return;
    std::string text = function_name(*p->value);
    drop(r, from);
    put(r, to, std::move(text));
}
void name_first(PrintRule& r, std::string text) { r.params.insert(r.params.begin(), {"name", nullptr, std::move(text)}); }

void jit(PrintRule& r, const Eqn& e) {
    r.shares_names = true;
    drop(r, "inline");
    drop_if(r, "donated_invars", [](const Attr& a) { return all_items(a, is_false); });
    for (const char* shardings : {"in_shardings", "out_shardings"})
        drop_if(r, shardings, [](const Attr& a) { return all_items(a, is_unspecified); });
    for (const char* layouts : {"in_layouts", "out_layouts"}) drop_if(r, layouts, [](const Attr& a) { return all_items(a, is_none); });
    drop_if(r, "keep_unused", is_false);
    drop_if(r, "ctx_mesh", is_empty_mesh);
    drop_if(r, "compiler_options_kvs", is_empty);
    drop_if(r, "resource_env", is_none);  // of JAX before 0.6
    drop(r, "name");
    if (const Attr* name = e.params->find("name")) name_first(r, str_text(*name));
}

void custom_call(PrintRule& r, const Eqn& e) {
    if (find(r, "restaged") && !r.outermost)
        drop(r, "num_consts");
    else
        drop_if(r, "num_consts", is_zero);
    for (const char* hidden : {"out_trees", "restaged"}) drop(r, hidden);
    name_function(r, "jvp_jaxpr_fun", "jvp");
    name_function(r, "fwd_jaxpr_thunk", "fwd");
    name_function(r, "bwd", "bwd");
    sort_by_name(r);
    const Attr* call = e.params->find("call_jaxpr");
    if (const auto* j = call ? call->get<Attr::JaxprRef>() : nullptr; j && !j->jaxpr->name.empty())
        name_first(r, j->jaxpr->name.str());  // texts of JAX before 0.7 hold none
}

void custom_lin(PrintRule& r, const Eqn&) {
    drop(r, "out_avals");
    for (const char* own : {"num_consts", "num_closed"}) drop(r, own);  // JAX's rules have these in their closures
    if (PrintedParam* zeros = find(r, "in_zeros"); zeros && zeros->value && zeros->value->get_seq()) {
        zeros->text = repr_text(Attr::list(zeros->value->get_seq()->items));
        zeros->value = nullptr;
    }
    name_function(r, "bwd", "bwd");
    sort_by_name(r);
}

std::string list_pair(const Attr& pair) {
    const Attr::Seq* s = pair.get_seq();
    if (!s || s->items.size() != 2) return repr_text(pair);
    std::string out = "(";
    for (std::size_t i = 0; i < 2; ++i) {
        const Attr::Seq* inner = s->items[i].get_seq();
        out += (i ? ", " : "") + (inner ? repr_text(Attr::list(inner->items)) : repr_text(s->items[i]));
    }
    return out + ")";
}
void dot_general(PrintRule& r, const Eqn&) {
    std::erase_if(r.params, [](const PrintedParam& p) { return p.value->is_none(); });
    drop(r, "out_sharding");
    PrintedParam* numbers = find(r, "dimension_numbers");
    const Attr::Seq* s = numbers ? numbers->value->get_seq() : nullptr;
    if (!s || s->items.size() != 2) return;
    // Lists inside, which are shorter than tuples of one.
    numbers->text = "(" + list_pair(s->items[0]) + ", " + list_pair(s->items[1]) + ")";
    numbers->value = nullptr;
}
void broadcast_in_dim(PrintRule& r, const Eqn&) {
    drop_if(r, "broadcast_dimensions", is_empty);
    drop(r, "shape");
    drop(r, "sharding");
}
void convert_element_type(PrintRule& r, const Eqn&) { drop(r, "sharding"); }
void no_params(PrintRule& r, const Eqn&) { r.params.clear(); }
void check(PrintRule& r, const Eqn&) {
    r.results = false;
    drop(r, "err_tree");
}
void unary(PrintRule& r, const Eqn&) { drop_if(r, "accuracy", is_none); }
void mul(PrintRule& r, const Eqn&) { drop_if(r, "out_dtype", is_none); }

using RuleFn = void (*)(PrintRule&, const Eqn&);
RuleFn rule_of(std::string_view name) {
    static const std::unordered_map<std::string_view, RuleFn> kRules = [] {
        std::unordered_map<std::string_view, RuleFn> m{
            {"jit", jit},
            {"custom_jvp_call", custom_call},
            {"custom_vjp_call", custom_call},
            {"custom_lin", custom_lin},
            {"dot_general", dot_general},
            {"broadcast_in_dim", broadcast_in_dim},
            {"convert_element_type", convert_element_type},
            {"reshard", no_params},
            {"check", check},
            {"mul", mul},
        };
        for (const char* n : {"exp", "exp2", "log", "expm1", "log1p", "tanh", "logistic", "sin", "cos", "tan", "sqrt", "rsqrt", "cbrt"})
            m[n] = unary;
        return m;
    }();
    const auto found = kRules.find(name);
    return found == kRules.end() ? nullptr : found->second;
}

}  // namespace

PrintRule print_rule(const Eqn& e, bool outermost) {
    PrintRule r;
    r.outermost = outermost;
    for (const auto& [name, value] : e.params->entries()) r.params.push_back({name.str(), &value, {}});
    if (const RuleFn rule = rule_of(e.prim->name)) rule(r, e);
    return r;
}

}  // namespace jaxscope
