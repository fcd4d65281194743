// SPDX-License-Identifier: Apache-2.0
#include "ir/print/attr_text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <unordered_map>

#include "base/error.h"
#include "base/limits.h"
#include "ir/jaxpr.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

/// How Python shows the members of an enumeration; they differ from one to the next. `numbers`: the members' values, in order of
/// `members`, where a text shows them.
struct EnumStyle {
    const char* type;
    enum Show : std::uint8_t { Qualified, Member, Number, Angles } str, repr;
    const char* members[7];
};
constexpr EnumStyle kEnums[] = {
    {"Precision", EnumStyle::Member, EnumStyle::Qualified, {}},
    {"DotAlgorithmPreset", EnumStyle::Member, EnumStyle::Qualified, {}},
    {"GatherScatterMode", EnumStyle::Qualified, EnumStyle::Angles, {"CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS", "ONE_HOT"}},
    {"AccuracyMode", EnumStyle::Qualified, EnumStyle::Angles, {"HIGHEST", "DEFAULT"}},
    {"RoundingMethod", EnumStyle::Number, EnumStyle::Angles, {"AWAY_FROM_ZERO", "TO_NEAREST_EVEN"}},
    {"FftType", EnumStyle::Number, EnumStyle::Angles, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {"RandomAlgorithm", EnumStyle::Member, EnumStyle::Angles, {"RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX"}},
};

std::string enum_text(const Attr::Enum& e, bool repr) {
    std::string qualified = e.type.str() + "." + e.member.str();
    for (const EnumStyle& style : kEnums) {
        if (e.type.str() != style.type) continue;
        // GatherScatterMode and AccuracyMode count from 1 in JAX, or from 0: see each list's first member.
        int number = e.type.str() == "AccuracyMode" ? 1 : 0;
        int found = -1;
        for (const char* m : style.members) {
            if (m && e.member.str() == m) found = number;
            ++number;
        }
        switch (repr ? style.repr : style.str) {
            case EnumStyle::Qualified:
                return qualified;
            case EnumStyle::Member:
                return e.member.str();
            case EnumStyle::Number:
                return found < 0 ? e.member.str() : std::to_string(found);
            case EnumStyle::Angles:
                return found < 0 ? qualified : "<" + qualified + ": " + std::to_string(found) + ">";
        }
    }
    return qualified;
}

std::string dtype_repr(DType d) {
    std::string name = info(d).name;
    if (is_key(d)) return name;
    if (d == DType::Float0) return "dtype([('float0', 'V')])";
    // ml_dtypes' kinds have no quotes.
    const bool numpy = d == DType::Bool || d == DType::F16 || d == DType::F32 || d == DType::F64 || is_complex(d) ||
                       (is_integer(d) && name.back() != '2' && name.back() != '4') || name.ends_with("32") || name.ends_with("64");
    return numpy ? "dtype('" + name + "')" : "dtype(" + name + ")";
}

std::string long_aval_text(const Aval& a) {
    if (!a.is_array()) return a.other.str();
    std::string s = std::string(info(a.dtype).name) + "[";
    for (std::size_t i = 0; i < a.shape.size(); ++i) s += (i ? "," : "") + std::to_string(a.shape[i]);
    return s + "]";
}

std::string element_text(DType d, const std::byte* p, bool repr) {
    const Element e = load_element(d, p);
    if (d == DType::Bool) return e.integer ? "True" : "False";
    if (is_integer(d) || is_key(d))
        return d == DType::U64 ? std::to_string(static_cast<std::uint64_t>(e.integer)) : std::to_string(e.integer);
    if (is_complex(d)) {
        Literal l;
        l.aval = AvalRef(d, {});
        l.real = e.number.real();
        l.imag = e.number.imag();
        return value_text(l);
    }
    // NumPy shows the shortest digits of the element's own width.
    std::string s = python_float(e.number.real());
    if (d == DType::F32) {
        char buffer[40];
        const auto v = static_cast<float>(e.number.real());
        *std::to_chars(buffer, buffer + sizeof buffer, v).ptr = '\0';
        s = buffer;
        if (s.find_first_of(".en") == std::string::npos) s += ".0";
    }
    if (!repr && s.ends_with(".0")) s.pop_back();
    return s;
}

/// Nested brackets as NumPy writes them on one line; arrays of more than 1,000 elements are cut as NumPy cuts them.
void array_items(const ArrayConst& a, std::size_t dim, std::size_t& at, const char* separator, std::string& out) {
    const Dims& shape = a.aval->shape;
    const auto width = static_cast<std::size_t>(byte_size(a.aval->dtype));
    if (dim == shape.size()) {
        out += element_text(a.aval->dtype, a.data.data() + at, false);
        at += width;
        return;
    }
    out += '[';
    for (std::int64_t i = 0; i < shape[dim]; ++i) {
        if (i) out += separator;
        array_items(a, dim + 1, at, separator, out);
    }
    out += ']';
}

std::string array_text(const ArrayPtr& a, bool repr) {
    const std::string type = info(a->aval->dtype).name;
    constexpr std::int64_t kShown = 1000;
    if (!a->known() || a->aval->size() > kShown) return (repr ? "array([...], dtype=" + type + ")" : "[...]");
    if (a->aval->rank() == 0) {
        std::string text = element_text(a->aval->dtype, a->data.data(), true);
        if (!repr) return text;
        return a->aval->dtype == DType::Bool ? "np." + text + "_" : "np." + type + "(" + text + ")";
    }
    std::string out;
    std::size_t at = 0;
    array_items(*a, 0, at, repr ? ", " : " ", out);
    return repr ? "array(" + out + ", dtype=" + type + ")" : out;
}

/// `frozenset({...})` with its items sorted: Python shows them in hash order, which is another in every run.
void sort_sets(std::string& text) {
    constexpr std::string_view kOpen = "frozenset({", kSeparator = ", ";
    for (std::size_t at = 0; (at = text.find(kOpen, at)) != std::string::npos;) {
        at += kOpen.size();
        const std::size_t end = text.find("})", at);
        if (end == std::string::npos) return;
        std::vector<std::string> items;
        for (std::size_t begin = at; begin < end;) {
            const std::size_t stop = std::min(text.find(kSeparator, begin), end);
            items.push_back(text.substr(begin, stop - begin));
            begin = stop + kSeparator.size();
        }
        std::sort(items.begin(), items.end());
        std::string joined;
        for (const std::string& i : items) joined += (joined.empty() ? "" : kSeparator.data()) + i;
        if (joined.size() == end - at) text.replace(at, end - at, joined);
    }
}

/// A text that the capture recorded, as JAX's printer shows it. Captures cut addresses to `0x_`; JAX shows each hex digit as an X,
/// twelve of them for a heap address.
std::string recorded_text(std::string text) {
    constexpr std::string_view kCut = " at 0x_";
    for (std::size_t at = 0; (at = text.find(kCut, at)) != std::string::npos; at += 15) text.replace(at, kCut.size(), " at 0xXXXXXXXXXXXX");
    sort_sets(text);
    return text;
}

std::string seq_text(const Attr::Seq& s) {
    std::vector<std::string> items;
    items.reserve(s.items.size());
    if (s.kind == Attr::SeqKind::Dict) {
        for (const Attr& pair : s.items) {
            const Attr::Seq* kv = pair.get_seq();
            items.push_back(kv && kv->items.size() == 2 ? repr_text(kv->items[0]) + ": " + repr_text(kv->items[1]) : repr_text(pair));
        }
    } else {
        for (const Attr& a : s.items) items.push_back(repr_text(a));
    }
    if (s.kind == Attr::SeqKind::Set) std::sort(items.begin(), items.end());
    std::string joined;
    for (const std::string& i : items) joined += (joined.empty() ? "" : ", ") + i;
    switch (s.kind) {
        case Attr::SeqKind::Tuple:
            return "(" + joined + (items.size() == 1 ? ",)" : ")");
        case Attr::SeqKind::List:
            return "[" + joined + "]";
        case Attr::SeqKind::Set:
            return "frozenset({" + joined + "})";
        case Attr::SeqKind::Dict:
            return "{" + joined + "}";
    }
    return joined;
}

std::string record_text(const Attr::Record& r) {
    bool holds_jaxpr = false;
    for (const auto& [name, value] : r.fields) holds_jaxpr = holds_jaxpr || value.holds_jaxpr();
    // A namedtuple's text holds the programs in it, which are ours to print; others (pallas' GridMapping) show none of theirs.
    const bool shows_jaxpr = holds_jaxpr && r.text.str().find("{ lambda") != std::string::npos;
    if (!r.text.empty() && !shows_jaxpr) return recorded_text(r.text.str());
    std::string out;
    if (r.text.str().starts_with(r.type.str() + "[{")) {  // a primitive with parameters of its own prints them as a mapping
        for (const auto& [name, value] : r.fields) out += (out.empty() ? "" : ", ") + python_repr(name.str()) + ": " + repr_text(value);
        return r.type.str() + "[{" + out + "}]";
    }
    for (const auto& [name, value] : r.fields) out += (out.empty() ? "" : ", ") + name.str() + "=" + repr_text(value);
    return r.type.str() + "(" + out + ")";
}

struct EmbeddedTexts {
    std::unordered_map<const Jaxpr*, std::string> texts;
    std::size_t bytes = 0;
    int scopes = 0;
    EmbeddedTextScope::Print print = nullptr;
};
thread_local EmbeddedTexts embedded;

/// A jaxpr inside a record is a program of its own, its jaxprs too: written out anew wherever it stands.
std::string embedded_text(const Jaxpr& j) {
    if (embedded.print == nullptr) throw Error(ErrorCode::BadInput, "expected a value without a program in it, found one with");
    auto found = embedded.texts.find(&j);
    if (found == embedded.texts.end()) {
        std::string made = embedded.print(j);
        found = embedded.texts.emplace(&j, std::move(made)).first;
    }
    embedded.bytes += found->second.size();
    if (embedded.bytes > kMaxEmbeddedText.value)
        throw Error(ErrorCode::LimitExceeded, "expected at most " + std::to_string(kMaxEmbeddedText.value) +
                                                  " bytes of programs printed inside equations, found more");
    return found->second;
}

std::string text_of(const Attr& a, bool repr) {
    if (a.is_none()) return "None";
    if (const auto* v = a.get<bool>()) return *v ? "True" : "False";
    if (const auto* v = a.get<std::int64_t>()) return std::to_string(*v);
    if (const auto* v = a.get<double>()) return python_float(*v);
    if (const auto* v = a.get<std::complex<double>>()) return value_text(*make_literal(AvalRef(DType::C128, {}), *v));
    if (const auto* v = a.get<Sym>()) return repr ? python_repr(v->str()) : v->str();
    if (const auto* v = a.get<DType>()) return repr ? dtype_repr(*v) : *v == DType::Float0 ? "[('float0', 'V')]" : info(*v).name;
    if (const auto* v = a.get<AvalRef>()) {
        const Aval& aval = **v;
        if (!repr) return (aval.weak_type ? "~" : "") + long_aval_text(aval);
        return aval.is_array() ? "ShapedArray(" + long_aval_text(aval) + (aval.weak_type ? ", weak_type=True)" : ")")
                               : long_aval_text(aval);
    }
    if (const auto* v = a.get<Attr::Enum>()) return enum_text(*v, repr);
    if (const Attr::Seq* v = a.get_seq()) return seq_text(*v);
    if (const Attr::Record* v = a.get_record()) return record_text(*v);
    if (const auto* v = a.get<Attr::JaxprRef>()) return embedded_text(*v->jaxpr);
    if (const auto* v = a.get<ArrayPtr>()) return *v ? array_text(*v, repr) : "None";
    if (const auto* v = a.get<PolicyPtr>()) return *v ? recorded_text((*v)->text.str()) : "None";
    if (const auto* v = a.get<Attr::Rule>()) return v->text.str();
    if (const auto* v = a.get<Attr::Object>()) return recorded_text(v->text.str());
    return {};
}

}  // namespace

EmbeddedTextScope::EmbeddedTextScope(Print print) {
    ++embedded.scopes;
    embedded.print = print;
}
EmbeddedTextScope::~EmbeddedTextScope() {
    if (--embedded.scopes > 0) return;
    embedded.texts.clear();
    embedded.bytes = 0;
    embedded.print = nullptr;
}

std::string python_repr(std::string_view text) {
    const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string out(1, quote);
    for (const char c : text) {
        if (c == '\\' || c == quote) {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '\r') {
            out += "\\r";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            char hex[8];
            std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
            out += hex;
        } else {
            out += c;
        }
    }
    return out + quote;
}

std::string str_text(const Attr& a) { return text_of(a, false); }
std::string repr_text(const Attr& a) { return text_of(a, true); }

}  // namespace jaxscope
