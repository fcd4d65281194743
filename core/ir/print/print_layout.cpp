// SPDX-License-Identifier: Apache-2.0
#include "ir/print/print_layout.h"

#include <algorithm>
#include <cstdio>

namespace jaxscope {

void PrintLayout::put(std::string_view s) {
    out_ += s;
    line_ += std::count(s.begin(), s.end(), '\n');
    column_ += static_cast<std::int64_t>(s.size());
}

void PrintLayout::end_line() {
    widest_ = std::max(widest_, column_);
    if (line_notes_.empty()) return;
    notes_.push_back({out_.size(), column_, std::move(line_notes_)});
    line_notes_.clear();
}

void PrintLayout::put_break(std::string_view flat) {
    if (!broken_.empty() && !broken_.back()) return put(flat);
    end_line();
    out_ += '\n';
    ++line_;
    column_ = 0;
    put(std::string(static_cast<std::size_t>(indents_.back()), ' '));
}

void PrintLayout::hold(Kind kind, std::string_view s) {
    const auto begin = static_cast<std::int64_t>(held_.size());
    held_ += s;
    tokens_.push_back({kind, begin, static_cast<std::int64_t>(held_.size())});
    if (kind != Kind::Note) flat_ += static_cast<std::int64_t>(s.size());
    decide();
}

void PrintLayout::text(std::string_view s) {
    if (undecided())
        hold(Kind::Text, s);
    else
        put(s);
}
void PrintLayout::note(std::string_view s) {
    if (undecided())
        hold(Kind::Note, s);
    else
        line_notes_.emplace_back(s);
}
void PrintLayout::mark(std::int64_t what) {
    if (undecided())
        tokens_.push_back({Kind::Mark, what, 0});
    else
        marks_.emplace_back(what, line_);
}
void PrintLayout::brk(std::string_view flat) {
    if (undecided())
        hold(Kind::Break, flat);
    else
        put_break(flat);
}
void PrintLayout::nest(int n) {
    if (undecided())
        tokens_.push_back({Kind::Nest, n, 0});
    else
        indents_.push_back(indents_.back() + n);
}
void PrintLayout::unnest() {
    if (undecided())
        tokens_.push_back({Kind::Unnest});
    else
        indents_.pop_back();
}

void PrintLayout::begin_group() {
    open_groups_.push_back(tokens_.size());
    tokens_.push_back({Kind::Group, flat_, -1});
}
void PrintLayout::end_group() {
    if (open_groups_.empty()) {
        broken_.pop_back();
        return;
    }
    tokens_[open_groups_.back()].end = flat_;
    open_groups_.pop_back();
    tokens_.push_back({Kind::EndGroup});
    if (open_groups_.empty()) play_until_undecided();
}

void PrintLayout::decide() {
    while (undecided() && flat_ - tokens_[head_].begin > width_ - column_) {
        broken_.push_back(true);
        open_groups_.erase(open_groups_.begin());
        ++head_;
        play_until_undecided();
    }
}

void PrintLayout::play_until_undecided() {
    for (; head_ < tokens_.size(); ++head_) {
        const Token token = tokens_[head_];
        if (token.kind == Kind::Group && token.end < 0) return;
        play(token);
    }
    tokens_.clear();
    held_.clear();
    head_ = 0;
}

void PrintLayout::play(const Token& token) {
    const auto held = [&] {
        return std::string_view(held_).substr(static_cast<std::size_t>(token.begin), static_cast<std::size_t>(token.end - token.begin));
    };
    switch (token.kind) {
        case Kind::Text:
            return put(held());
        case Kind::Note:
            line_notes_.emplace_back(held());
            return;
        case Kind::Mark:
            marks_.emplace_back(token.begin, line_);
            return;
        case Kind::Break:
            return put_break(held());
        case Kind::Group:
            broken_.push_back(token.end - token.begin > width_ - column_);
            return;
        case Kind::EndGroup:
            broken_.pop_back();
            return;
        case Kind::Nest:
            indents_.push_back(indents_.back() + static_cast<int>(token.begin));
            return;
        case Kind::Unnest:
            indents_.pop_back();
            return;
    }
}

namespace {
bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F; }

/// A text may be shown on a terminal: what a hostile name says to that is escaped.
std::string without_controls(std::string text) {
    if (std::none_of(text.begin(), text.end(), is_control)) return text;
    std::string out;
    for (const char c : text) {
        char hex[8];
        std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
        out.append(is_control(c) ? std::string_view(hex) : std::string_view(&c, 1));
    }
    return out;
}
}  // namespace

std::string PrintLayout::finish() {
    end_line();
    if (notes_.empty()) return without_controls(std::move(out_));
    // One line as long as a book must not push the notes of all others there.
    const auto room = static_cast<std::int64_t>((10 * out_.size() + (std::size_t{16} << 20)) / notes_.size());
    widest_ = std::min(widest_, room);
    std::string aligned;
    aligned.reserve(out_.size() + notes_.size() * 40);
    std::size_t at = 0;
    for (const Notes& line : notes_) {
        aligned.append(out_, at, line.at - at);
        at = line.at;
        aligned.append(static_cast<std::size_t>(std::max<std::int64_t>(widest_ - line.column, 0)), ' ');
        for (std::size_t i = 0; i < line.texts.size(); ++i) {
            if (i) aligned.append("\n").append(static_cast<std::size_t>(widest_), ' ');
            aligned.append(" # ").append(line.texts[i]);
        }
    }
    return without_controls(std::move(aligned.append(out_, at)));
}

}  // namespace jaxscope
