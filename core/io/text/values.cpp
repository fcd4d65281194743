// SPDX-License-Identifier: Apache-2.0
#include "io/text/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "io/arrays/number_range.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

bool all_digits(std::string_view s) {
    return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

std::optional<std::int64_t> integer_from_text(std::string_view s) {
    std::int64_t v = 0;
    if (const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
        ec == std::errc() && end == s.data() + s.size() && !s.empty())
        return v;
    std::uint64_t u = 0;
    if (const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), u);
        ec == std::errc() && end == s.data() + s.size() && !s.empty())
        return static_cast<std::int64_t>(u);
    return std::nullopt;
}
/// `(1+2j)`, `2j`.
std::optional<std::complex<double>> complex_from_text(std::string_view s) {
    if (s.size() > 2 && s.front() == '(' && s.back() == ')') s = s.substr(1, s.size() - 2);
    if (s.empty() || s.back() != 'j') return std::nullopt;
    s.remove_suffix(1);
    for (std::size_t i = s.size(); i-- > 1;) {
        if ((s[i] != '+' && s[i] != '-') || s[i - 1] == 'e') continue;
        const auto re = float_from_digits(s.substr(0, i)), im = float_from_digits(s.substr(s[i] == '+' ? i + 1 : i));
        if (re && im) return std::complex<double>(*re, *im);
        return std::nullopt;
    }
    if (const auto im = float_from_digits(s)) return std::complex<double>(0, *im);
    return std::nullopt;
}

/// `f33`, `quux`; JAX's types that are none have a capital, angles or braces (`Ref{...}`), or are semaphores.
bool is_name_of_dtype(std::string_view type) {
    return !type.empty() && !type.ends_with("semaphore") && std::all_of(type.begin(), type.end(), [](char c) {
        return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '_';
    });
}

std::string_view trimmed(std::string_view s) {
    while (s.starts_with(' ')) s.remove_prefix(1);
    while (s.ends_with(' ')) s.remove_suffix(1);
    return s;
}
/// Up to the first comma that is in no parenthesis: `8@(x,y)` is one dimension.
std::string_view first_dimension(std::string_view dims) {
    int depth = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        depth += dims[i] == '(' ? 1 : dims[i] == ')' ? -1 : 0;
        if (dims[i] == ',' && depth == 0) return dims.substr(0, i);
    }
    return dims;
}
/// `x` as `'x'`, `(x,y)` as `('x', 'y')`.
std::string quoted_axes(std::string_view axes) {
    if (!axes.starts_with('(')) return "'" + std::string(axes) + "'";
    std::string out = "('";
    for (const char c : axes.substr(1, axes.size() - 2)) out += c == ',' ? std::string("', '") : std::string(1, c);
    return out + "')";
}

/// A type that is shown as it is: its bytes must be fit to be shown.
void expect_printable(std::string_view text) {
    if (printable(text, text.size()) != text) throw Error(ErrorCode::BadInput, "expected a type, found '" + printable(text, 40) + "'");
}

}  // namespace

std::string other_aval_text(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
        const std::string_view word = text.substr(i, end - i);
        const auto d = end < text.size() && text[end] == '[' ? dtype_from_name(word) : std::nullopt;
        if (d)
            out += info(*d).short_name;
        else
            out += word;
        if (end < text.size()) out += text[end++];
        i = end;
    }
    return out;
}

Aval aval_from_text(std::string_view text) {
    Aval a;
    const auto unknown = [&] {
        expect_printable(text);
        Aval shown;
        shown.other = other_aval_text(text);
        return shown;
    };
    std::string varying;
    std::string_view shape_text = text;
    // `{V:x}`: the axes of a manual mesh over which it varies.
    if (const std::size_t brace = text.find("]{V:"); brace != std::string_view::npos && text.ends_with('}')) {
        for (const char c : text.substr(brace + 4, text.size() - brace - 5))
            if (c != '(' && c != ')' && c != ' ') varying += c;
        shape_text = text.substr(0, brace + 1);
    }
    const std::size_t open = shape_text.find('[');
    if (open == std::string_view::npos || shape_text.back() != ']') return unknown();
    std::string_view type = shape_text.substr(0, open);
    if (constexpr std::string_view kHost = "<host>"; type.ends_with(kHost)) {
        a.space = MemorySpace::Host;
        type.remove_suffix(kHost.size());
    }
    const auto d = dtype_from_short_name(type);
    if (!d && is_name_of_dtype(type)) throw Error(ErrorCode::BadInput, "expected a dtype, found '" + printable(type, 40) + "'");
    if (!d) return unknown();
    a.dtype = *d;
    std::string spec;
    bool sharded = false;
    for (std::string_view dims = shape_text.substr(open + 1, shape_text.size() - open - 2); !trimmed(dims).empty();) {
        const std::string_view one = first_dimension(dims);
        dims.remove_prefix(std::min(one.size() + 1, dims.size()));
        const std::size_t at = one.find('@');
        const std::string_view number = trimmed(one.substr(0, at));
        const auto n = all_digits(number) ? integer_from_text(number) : std::nullopt;
        if ((all_digits(number) && (!n || *n < 0)) || (number.starts_with('-') && all_digits(number.substr(1))))
            throw Error(ErrorCode::BadInput, "expected a dimension from 0 to 2^63 - 1, found " + printable(number, 40));
        if (!n) return unknown();  // a symbolic dimension
        a.shape.push_back(*n);
        if (!spec.empty()) spec += ", ";
        spec += at == std::string_view::npos ? "None" : quoted_axes(one.substr(at + 1));
        sharded = sharded || at != std::string_view::npos;
    }
    if (sharded || !varying.empty()) {
        expect_printable(text);
        a.sharding =
            (sharded ? "P(" + spec + ")" : "") + (sharded && !varying.empty() ? " " : "") + (varying.empty() ? "" : "vma=" + varying);
    }
    if (a.shape.size() > kMaxRank.value)
        throw Error(ErrorCode::LimitExceeded,
                    "expected at most " + std::to_string(kMaxRank.value) + " dimensions, found " + std::to_string(a.shape.size()));
    a.bytes();  // throws when it overflows
    return a;
}

std::optional<Literal> literal_from_text(std::string_view text, AvalRef aval) {
    Literal l;
    l.aval = aval;
    const DType d = aval->dtype;
    if (!aval->is_array() || aval->rank() != 0) return std::nullopt;
    if (d == DType::Float0) {
        if (text != "(b'',)") return std::nullopt;
        l.text = text;
        return l;
    }
    if (d == DType::Bool) {
        if (text != "True" && text != "False") return std::nullopt;
        l.integer = text == "True";
    } else if (is_complex(d)) {
        auto v = complex_from_text(text);
        if (!v)
            if (const auto real = float_from_digits(text)) v = *real;
        if (!v) return std::nullopt;
        l.real = v->real();
        l.imag = v->imag();
    } else if (is_float(d)) {
        const auto v = float_from_digits(text);
        if (!v) return std::nullopt;
        l.real = *v;
    } else {
        const auto v = integer_from_text(text);
        if (!v || !fits(d, *v, *v < 0 && text[0] != '-')) return std::nullopt;
        l.integer = *v;
        return l;
    }
    l.real = round_to(d, l.real);
    l.imag = round_to(d, l.imag);
    if (is_inexact(d) && value_text(l) != text) l.text = text;
    return l;
}

// ---- Parameters -------------------------------------------------------------------------------------------------------------

namespace {

/// Reads one Python value; `ok` goes false at the first thing that it doesn't know, and the whole becomes an object.
class ValueParser {
public:
    ValueParser(std::string_view text, bool dtype_wanted) : text_(text), dtype_wanted_(dtype_wanted) {}
    std::optional<Attr> whole() {
        Attr a = value(0);
        skip_spaces();
        return ok_ && at_ == text_.size() ? std::optional<Attr>(std::move(a)) : std::nullopt;
    }

private:
    static constexpr int kDepth = 100;
    Attr fail() {
        ok_ = false;
        return {};
    }
    void skip_spaces() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    bool take(char c) {
        skip_spaces();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    std::string_view word() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                      std::string_view("_.+-").find(text_[at_]) != std::string_view::npos))
            ++at_;
        return text_.substr(begin, at_ - begin);
    }

    Attr value(int depth) {
        skip_spaces();
        if (at_ >= text_.size() || depth > kDepth) return fail();
        const char c = text_[at_];
        if (c == '(') return parenthesis(depth);
        if (c == '[') return Attr::list(items(']', depth));
        if (c == '{') return dict(depth);
        if (c == '\'' || c == '"') return quoted();
        if (c == '<') return angles();
        return named(word(), depth);
    }
    Attrs items(char close, int depth) {
        Attrs out;
        ++at_;
        while (ok_ && !take(close)) {
            out.push_back(value(depth + 1));
            if (take(',')) continue;
            if (take(close)) break;
            fail();
        }
        return out;
    }
    Attr parenthesis(int depth) {
        const std::size_t end = text_.find(')', at_);
        if (end != std::string_view::npos)
            if (const auto c = complex_from_text(text_.substr(at_, end + 1 - at_))) {
                at_ = end + 1;
                return *c;
            }
        return Attr::tuple(items(')', depth));
    }
    Attr dict(int depth) {
        Attrs pairs;
        ++at_;
        while (ok_ && !take('}')) {
            Attr key = value(depth + 1);
            if (!take(':')) return fail();
            pairs.push_back(Attr::tuple({std::move(key), value(depth + 1)}));
            if (!take(',') && at_ < text_.size() && text_[at_] != '}') return fail();
        }
        return Attr::seq(Attr::SeqKind::Dict, std::move(pairs));
    }
    Attr quoted() {
        const char quote = text_[at_++];
        std::string s;
        while (at_ < text_.size() && text_[at_] != quote) {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
                const char e = text_[++at_];
                s += e == 'n' ? '\n' : e == 't' ? '\t' : e == 'r' ? '\r' : e;
            } else {
                s += text_[at_];
            }
            ++at_;
        }
        if (at_ >= text_.size()) return fail();
        ++at_;
        return Sym(s);
    }
    /// `<GatherScatterMode.CLIP: 1>`, `<class 'numpy.float32'>`.
    Attr angles() {
        if (constexpr std::string_view kClass = "<class 'numpy."; text_.substr(at_).starts_with(kClass)) {
            const std::size_t close = text_.find("'>", at_ + kClass.size()), name = at_ + kClass.size();
            if (close == std::string_view::npos) return fail();
            const Attr::Object type{"type", text_.substr(name, close - name), text_.substr(at_, close + 2 - at_)};
            at_ = close + 2;
            return type;
        }
        const std::size_t end = text_.find('>', at_), colon = text_.find(": ", at_), dot = text_.find('.', at_);
        if (end == std::string_view::npos || colon > end || dot > colon) return fail();
        const Attr::Enum e{text_.substr(at_ + 1, dot - at_ - 1), text_.substr(dot + 1, colon - dot - 1)};
        at_ = end + 1;
        return e;
    }
    Attr named(std::string_view w, int depth) {
        if (w.empty()) return fail();
        if (at_ < text_.size() && text_[at_] == '(') return call(w, depth);
        if (w == "None") return {};
        if (w == "True" || w == "False") return w == "True";
        if (const auto i = integer_from_text(w)) return *i;
        if (const auto f = float_from_digits(w)) return *f;
        if (const auto c = complex_from_text(w)) return *c;
        if (const auto d = dtype_from_name(w); d && (dtype_wanted_ || depth > 0)) return *d;
        const std::size_t dot = w.find('.');
        const bool is_enum = dot != std::string_view::npos && std::isupper(static_cast<unsigned char>(w[0])) &&
                             std::isupper(static_cast<unsigned char>(w[std::min(dot + 1, w.size() - 1)])) &&
                             w.find('.', dot + 1) == std::string_view::npos;
        if (is_enum) return Attr::Enum{w.substr(0, dot), w.substr(dot + 1)};
        if (w == "UnspecifiedValue") return Attr::Object{w, {}, w};
        // `memory_kind=device` of a sharding: a word that is no string.
        const bool bare = depth > 0 && std::isalpha(static_cast<unsigned char>(w[0])) && w.find_first_of(".+-") == std::string_view::npos;
        return bare ? Attr(Attr::Object{"text", {}, w}) : fail();
    }
    /// `np.int64(3)`, `dtype('float32')`, `frozenset({...})`, `GatherDimensionNumbers(offset_dims=(0,), ...)`, `P('x',)`, `Mesh(...)`.
    Attr call(std::string_view w, int depth) {
        const std::size_t begin = at_ - w.size();
        if (w == "frozenset") return frozen_set(depth);
        if (w.starts_with("np.")) return number(w.substr(3));
        if (w == "dtype") {
            ++at_;
            const Attr inner = text_[at_] == '\'' ? quoted() : Attr(Sym(word()));
            const auto d = ok_ && inner.get<Sym>() ? dtype_from_name(inner.get<Sym>()->str()) : std::nullopt;
            return d && take(')') ? Attr(*d) : fail();
        }
        if (w == "ShapedArray") return shaped_array();
        if (w == "range") return range(begin);
        if (w == "Mesh") return mesh(begin);
        Attr::Record r;
        r.type = w;
        const bool spec = w == "P" || w == "PartitionSpec";
        Attrs positional;
        ++at_;
        while (ok_ && !take(')')) {
            skip_spaces();
            const std::size_t field_begin = at_;
            const std::string_view field = word();
            if (!field.empty() && take('=')) {
                r.fields.emplace_back(field, value(depth + 1));
            } else {
                at_ = field_begin;
                positional.push_back(value(depth + 1));
            }
            if (!take(',') && at_ < text_.size() && text_[at_] != ')') return fail();
        }
        if (!ok_ || (!positional.empty() && !spec)) return fail();
        r.text = text_.substr(begin, at_ - begin);
        if (spec) {
            r.type = "PartitionSpec";
            r.fields = {{"dims", Attr::tuple(std::move(positional))}};
        }
        return std::make_shared<const Attr::Record>(std::move(r));
    }
    Attr frozen_set(int depth) {
        ++at_;
        if (take(')')) return Attr::seq(Attr::SeqKind::Set, {});
        skip_spaces();
        if (at_ >= text_.size() || text_[at_] != '{') return fail();
        Attrs all = items('}', depth);
        return take(')') ? Attr::seq(Attr::SeqKind::Set, std::move(all)) : fail();
    }
    Attr number(std::string_view type) {
        const auto d = type == "True_" || type == "False_" ? std::nullopt : dtype_from_name(type);
        ++at_;
        const std::string_view digits = word();
        if (!d || !take(')')) return fail();
        const auto l = literal_from_text(digits, AvalRef(*d, {}));
        if (!l) return fail();
        auto a = std::make_shared<ArrayConst>();
        a->aval = l->aval;
        a->data.resize(static_cast<std::size_t>(byte_size(*d)));
        store_element(*d, a->data.data(), {l->integer, {l->real, l->imag}});
        return ArrayPtr(std::move(a));
    }
    Attr range(std::size_t begin) {
        at_ = std::min(text_.find(')', at_), text_.size());
        return take(')') ? Attr(Attr::Object{"range", {}, text_.substr(begin, at_ - begin)}) : fail();
    }
    Attr shaped_array() {
        const std::size_t end = text_.find(')', at_);
        if (end == std::string_view::npos) return fail();
        std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
        const bool weak = inner.ends_with(", weak_type=True");
        if (weak) inner.remove_suffix(std::string_view(", weak_type=True").size());
        const std::size_t open = inner.find('[');
        const auto d = dtype_from_name(inner.substr(0, open));
        if (!d || open == std::string_view::npos) return fail();
        Aval a = aval_from_text(std::string(info(*d).short_name) + std::string(inner.substr(open)));
        a.weak_type = weak;
        at_ = end + 1;
        return a.is_array() ? Attr(AvalRef(a)) : fail();
    }
    /// `Mesh('x': 8, axis_types=(Auto,))`: the axes and the text.
    Attr mesh(std::size_t begin) {
        Attrs axes;
        ++at_;
        while (ok_) {
            skip_spaces();
            if (at_ >= text_.size() || text_[at_] != '\'') break;
            Attr axis = quoted();
            if (!take(':')) return fail();
            skip_spaces();
            axes.push_back(Attr::tuple({std::move(axis), Attr(integer_from_text(word()).value_or(1))}));
            take(',');
        }
        for (int open = 1; open > 0; ++at_) {
            if (at_ >= text_.size()) return fail();
            open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
        }
        Attr::Record r;
        r.type = "Mesh";
        r.fields.emplace_back("axes", Attr::tuple(std::move(axes)));
        r.text = text_.substr(begin, at_ - begin);
        return std::make_shared<const Attr::Record>(std::move(r));
    }

    std::string_view text_;
    bool dtype_wanted_, ok_ = true;
    std::size_t at_ = 0;
};

/// `DotsSaveable(only_if_no_batch_dims=True)` and kin, as JAX 0.10.2 prints its policies; older ones print as functions.
PolicyPtr policy_from_text(std::string_view text) {
    PolicySpec p;
    p.text = text;
    const std::string_view type = text.substr(0, text.find('('));
    const auto parsed = ValueParser(text, false).whole();
    const Attr::Record* r = parsed ? parsed->get_record() : nullptr;
    const Attr first = r && !r->fields.empty() ? r->fields[0].second : Attr();
    const auto take_names = [&] {
        if (const Attr::Seq* names = first.get_seq()) p.args = names->items;
    };
    if (type == "DotsSaveable") {
        const bool* no_batch = first.get<bool>();
        p.name = no_batch && *no_batch ? "dots_with_no_batch_dims_saveable" : "dots_saveable";
    } else if (type == "SaveOnlyTheseNames") {
        p.name = "save_only_these_names";
        take_names();
    } else if (type == "SaveAnyNamesButThese") {
        p.name = "save_any_names_but_these";
        take_names();
    } else {
        for (const char* known : {"everything_saveable", "nothing_saveable"})
            if (text.find("function " + std::string(known) + " ") != std::string_view::npos) p.name = known;
    }
    return std::make_shared<const PolicySpec>(std::move(p));
}

}  // namespace

Attr value_from_text(std::string_view name, std::string_view text) {
    if (name == "policy" && text != "None") return policy_from_text(text);
    const bool is_name = name == "name" || name == "msg" || name == "axis_name" || name == "impl" || name == "callback";
    const bool dtype = name.find("dtype") != std::string_view::npos || name == "preferred_element_type";
    if (!is_name || text.starts_with('('))
        if (auto a = ValueParser(text, dtype).whole()) return *a;
    // FftType and RoundingMethod print as numbers: those stay numbers.
    const bool plain = !text.empty() && text.find_first_of("<>(){}[]'\" ") == std::string_view::npos;
    if (plain || is_name) return Sym(text);
    return Attr::Object{"text", {}, text};
}

}  // namespace jaxscope
