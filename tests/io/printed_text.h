#pragma once
// What the tests of printed programs share.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace jaxscope {

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// `frozenset({...})` with its items sorted: JAX prints them in hash order.
inline std::string with_sorted_sets(std::string s) {
    constexpr std::string_view kOpen = "frozenset({";
    for (std::size_t at = 0; (at = s.find(kOpen, at)) != std::string::npos;) {
        at += kOpen.size();
        const std::size_t end = s.find("})", at);
        std::vector<std::string> items;
        std::istringstream list(s.substr(at, end - at));
        for (std::string item; std::getline(list, item, ',');) items.push_back(item.substr(item.find_first_not_of(' ')));
        std::sort(items.begin(), items.end());
        std::string joined;
        for (const std::string& i : items) joined += (joined.empty() ? "" : ", ") + i;
        s.replace(at, end - at, joined);
    }
    return s;
}

}  // namespace jaxscope
