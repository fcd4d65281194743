#pragma once
#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/primitive.h"

namespace jaxscope {

// Applications of primitives as make_rule_golden.py writes them.

inline nlohmann::json rule_cases(const std::string& name) {
    std::ifstream file(std::string(JAXSCOPE_SOURCE_DIR) + "/tests/lax/golden/" + name);
    return nlohmann::json::parse(file)["cases"];
}

/// A parameter, encoded as in captures.
inline Attr attr_of(const nlohmann::json& v) {
    if (v.is_null()) return {};
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number_integer()) return v.get<std::int64_t>();
    if (v.is_number()) return v.get<double>();
    if (v == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (v.is_string()) return Sym(v.get<std::string>());
    if (v.is_array()) {
        Attrs items;
        for (const nlohmann::json& item : v) items.push_back(attr_of(item));
        return Attr::tuple(std::move(items));
    }
    if (v.contains("dtype")) return *dtype_from_name(v["dtype"].get<std::string>());
    if (v.contains("enum")) return Attr::Enum{v["enum"][0].get<std::string>(), v["enum"][1].get<std::string>()};
    if (v.contains("record")) {
        Attr::Record r{.type = v["record"].get<std::string>(), .fields = {}, .text = {}};
        for (const nlohmann::json& f : v["fields"]) r.fields.emplace_back(f[0].get<std::string>(), attr_of(f[1]));
        return std::make_shared<const Attr::Record>(std::move(r));
    }
    if (v.contains("primitive")) return Attr::Object{"Primitive", v["primitive"].get<std::string>(), v["primitive"].get<std::string>()};
    return Attr::Object{"jaxpr", "", v.dump()};
}

struct Application {
    const Primitive* prim;
    ParamsRef params;
    Avals in;
};

inline Application application_of(const nlohmann::json& c) {
    std::vector<Params::Entry> entries;
    for (const auto& [name, value] : c["params"].items()) entries.emplace_back(Sym(name), attr_of(value));
    Application a{&primitive(Sym(c["prim"].get<std::string>())), Params::make(std::move(entries)), {}};
    for (const nlohmann::json& in : c["in"])
        a.in.emplace_back(*dtype_from_name(in[0].get<std::string>()), in[1].get<Dims>(), in[2].get<bool>());
    return a;
}

inline Op op_of(const Application& a) {
    Op op{a.prim, a.params, a.in, {}, {}, {}};
    op.out = a.prim->abstract_eval.fn(op);
    return op;
}

}  // namespace jaxscope
