#include "base/text.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace jaxscope {

std::int64_t parse_size(std::string_view text) {
    const std::string_view all = text = trim(text);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string unit(end, text.data() + text.size());
    for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    static constexpr std::string_view kPrefixes = "KMGT";
    double factor = 1;
    std::string_view rest = trim(unit);
    if (!rest.empty() && kPrefixes.find(rest[0]) != std::string_view::npos) {
        factor = std::pow(1024.0, static_cast<double>(kPrefixes.find(rest[0]) + 1));
        rest.remove_prefix(1);
        if (rest == "IB" || rest == "B") rest = {};
    } else if (rest == "B") {
        rest = {};
    }
    const double bytes = number * factor;
    if (error != std::errc() || !rest.empty() || !(bytes >= 0) || bytes >= 9.2e18)
        throw Error(ErrorCode::BadUsage, "expected a size such as 512M or 2G, found '" + printable(all) + "'");
    return static_cast<std::int64_t>(bytes);
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> out;
    for (std::size_t begin = 0;;) {
        const std::size_t end = text.find(separator, begin);
        out.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
        if (end == std::string_view::npos) return out;
        begin = end + 1;
    }
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text;
}

std::size_t display_width(std::string_view text) {
    std::size_t n = 0;
    for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return n;
}

}  // namespace jaxscope
