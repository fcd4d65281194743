#pragma once
#include <string>

#include "base/error.h"

/// What the error says that `f` throws.
template <class F>
std::string error_of(F f) {
    try {
        f();
    } catch (const jaxscope::Error& e) {
        return e.fact();
    }
    return "no error";
}

/// "LINE" where the error that `f` throws stands in `file`, the test's own; else its place and text.
template <class F>
std::string place_of_error(const char* file, F f) {
    try {
        f();
    } catch (const jaxscope::Error& e) {
        if (e.loc.file.find(file) == std::string::npos) return "'" + e.loc.file + "': " + e.what();
        return std::to_string(e.loc.line);
    }
    return "no error";
}
