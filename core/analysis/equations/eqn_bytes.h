// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "ir/jaxpr.h"

namespace jaxscope {

inline std::int64_t bytes_of(AvalRef aval) {
    try {
        return aval->bytes();
    } catch (const Error&) {  // a size beyond 2^63: drawn as the largest, reported by whoever plans memory
        return std::numeric_limits<std::int64_t>::max() / 4;
    }
}

inline std::int64_t add_bytes(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

inline std::int64_t result_bytes(const Jaxpr& jaxpr, const Eqn& eqn) {
    std::int64_t sum = 0;
    for (std::uint32_t k = 0; k < eqn.n_out; ++k) sum = add_bytes(sum, bytes_of(jaxpr.aval(jaxpr.output(eqn, k))));
    return sum;
}

}  // namespace jaxscope
