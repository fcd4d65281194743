// SPDX-License-Identifier: Apache-2.0
#include "io/text/surroundings.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace jaxscope {

namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

}  // namespace

std::size_t find_program(std::string_view text) {
    for (std::size_t brace = text.find('{'); brace != std::string_view::npos; brace = text.find('{', brace + 1)) {
        std::size_t i = brace + 1;
        while (i < text.size() && is_space(text[i])) ++i;
        if (!text.substr(i).starts_with("lambda") || (i + 6 < text.size() && is_word(text[i + 6]))) continue;
        // `let NAME =` before it.
        const auto back = [&](std::size_t end, auto test) {
            while (end > 0 && test(text[end - 1])) --end;
            return end;
        };
        std::size_t at = back(brace, is_space);
        if (at == 0 || text[at - 1] != '=') return brace;
        const std::size_t name_end = back(at - 1, is_space);
        const std::size_t name = back(name_end, [](char c) { return !is_space(c); });
        const std::size_t let = back(name, is_space);
        return let >= 3 && text.substr(let - 3, 3) == "let" && name < name_end ? let - 3 : brace;
    }
    return std::string_view::npos;
}

std::string without_colours(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t escape = std::min(text.find("\x1b["), text.size());
        out += text.substr(0, escape);
        text.remove_prefix(escape);
        if (text.empty()) break;
        const std::size_t end = text.find_first_not_of("0123456789;", 2);
        const bool colour = end != std::string_view::npos && text[end] == 'm';
        if (!colour) out += text.substr(0, 2);
        text.remove_prefix(colour ? end + 1 : 2);
    }
    return out;
}

bool looks_like_jaxpr_text(std::string_view text) {
    if (looks_like_capture(text)) return false;
    if (text.starts_with(kBom)) text.remove_prefix(kBom.size());
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    text.remove_prefix(first);
    while (text.starts_with('#')) {  // comments in front
        text.remove_prefix(std::min(text.find('\n'), text.size()));
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    }
    if (text.empty()) return false;
    if (text.starts_with("let ")) return true;
    if (looks_like_capture(text)) return false;  // behind comments
    return find_program(text.find('\x1b') == std::string_view::npos ? std::string(text) : without_colours(text)) != std::string_view::npos;
}

bool looks_like_capture(std::string_view text) {
    constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
    if (text.starts_with(kZstd)) return true;
    if (text.starts_with(kBom)) text.remove_prefix(kBom.size());
    const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const std::size_t inside = text.find_first_not_of(" \t\r\n", first + 1);
    return text.substr(first).starts_with('{') && inside != std::string_view::npos && (text[inside] == '"' || text[inside] == '}');
}

std::size_t first_bad_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
        if (length == 0 || i + length > text.size()) return i;
        std::uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
        for (std::size_t k = 1; k < length; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if (next >> 6 != 2) return i;
            code = code << 6 | (next & 0x3Fu);
        }
        constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // a longer sequence than needed is none
        if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return i;
        i += length;
    }
    return std::string_view::npos;
}

bool looks_like_gzip(std::string_view text) { return text.starts_with("\x1f\x8b"); }

OtherContent other_content(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {"nothing", 0, {}};
    if (looks_like_gzip(text)) return {"a gzip archive", 0, "gunzip it first"};
    const bool wide = text.size() > 3 && ((text[0] == '\0') != (text[1] == '\0')) && ((text[2] == '\0') == (text[0] == '\0'));
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || wide) return {"UTF-16", 0, "save the text as UTF-8"};
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) return {"a binary file", zero, {}};
    if (const std::size_t bad = first_bad_utf8(text); bad != std::string_view::npos && bad + 4 < text.size())
        return {"bytes that are no UTF-8", bad, {}};
    if (const std::size_t trace = text.find("Traceback (most recent call last)"); trace != std::string_view::npos)
        return {"a traceback of Python", trace, "the program that should have printed the jaxpr failed"};
    if (text[first] == '<') return {"HTML", first, "save the jaxpr's text alone"};
    std::size_t word = first;
    if (text[first] == '{') word = std::min(text.find_first_not_of(" \t\r\n", first + 1), text.size() - 1);
    std::size_t end = word;
    while (end < text.size() && end < word + 40 && !is_space(text[end])) ++end;
    const std::string found(text.substr(word, end - word));
    return {"'" + (text[first] == '{' && word != first ? "{ " + found : found) + "'", word, {}};
}

}  // namespace jaxscope
