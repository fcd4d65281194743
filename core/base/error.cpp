// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <stdexcept>

#include "base/cancel.h"
#include "base/escaped.h"

namespace jaxscope {

namespace {

struct CodeFacts {
    ErrorCode code;
    const char* name;
    int exit;
};
constexpr CodeFacts kCodes[] = {
    {ErrorCode::BadInput, "bad-input", 2},
    {ErrorCode::BadUsage, "bad-usage", 2},
    {ErrorCode::NotFound, "not-found", 2},
    {ErrorCode::TypeMismatch, "type-mismatch", 2},
    {ErrorCode::LimitExceeded, "limit-exceeded", 2},
    {ErrorCode::UnknownPrimitive, "unknown-primitive", 3},
    {ErrorCode::NoRule, "no-rule", 3},
    {ErrorCode::NotDifferentiable, "not-differentiable", 3},
    {ErrorCode::CannotRun, "cannot-run", 3},
    {ErrorCode::Cancelled, "cancelled", 130},
};

const CodeFacts& facts(ErrorCode code) {
    for (const CodeFacts& f : kCodes)
        if (f.code == code) return f;
    JAXSCOPE_ASSERT(!"an error code without facts");
}

}  // namespace

const char* code_name(ErrorCode code) { return facts(code).name; }
int exit_code(ErrorCode code) { return facts(code).exit; }

std::string printable(std::string_view text, std::size_t max_bytes) { return escaped(text, Keep::Nothing, max_bytes); }

namespace {
/// "FILE:LINE:COL", as far as it is known.
std::string text_of(const SourceLoc& loc) {
    std::string out = loc.file;
    if (loc.file.empty()) return out;
    if (loc.line > 0) out += ":" + std::to_string(loc.line);
    if (loc.line > 0 && loc.column > 0) out += ":" + std::to_string(loc.column);
    return out;
}
void add_reasons(const Error& error, std::string& out) {
    for (const std::string& c : error.context) out += "\n  in " + c;
    for (const std::string& a : error.advices) out += "\n  try: " + a;
}
}  // namespace

Error::Error(ErrorCode error_code, const std::string& what) : std::runtime_error(what), code(error_code) {}
Error& Error::at(SourceLoc l) {
    if (loc.line == 0 && loc.file.empty()) loc = std::move(l);
    return *this;
}
Error& Error::in(std::string frame) {
    context.push_back(std::move(frame));
    return *this;
}
Error& Error::advise(std::string advice) {
    advices.push_back(std::move(advice));
    return *this;
}
const char* Error::what() const noexcept {
    try {
        whole_ = fact();
        if (const std::string place = text_of(loc); !place.empty() && whole_.find(place) == std::string::npos) whole_ += "\n  at " + place;
        add_reasons(*this, whole_);
        return whole_.c_str();
    } catch (...) {  // no memory
        return fact();
    }
}

std::string full_text(const Error& error) {
    std::string out = "jaxscope: ";
    if (!error.loc.file.empty()) out += text_of(error.loc) + ": ";
    out += std::string(error.fact()) + " [" + code_name(error.code) + "]";
    add_reasons(error, out);
    return escaped(out, Keep::Newlines, 1000);
}

/// No Error: nothing that the user gave is wrong. One row of a table is lost, or the process ends with code 4.
void broken_invariant(const char* condition, const char* file, int line) {
    throw std::logic_error(std::string("broken invariant '") + condition + "' at " + file + ":" + std::to_string(line));
}

void throw_cancelled() { throw Error(ErrorCode::Cancelled, "cancelled"); }

}  // namespace jaxscope
