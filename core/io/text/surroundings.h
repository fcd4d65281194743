// SPDX-License-Identifier: Apache-2.0
// What stands around a jaxpr in a file: lines of a log or a notebook, colours of a terminal, another format altogether.
#pragma once
#include <cctype>
#include <string>
#include <string_view>

namespace jaxscope {

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
/// Of a name or a number.
inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
/// Is this the text of a jaxpr (rather than a capture)? Looks at the first words only.
bool looks_like_jaxpr_text(std::string_view text);
/// Where a program begins in a text, at its first `let NAME =` or `{ lambda`; npos where none does.
std::size_t find_program(std::string_view text);
/// The first byte that belongs to no character of UTF-8; npos where there is none.
std::size_t first_bad_utf8(std::string_view text);
/// What a file is that should hold a jaxpr's text and doesn't, and where that shows.
struct OtherContent {
    std::string found;       ///< "nothing", "a gzip archive", "'{ lamda'"
    std::size_t offset = 0;  ///< of the word that shows it
    std::string advice;      ///< may be empty
};
OtherContent other_content(std::string_view text);
bool looks_like_gzip(std::string_view text);
/// Is it a capture, by its first bytes: compressed by zstd, or a JSON object?
bool looks_like_capture(std::string_view text);
/// The text without the escape sequences that colour it in a terminal.
std::string without_colours(std::string_view text);

}  // namespace jaxscope
