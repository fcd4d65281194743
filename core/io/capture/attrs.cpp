// SPDX-License-Identifier: Apache-2.0
// Parameters of a capture: docs/capture-format.md, section 3.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/limits.h"
#include "io/capture/tables.h"
#include "ir/primitive.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

/// Does a jaxpr stand anywhere below? Then the parameters wait until the jaxprs are there.
bool mentions_jaxpr(const JsonValue& v) {
    if (!v.is_object() && !v.is_array()) return false;
    for (JsonValue::Items it(v); it.more(); it.step()) {
        if (v.is_object() && (it.key() == "jaxpr" || it.key() == "closed_jaxpr") && it.value().kind() == JsonKind::Int) return true;
        if (mentions_jaxpr(it.value())) return true;
    }
    return false;
}

Sym member_text(const JsonValue& v, std::string_view key) {
    JsonValue found;
    return v.find(key, found) ? text_from_json(found) : Sym{};
}

}  // namespace

void CaptureTables::add_params(const JsonValue& v, const JsonTree& tree, const std::vector<JsonStep>& path) {
    ParamsEntry& entry = params_.emplace_back();
    if (mentions_jaxpr(v)) {
        auto kept = std::make_unique<Deferred>(Deferred{path, tree});
        kept->tree.set_prefix(kept->path);
        entry.deferred = std::move(kept);
        return;
    }
    std::vector<Params::Entry> entries;
    for (JsonValue::Items it(v); it.more(); it.step()) entries.emplace_back(it.key(), attr(it.value(), entry.value.depth));
    entry.value.params = Params::make(std::move(entries));
}

CaptureTables::ParamsAndDepth CaptureTables::params(const JsonValue& index) {
    if (index.is_null()) return {};
    ParamsEntry& entry = params_[static_cast<std::size_t>(index.as_int(0, static_cast<std::int64_t>(params_.size()), "parameters"))];
    if (entry.deferred) {
        const JsonValue v = entry.deferred->tree.root();
        std::vector<Params::Entry> entries;
        for (JsonValue::Items it(v); it.more(); it.step()) entries.emplace_back(it.key(), attr(it.value(), entry.value.depth));
        entry.value.params = Params::make(std::move(entries));
        entry.deferred.reset();
    }
    return entry.value;
}

Attr CaptureTables::attr(const JsonValue& v, int& depth) const {
    switch (v.kind()) {
        case JsonKind::Null:
            return {};
        case JsonKind::Bool:
            return v.as_bool();
        case JsonKind::Int:
            return v.as_int();
        case JsonKind::UInt:
            v.fail("an integer below 2^63");
        case JsonKind::Float:
            return v.as_double();
        case JsonKind::String:
            return Sym(v.as_string());
        case JsonKind::Array: {
            Attrs items;
            for (JsonValue::Items it(v); it.more(); it.step()) items.push_back(attr(it.value(), depth));
            return Attr::tuple(std::move(items));
        }
        case JsonKind::Object:
            return attr_of_object(v, depth);
    }
    v.fail("a value");
}

Attr::JaxprRef CaptureTables::jaxpr_attr(const JsonValue& v, bool closed, int& depth) const {
    Attr::JaxprRef ref{jaxpr(v), closed};
    if (closed && ref.jaxpr->consts.size() != ref.jaxpr->num_constvars) v.fail("a closed jaxpr (as many consts as constvars)");
    depth = std::max(depth, jaxpr_depths_[static_cast<std::size_t>(v.as_int())]);
    return ref;
}

Attr CaptureTables::record_attr(const JsonValue& v, int& depth) const {
    Attr::Record r;
    r.type = v.get("record").as_string();
    r.text = member_text(v, "text");
    const JsonValue fields = v.get("fields");
    for (JsonValue::Items it(fields); it.more(); it.step()) {
        const JsonValue field = it.value();
        r.fields.emplace_back(field.at(0).as_string(), attr(field.at(1), depth));
    }
    return std::make_shared<const Attr::Record>(std::move(r));
}

Attr CaptureTables::policy_attr(const JsonValue& v, int& depth) const {
    PolicySpec p;
    p.name = text_from_json(v.get("policy"));
    p.text = member_text(v, "text");
    JsonValue found;
    if (v.find("args", found))
        for (JsonValue::Items it(found); it.more(); it.step()) p.args.push_back(attr(it.value(), depth));
    if (v.find("verdicts", found))
        for (JsonValue::Items it(found); it.more(); it.step()) {
            const JsonValue row = it.value();
            PolicySpec::Verdict verdict;
            verdict.primitive = &primitive(row.at(0).as_string());
            verdict.in = avals(row.at(1));
            verdict.params = attr(row.at(2), depth);
            verdict.verdict = attr(row.at(3), depth);
            p.verdicts.push_back(std::move(verdict));
        }
    return PolicyPtr(std::make_shared<const PolicySpec>(std::move(p)));
}

Attr CaptureTables::mesh_attr(const JsonValue& v, int& depth) const {
    Attr::Record r;
    r.type = "Mesh";
    r.fields.emplace_back("axes", attr(v.get("axes"), depth));
    r.text = member_text(v, "text");
    return std::make_shared<const Attr::Record>(std::move(r));
}
Attr CaptureTables::spec_attr(const JsonValue& dims, Sym text, int& depth) const {
    Attr::Record r;
    r.type = "PartitionSpec";
    r.fields.emplace_back("dims", attr(dims, depth));
    r.text = text;
    return std::make_shared<const Attr::Record>(std::move(r));
}

Attr CaptureTables::attr_of_object(const JsonValue& v, int& depth) const {
    if (v.count() == 0) v.fail("a parameter's value");
    const std::string_view kind = v.first_key();
    const JsonValue inner = v.get(kind);
    const auto items = [&](Attr::SeqKind seq_kind) {
        Attrs out;
        for (JsonValue::Items it(inner); it.more(); it.step()) out.push_back(attr(it.value(), depth));
        return Attr::seq(seq_kind, std::move(out));
    };
    if (kind == "float") return element_from_json(inner, DType::F64).number.real();
    if (kind == "complex") return element_from_json(inner, DType::C128).number;
    if (kind == "list") return items(Attr::SeqKind::List);
    if (kind == "set") return items(Attr::SeqKind::Set);
    if (kind == "dict") return items(Attr::SeqKind::Dict);
    if (kind == "dtype") return dtype_from_json(inner);
    if (kind == "aval") return aval(inner);
    if (kind == "enum") return Attr::Enum{inner.at(0).as_string(), inner.at(1).as_string()};
    if (kind == "record") return record_attr(v, depth);
    if (kind == "jaxpr") return jaxpr_attr(inner, false, depth);
    if (kind == "closed_jaxpr") return jaxpr_attr(inner, true, depth);
    if (kind == "array") return array(inner);
    if (kind == "policy") return policy_attr(v, depth);
    if (kind == "rule") {
        Attr::Rule r;
        const std::int64_t i = inner.as_int(0, std::int64_t{1} << 31, "a custom rule");
        highest_rule_ = std::max(highest_rule_, i);
        r.table = rules_;
        r.index = static_cast<std::uint32_t>(i);
        r.text = member_text(v, "text");
        return r;
    }
    if (kind == "mesh") return mesh_attr(inner, depth);
    if (kind == "spec") return spec_attr(inner, member_text(v, "text"), depth);
    if (kind == "sharding") {
        JsonValue mesh, spec;
        if (!v.find("mesh", mesh) || !v.find("spec", spec)) return Attr::Object{"sharding", {}, text_from_json(inner)};
        Attr::Record r;
        r.type = "NamedSharding";
        r.text = text_from_json(inner);
        r.fields.emplace_back("mesh", mesh_attr(mesh, depth));
        r.fields.emplace_back("spec", spec_attr(spec, {}, depth));
        return std::make_shared<const Attr::Record>(std::move(r));
    }
    if (kind == "int") {  // beyond 2^53; beyond 2^63 only its text is kept
        const std::string_view digits = inner.as_string();
        std::int64_t i = 0;
        const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), i);
        if (end != digits.data() + digits.size() || digits.empty()) inner.fail("the digits of an integer");
        return ec == std::errc() ? Attr(i) : Attr(Attr::Object{"int", {}, digits});
    }
    if (kind == "object") return Attr::Object{text_from_json(inner), member_text(v, "name"), member_text(v, "text")};
    v.fail("a parameter's value");
}

}  // namespace jaxscope
