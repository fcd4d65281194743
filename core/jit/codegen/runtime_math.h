// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace jaxscope::exec {

/// C functions that generated code calls by name, next to the C library's.
struct RuntimeSymbol {
    const char* name;
    void* address;
};
std::span<const RuntimeSymbol> runtime_math_symbols();

}  // namespace jaxscope::exec
