#include "io/text/surroundings.h"

#include <algorithm>
#include <cctype>

namespace jaxscope {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

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
    constexpr std::string_view kBom = "\xEF\xBB\xBF", kZstd = "\x28\xb5\x2f\xfd";
    if (text.starts_with(kBom)) text.remove_prefix(kBom.size());
    if (text.starts_with(kZstd)) return false;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    text.remove_prefix(first);
    while (text.starts_with('#')) {  // comments in front
        text.remove_prefix(std::min(text.find('\n'), text.size()));
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    }
    if (text.empty()) return false;
    if (text.starts_with("let ")) return true;
    if (const std::size_t inside = text.find_first_not_of(" \t\r\n", 1); text[0] == '{' && inside != std::string_view::npos)
        if (text[inside] == '"' || text[inside] == '}') return false;  // JSON
    return find_program(text.find('\x1b') == std::string_view::npos ? std::string(text) : without_colours(text)) != std::string_view::npos;
}

}  // namespace jaxscope
