// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cstdio>
#include <stdexcept>

#include "base/cancel.h"

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

/// Length of the valid UTF-8 sequence at `s`, 0 if it is none.
std::size_t utf8_length(std::string_view s) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char c = byte(0);
    const std::size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (n == 0 || s.size() < n) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    if (n == 3 && ((c == 0xE0 && byte(1) < 0xA0) || (c == 0xED && byte(1) > 0x9F))) return 0;
    if (n == 4 && ((c == 0xF0 && byte(1) < 0x90) || (c == 0xF4 && byte(1) > 0x8F))) return 0;
    return n;
}

/// Control characters (but newlines where `keep_newlines`) and bytes that are no UTF-8, as \xNN.
std::string escaped(std::string_view text, std::size_t max_bytes, bool keep_newlines) {
    std::string out;
    while (!text.empty()) {
        const std::size_t n = utf8_length(text);
        const auto c = static_cast<unsigned char>(text[0]);
        const bool plain = n > 1 || (n == 1 && ((c >= 0x20 && c != 0x7F) || (keep_newlines && c == '\n')));
        char hex[8];
        std::snprintf(hex, sizeof hex, "\\x%02x", c);
        const std::string_view piece = plain ? text.substr(0, n) : std::string_view(hex);
        if (out.size() + piece.size() > max_bytes) return out + "...";
        out += piece;
        text.remove_prefix(plain ? n : 1);
    }
    return out;
}

}  // namespace

const char* code_name(ErrorCode code) { return facts(code).name; }
int exit_code(ErrorCode code) { return facts(code).exit; }

std::string printable(std::string_view text, std::size_t max_bytes) { return escaped(text, max_bytes, false); }

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
    return escaped(out, 1000, true);
}

/// No Error: nothing that the user gave is wrong. One row of a table is lost, or the process ends with code 4.
void broken_invariant(const char* condition, const char* file, int line) {
    throw std::logic_error(std::string("broken invariant '") + condition + "' at " + file + ":" + std::to_string(line));
}

void throw_cancelled() { throw Error(ErrorCode::Cancelled, "cancelled"); }

}  // namespace jaxscope
