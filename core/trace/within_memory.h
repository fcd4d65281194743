// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <new>
#include <stdexcept>

#include "base/error.h"

namespace jaxscope::jax::detail {

/// Runs `f`, which needs so many bytes; where the machine hasn't got them, XLA's sentence is thrown.
template <class F>
decltype(auto) within_memory(std::int64_t bytes, F&& f) {
    const auto refuse = [&] {
        throw Error(ErrorCode::CannotRun, fmt::format("RESOURCE_EXHAUSTED: Out of memory allocating {} bytes.", bytes));
    };
    try {
        return f();
    } catch (const std::bad_alloc&) {
        refuse();
    } catch (const std::length_error&) {
        refuse();
    }
    __builtin_unreachable();
}

}  // namespace jaxscope::jax::detail
