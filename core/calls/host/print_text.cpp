// SPDX-License-Identifier: Apache-2.0
#include "calls/host/print_text.h"

#include <fmt/format.h>

#include <map>

#include "calls/host/numpy_text.h"

namespace jaxscope {

namespace {

/// An argument of the format string: an array, or what Python had that is none.
struct Argument {
    ArrayPtr array;
    Attr fixed;
};
struct Call {
    std::vector<Argument> positional;
    std::map<std::string, Argument> named;
};

/// The arguments' tree as JAX writes it, `PyTreeDef(((*, *), {'x': *}))`: arrays at the top alone. Gives the names behind the positional
/// ones.
struct Signature {
    std::size_t positional = 0;
    std::vector<std::string> names;
};
Signature signature_of(const std::string& tree) {
    const auto bad = [&] { return NoPrintText{"its arguments are trees: " + tree}; };
    std::string_view rest = tree;
    const auto take = [&](std::string_view s) {
        if (!rest.starts_with(s)) return false;
        rest.remove_prefix(s.size());
        return true;
    };
    Signature out;
    if (!take("PyTreeDef(((")) throw bad();
    while (take("*")) {
        ++out.positional;
        if (!take(", ")) take(",");
    }
    if (!take("), {")) throw bad();
    while (take("'")) {
        const std::size_t end = rest.find('\'');
        if (end == std::string_view::npos) throw bad();
        out.names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
        if (!take(": *")) throw bad();
        take(", ");
    }
    if (rest != "}))") throw bad();
    return out;
}

template <class T>
const T* param(const ParamsRef& params, const char* name) {
    const Attr* a = params->find(name);
    return a ? a->get<T>() : nullptr;
}
NumpyOptions numpy_options(const ParamsRef& params) {
    NumpyOptions out;
    const Attr* a = params->find("np_printoptions");
    const Attr::Seq* entries = a ? a->get_seq() : nullptr;
    for (const Attr& entry : entries ? entries->items : Attrs()) {
        const Attr::Seq* pair = entry.get_seq();
        if (!pair || pair->items.size() != 2 || !pair->items[0].get<Sym>()) continue;
        const std::string name = pair->items[0].get<Sym>()->str();
        const Attr& value = pair->items[1];
        const auto* n = value.get<std::int64_t>();
        const auto is = [&](const char* text) { return value.get<Sym>() && value.get<Sym>()->str() == text; };
        const bool off = value.is_none() || (value.get<bool>() && !*value.get<bool>());
        if (name == "precision" && n)
            out.precision = *n;
        else if (name == "threshold" && n)
            out.threshold = *n;
        else if (name == "edgeitems" && n)
            out.edgeitems = *n;
        else if (name == "linewidth" && n)
            out.linewidth = *n;
        else if (name == "suppress" && value.get<bool>())
            out.suppress = *value.get<bool>();
        else if (!off && !(name == "floatmode" && is("maxprec")) && !(name == "nanstr" && is("nan")) && !(name == "infstr" && is("inf")) &&
                 !(name == "sign" && is("-")))
            throw NoPrintText{"numpy.printoptions sets " + name};
    }
    return out;
}

}  // namespace

std::string text_param(const ParamsRef& params, const char* name) {
    const Attr* a = params->find(name);
    if (!a) return {};
    if (const auto* s = a->get<Sym>()) return s->str();
    if (const auto* object = a->get<Attr::Object>()) return object->text.str();
    return {};
}

class PrintText::Formatter {
public:
    explicit Formatter(const ParamsRef& params)
        : format_(text_param(params, "fmt")), signature_(signature_of(text_param(params, "in_tree"))), options_(numpy_options(params)) {
        const bool* placeholders = param<bool>(params, "has_placeholders");
        placeholders_ = !placeholders || *placeholders;
        const Attr* a = params->find("static_args");
        const Attr::Seq* fixed = a ? a->get_seq() : nullptr;
        for (const Attr& entry : fixed ? fixed->items : Attrs()) {
            const Attr::Seq* pair = entry.get_seq();
            const auto* at = pair && pair->items.size() == 2 ? pair->items[0].get<std::int64_t>() : nullptr;
            if (!at || *at < 0) throw NoPrintText{"an argument that is no array isn't known"};
            fixed_[static_cast<std::size_t>(*at)] = pair->items[1];
        }
    }

    std::string operator()(const std::vector<ArrayPtr>& values) const {
        const Call call = arguments(values);
        if (placeholders_) return filled(call);
        std::string out = format_;
        for (const Argument& a : call.positional) out += " " + str(a);
        return out;
    }

private:
    Call arguments(const std::vector<ArrayPtr>& values) const {
        Call out;
        std::size_t next = 0;
        const std::size_t n = signature_.positional + signature_.names.size();
        for (std::size_t i = 0; i < n; ++i) {
            Argument a;
            if (const auto f = fixed_.find(i); f != fixed_.end())
                a.fixed = f->second;
            else if (next < values.size())
                a.array = values[next++];
            else
                throw NoPrintText{"it has fewer operands than arguments"};
            if (i < signature_.positional)
                out.positional.push_back(a);
            else
                out.named.emplace(signature_.names[i - signature_.positional], a);
        }
        if (next != values.size()) throw NoPrintText{"it has more operands than arguments"};
        return out;
    }

    /// Python's str.format: {}, {0}, {name}, with !s and a format specification.
    std::string filled(const Call& call) const {
        std::string out;
        std::size_t automatic = 0;
        for (std::size_t i = 0; i < format_.size(); ++i) {
            const char c = format_[i];
            if ((c == '{' || c == '}') && i + 1 < format_.size() && format_[i + 1] == c) {
                out += c, ++i;
                continue;
            }
            if (c != '{') {
                out += c;
                continue;
            }
            const std::size_t end = format_.find('}', i);
            if (end == std::string::npos) throw NoPrintText{"its format string ends inside of a field"};
            out += field(format_.substr(i + 1, end - i - 1), call, automatic);
            i = end;
        }
        return out;
    }

    std::string field(const std::string& text, const Call& call, std::size_t& automatic) const {
        if (text.find('{') != std::string::npos) throw NoPrintText{"a field stands inside of the field {" + text};
        const std::size_t colon = text.find(':');
        std::string name = text.substr(0, colon);
        const std::string spec = colon == std::string::npos ? "" : text.substr(colon + 1);
        std::string conversion;
        if (const std::size_t bang = name.find('!'); bang != std::string::npos) {
            conversion = name.substr(bang + 1);
            name = name.substr(0, bang);
        }
        if (name.find_first_of(".[") != std::string::npos || (!conversion.empty() && conversion != "s"))
            throw NoPrintText{"it has the field {" + text + "}, of which jaxscope doesn't know the text"};
        const Argument& a = argument(name, call, automatic);
        if (conversion == "s") return padded(str(a), spec, text);
        return formatted(a, spec, text);
    }

    static const Argument& argument(const std::string& name, const Call& call, std::size_t& automatic) {
        const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 4;
        const std::size_t at = name.empty() ? automatic++ : number ? std::stoul(name) : SIZE_MAX;
        if (at < call.positional.size()) return call.positional[at];
        const auto found = call.named.find(name);
        if (at != SIZE_MAX || found == call.named.end()) throw NoPrintText{"it has no argument {" + name + "}"};
        return found->second;
    }

    std::string str(const Argument& a) const {
        if (a.array) {
            if (!a.array->known()) throw NoPrintText{"an operand has more than 1 MiB"};
            if (const auto text = numpy_text(*a.array, options_)) return *text;
            throw NoPrintText{"how NumPy writes " + to_text(a.array->aval) + " isn't known"};
        }
        if (const auto* s = a.fixed.get<Sym>()) return s->str();
        if (const auto* n = a.fixed.get<std::int64_t>()) return std::to_string(*n);
        if (const auto* b = a.fixed.get<bool>()) return *b ? "True" : "False";
        if (a.fixed.is_none()) return "None";
        throw NoPrintText{"an argument is neither an array nor a number or a string"};
    }

    /// Python's format() makes a double of a scalar, which str() doesn't.
    std::string plain(const Argument& a) const {
        if (!a.array || a.array->aval->rank() != 0 || !a.array->known()) return str(a);
        std::optional<NumpyScalar> s = numpy_scalar(*a.array, 0);
        if (!s) return str(a);
        s->single = false;
        return scalar_text(*s);
    }

    static std::string padded(const std::string& text, const std::string& spec, const std::string& field) {
        try {
            return fmt::format(fmt::runtime("{:" + spec + "}"), text);
        } catch (const fmt::format_error&) {
            throw NoPrintText{"it has the field {" + field + "}, of which jaxscope doesn't know the text"};
        }
    }

    /// Scalars take a specification, as Python's numbers do; NumPy's arrays take none.
    std::string formatted(const Argument& a, const std::string& spec, const std::string& field) const {
        if (spec.empty()) return plain(a);
        if (!a.array) return padded(str(a), spec, field);
        if (a.array->aval->rank() != 0) throw NoPrintText{"an array takes no format, as in {" + field + "}: Python raises an error there"};
        const auto s = a.array->known() ? numpy_scalar(*a.array, 0) : std::nullopt;
        const bool percent = spec.ends_with('%'), untyped = std::string("eEfFgGdxXob").find(spec.back()) == std::string::npos;
        if (!s || percent || spec.find_first_of(",_n") != std::string::npos)
            throw NoPrintText{"it has the field {" + field + "}, of which jaxscope doesn't know the text"};
        if (untyped) return padded_number(*s, spec, field);
        return number(*s, spec, field);
    }
    /// A width without a type: the shortest text of the number as Python has it, which is a double, on the right.
    static std::string padded_number(NumpyScalar s, const std::string& spec, const std::string& field) {
        const std::size_t align = spec.find_first_of("<>^");
        const std::string width = align == std::string::npos ? spec : spec.substr(align + 1);
        const bool known = (align == std::string::npos || align < 2) && width.find_first_not_of("0123456789") == std::string::npos &&
                           !width.starts_with('0') && s.kind != NumpyScalar::Kind::Bool;
        if (!known) throw NoPrintText{"it has the field {" + field + "}, of which jaxscope doesn't know the text"};
        s.single = false;
        return padded(scalar_text(s), align == std::string::npos ? ">" + spec : spec, field);
    }
    static std::string number(const NumpyScalar& s, const std::string& spec, const std::string& field) {
        const std::string text = "{:" + spec + "}";
        const auto format = fmt::runtime(text);
        const bool as_float = std::string("eEfFgG").find(spec.back()) != std::string::npos;
        try {
            if (s.kind == NumpyScalar::Kind::Float) return fmt::format(format, s.f);
            if (s.kind == NumpyScalar::Kind::Unsigned)
                return as_float ? fmt::format(format, static_cast<double>(s.u)) : fmt::format(format, s.u);
            return as_float ? fmt::format(format, static_cast<double>(s.i)) : fmt::format(format, s.i);
        } catch (const fmt::format_error&) {
            throw NoPrintText{"it has the field {" + field + "}, of which jaxscope doesn't know the text"};
        }
    }

    std::string format_;
    Signature signature_;
    NumpyOptions options_;
    bool placeholders_ = true;
    std::map<std::size_t, Attr> fixed_;
};

PrintText::PrintText(const ParamsRef& params) : formatter_(std::make_unique<const Formatter>(params)) {}
PrintText::~PrintText() = default;
std::string PrintText::operator()(const std::vector<ArrayPtr>& operands) const { return (*formatter_)(operands); }

}  // namespace jaxscope
