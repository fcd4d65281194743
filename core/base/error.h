// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/base: what every folder needs and that knows nothing of JAX: errors, text, interning, files, child processes, limits, cancelling and
// signals. Nothing comes in from other folders. Never here: dtypes, jaxprs, anything that a program is made of.
#include <stdexcept>
#include <string>
#include <string_view>
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

const char* code_name(ErrorCode code);  ///< "bad-input", "no-rule", ...
int exit_code(ErrorCode code);

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
    Error(ErrorCode error_code, const std::string& what) : std::runtime_error(what), code(error_code) {}
    /// The innermost place wins: a place that is set already stays.
    Error& at(SourceLoc l) {
        if (loc.line == 0 && loc.file.empty()) loc = std::move(l);
        return *this;
    }
    Error& in(std::string frame) {
        context.push_back(std::move(frame));
        return *this;
    }
    Error& advise(std::string advice) {
        advices.push_back(std::move(advice));
        return *this;
    }
    const char* fact() const noexcept { return std::runtime_error::what(); }
    const char* what() const noexcept override;
    ErrorCode code;
    SourceLoc loc;
    std::vector<std::string> context;  ///< "transposing eqn 7: ...", innermost first
    std::vector<std::string> advices;  ///< "drop argument 0 from donate_argnums"

private:
    mutable std::string whole_;  ///< what `what()` answered last
};

/// "jaxscope: FILE:LINE:COL: fact [code]", then indented context and advice. At most 1 kB, control characters escaped.
std::string full_text(const Error& error);

/// `text` with control characters and invalid UTF-8 escaped, cut to `max_bytes` with "..." when longer.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

[[noreturn]] void broken_invariant(const char* condition, const char* file, int line);

/// Names an invariant of jaxscope itself. Stays on in release builds: a wrong number is worse than a crash report.
#define JAXSCOPE_ASSERT(condition) (static_cast<bool>(condition) ? void(0) : ::jaxscope::broken_invariant(#condition, __FILE__, __LINE__))

}  // namespace jaxscope
