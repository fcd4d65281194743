// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/narrow_floats.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace jaxscope::exec {

JAXSCOPE_WIDE void widen_bf16(const std::uint16_t* from, std::int64_t n, float* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from_bf16(from[i]);
}
JAXSCOPE_WIDE void narrow_bf16(const float* from, std::int64_t n, std::uint16_t* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_bf16(from[i]);
}

namespace {

JAXSCOPE_WIDE void widen_by_bits(const std::uint16_t* from, std::int64_t n, float* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from_f16(from[i]);
}
JAXSCOPE_WIDE void narrow_by_bits(const float* from, std::int64_t n, std::uint16_t* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_f16(from[i]);
}

#if defined(__x86_64__) && defined(__GNUC__)
// The processor's own conversions, eight at a time: they round and keep small numbers as from_f16 and to_f16 do, in every mode of the
// floating-point unit.
bool has_conversions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kF16c = 1u << 29;
    return processor() != Processor::any && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
}
const bool converts = has_conversions();

__attribute__((target("avx2,f16c"))) std::int64_t widen_eights(const std::uint16_t* from, std::int64_t n, float* to) {
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    return i;
}
__attribute__((target("avx2,f16c"))) std::int64_t narrow_eights(const float* from, std::int64_t n, std::uint16_t* to) {
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}
#else
constexpr bool converts = false;
std::int64_t widen_eights(const std::uint16_t*, std::int64_t, float*) { return 0; }
std::int64_t narrow_eights(const float*, std::int64_t, std::uint16_t*) { return 0; }
#endif

}  // namespace

void widen_f16(const std::uint16_t* from, std::int64_t n, float* to) {
    const std::int64_t done = converts ? widen_eights(from, n, to) : 0;
    widen_by_bits(from + done, n - done, to + done);
}
void narrow_f16(const float* from, std::int64_t n, std::uint16_t* to) {
    const std::int64_t done = converts ? narrow_eights(from, n, to) : 0;
    narrow_by_bits(from + done, n - done, to + done);
}

}  // namespace jaxscope::exec
