// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program of the front end can ask of an exception: `catch (const std::exception& e) { if (auto info = jaxscope::error_info(e)) ...
// }`. All that the front end throws is derived from std::exception; `what()` is the sentence that JAX's users know, then the line of the
// program that it is about and what to do, on lines of their own.
#include <exception>
#include <optional>
#include <string>

namespace jaxscope {

struct ErrorInfo {
    std::string code;     ///< "bad-usage", "type-mismatch", ...: what a report calls it
    std::string message;  ///< the sentence alone
    std::string file;     ///< the user's line that the error is about; empty: unknown
    int line = 0;
    std::string advice;  ///< what to do; may be empty
};
/// None: somebody else threw it.
std::optional<ErrorInfo> error_info(const std::exception& e);

}  // namespace jaxscope
