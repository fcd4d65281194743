// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/escaped.h"
#include "base/text.h"
#include "base/units.h"

namespace jaxscope {

namespace {

constexpr std::size_t kLongestCell = 100000;  ///< bytes of one cell
constexpr std::size_t kNarrowest = 16;        ///< columns that a cut column keeps
constexpr std::size_t kWrapped = 36;          ///< columns that wrapped text keeps

/// Text for a Markdown page: nothing in it is markup.
std::string markdown_escape(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '<' || c == '>') {
            out += c == '<' ? "&lt;" : "&gt;";
            continue;
        }
        // An underscore inside a word is none of Markdown's.
        const auto is_word = [&](std::size_t k) { return k < text.size() && std::isalnum(static_cast<unsigned char>(text[k])); };
        const bool inside = c == '_' && is_word(i - 1) && is_word(i + 1);
        if (!inside && std::string_view("\\`*_[]|#&").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}
/// A code span: with more backticks around it than it holds in a row. Pipes end cells even there.
std::string markdown_code(const std::string& text) {
    if (text.empty()) return {};
    std::size_t longest = 0, run = 0;
    std::string inner;
    for (const char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
        inner += c == '|' ? std::string("\\|") : std::string(1, c);
    }
    const std::string fence(longest + 1, '`');
    const std::string space = longest > 0 ? " " : "";
    return fence + space + inner + space + fence;
}

/// The last column, where it is running text, loses nothing by being narrow: it is wrapped.
bool wraps(const Table& table, std::size_t c) { return c + 1 == table.columns().size() && table.columns()[c].kind == Table::Kind::Text; }

/// Column widths that add up to what the page has: what can be wrapped gives way first, then the widest column that isn't a number.
std::vector<std::size_t> fitted_widths(const Table& table, std::size_t shown, const PageStyle& style) {
    std::vector<std::size_t> widths;
    std::size_t total = 0;
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
        std::size_t w = display_width(table.columns()[c].name);
        for (std::size_t r = 0; r < shown; ++r) w = std::max(w, display_width(printable(table.rows()[r][c].text, kLongestCell)));
        widths.push_back(w);
        total += w + 2;
    }
    if (style.all || widths.empty()) return widths;
    while (total > style.width) {
        std::size_t widest = widths.size();
        for (std::size_t c = 0; c < widths.size(); ++c)
            if (table.columns()[c].kind != Table::Kind::Number && widths[c] > kNarrowest &&
                (widest == widths.size() || widths[c] > widths[widest]))
                widest = c;
        if (wraps(table, widths.size() - 1) && widths.back() > kWrapped) widest = widths.size() - 1;
        if (widest == widths.size()) break;
        --widths[widest];
        --total;
    }
    return widths;
}

/// `text` in lines of at most `width` columns, broken at spaces; a longer word loses its middle.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
    std::vector<std::string> lines(1);
    for (const std::string& word : split(text, ' ')) {
        std::string& last = lines.back();
        const std::size_t room = width - std::min(width, display_width(last));
        if (last.empty())
            last = without_middle(word, width);
        else if (display_width(word) < room)
            last += ' ' + word;
        else
            lines.push_back(without_middle(word, width));
    }
    return lines;
}

}  // namespace

std::string without_middle(const std::string& text, std::size_t width) {
    if (display_width(text) <= width || width == 0) return text;
    std::vector<std::size_t> starts;  // of code points
    for (std::size_t i = 0; i < text.size(); ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
    const std::size_t head = (width - 1) / 2, tail = width - 1 - head;
    return text.substr(0, starts[head]) + "\u2026" + (tail > 0 ? text.substr(starts[starts.size() - tail]) : "");
}

void Table::drop_empty_columns() {
    for (std::size_t c = columns_.size(); c-- > 0;) {
        if (std::any_of(rows_.begin(), rows_.end(), [c](const auto& row) { return !row[c].text.empty(); })) continue;
        columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(c));
        for (auto& row : rows_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    }
}

std::string Page::bold(const std::string& text) const { return style_.colour ? "\x1b[1m" + text + "\x1b[0m" : text; }
std::string Page::muted(const std::string& text) const { return style_.colour ? "\x1b[2m" + text + "\x1b[0m" : text; }

void Page::heading(const std::string& title) {
    const std::string text = printable(title, kLongestCell);
    switch (style_.format) {
        case PageStyle::Format::Terminal:
            out_ << '\n' << bold(text) << '\n';
            break;
        case PageStyle::Format::Markdown:
            out_ << "\n## " << markdown_escape(text) << "\n\n";
            break;
        case PageStyle::Format::Html:
            out_ << "<h2>" << html_escape(title) << "</h2>\n";
    }
}

void Page::line(const std::string& text) {
    const std::string shown = printable(text, kLongestCell);
    switch (style_.format) {
        case PageStyle::Format::Terminal:
            out_ << (shown.empty() ? "" : "  ") << shown << '\n';
            break;
        case PageStyle::Format::Markdown:
            out_ << markdown_escape(shown) << "\n\n";
            break;
        case PageStyle::Format::Html:
            out_ << "<p>" << html_escape(text) << "</p>\n";
    }
}

void Page::paragraph(const std::string& text) {
    if (!is_terminal() || style_.width < 20) return line(text);
    for (const std::string& one : wrapped(printable(text, kLongestCell), style_.width - 2)) line(one);
}

void Page::code(const std::string& raw) {
    const std::string text = escaped(raw, Keep::Newlines);
    std::string fence = "```";
    switch (style_.format) {
        case PageStyle::Format::Terminal:
            out_ << text << '\n';
            break;
        case PageStyle::Format::Markdown:
            while (text.find(fence) != std::string::npos) fence += '`';
            out_ << fence << '\n' << text << '\n' << fence << "\n\n";
            break;
        case PageStyle::Format::Html:
            out_ << "<pre>";
            for (const std::string& one : split(text, '\n')) out_ << html_escape(one) << '\n';
            out_ << "</pre>\n";
    }
}

void Page::table(const Table& table, std::size_t limit) {
    const std::size_t shown = limit == 0 || style_.all ? table.rows().size() : std::min(limit, table.rows().size());
    switch (style_.format) {
        case PageStyle::Format::Terminal:
            return text_table(table, shown);
        case PageStyle::Format::Markdown:
            return markdown_table(table, shown);
        case PageStyle::Format::Html:
            return html_table(table);
    }
}

void Page::text_table(const Table& table, std::size_t shown) {
    const std::vector<std::size_t> widths = fitted_widths(table, shown, style_);
    const auto line = [&](const auto& cell) {
        std::string text;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            const std::string s = without_middle(cell(c), widths[c]);
            const std::string pad(widths[c] - std::min(widths[c], display_width(s)), ' ');
            text += "  " + (table.columns()[c].kind == Table::Kind::Number ? pad + s : s + pad);
        }
        while (!text.empty() && text.back() == ' ') text.pop_back();
        return text;
    };
    const std::string head = line([&](std::size_t c) { return table.columns()[c].name; });
    if (!head.empty()) out_ << muted(head) << '\n';
    for (std::size_t r = 0; r < shown; ++r) {
        const auto& row = table.rows()[r];
        const std::size_t last = row.size() - 1;
        const std::string tail = printable(row[last].text, kLongestCell);
        const std::vector<std::string> lines = wraps(table, last) ? wrapped(tail, widths[last]) : std::vector{tail};
        for (std::size_t k = 0; k < lines.size(); ++k)
            out_ << line([&](std::size_t c) {
                return c == last ? lines[k] : k == 0 ? printable(row[c].text, kLongestCell) : std::string();
            }) << '\n';
    }
    if (shown < table.rows().size())
        out_ << muted("  ... " + std::to_string(table.rows().size() - shown) + " more rows (--all shows every one)") << '\n';
}

void Page::markdown_table(const Table& table, std::size_t shown) {
    out_ << '|';
    for (const auto& c : table.columns()) out_ << ' ' << markdown_escape(c.name) << " |";
    out_ << "\n|";
    for (const auto& c : table.columns()) out_ << (c.kind == Table::Kind::Number ? " ---: |" : " --- |");
    out_ << '\n';
    for (std::size_t r = 0; r < shown; ++r) {
        out_ << '|';
        for (std::size_t c = 0; c < table.columns().size(); ++c) {
            const std::string cell = printable(table.rows()[r][c].text, kLongestCell);
            out_ << ' ' << (table.columns()[c].kind == Table::Kind::Code ? markdown_code(cell) : markdown_escape(cell)) << " |";
        }
        out_ << '\n';
    }
    if (shown < table.rows().size()) out_ << "\n... " << table.rows().size() - shown << " more rows\n";
    out_ << '\n';
}

Table::Cell size_cell(const std::optional<std::int64_t>& bytes) {
    return bytes ? Table::Cell(bytes_text(*bytes), static_cast<double>(*bytes)) : Table::Cell("-");
}

std::string place(const std::string& file, int line) { return file.empty() ? "" : fmt::format("{}:{}", file, line); }

}  // namespace jaxscope
