// SPDX-License-Identifier: Apache-2.0
// debug::print: format strings checked as JAX checks them, and the equation.
#include "calls/host/print_text.h"

#include <fmt/format.h>

#include <jaxscope/callbacks.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "calls/host/debug.h"
#include "ir/print/attr_text.h"
#include "trace/functions.h"
#include "trace/host/host.h"

namespace jaxscope::jax::detail {

namespace {

[[noreturn]] void refuse(const std::string& words) { throw Error(ErrorCode::BadUsage, words); }

/// Python's string.Formatter().parse, as far as the fields' names are concerned: `0` of `{0.x[1]:>5}`.
class FormatParser {
public:
    explicit FormatParser(std::string_view text) : text_(text) {}
    std::vector<std::string> fields() const {
        std::vector<std::string> out;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            const char c = text_[i];
            const bool doubled = i + 1 < text_.size() && text_[i + 1] == c;
            if (c != '{' && c != '}') continue;
            if (doubled) {
                ++i;
                continue;
            }
            if (c == '}') refuse("Single '}' encountered in format string");
            if (i + 1 == text_.size()) refuse("Single '{' encountered in format string");
            i = field(i + 1, out);
        }
        return out;
    }
    /// JAX looks at what stands before the first field or doubled brace.
    bool begins_with_field() const {
        const std::size_t at = text_.find_first_of("{}");
        return at != std::string_view::npos && text_[at] == '{' && !(at + 1 < text_.size() && text_[at + 1] == '{');
    }

private:
    /// Gives where the field ends.
    std::size_t field(std::size_t begin, std::vector<std::string>& out) const {
        int depth = 1;
        std::size_t end = begin;
        for (; end < text_.size(); ++end) {
            if (text_[end] == '{') ++depth;
            if (text_[end] == '}' && --depth == 0) break;
        }
        if (depth) refuse("expected '}' before end of string");
        const std::string_view inside = text_.substr(begin, end - begin);
        out.emplace_back(inside.substr(0, inside.find_first_of(".[!:")));
        return end;
    }
    std::string_view text_;
};

std::string listed(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }
std::string quoted(const std::string& s) { return python_repr(s); }
std::string repr(const PrintArgument& a) {
    if (a.is_text) return quoted(a.text);
    if (a.value.kind == Operand::Kind::array) return a.array.repr();
    if (a.value.kind == Operand::Kind::boolean) return a.value.boolean ? "True" : "False";
    return value_text(*literal_of(a.value));
}

/// JAX formats once before anything is recorded, so that the fields fit the arguments.
void check_fields(const std::vector<std::string>& fields, const std::vector<PrintArgument>& positional,
                  const std::vector<PrintArgument>& named) {
    std::set<std::size_t> used;
    std::set<std::string> used_names;
    bool automatic = false, manual = false;
    for (const std::string& f : fields) {
        const bool number = f.find_first_not_of("0123456789") == std::string::npos;
        if (!number) {
            if (std::none_of(named.begin(), named.end(), [&](const PrintArgument& a) { return f == a.name; }))
                refuse("KeyError: " + quoted(f));
            used_names.insert(f);
            continue;
        }
        (f.empty() ? automatic : manual) = true;
        if (automatic && manual) refuse("cannot switch from manual field specification to automatic field numbering");
        const std::size_t at = f.empty() ? used.size() : f.size() > 6 ? SIZE_MAX : std::stoul(f);
        if (at >= positional.size()) refuse("tuple index out of range");
        used.insert(at);
    }
    std::vector<std::string> unused, unused_names;
    for (std::size_t i = 0; i < positional.size(); ++i)
        if (!used.count(i)) unused.push_back(repr(positional[i]));
    if (!unused.empty()) refuse("Unused positional arguments to `jax.debug.print`: " + listed(unused));
    for (const PrintArgument& a : named)
        if (!used_names.count(a.name)) unused_names.push_back(quoted(a.name));
    if (!unused_names.empty())
        refuse("Unused keyword arguments to `jax.debug.print`: " + listed(unused_names) +
               ". You may be passing an f-string (i.e, `f\"{x}\"`) into `jax.debug.print` and instead should pass in a regular string.");
}

/// numpy.get_printoptions() where nobody has set any.
Attr printoptions() {
    static const Attr made = [] {
        const auto pair = [](const char* name, Attr value) { return Attr::tuple({Attr(name), std::move(value)}); };
        return Attr::tuple({pair("edgeitems", 3), pair("threshold", 1000), pair("floatmode", "maxprec"), pair("precision", 8),
                            pair("suppress", false), pair("linewidth", 75), pair("nanstr", "nan"), pair("infstr", "inf"), pair("sign", "-"),
                            pair("formatter", Attr()), pair("legacy", false), pair("override_repr", Attr())});
    }();
    return made;
}

void debug_print_of(const debug::PrintFormat& format, const debug::PrintOptions& options, const std::vector<PrintArgument>& arguments) {
    std::vector<PrintArgument> all, named;
    for (const PrintArgument& a : arguments) {
        if (!a.is_text && a.value.kind == Operand::Kind::array && !a.array.has_value())
            refuse("expected arrays, numbers or text to print, found an Array without a value");
        (a.name ? named : all).push_back(a);
    }
    std::stable_sort(named.begin(), named.end(),
                     [](const PrintArgument& a, const PrintArgument& b) { return std::string_view(a.name) < b.name; });
    const FormatParser parser(format.text);
    check_fields(parser.fields(), all, named);
    std::vector<std::string> names;
    for (const PrintArgument& a : named) names.emplace_back(a.name);
    const std::string tree = arguments_tree(std::vector<std::string>(all.size(), "*"), names, std::vector<std::string>(names.size(), "*"));
    all.insert(all.end(), named.begin(), named.end());
    std::vector<Operand> operands;
    Attrs fixed;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].is_text) {
            fixed.push_back(Attr::tuple({Attr(static_cast<std::int64_t>(i)), Attr(Sym(all[i].text))}));
            continue;
        }
        if (all[i].value.kind == Operand::Kind::array && !all[i].array.is_tracer()) elements(*all[i].array.node());
        operands.push_back(all[i].value);
    }
    const ParamsRef params = Params::make({{"fmt", Attr(Sym(format.text))},
                                           {"has_placeholders", Attr(parser.begins_with_field())},
                                           {"in_tree", Attr(Attr::Object{"PyTreeDef", {}, Sym(tree)})},
                                           {"logging_record", Attr()},
                                           {"np_printoptions", printoptions()},
                                           {"ordered", Attr(options.ordered)},
                                           {"partitioned", Attr(options.partitioned)},
                                           {"static_args", Attr::tuple(std::move(fixed))}});
    record_effect(kDebugPrint, operands, params, {}, format.where);
}

}  // namespace

void debug_print(const debug::PrintFormat& format, const debug::PrintOptions& options, const std::vector<PrintArgument>& arguments) {
    at_place(format.where, [&] {
        debug_print_of(format, options, arguments);
        return 0;
    });
}

}  // namespace jaxscope::jax::detail
