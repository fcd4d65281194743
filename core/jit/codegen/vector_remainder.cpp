// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/vector_remainder.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cmath>
#include <limits>
#endif

namespace jaxscope::exec {

#if defined(__x86_64__)

namespace {

// In float64, x - trunc(x / y) * y is exact while the quotient has at most 29 bits: its product with a float32 has 53 at most. A quotient
// that was rounded up to a whole number is one too large, which the rest's sign tells. Everything else is fmodf's, one by one.
constexpr double kMostQuotient = 1 << 29;
constexpr double kLeastDivisor = 0x1p-102;  // of a smaller one the rest may be so small that its conversion makes it 0

__attribute__((target("avx2,fma"))) int rest_of_4(__m256d x, __m256d y, __m256d& rest) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    const __m256d q = _mm256_round_pd(_mm256_div_pd(x, y), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256d near = _mm256_cmp_pd(_mm256_andnot_pd(sign, q), _mm256_set1_pd(kMostQuotient), _CMP_LT_OQ),
                  size = _mm256_andnot_pd(sign, y);
    const __m256d most = _mm256_set1_pd(static_cast<double>(std::numeric_limits<float>::max())), least = _mm256_set1_pd(kLeastDivisor);
    const __m256d usual = _mm256_and_pd(_mm256_cmp_pd(size, most, _CMP_LE_OQ), _mm256_cmp_pd(size, least, _CMP_GE_OQ));
    const __m256d r = _mm256_fnmadd_pd(q, y, x), of_x = _mm256_and_pd(x, sign), turned = _mm256_xor_pd(r, of_x);
    const __m256d below = _mm256_cmp_pd(turned, _mm256_setzero_pd(), _CMP_LT_OQ);
    rest = _mm256_or_pd(_mm256_andnot_pd(sign, _mm256_add_pd(turned, _mm256_and_pd(below, size))), of_x);
    return _mm256_movemask_pd(_mm256_and_pd(near, usual));
}

__attribute__((target("avx2,fma"))) __m256 fmodf_8(__m256 x, __m256 y) {
    __m256d low, high;
    const int a = rest_of_4(_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_castps256_ps128(y)), low);
    const int b = rest_of_4(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)), _mm256_cvtps_pd(_mm256_extractf128_ps(y, 1)), high);
    const __m256 rest = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
    // The smaller number is its own rest, as fmodf has it, also one that arithmetic takes for 0 here.
    const __m256 sign = _mm256_set1_ps(-0.0F);
    const __m256 smaller = _mm256_cmp_ps(_mm256_andnot_ps(sign, x), _mm256_andnot_ps(sign, y), _CMP_LT_OQ);
    const __m256 out = _mm256_blendv_ps(rest, x, smaller);
    const auto done = static_cast<unsigned>(a | b << 4);
    if (done == 0xFF) return out;
    alignas(32) float xs[8], ys[8], rs[8];
    _mm256_store_ps(xs, x), _mm256_store_ps(ys, y), _mm256_store_ps(rs, out);
    for (unsigned i = 0; i < 8; ++i)
        if (!(done >> i & 1U)) rs[i] = std::fmod(xs[i], ys[i]);
    return _mm256_load_ps(rs);
}

using Sixteen = float __attribute__((vector_size(64)));

__attribute__((target("avx512f,fma"))) Sixteen fmodf_16(Sixteen x, Sixteen y) {
    const __m256 a = fmodf_8(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), __builtin_shufflevector(y, y, 0, 1, 2, 3, 4, 5, 6, 7));
    const __m256 b =
        fmodf_8(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15), __builtin_shufflevector(y, y, 8, 9, 10, 11, 12, 13, 14, 15));
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

}  // namespace

void add_remainders(std::vector<VectorFunction>& all) {
    const auto address = [](auto* f) { return reinterpret_cast<void*>(f); };  // NOLINT: the JIT's symbols are addresses
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back({"fmodf", "jaxscope_fmodf_8", 8, address(&fmodf_8)});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"))
        all.push_back({"fmodf", "jaxscope_fmodf_16", 16, address(&fmodf_16)});
}

#else

void add_remainders(std::vector<VectorFunction>&) {}

#endif

}  // namespace jaxscope::exec
