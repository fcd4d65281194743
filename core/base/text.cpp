// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
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

std::vector<int> parse_numbers(std::string_view text, std::string_view what) {
    std::vector<int> out;
    for (const std::string& one : split(text, ',')) {
        const std::string_view t = trim(one);
        int n = 0;
        const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), n);
        if (error != std::errc() || end != t.data() + t.size())
            throw Error(ErrorCode::BadUsage, "expected numbers such as 0,2 for " + std::string(what) + ", found '" + printable(text) + "'");
        out.push_back(n);
    }
    return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t up = row[j];
            row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
            diagonal = up;
        }
    }
    return row[b.size()];
}

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names) {
    std::string_view best;
    std::size_t least = std::max<std::size_t>(1, text.size() / 2);  // half of it mistyped is another word
    for (const std::string_view name : names) {
        const std::size_t d = edit_distance(text, name);
        if (d > least || (d == least && !best.empty())) continue;
        best = name;
        least = d;
    }
    return best;
}

std::size_t display_width(std::string_view text) {
    std::size_t n = 0;
    for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return n;
}

}  // namespace jaxscope
