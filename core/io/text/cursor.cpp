// SPDX-License-Identifier: Apache-2.0
#include "io/text/cursor.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "io/text/surroundings.h"

namespace jaxscope {

namespace {

std::string_view trimmed_line(std::string_view s) {
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    return s;
}

/// What an error quotes: up to a space, without the separators and closing brackets behind it, which belong to what stands around it.
std::string_view token_to_quote(std::string_view text) {
    std::size_t end = 0;
    for (int open = 0; end < text.size() && end < 40 && !is_space(text[end]); ++end) {
        const bool closes = std::string_view(")]}>").find(text[end]) != std::string_view::npos;
        if (end > 0 && open == 0 && (closes || text[end] == ',' || text[end] == ';')) break;
        if (std::string_view("([{<").find(text[end]) != std::string_view::npos) ++open;
        if (closes && open > 0) --open;
    }
    return text.substr(0, end);
}

/// `train.py:41:5 (loss)`, or `train.py:41 (loss)` of older versions.
bool source_from_comment(std::string_view comment, Source& source) {
    while (!comment.empty() && is_space(comment.back())) comment.remove_suffix(1);
    const std::size_t open = comment.rfind(" (");
    if (open == std::string_view::npos || comment.back() != ')') return false;
    std::string_view place = comment.substr(0, open);
    int numbers[2] = {0, -1}, n = 0;
    for (; n < 2; ++n) {
        const std::size_t colon = place.rfind(':');
        if (colon == std::string_view::npos) break;
        const std::string_view digits = place.substr(colon + 1);
        int v = 0;
        const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
        if (ec != std::errc() || end != digits.data() + digits.size()) break;
        numbers[1] = numbers[0];
        numbers[0] = v;
        place = place.substr(0, colon);
    }
    if (n == 0) return false;
    Frame f;
    f.file = place;
    f.function = comment.substr(open + 2, comment.size() - open - 3);
    f.line = numbers[0];
    f.column = n == 2 ? numbers[1] : 0;
    f.project = place.find("site-packages") == std::string_view::npos && place.find("<stdlib>") == std::string_view::npos;
    source.traceback = Traceback{{f}, comment};
    return true;
}

/// `# [jvp(loss)]` at the end of a line.
std::optional<std::string_view> stack_behind(std::string_view line, std::size_t at) {
    const std::string_view stack = trimmed_line(line.substr(std::min(at, line.size())));
    return stack.starts_with("# [") && stack.ends_with(']') ? std::optional(stack.substr(3, stack.size() - 4)) : std::nullopt;
}

/// Takes the comment behind a line's program text, and what it says of the source; false where it says nothing. JAX 0.6 writes place and
/// name stack on one line, 0.10 the stack on a line of its own or, where there is no source, alone.
bool cut_comment(std::string_view& line, Source& source) {
    bool known = false;
    if (const std::size_t at = line.find(" # ["); at != std::string_view::npos)
        if (const auto stack = stack_behind(line, at)) {
            source.name_stack = NameStack::parse(*stack);
            known = true;
            line = line.substr(0, at);
        }
    // The last " # " with a place behind it.
    const std::size_t mark = line.rfind(" # ");
    if (line.ends_with(" #") || line.ends_with(" # ")) {
        line = line.substr(0, line.rfind(" #"));  // JAX knows no place
    } else if (mark != std::string_view::npos && source_from_comment(line.substr(mark + 3), source)) {
        line = line.substr(0, mark);
        known = true;
    }
    return known;
}

/// A comment that isn't at its line's end, because lines were joined, stands in a value: it is no part of it.
void cut_joined_comments(std::string& value) {
    for (std::size_t before = 0; before != value.size();) {
        before = value.size();
        const std::size_t last_line = value.rfind('\n') + 1;
        std::string_view line = std::string_view(value).substr(last_line);
        Source unused;
        cut_comment(line, unused);
        value.resize(last_line + line.size());
        while (!value.empty() && is_space(value.back())) value.pop_back();
    }
}

}  // namespace

TextCursor::TextCursor(std::string_view text, std::string name) : name_(std::move(name)) {
    constexpr std::string_view kBom = "\xEF\xBB\xBF";
    if (text.starts_with(kBom)) text.remove_prefix(kBom.size());
    if (text.find("\x1b[") == std::string_view::npos)
        take_comments(text);
    else
        take_comments(without_colours(text));
    skip_surroundings();
    refuse_bad_utf8();
}

void TextCursor::refuse_bad_utf8() const {
    const std::size_t bad = first_bad_utf8(text_);
    if (bad == std::string_view::npos) return;
    throw Error(ErrorCode::BadInput, "expected UTF-8, found the byte '" + printable(std::string_view(text_).substr(bad, 1)) + "'")
        .at(loc_at(bad));
}

void TextCursor::skip_surroundings() {
    const std::size_t begin = find_program(text_);
    if (begin == std::string::npos) return;
    const std::size_t line_begin = text_.rfind('\n', begin) + 1;
    const std::string prefix = text_.substr(line_begin, begin - line_begin);
    for (std::size_t i = 0; i < begin; ++i) {
        surrounded_ = surrounded_ || !is_space(text_[i]);
        if (text_[i] != '\n') text_[i] = ' ';
    }
    if (std::all_of(prefix.begin(), prefix.end(), is_space)) return;
    for (std::size_t line = text_.find('\n', begin); line != std::string::npos; line = text_.find('\n', line + 1)) {
        if (text_.compare(line + 1, prefix.size(), prefix) != 0) return;  // a prefix that all lines have, or the first alone
        std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(line) + 1, prefix.size(), ' ');
    }
}

void TextCursor::take_name_stack(std::string_view stack) {
    if (sources_.empty()) return;
    Source source = *sources_.back();
    source.name_stack = NameStack::parse(stack);
    sources_.back() = source;
}

/// What stands before the comment; notes the line's source and name stack.
std::string_view TextCursor::without_comment(std::string_view line) {
    if (const std::size_t first = line.find_first_not_of(" \t"); first != std::string_view::npos && line[first] == '#') {
        if (const auto stack = stack_behind(line, first)) take_name_stack(*stack);
        sources_.emplace_back();
        return line.substr(0, first);  // a comment, whatever it says
    }
    Source source;
    const bool known = cut_comment(line, source);
    sources_.push_back(known ? SourceRef(source) : SourceRef{});
    return line;
}

void TextCursor::take_comments(std::string_view text) {
    text_.reserve(text.size());
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        line = without_comment(line);
        text_.append(line);
        text_ += '\n';
    }
}

SourceLoc TextCursor::loc() const {
    int column = 1;
    for (std::size_t i = at_.line_begin; i < at_.at && i < text_.size(); ++i)
        if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) ++column;
    return {name_, static_cast<int>(at_.line), column};
}

SourceLoc TextCursor::loc_at(std::size_t offset) const {
    const std::string_view before = std::string_view(text_).substr(0, offset);
    TextCursor there = *this;
    there.at_ = {offset, 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')), before.rfind('\n') + 1};
    return there.loc();
}

void TextCursor::fail(const std::string& expected) const {
    Mark m = at_;
    while (m.at < text_.size() && is_space(text_[m.at])) {
        if (text_[m.at] == '\n') {
            ++m.line;
            m.line_begin = m.at + 1;
        }
        ++m.at;
    }
    std::string found = "the end of the text";
    if (m.at < text_.size()) {
        found = "'" + printable(token_to_quote(std::string_view(text_).substr(m.at)), 60) + "'";
    } else {  // what was cut off stood behind the last word
        while (m.at > 0 && is_space(text_[m.at - 1])) --m.at;
        while (m.at > 0 && !is_space(text_[m.at - 1])) --m.at;
    }
    throw Error(ErrorCode::BadInput, "expected " + expected + ", found " + found).at(loc_at(m.at));
}
void TextCursor::fail_at(std::size_t offset, const std::string& expected) const {
    TextCursor there = *this;
    there.at_ = {offset, 1, 0};
    there.fail(expected);
}

void TextCursor::advance(std::size_t n) {
    for (std::size_t i = 0; i < n && at_.at < text_.size(); ++i)
        if (text_[at_.at++] == '\n') {
            ++at_.line;
            at_.line_begin = at_.at;
        }
}
std::size_t TextCursor::spaces_from(std::size_t i) const {
    while (i < text_.size() && is_space(text_[i])) ++i;
    return i;
}
std::size_t TextCursor::word_end(std::size_t i) const {
    while (i < text_.size() && is_word(text_[i])) ++i;
    return i;
}
void TextCursor::skip_spaces() { advance(spaces_from(at_.at) - at_.at); }

bool TextCursor::at(std::string_view s) {
    skip_spaces();
    return at_now(s);
}
bool TextCursor::take(std::string_view s) {
    if (!at(s)) return false;
    advance(s.size());
    return true;
}
void TextCursor::expect(std::string_view s) {
    if (!take(s)) fail("'" + std::string(s) + "'");
}
bool TextCursor::at_word(std::string_view w) const {
    const std::size_t i = spaces_from(at_.at);
    return std::string_view(text_).substr(i).starts_with(w) && word_end(i) == i + w.size();
}
bool TextCursor::after_word(std::string_view w, char next) const {
    const std::size_t i = spaces_from(spaces_from(at_.at) + w.size());
    return i < text_.size() && text_[i] == next;
}
void TextCursor::expect_word(std::string_view w) {
    if (!at_word(w)) fail("'" + std::string(w) + "'");
    skip_spaces();
    advance(w.size());
}
std::string TextCursor::peek_word() const {
    const std::size_t i = spaces_from(at_.at);
    return text_.substr(i, word_end(i) - i);
}
std::string TextCursor::word(const char* what) {
    skip_spaces();
    std::string w = peek_word();
    if (w.empty()) fail(what);
    advance(w.size());
    return w;
}

std::string TextCursor::primitive_name() {
    std::size_t end = at_.at;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '-' || text_[end] == '.' || text_[end] == '<' || text_[end] == '>'))
        ++end;
    if (end == at_.at) fail("a primitive");
    std::string name = text_.substr(at_.at, end - at_.at);
    advance(name.size());
    return name;
}

std::string TextCursor::atom_text() {
    std::size_t end = at_.at;
    if (end < text_.size() && (text_[end] == '(' || text_[end] == '[')) {
        const std::size_t close = text_.find(text_[end] == '(' ? ')' : ']', end);
        end = close == std::string::npos ? end : close + 1;
    }
    while (end < text_.size() && !is_space(text_[end]) && std::string_view(":;,)}=").find(text_[end]) == std::string_view::npos) ++end;
    std::string token = text_.substr(at_.at, end - at_.at);
    advance(token.size());
    return token;
}

std::string TextCursor::aval_text() {
    skip_spaces();
    std::size_t end = at_.at;
    int open = 0;
    for (; end < text_.size(); ++end) {
        const char c = text_[end];
        if (c == '[' || c == '{' || c == '<' || c == '(') ++open;
        if (open == 0 && (is_space(c) || c == ';' || c == '.' || c == ',' || c == ')' || c == '}' || c == '=' || c == ']')) break;
        if (c == ']' || c == '}' || c == '>' || c == ')') --open;
    }
    if (end == at_.at || open != 0) fail("a type");
    std::string token = text_.substr(at_.at, end - at_.at);
    advance(token.size());
    return token;
}

bool TextCursor::at_jaxpr() const {
    std::size_t i = spaces_from(at_.at);
    if (i >= text_.size() || text_[i] != '{') return false;
    i = spaces_from(i + 1);
    return std::string_view(text_).substr(i).starts_with("lambda") && word_end(i) == i + 6;
}

bool TextCursor::at_binder() {
    skip_spaces();
    const std::size_t end = word_end(at_.at);
    if (end == at_.at || end >= text_.size() || text_[end] != ':') return false;
    return std::isalpha(static_cast<unsigned char>(text_[at_.at])) || text_[at_.at] == '_';
}

bool TextCursor::at_equation() {
    skip_spaces();
    const std::size_t end = word_end(at_.at);
    if (end > at_.at && end < text_.size() && text_[end] == '[' && std::isalpha(static_cast<unsigned char>(text_[at_.at]))) return true;
    const Mark before = at_;
    bool any = false;
    try {
        while (at_binder()) {
            any = true;
            advance(word_end(at_.at) - at_.at + 1);
            aval_text();
        }
    } catch (const Error&) {
        any = false;
    }
    const bool equation = any && (at("=") || at("<-") || at(","));
    at_ = before;
    return equation;
}

TextCursor::Indexer TextCursor::indexer() {
    Indexer out;
    std::unordered_map<std::string, std::size_t> known;  // `i:i+4` is one index
    const auto index = [&](const std::string& token, bool again) {
        const auto [at, is_new] = again ? known.emplace(token, out.indices.size()) : std::pair(known.end(), true);
        if (is_new) out.indices.push_back(token);
        out.text += "%" + std::to_string(is_new ? out.indices.size() - 1 : at->second);
    };
    expect("[");
    while (true) {
        out.text += '[';
        while (!take("]")) {
            known.clear();
            skip_spaces();
            const bool slice = text_.substr(at_.at, text_.find_first_of(",]", at_.at) - at_.at).find(':') != std::string::npos;
            while (!at(",") && !at("]")) {
                const std::string token = peek_word();
                if (token.empty()) {
                    if (at_end() || text_[at_.at] == '[') fail("an index");
                    out.text += text_[at_.at];
                    advance(1);
                    continue;
                }
                advance(token.size());
                const bool digits = std::isdigit(static_cast<unsigned char>(token[0])) != 0;
                if (digits && slice)
                    out.text += token;
                else
                    index(token, slice);
            }
            if (take(",")) out.text += ',';
        }
        out.text += ']';
        if (!at_now("[")) return out;
        advance(1);
    }
}

void TextCursor::skip_braces() {
    expect("{");
    for (int open = 1; open > 0; advance(1)) {
        if (at_end()) fail("'}'");
        if (text_[at_.at] == '{') ++open;
        if (text_[at_.at] == '}') --open;
    }
}

SourceRef TextCursor::line_source() const { return at_.line - 1 < sources_.size() ? sources_[at_.line - 1] : SourceRef{}; }

// ---- Values of parameters ---------------------------------------------------------------------------------------------------

bool TextCursor::parameter_begins(std::size_t i) const {
    const std::size_t end = word_end(i);
    return end > i && !std::isdigit(static_cast<unsigned char>(text_[i])) && end < text_.size() && text_[end] == '=';
}

TextCursor::Layout TextCursor::begin_parameters() {
    // The bracket before: alone at the end of its line, or not.
    std::size_t i = at_.at;
    while (i > 0 && (text_[i - 1] == ' ' || text_[i - 1] == '\t')) --i;
    return {i > 0 && text_[i - 1] == '\n', column()};
}

std::size_t TextCursor::value_end(const Layout& layout, bool brackets) const {
    const std::size_t begin = at_.at;
    int open = 0;
    char quote = 0;
    std::size_t i = begin;
    for (; i < text_.size(); ++i) {
        const char c = text_[i];
        if (c == '\n') {
            quote = 0;
            // One parameter a line: another begins in the same column, the bracket stands before it. Outside of brackets a line that
            // begins as one is one in any column, as it would be in a row.
            const std::size_t next = spaces_from(i);
            const std::size_t column = next - (text_.rfind('\n', next) + 1);
            if (layout.lines && next < text_.size() && (open == 0 || !brackets)) {
                if ((column == layout.column || brackets) && parameter_begins(next)) return i;
                if (column < layout.column && text_[next] == ']') return i;
            }
        }
        if (quote) {
            if (c == '\\') ++i;
            if (c == quote) quote = 0;
            continue;
        }
        const char before = i > begin ? text_[i - 1] : '(';
        if ((c == '\'' || c == '"') && (is_space(before) || std::string_view("([{=,:").find(before) != std::string_view::npos) &&
            std::string_view(text_).substr(i + 1, text_.find('\n', i) - i - 1).find(c) != std::string_view::npos)
            quote = c;
        if (c == '(' || c == '[' || c == '{') ++open;
        if (c == ')' || c == ']' || c == '}') {
            if (open == 0 && c == ']') return i;
            --open;
        }
        // In the middle of a line, too, whatever the layout: the next time it may stand in a row.
        if ((!layout.lines || brackets) && open <= 0 && is_space(c) && parameter_begins(spaces_from(i))) return i;
    }
    return i;
}

std::string TextCursor::value_text(const Layout& layout) {
    const std::size_t begin = at_.at;
    // A message may hold brackets that don't match: then the columns alone tell. A text full of those isn't searched to its end each time.
    const bool brackets = !layout.lines || searched_in_vain_ <= 4 * text_.size();
    std::size_t end = value_end(layout, brackets);
    if (end >= text_.size() && layout.lines && brackets) {
        searched_in_vain_ += text_.size() - begin;
        end = value_end(layout, false);
    }
    std::string value = text_.substr(begin, end - begin);
    cut_joined_comments(value);
    advance(end - begin);
    return value;
}

std::size_t TextCursor::let_name_end(std::size_t begin) const {
    // `let unnamed function = {`: names of functions that have none hold spaces.
    std::size_t end = begin;
    while (end < text_.size() && end < begin + 1000 && (is_word(text_[end]) || text_[end] == ' ' || text_[end] == '.' || text_[end] == '-'))
        ++end;
    while (end > begin && text_[end - 1] == ' ') --end;
    return end;
}
std::string TextCursor::let_name() {
    skip_spaces();
    const std::size_t end = let_name_end(at_.at);
    if (end == at_.at) fail("the name of a jaxpr");
    std::string name = text_.substr(at_.at, end - at_.at);
    advance(name.size());
    return name;
}

std::vector<std::string> TextCursor::shared_names() const {
    std::vector<std::string> names;
    for (std::size_t at = 0; (at = text_.find("let", at)) != std::string::npos; at += 3) {
        if ((at > 0 && is_word(text_[at - 1])) || at + 3 >= text_.size() || !is_space(text_[at + 3])) continue;
        const std::size_t begin = spaces_from(at + 3), end = let_name_end(begin), equals = spaces_from(end);
        if (end == begin || equals >= text_.size() || text_[equals] != '=') continue;
        const std::size_t brace = spaces_from(equals + 1);
        if (brace < text_.size() && text_[brace] == '{') names.push_back(text_.substr(begin, end - begin));
    }
    return names;
}

}  // namespace jaxscope
