// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace jaxscope {

void JsonWriter::new_line() {
    if (!pretty_) return;
    out_ << '\n';
    for (std::size_t i = 0; i < has_items_.size(); ++i) out_ << ' ';
}

void JsonWriter::separate() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (has_items_.empty()) return;
    if (has_items_.back()) out_ << ',';
    has_items_.back() = true;
    new_line();
}

void JsonWriter::open(char c) {
    separate();
    out_ << c;
    has_items_.push_back(false);
}

void JsonWriter::close(char c) {
    JAXSCOPE_ASSERT(!has_items_.empty() && !after_key_);
    const bool any = has_items_.back();
    has_items_.pop_back();
    if (any) new_line();
    out_ << c;
}

void JsonWriter::key(std::string_view name) {
    separate();
    quoted(name);
    out_ << (pretty_ ? ": " : ":");
    after_key_ = true;
}

void JsonWriter::quoted(std::string_view text) {
    std::string safe;
    safe.reserve(text.size() + 2);
    safe += '"';
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text[0]);
        if (c == '"' || c == '\\') {
            safe += '\\';
            safe += text[0];
        } else if (c >= 0x20 && c < 0x7F) {
            safe += text[0];
        } else if (c == '\n' || c == '\t') {
            safe += c == '\n' ? "\\n" : "\\t";
        } else if (c < 0x20 || c == 0x7F) {
            safe += fmt::format("\\u{:04x}", c);
        } else if (c == 0xC2 && text.size() > 1 && (static_cast<unsigned char>(text[1]) & 0xE0) == 0x80) {
            safe += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1]));  // U+0080 to U+009F: terminals obey these, too
            text.remove_prefix(1);
        } else {
            // A whole sequence of UTF-8, or one stray byte, which `printable` spells as \xNN.
            std::size_t n = 1;
            while (n < 4 && n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) ++n;
            const std::string shown = printable(text.substr(0, n), static_cast<std::size_t>(-1) / 2);
            for (const char s : shown) safe.append(s == '\\' ? "\\\\" : std::string(1, s));
            text.remove_prefix(n - 1);
        }
        text.remove_prefix(1);
    }
    out_ << safe << '"';
}

void JsonWriter::value(std::string_view text) {
    separate();
    quoted(text);
}
void JsonWriter::value(double number) {
    separate();
    if (std::isnan(number))
        out_ << "\"nan\"";
    else if (std::isinf(number))
        out_ << (number > 0 ? "\"inf\"" : "\"-inf\"");
    else if (number == std::floor(number) && std::abs(number) < 1e15)
        out_ << fmt::format("{:.1f}", number);
    else
        out_ << fmt::format("{}", number);
}
void JsonWriter::value(std::int64_t number) {
    separate();
    out_ << number;
}
void JsonWriter::value(bool b) {
    separate();
    out_ << (b ? "true" : "false");
}
void JsonWriter::null() {
    separate();
    out_ << "null";
}

}  // namespace jaxscope
