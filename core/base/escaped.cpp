// SPDX-License-Identifier: Apache-2.0
#include "base/escaped.h"

#include <cstdio>

namespace jaxscope {

namespace {

/// Length of the valid UTF-8 sequence at `s`, 0 if it is none.
std::size_t utf8_length(std::string_view s) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char c = byte(0);
    const std::size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (n == 0 || s.size() < n) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    if (n == 3 && ((c == 0xE0 && byte(1) < 0xA0) || (c == 0xED && byte(1) > 0x9F))) return 0;
    if (n == 4 && ((c == 0xF0 && byte(1) < 0x90) || (c == 0xF4 && byte(1) > 0x8F))) return 0;
    return n;
}

/// The first `n` bytes of `s` are a character that a terminal obeys: those of ASCII, and U+0080 to U+009F, of which one is as good as ESC
/// [.
bool is_control(std::string_view s, std::size_t n) {
    const auto c = static_cast<unsigned char>(s[0]);
    return n == 1 ? c < 0x20 || c == 0x7F : n == 2 && c == 0xC2 && static_cast<unsigned char>(s[1]) < 0xA0;
}

std::string hex_escape(unsigned char byte) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", byte);
    return hex;
}

}  // namespace

std::string escaped(std::string_view text, Keep keep, std::size_t max_bytes) {
    std::string out;
    while (!text.empty()) {
        const std::size_t n = utf8_length(text);
        const bool kept = keep == Keep::Newlines && (text[0] == '\n' || text[0] == '\t');
        const bool plain = n > 0 && (kept || !is_control(text, n));
        const std::string hex = hex_escape(static_cast<unsigned char>(text[0]));
        const std::string_view piece = plain ? text.substr(0, n) : std::string_view(hex);
        if (piece.size() > max_bytes - out.size()) return out + "...";
        out += piece;
        text.remove_prefix(plain ? n : 1);
    }
    return out;
}

std::string quoted_name(std::string_view name) {
    std::string out = "\"";
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += std::string("\\") + c;
        else if (byte < 0x20 || byte == 0x7F)
            out += hex_escape(byte);
        else
            out += c;
    }
    return out + '"';
}

}  // namespace jaxscope
