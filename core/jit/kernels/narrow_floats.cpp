// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/narrow_floats.h"

namespace jaxscope::exec {

JAXSCOPE_WIDE void widen_bf16(const std::uint16_t* from, std::int64_t n, float* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from_bf16(from[i]);
}
JAXSCOPE_WIDE void widen_f16(const std::uint16_t* from, std::int64_t n, float* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from_f16(from[i]);
}
JAXSCOPE_WIDE void narrow_bf16(const float* from, std::int64_t n, std::uint16_t* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_bf16(from[i]);
}
JAXSCOPE_WIDE void narrow_f16(const float* from, std::int64_t n, std::uint16_t* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_f16(from[i]);
}

}  // namespace jaxscope::exec
