// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/base: what every folder needs and that knows nothing of JAX: errors, text, interning, files, child processes, limits, cancelling and
// signals. Nothing comes in from other folders. Never here: dtypes, jaxprs, anything that a program is made of.
#include <jaxscope/error.h>

#include <string>
#include <string_view>

namespace jaxscope {

const char* code_name(ErrorCode code);  ///< "bad-input", "no-rule", ...
int exit_code(ErrorCode code);

/// "jaxscope: FILE:LINE:COL: fact [code]", then indented context and advice. At most 1 kB, control characters escaped.
std::string full_text(const Error& error);

/// `text` with control characters and invalid UTF-8 escaped, cut to `max_bytes` with "..." when longer.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

[[noreturn]] void broken_invariant(const char* condition, const char* file, int line);

/// Names an invariant of jaxscope itself. Stays on in release builds: a wrong number is worse than a crash report.
#define JAXSCOPE_ASSERT(condition) (static_cast<bool>(condition) ? void(0) : ::jaxscope::broken_invariant(#condition, __FILE__, __LINE__))

}  // namespace jaxscope
