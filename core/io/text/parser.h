// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `io/text`: what JAX prints. Comes in: text, with whatever a log or a terminal put around it. Goes out: a Program whose text is
// the same again. Never here: captures and JSON, and guesses that the reader isn't told of.
#include <string>
#include <string_view>

#include "ir/program.h"

namespace jaxscope {

/// Reads what JAX prints for a jaxpr (`print(jax.make_jaxpr(f)(...))`, 0.4.30 to 0.10.2; shared jaxprs in front as `let f = ... in`;
/// source comments, CRLF, a byte order mark, odd spacing and programs on one line too). Parameters that JAX doesn't print because
/// they are defaults are there again; printing the result gives the text back.
///
/// What a text can't hold: values of constants (they stay unknown), rules of custom primitives and policies that print as
/// `<function ...>` (they keep their text, and whatever needs them says so). Inputs are called by their variables.
/// `name`   what errors call the text.
/// Throws   Error{BadInput} with line and column; Error{LimitExceeded} beyond base/limits.h. Not type checked: see check_program.
ProgramPtr parse_jaxpr_text(std::string_view text, const std::string& name);
/// The same, type checked: errors of check_program are at the equation's line and column.
ProgramPtr read_jaxpr_text(std::string_view text, const std::string& name);

}  // namespace jaxscope
