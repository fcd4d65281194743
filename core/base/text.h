// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jaxscope {

/// A SIZE of the command line: bytes, or with K, M, G, T (powers of 1024; "KiB", "KB" and lower case are taken too).
/// Throws Error{BadUsage}.
std::int64_t parse_size(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// Whole numbers such as "0,2" of the flag or step `what`. Throws Error{BadUsage}.
std::vector<int> parse_numbers(std::string_view text, std::string_view what);
/// How many insertions, deletions and replacements of bytes turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The name that was probably meant; empty where none is near.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);
/// Number of columns that UTF-8 `text` takes on a terminal, taking each code point for one.
std::size_t display_width(std::string_view text);

}  // namespace jaxscope
