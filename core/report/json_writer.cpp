#include "report/json_writer.h"

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
    // `printable` escapes control characters and invalid bytes as \xNN; JSON then needs quotes and backslashes escaped.
    const bool clean = [&] {
        for (const char c : text)
            if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) return false;
        return true;
    }();
    std::string safe;
    if (!clean) {
        // Line ends and tabs are ordinary in texts (jaxprs, source): they keep their JSON escapes.
        std::size_t begin = 0;
        for (std::size_t i = 0; i <= text.size(); ++i) {
            const char c = i < text.size() ? text[i] : '\n';
            if (c != '\n' && c != '\t') continue;
            safe += printable(text.substr(begin, i - begin), static_cast<std::size_t>(-1) / 2);
            if (i < text.size()) safe += c;
            begin = i + 1;
        }
        text = safe;
    }
    out_ << '"';
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out_ << '\\' << c;
        else if (c == '\n')
            out_ << "\\n";
        else if (c == '\t')
            out_ << "\\t";
        else
            out_ << c;
    }
    out_ << '"';
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
