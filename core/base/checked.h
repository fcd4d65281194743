// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>

#include "base/error.h"

namespace jaxscope {

/// Size arithmetic that can't wrap: every product of dimensions and every sum of bytes goes through here.
/// Throws Error{BadInput} on overflow or a negative operand.
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &r))
        throw Error(ErrorCode::BadInput, "expected a size below 2^63, found a product of dimensions that exceeds it");
    return r;
}
inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &r))
        throw Error(ErrorCode::BadInput, "expected a size below 2^63, found a sum that exceeds it");
    return r;
}
/// Rounds up to a multiple of `alignment` (a power of two).
inline std::int64_t checked_align(std::int64_t n, std::int64_t alignment) { return checked_add(n, alignment - 1) & ~(alignment - 1); }

}  // namespace jaxscope
