// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace jaxscope::exec {

// Floats of 16 bits as 32-bit ones and back, many at a time: rounded to nearest, ties to even; a NaN stays one.
void widen_bf16(const std::uint16_t* from, std::int64_t n, float* to);
void widen_f16(const std::uint16_t* from, std::int64_t n, float* to);
void narrow_bf16(const float* from, std::int64_t n, std::uint16_t* to);
void narrow_f16(const float* from, std::int64_t n, std::uint16_t* to);

}  // namespace jaxscope::exec
