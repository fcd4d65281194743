#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jaxscope {

/// A SIZE of the command line: bytes, or with K, M, G, T (powers of 1024; "KiB", "KB" and lower case are taken too).
/// Throws Error{BadUsage}.
std::int64_t parse_size(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// Number of columns that UTF-8 `text` takes on a terminal, taking each code point for one.
std::size_t display_width(std::string_view text);

}  // namespace jaxscope
