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
