#pragma once
#include <string>
#include <string_view>

namespace jaxscope {

/// Where a program begins in a text, at its first `let NAME =` or `{ lambda`; npos where none does.
std::size_t find_program(std::string_view text);
/// The text without the escape sequences that colour it in a terminal.
std::string without_colours(std::string_view text);

}  // namespace jaxscope
