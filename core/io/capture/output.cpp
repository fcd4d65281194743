// SPDX-License-Identifier: Apache-2.0
// Tables and parameters of a capture that is being written: docs/capture-format.md, sections 2 and 3.
#include "io/capture/output.h"

#include <cmath>
#include <cstdlib>

#include "io/arrays/number_range.h"
#include "io/capture/tables.h"
#include "ir/primitive.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

constexpr std::int64_t kExactDouble = std::int64_t{1} << 53;

void integer(JsonWriter& w, DType d, std::int64_t v) {
    if (d == DType::Bool) return w.value(v != 0);
    const bool big = d == DType::U64 ? static_cast<std::uint64_t>(v) > kExactDouble : v > kExactDouble || v < -kExactDouble;
    if (!big) return w.value(v);
    w.value(d == DType::U64 ? std::to_string(static_cast<std::uint64_t>(v)) : std::to_string(v));
}
void complex_pair(JsonWriter& w, std::complex<double> v) {
    w.begin_array();
    w.value(v.real());
    w.value(v.imag());
    w.end_array();
}
void real(JsonWriter& w, DType d, double v) { std::isnan(v) ? w.value(nan_text(d, v)) : w.value(v); }
void number(JsonWriter& w, DType d, const Element& e) {
    if (!is_complex(d)) return is_float(d) ? real(w, d, e.number.real()) : integer(w, d, e.integer);
    w.begin_array();
    real(w, d, e.number.real());
    real(w, d, e.number.imag());
    w.end_array();
}
void syms(JsonWriter& w, const std::vector<Sym>& list) {
    w.begin_array();
    for (const Sym s : list) w.value(s.str());
    w.end_array();
}
void text_or_null(JsonWriter& w, Sym s) {
    if (s.empty())
        w.null();
    else
        w.value(s.str());
}

void elements(JsonWriter& w, const ArrayConst& a, std::size_t dim, std::size_t& at) {
    const DType d = a.aval->dtype;
    if (dim < a.aval->shape.size()) {
        w.begin_array();
        for (std::int64_t i = 0; i < a.aval->shape[dim]; ++i) elements(w, a, dim + 1, at);
        return w.end_array();
    }
    const std::byte* p = a.data.data() + at;
    at += static_cast<std::size_t>(byte_size(d));
    if (is_key(d)) {
        w.begin_array();
        for (std::int64_t word = 0; word < byte_size(d); word += 4) w.value(load_element(DType::U32, p + word).integer);
        return w.end_array();
    }
    number(w, d, load_element(d, p));
}

}  // namespace

void write_elements(JsonWriter& w, const ArrayConst& a) {
    std::size_t at = 0;
    elements(w, a, 0, at);
}

void write_literal_value(JsonWriter& w, const Literal& l) {
    const DType d = l.aval->dtype;
    const double real = is_float(d) && !l.text.empty() ? std::strtod(l.text.c_str(), nullptr) : l.real;
    number(w, d, {l.integer, {real, l.imag}});
}

std::int64_t CaptureOutput::Table::add(std::string element) {
    const auto [found, added] = index_.emplace(std::move(element), size_);
    if (added) append(found->first);
    return found->second;
}
std::int64_t CaptureOutput::Table::append(const std::string& element) {
    if (size_ > 0) text_ += ',';
    text_ += element;
    return size_++;
}

std::int64_t CaptureOutput::string(Sym s) {
    const auto [found, added] = string_ids_.emplace(s.id(), 0);
    if (added) found->second = strings_.add(json_text([&](JsonWriter& w) { w.value(s.str()); }));
    return found->second;
}

std::int64_t CaptureOutput::aval(AvalRef ref) {
    const auto [found, added] = aval_ids_.emplace(ref.id(), 0);
    if (!added) return found->second;
    const Aval& a = *ref;
    found->second = avals_.add(json_text([&](JsonWriter& w) {
        if (!a.is_array()) {
            w.begin_object();
            w.key("other");
            w.value(a.other.str());
            return w.end_object();
        }
        w.begin_array();
        w.value(info(a.dtype).name);
        w.begin_array();
        for (const std::int64_t d : a.shape) w.value(d);
        w.end_array();
        if (a.weak_type || a.space != MemorySpace::Device || !a.sharding.empty()) {
            w.begin_object();
            if (a.weak_type) {
                w.key("weak");
                w.value(true);
            }
            if (a.space == MemorySpace::Host) {
                w.key("space");
                w.value("host");
            }
            if (!a.sharding.empty()) {
                w.key("sharding");
                w.value(a.sharding.str());
            }
            w.end_object();
        }
        w.end_array();
    }));
    return found->second;
}

std::int64_t CaptureOutput::frame(const Frame& f) {
    return frames_.add(json_text([&](JsonWriter& w) {
        w.begin_array();
        w.value(file(f.file.str(), f.project));
        for (const int n : {f.line, f.column, f.end_line, f.end_column}) w.value(n);
        w.value(string(f.function));
        w.end_array();
    }));
}

std::int64_t CaptureOutput::source(SourceRef s) {
    if (const auto found = source_ids_.find(s.id()); found != source_ids_.end()) return found->second;
    const std::int64_t traceback = s->frames().empty() ? -1 : tracebacks_.add(json_text([&](JsonWriter& w) {
        w.begin_array();
        for (const Frame& f : s->frames()) w.value(frame(f));
        w.end_array();
    }));
    const std::int64_t stack = name_stacks_.add(json_text([&](JsonWriter& w) { w.value(s->name_stack.str()); }));
    const std::int64_t index = sources_.add(json_text([&](JsonWriter& w) {
        w.begin_array();
        if (traceback < 0)
            w.null();
        else
            w.value(traceback);
        w.value(stack);
        w.value(s->summary().str());
        if (s->own_place || s->unused_in_body) {
            w.begin_array();
            if (s->own_place) w.value(kOwnPlace);
            if (s->unused_in_body) w.value(kUnusedInBody);
            w.end_array();
        }
        w.end_array();
    }));
    return source_ids_[s.id()] = index;
}

std::int64_t CaptureOutput::context(ContextRef c) {
    const auto [found, added] = context_ids_.emplace(c.id(), 0);
    if (added)
        found->second = contexts_.add(json_text([&](JsonWriter& w) {
            w.begin_object();
            w.key("compute_type");
            text_or_null(w, c->compute_type);
            w.key("threefry_partitionable");
            w.value(c->threefry_partitionable);
            w.key("mesh");
            text_or_null(w, c->mesh);
            w.key("metadata");
            text_or_null(w, c->metadata);
            w.end_object();
        }));
    return found->second;
}

std::int64_t CaptureOutput::literal(LiteralRef l) {
    const auto [found, added] = literal_ids_.emplace(l.id(), 0);
    if (added)
        found->second = literals_.add(json_text([&](JsonWriter& w) {
            w.begin_array();
            w.value(aval(l->aval));
            write_literal_value(w, *l);
            w.end_array();
        }));
    return found->second;
}

std::int64_t CaptureOutput::array(const ArrayPtr& a) {
    const auto [found, added] = array_ids_.emplace(a.get(), static_cast<std::int64_t>(kept_arrays_.size()));
    const std::int64_t index = found->second;
    if (!added) return index;
    kept_arrays_.push_back(a);
    // Equal arrays may be two objects, which stay two: the index is part of the text.
    const std::string text = json_text([&](JsonWriter& w) {
        w.begin_object();
        w.key("aval");
        w.value(aval(a->aval));
        const bool big = archive_ && a->known() && a->aval->size() > options_.inline_elements;
        const std::string member = a->known() ? "c" + std::to_string(index) : a->npz.str();
        if (big) archive_->push_back({member, a});
        if (big || (!a->known() && !a->npz.empty())) {
            w.key("npz");
            w.value(member);
        } else if (a->known() && a->aval->dtype != DType::Float0) {
            w.key("values");
            write_elements(w, *a);
        }
        w.end_object();
    });
    arrays_.append(text);
    return index;
}

std::int64_t CaptureOutput::params(const ParamsRef& p) {
    const auto found = params_ids_.find(p);
    if (found != params_ids_.end()) return found->second;
    const std::int64_t index = params_.append(json_text([&](JsonWriter& w) {
        w.begin_object();
        for (const auto& [name, value] : p->entries()) {
            w.key(name.str());
            attr(w, value);
        }
        w.end_object();
    }));
    params_ids_.emplace(p, index);
    return index;
}

std::int64_t CaptureOutput::jaxpr(const JaxprPtr& j) const { return jaxpr_ids_.at(j.get()); }

// ---- Parameters -------------------------------------------------------------------------------------------------------------

namespace {
/// `{"key": ...}` with one entry.
template <class Write>
void tagged(JsonWriter& w, const char* key, Write write) {
    w.begin_object();
    w.key(key);
    write();
    w.end_object();
}
}  // namespace

void CaptureOutput::sequence(JsonWriter& w, const Attr::Seq& s) {
    const auto items = [&] {
        w.begin_array();
        for (const Attr& a : s.items) attr(w, a);
        w.end_array();
    };
    if (s.kind == Attr::SeqKind::Tuple) return items();
    tagged(w, s.kind == Attr::SeqKind::List ? "list" : s.kind == Attr::SeqKind::Set ? "set" : "dict", items);
}

void CaptureOutput::record(JsonWriter& w, const Attr::Record& r) {
    const std::string& type = r.type.str();
    const auto mesh = [&](const Attr::Record& m) {
        w.begin_object();
        w.key("axes");
        attr(w, m.fields.at(0).second);
        w.key("text");
        w.value(m.text.str());
        w.end_object();
    };
    w.begin_object();
    if (type == "Mesh" && r.fields.size() == 1) {
        w.key("mesh");
        mesh(r);
        return w.end_object();
    }
    if (type == "PartitionSpec" && r.fields.size() == 1) {
        w.key("spec");
        attr(w, r.fields[0].second);
    } else if (type == "NamedSharding" && r.fields.size() == 2 && r.fields[0].second.get_record() && r.fields[1].second.get_record()) {
        w.key("sharding");
        w.value(r.text.str());
        w.key("mesh");
        mesh(*r.fields[0].second.get_record());
        w.key("spec");
        attr(w, r.fields[1].second.get_record()->fields.at(0).second);
        return w.end_object();
    } else {
        w.key("record");
        w.value(type);
        w.key("fields");
        w.begin_array();
        for (const auto& [name, value] : r.fields) {
            w.begin_array();
            w.value(name.str());
            attr(w, value);
            w.end_array();
        }
        w.end_array();
    }
    w.key("text");
    w.value(r.text.str());
    w.end_object();
}

void CaptureOutput::policy(JsonWriter& w, const PolicySpec& p) {
    w.begin_object();
    w.key("policy");
    text_or_null(w, p.name);
    w.key("args");
    w.begin_array();
    for (const Attr& a : p.args) attr(w, a);
    w.end_array();
    if (!p.verdicts.empty()) {
        w.key("verdicts");
        w.begin_array();
        for (const PolicySpec::Verdict& v : p.verdicts) {
            w.begin_array();
            w.value(v.primitive->name.c_str());
            w.begin_array();
            for (const AvalRef a : v.in) w.value(aval(a));
            w.end_array();
            attr(w, v.params);
            attr(w, v.verdict);
            w.end_array();
        }
        w.end_array();
    }
    w.key("text");
    w.value(p.text.str());
    w.end_object();
}

void CaptureOutput::attr(JsonWriter& w, const Attr& a) {
    if (a.is_none()) return w.null();
    if (const auto* v = a.get<bool>()) return w.value(*v);
    if (const auto* v = a.get<std::int64_t>()) {
        if (*v <= kExactDouble && *v >= -kExactDouble) return w.value(*v);
        return tagged(w, "int", [&] { w.value(std::to_string(*v)); });
    }
    if (const auto* v = a.get<double>()) {
        if (std::isfinite(*v)) return w.value(*v);
        return tagged(w, "float", [&] { w.value(*v); });
    }
    if (const auto* v = a.get<std::complex<double>>()) return tagged(w, "complex", [&] { complex_pair(w, *v); });
    if (const auto* v = a.get<Sym>()) return w.value(v->str());
    if (const auto* v = a.get<DType>()) return tagged(w, "dtype", [&] { w.value(info(*v).name); });
    if (const auto* v = a.get<AvalRef>()) return tagged(w, "aval", [&] { w.value(aval(*v)); });
    if (const auto* v = a.get<Attr::Enum>()) return tagged(w, "enum", [&] { syms(w, {v->type, v->member}); });
    if (const Attr::Seq* v = a.get_seq()) return sequence(w, *v);
    if (const Attr::Record* v = a.get_record()) return record(w, *v);
    if (const auto* v = a.get<Attr::JaxprRef>()) return tagged(w, v->closed ? "closed_jaxpr" : "jaxpr", [&] { w.value(jaxpr(v->jaxpr)); });
    if (const auto* v = a.get<ArrayPtr>()) return *v ? tagged(w, "array", [&] { w.value(array(*v)); }) : w.null();
    if (const auto* v = a.get<PolicyPtr>()) return *v ? policy(w, **v) : w.null();
    w.begin_object();
    if (const auto* v = a.get<Attr::Rule>(); v && v->table.lock() == program_.rules) {
        w.key("rule");
        w.value(static_cast<std::int64_t>(v->index));
        w.key("text");
        w.value(v->text.str());
    } else if (v) {
        // A rule of another program has no entry here: it keeps its name.
        w.key("object");
        w.value("function");
        w.key("text");
        w.value(v->text.str());
    } else if (const auto* o = a.get<Attr::Object>()) {
        const std::string& type = o->type.str();
        w.key(type == "sharding" || type == "int" ? type : "object");
        w.value(type == "sharding" || type == "int" ? o->text.str() : type);
        if (type != "sharding" && type != "int") {
            w.key("name");
            text_or_null(w, o->name);
            w.key("text");
            w.value(o->text.str());
        }
    }
    w.end_object();
}

}  // namespace jaxscope
