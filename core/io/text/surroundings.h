// What stands around a jaxpr in a file: lines of a log or a notebook, colours of a terminal, another format altogether.
#pragma once
#include <string>
#include <string_view>

namespace jaxscope {

/// Is this the text of a jaxpr (rather than a capture)? Looks at the first words only.
bool looks_like_jaxpr_text(std::string_view text);
/// Where a program begins in a text, at its first `let NAME =` or `{ lambda`; npos where none does.
std::size_t find_program(std::string_view text);
/// The text without the escape sequences that colour it in a terminal.
std::string without_colours(std::string_view text);

}  // namespace jaxscope
