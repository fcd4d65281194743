// SPDX-License-Identifier: Apache-2.0
#include "io/capture/tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "io/arrays/number_range.h"
#include "io/text/values.h"
#include "ir/primitive.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

std::size_t index_into(const JsonValue& v, std::size_t size, const char* what) {
    return static_cast<std::size_t>(v.as_int(0, static_cast<std::int64_t>(size), what));
}

/// Conversions of our own throw without a path; they get it here.
template <class F>
auto with_path(const JsonValue& v, F convert) -> decltype(convert()) {
    try {
        return convert();
    } catch (const Error& e) {
        throw Error(e.code, v.path() + ": " + e.fact());
    }
}

bool integer_from_text(std::string_view s, std::int64_t& out) {
    std::uint64_t u = 0;
    if (auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), out); ec == std::errc() && end == s.data() + s.size()) return true;
    if (auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), u); ec == std::errc() && end == s.data() + s.size()) {
        out = static_cast<std::int64_t>(u);
        return true;
    }
    return false;
}

double float_from_json(const JsonValue& v, DType dtype) {
    if (!v.is_string()) return v.as_double();
    if (v.as_string().starts_with("nan:")) {
        const auto nan = nan_from_text(dtype, v.as_string());
        if (!nan) v.fail(std::string("the bits of a NaN of ") + info(dtype).name);
        return *nan;
    }
    const auto out = float_from_digits(v.as_string());
    if (!out) v.fail("a number, \"nan\", \"inf\" or \"-inf\"");
    return *out;
}

MemorySpace space_from_json(const JsonValue& v) {
    const std::string_view s = v.as_string();
    if (s == "host" || s == "pinned_host") return MemorySpace::Host;
    if (s != "device") v.fail("'host' or 'device'");
    return MemorySpace::Device;
}

}  // namespace

DType dtype_from_json(const JsonValue& v) {
    const std::string_view name = v.as_string();
    if (const auto d = dtype_from_name(name)) return *d;
    if (name == "key<unsafe_rbg>") return DType::KeyUnsafeRbg;
    v.fail("a dtype");
}

Element element_from_json(const JsonValue& v, DType dtype) {
    Element e;
    if (is_complex(dtype)) {
        if (v.is_array())
            e.number = {float_from_json(v.at(0), dtype), float_from_json(v.at(1), dtype)};
        else
            e.number = float_from_json(v, dtype);
    } else if (is_float(dtype)) {
        e.number = float_from_json(v, dtype);
    } else if (v.kind() == JsonKind::Bool) {
        e.integer = v.as_bool();
    } else {
        const bool text = v.is_string();
        if (text && !integer_from_text(v.as_string(), e.integer)) v.fail(std::string("a value of ") + info(dtype).name);
        if (v.kind() == JsonKind::UInt)
            e.integer = static_cast<std::int64_t>(v.raw_uint());
        else if (!text)
            e.integer = v.as_int();
        const bool beyond = v.kind() == JsonKind::UInt || (text && v.as_string()[0] != '-' && e.integer < 0);
        if (!fits(dtype, e.integer, beyond)) v.fail(std::string("a value of ") + info(dtype).name);
    }
    return e;
}

Sym text_from_json(const JsonValue& v) {
    if (v.is_null()) return {};
    if (v.is_string()) return v.as_string();
    JsonValue inner;
    if (v.is_object() && v.find("text", inner)) return text_from_json(inner);
    if (v.is_object() && v.count() == 1) return text_from_json(JsonValue::Items(v).value());
    return v.describe();
}

CaptureTables::CaptureTables(Program& program) : program_(program) { program.rules = rules_; }

void CaptureTables::add_string(const JsonValue& v) { strings_.emplace_back(v.as_string()); }
void CaptureTables::add_name_stack(const JsonValue& v) { name_stacks_.push_back(NameStack::parse(v.as_string())); }

void CaptureTables::add_aval(const JsonValue& v) {
    Aval a;
    if (v.is_object()) {
        JsonValue::Items it(v);
        if (!it.more()) v.fail("an aval");
        a.other = other_aval_text(it.value().as_string());
        const std::string& shown = a.other.str();
        if (shown.empty() || printable(shown, shown.size()) != shown) it.value().fail("a text that can be shown");
        avals_.emplace_back(a);
        return;
    }
    a.dtype = dtype_from_json(v.at(0));
    const JsonValue shape = v.at(1);
    for (JsonValue::Items it(shape); it.more(); it.step()) a.shape.push_back(it.value().as_int(0, INT64_MAX, "a dimension"));
    if (a.shape.size() > kMaxRank.value) shape.fail("at most " + std::to_string(kMaxRank.value) + " dimensions");
    with_path(shape, [&] { return a.bytes(); });
    if (v.count() > 2) {
        const JsonValue options = v.at(2);
        for (JsonValue::Items it(options); it.more(); it.step()) {
            if (it.key() == "weak") a.weak_type = it.value().as_bool();
            if (it.key() == "space") a.space = space_from_json(it.value());
            if (it.key() == "sharding") a.sharding = text_from_json(it.value());
        }
    }
    avals_.emplace_back(a);
}

void CaptureTables::add_file(const JsonValue& v) {
    SourceFile f;
    f.path = v.get("path").as_string();
    JsonValue member;
    if (v.find("project", member)) f.project = member.as_bool();
    if (v.find("text", member) && !member.is_null()) f.text = member.as_string();
    program_.files.push_back(std::move(f));
}

void CaptureTables::add_frame(const JsonValue& v) {
    if (v.count() != 6) v.fail("[file, line, column, end line, end column, function]");
    const auto number = [&](std::size_t i) { return static_cast<int>(v.at(i).as_int(-1, std::int64_t{1} << 31, "a line or column")); };
    const SourceFile& file = program_.files[index_into(v.at(0), program_.files.size(), "a file")];
    Frame f;
    f.file = file.path;
    f.project = file.project;
    f.line = number(1);
    f.column = number(2);
    f.end_line = number(3);
    f.end_column = number(4);
    f.function = string(v.at(5));
    frames_.push_back(f);
}

void CaptureTables::add_traceback(const JsonValue& v) {
    std::vector<std::uint32_t>& t = tracebacks_.emplace_back();
    for (JsonValue::Items it(v); it.more(); it.step())
        t.push_back(static_cast<std::uint32_t>(index_into(it.value(), frames_.size(), "a frame")));
}

void CaptureTables::add_source(const JsonValue& v) {
    Traceback t;
    NameStack name_stack;
    if (v.count() != 3 && v.count() != 4) v.fail("[traceback, name stack, summary], or behind these a list of words");
    if (const JsonValue traceback = v.at(0); !traceback.is_null())
        t.frames = frames_of(tracebacks_[index_into(traceback, tracebacks_.size(), "a traceback")]);
    if (const JsonValue stack = v.at(1); !stack.is_null())
        name_stack = name_stacks_[index_into(stack, name_stacks_.size(), "a name stack")];
    t.summary = text_from_json(v.at(2));
    Source s{t, name_stack};
    if (v.count() == 4) {
        const JsonValue words = v.at(3);
        for (JsonValue::Items it(words); it.more(); it.step()) {
            const Sym word = text_from_json(it.value());
            if (word.str() == kOwnPlace)
                s.own_place = true;
            else if (word.str() == kUnusedInBody)
                s.unused_in_body = true;
            else
                it.value().fail_found("own_place or unused_in_body", "'" + printable(word.str()) + "'");
        }
    }
    sources_.emplace_back(s);
}

/// All of a traceback's frames; when sources of long shared tracebacks would fill the memory, the innermost ones and the user's own.
std::vector<Frame> CaptureTables::frames_of(const std::vector<std::uint32_t>& traceback) {
    constexpr std::size_t kAllFrames = std::size_t{4} << 20, kInnermost = 16;
    std::vector<Frame> out;
    const std::size_t kept = frames_held_ <= kAllFrames ? traceback.size() : std::min(traceback.size(), kInnermost);
    out.reserve(kept);
    for (std::size_t i = 0; i < kept; ++i) out.push_back(frames_[traceback[i]]);
    const auto own = [&](std::uint32_t f) { return frames_[f].project; };
    if (kept < traceback.size() && std::none_of(traceback.begin(), traceback.begin() + kInnermost, own))
        if (const auto user = std::find_if(traceback.begin(), traceback.end(), own); user != traceback.end()) out.back() = frames_[*user];
    frames_held_ += kept;
    return out;
}

namespace {

/// {"a": "b", "n": "3"} as `a=b, n=3`; our own captures have the text.
Sym metadata_text(const JsonValue& v) {
    if (v.kind() != JsonKind::Object) return text_from_json(v);
    std::string out;
    for (JsonValue::Items it(v); it.more(); it.step())
        out += (out.empty() ? "" : ", ") + std::string(it.key()) + "=" + text_from_json(it.value()).str();
    return Sym(out);
}

}  // namespace

void CaptureTables::add_context(const JsonValue& v) {
    EqnContext c;
    for (JsonValue::Items it(v); it.more(); it.step()) {
        if (it.key() == "compute_type") c.compute_type = text_from_json(it.value());
        if (it.key() == "threefry_partitionable" && !it.value().is_null()) c.threefry_partitionable = it.value().as_bool();
        if (it.key() == "mesh") c.mesh = text_from_json(it.value());
        if (it.key() == "metadata") c.metadata = metadata_text(it.value());
    }
    contexts_.emplace_back(c);
}

void CaptureTables::add_literal(const JsonValue& v) {
    if (v.count() != 2) v.fail("[aval, value]");
    const JsonValue type = v.at(0);
    Literal l;
    l.aval = aval(type);
    if (!l.aval->is_array() || l.aval->rank() != 0) type.fail_found("the aval of a scalar", to_text(l.aval));
    const Element e = element_from_json(v.at(1), l.aval->dtype);
    l.integer = e.integer;
    l.real = e.number.real();
    l.imag = e.number.imag();
    const std::string written = value_text(l);
    l.real = round_to(l.aval->dtype, l.real);
    l.imag = round_to(l.aval->dtype, l.imag);
    if (is_inexact(l.aval->dtype) && written != value_text(l)) l.text = written;
    literals_.emplace_back(l);
}

void CaptureTables::add_jaxpr(JaxprPtr jaxpr, int depth) {
    jaxprs_.push_back(std::move(jaxpr));
    jaxpr_depths_.push_back(depth);
}

Sym CaptureTables::string(const JsonValue& v) const { return strings_[index_into(v, strings_.size(), "a string")]; }

const Primitive& CaptureTables::primitive_of(const JsonValue& v) {
    const std::size_t i = index_into(v, strings_.size(), "a string");
    if (primitives_.size() <= i) primitives_.resize(strings_.size());
    if (!primitives_[i]) {
        if (strings_[i].empty()) v.fail_found("the name of a primitive", "''");
        primitives_[i] = &primitive(strings_[i]);
    }
    return *primitives_[i];
}

AvalRef CaptureTables::aval(const JsonValue& v) const { return avals_[index_into(v, avals_.size(), "an aval")]; }
LiteralRef CaptureTables::literal(const JsonValue& v, std::int64_t index) const {
    if (index < 0 || index >= static_cast<std::int64_t>(literals_.size()))
        v.fail_found("a literal below " + std::to_string(literals_.size()), std::to_string(index));
    return literals_[static_cast<std::size_t>(index)];
}
SourceRef CaptureTables::source(const JsonValue& v) const {
    return v.is_null() ? SourceRef{} : sources_[index_into(v, sources_.size(), "a source")];
}
ContextRef CaptureTables::context(const JsonValue& v) const {
    return v.is_null() ? ContextRef{} : contexts_[index_into(v, contexts_.size(), "a context")];
}
ArrayPtr CaptureTables::array(const JsonValue& v) const { return arrays_[index_into(v, arrays_.size(), "an array")]; }
JaxprPtr CaptureTables::jaxpr(const JsonValue& v) const { return jaxprs_[index_into(v, jaxprs_.size(), "a jaxpr")]; }

Avals CaptureTables::avals(const JsonValue& v) const {
    Avals out;
    for (JsonValue::Items it(v); it.more(); it.step()) out.push_back(aval(it.value()));
    return out;
}

}  // namespace jaxscope
