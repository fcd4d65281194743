// What the type checker derives for equations of a capture, as they are and changed; tests/capture/test_types.py compares with JAX.
//   type_driver < REQUESTS
// Each line is a request: {"file": CAPTURE} to begin with, then {"eqn": INDEX of the program's jaxpr, CHANGE...}, where a change is
//   "param": [NAME, STEP...], "do": "set" | "drop" | "again", "value": VALUE      STEP: an index, or a record's field
//   "input": INDEX, "do": ..., "dtype": NAME, "shape": [...]
// Each answer is a line: the types, `f32[3] i32[3]`, or `! ` and the message of the refusal.
#include <iostream>

#include <nlohmann/json.hpp>

#include "io/load_program.h"
#include "ir/primitive.h"
#include "ir/registry.h"

namespace {

using namespace jaxscope;
using nlohmann::json;

Attr value_of(const json& v) {
    if (v.is_null()) return {};
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number_integer()) return v.get<std::int64_t>();
    if (v.is_string()) return Sym(v.get<std::string>());
    if (v.is_object() && v.contains("float")) return std::stod(v["float"].get<std::string>());
    if (v.is_object()) return *dtype_from_name(v.at("dtype").get<std::string>());
    Attrs items;
    for (const json& i : v) items.push_back(value_of(i));
    return Attr::tuple(std::move(items));
}

/// `items` with the one at `k` set, gone or there twice.
template <class V>
void edit(V& items, std::size_t k, const std::string& what, const typename V::value_type& value) {
    const auto at = items.begin() + static_cast<std::ptrdiff_t>(k);
    if (what == "set")
        *at = value;
    else if (what == "drop")
        items.erase(at);
    else
        items.insert(at, typename V::value_type(*at));
}

std::size_t field_index(const Attr::Record& r, const std::string& name) {
    std::size_t k = 0;
    while (r.fields.at(k).first.str() != name) ++k;
    return k;
}

Attr changed(const Attr& a, const json& path, std::size_t depth, const json& change) {
    if (depth == path.size()) return value_of(change.at("value"));
    const bool last = depth + 1 == path.size();
    const std::string what = last ? change.at("do").get<std::string>() : "set";
    if (const Attr::Record* found = a.get_record()) {
        Attr::Record r = *found;
        const std::size_t k = field_index(r, path[depth].get<std::string>());
        auto field = r.fields[k];
        if (what == "set") field.second = changed(field.second, path, depth + 1, change);
        edit(r.fields, k, what, field);
        return std::make_shared<const Attr::Record>(std::move(r));
    }
    Attr::Seq s = *a.get_seq();
    const auto k = path[depth].get<std::size_t>();
    Attr item = s.items.at(k);
    if (what == "set") item = changed(item, path, depth + 1, change);
    edit(s.items, k, what, item);
    return Attr::seq(s.kind, std::move(s.items));
}

ParamsRef changed_params(const ParamsRef& params, const json& change) {
    const json& path = change.at("param");
    const Sym name(path[0].get<std::string>());
    if (path.size() > 1 || change.at("do") == "set") return with_param(params, name, changed(*params->find(name), path, 1, change));
    std::vector<Params::Entry> kept;
    for (const auto& e : params->entries())
        if (e.first != name) kept.push_back(e);
    return Params::make(std::move(kept));
}

Avals changed_inputs(const Avals& in, const json& change) {
    Avals out(in.begin(), in.end());
    const auto k = change.at("input").get<std::size_t>();
    Aval a = *out.at(k);
    if (change.contains("dtype")) a.dtype = *dtype_from_name(change["dtype"].get<std::string>());
    if (change.contains("shape")) a.shape = Dims(change["shape"].get<std::vector<std::int64_t>>());
    edit(out, k, change.at("do"), AvalRef(a));
    return {out.begin(), out.end()};
}

std::string answer(const Jaxpr& j, const json& request) {
    const Eqn& e = j.eqns.at(request.at("eqn").get<std::size_t>());
    Op op{e.prim, e.params, j.in_avals(e), {}, e.source, e.context};
    if (!e.prim->abstract_eval) return "? no type rule";
    try {
        if (request.contains("param")) op.params = changed_params(op.params, request);
        if (request.contains("input")) op.in = changed_inputs(op.in, request);
        std::string text;
        for (const AvalRef a : e.prim->abstract_eval.fn(op)) text += (text.empty() ? "" : " ") + to_text(a);
        return text;
    } catch (const Error& error) {
        return std::string("! ") + error.fact();
    }
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    register_all_primitives();
    ProgramPtr program;
    for (std::string line; std::getline(std::cin, line);) {
        const json request = json::parse(line);
        if (request.contains("file"))
            program = load_program(request["file"].get<std::string>());
        else
            std::cout << answer(*program->jaxpr, request) << std::endl;
    }
    return 0;
}
