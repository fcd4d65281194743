// SPDX-License-Identifier: Apache-2.0
#pragma once
// What jaxscope throws: one type, `jaxscope::Error`. `what()` is the sentence that JAX's users know, then the line of the program that it
// is about and what to do, on lines of their own.
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace jaxscope {

/// What kind of thing went wrong. The name (`code_name`) is the `code` field of a report, `exit_code` what the process ends with.
enum class ErrorCode {
    BadInput,           ///< a file that doesn't hold what it should: syntax, types, indices; exit 2
    BadUsage,           ///< wrong flags or arguments; exit 2
    NotFound,           ///< a file, region, argument or name that isn't there; exit 2
    TypeMismatch,       ///< avals that an equation's primitive doesn't produce or take; exit 2
    LimitExceeded,      ///< one of `limits.h`, e.g. nesting deeper than 256 jaxprs; exit 2
    UnknownPrimitive,   ///< an opaque equation stops a transformation or a run; exit 3
    NoRule,             ///< a primitive without the rule that is needed; exit 3
    NotDifferentiable,  ///< JAX refuses it too, e.g. reverse mode through while; exit 3
    CannotRun,          ///< memory or time limit, device count, no memory; exit 3
    Cancelled,          ///< Ctrl-C, Stop; exit 130
};

/// A place in the user's own file (or in the file being read). Lines and columns count from 1; 0 means unknown.
struct SourceLoc {
    std::string file;
    int line = 0;
    int column = 0;
};

/// Wrong input of any kind. Broken promises inside jaxscope are assertions instead, never this.
/// `fact()` is what happened alone: "expected ..., found ..."; `what()` adds place, context and advice on lines of their own, for C++
/// programs that print exceptions; `full_text` is how commands print it.
class Error : public std::runtime_error {
public:
    Error(ErrorCode error_code, const std::string& what);
    /// The innermost place wins: a place that is set already stays.
    Error& at(SourceLoc l);
    Error& in(std::string frame);
    Error& advise(std::string advice);
    const char* fact() const noexcept { return std::runtime_error::what(); }
    const char* what() const noexcept override;
    ErrorCode code;
    SourceLoc loc;
    std::vector<std::string> context;  ///< "transposing eqn 7: ...", innermost first
    std::vector<std::string> advices;  ///< "drop argument 0 from donate_argnums"

private:
    mutable std::string whole_;  ///< what `what()` answered last
};

struct ErrorInfo {
    std::string code;     ///< "bad-usage", "type-mismatch", ...: what a report calls it
    std::string message;  ///< the sentence alone
    std::string file;     ///< the user's line that the error is about; empty: unknown
    int line = 0;
    std::string advice;  ///< what to do; may be empty
};
/// The same in plain text. None: somebody else threw it.
std::optional<ErrorInfo> error_info(const std::exception& e);

}  // namespace jaxscope
