// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

#include "jit/kernels/wide_code.h"

// Floats of 16 bits, by arithmetic on bits alone, but for numbers of float16 that aren't normal: runs take 32-bit floats that aren't for
// zero (threads/denormals.h), and those of 16 bits are normal among them. Rounded to nearest, ties to even; a NaN stays one.
namespace jaxscope::exec {

JAXSCOPE_INLINED float from_f16(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu, exponent = magnitude >> 10;
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    const std::uint32_t normal = (magnitude << 13) + (112u << 23), special = (magnitude << 13) | 0x7f800000u;
    const std::uint32_t bits = exponent == 0 ? std::bit_cast<std::uint32_t>(small) : exponent == 31 ? special : normal;
    return std::bit_cast<float>(bits | sign);
}
JAXSCOPE_INLINED std::uint16_t to_f16(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    const std::uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
    // Added to a half, the last bit of the sum is worth 2^-24, the least of float16.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    std::uint32_t out = magnitude < 0x38800000u ? small : normal;
    out = magnitude >= 0x477ff000u ? 0x7c00u : out;
    out = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ffu) : out;
    return static_cast<std::uint16_t>(out | sign);
}
JAXSCOPE_INLINED std::uint16_t to_bf16(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
}

JAXSCOPE_INLINED float from_bf16(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

/// Numbers that arithmetic takes as 32-bit floats: what comes out is rounded where it is stored.
struct Bf16 {
    std::uint16_t bits;
    Bf16() = default;
    JAXSCOPE_INLINED explicit Bf16(float f) : bits(to_bf16(f)) {}
    JAXSCOPE_INLINED operator float() const { return from_bf16(bits); }  // NOLINT(google-explicit-constructor)
};
struct F16 {
    std::uint16_t bits;
    F16() = default;
    JAXSCOPE_INLINED explicit F16(float f) : bits(to_f16(f)) {}
    JAXSCOPE_INLINED operator float() const { return from_f16(bits); }  // NOLINT(google-explicit-constructor)
};

// Many at a time.
void widen_bf16(const std::uint16_t* from, std::int64_t n, float* to);
void widen_f16(const std::uint16_t* from, std::int64_t n, float* to);
void narrow_bf16(const float* from, std::int64_t n, std::uint16_t* to);
void narrow_f16(const float* from, std::int64_t n, std::uint16_t* to);

}  // namespace jaxscope::exec
