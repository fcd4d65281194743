// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/core_product.h"

#include <algorithm>
#include <complex>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include <dnnl.h>

#include "base/error.h"
#include "jit/kernels/library.h"
#include "jit/kernels/products/packed_product.h"
#include "jit/kernels/products/slender_product.h"
#include "jit/kernels/products/small_product.h"

namespace jaxscope::exec {

namespace {

void check(dnnl_status_t status) {
    if (status != dnnl_success)
        throw Error(ErrorCode::CannotRun, "the matrix library failed with status " + std::to_string(static_cast<int>(status)));
}

/// lhs, rhs with one stride of 1 each, out with rows or columns of stride 1.
void sgemm(const DotCore& c, const float* a, const float* b, float* out, float beta) {
    if (c.out_n != 1 && c.n != 1) {  // the result is stored by columns: the transposed product
        return sgemm(c.transposed(), b, a, out, beta);
    }
    const bool at = !(c.lhs_k == 1 || c.k == 1), bt = !(c.rhs_n == 1 || c.n == 1);
    const auto leading = [](std::int64_t stride, std::int64_t rows, std::int64_t cols) {
        return rows == 1 ? std::max<std::int64_t>(cols, 1) : std::max(stride, cols);
    };
    const std::int64_t lda = at ? leading(c.lhs_k, c.k, c.m) : leading(c.lhs_m, c.m, c.k);
    const std::int64_t ldb = bt ? leading(c.rhs_n, c.n, c.k) : leading(c.rhs_k, c.k, c.n);
    const std::int64_t ldc = leading(c.out_m, c.m, c.n);
    check(dnnl_sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', c.m, c.n, c.k, 1.0f, a, lda, b, ldb, beta, out, ldc));
}

}  // namespace

void start_matrix_library() {
    static std::once_flag started;
    std::call_once(started, [] {
        constexpr std::int64_t kSide = 16;
        std::vector<float> zeros(3 * kSide * kSide, 0.0f);
        const float *a = zeros.data(), *b = a + kSide * kSide;
        check(dnnl_sgemm('N', 'N', kSide, kSide, kSide, 1.0f, a, kSide, b, kSide, 0.0f, zeros.data() + 2 * kSide * kSide, kSide));
    });
}

std::int64_t core_product_bytes(DotRoutine routine, Arithmetic arithmetic, const DotCore& core) {
    if (routine != DotRoutine::Packed) return 0;
    switch (arithmetic) {
        case Arithmetic::F64:
            return packed_bytes<double>(core);
        case Arithmetic::C64:
            return packed_bytes<std::complex<float>>(core);
        case Arithmetic::C128:
            return packed_bytes<std::complex<double>>(core);
        default:
            return packed_bytes<float>(core);
    }
}

template <class T>
void core_product(DotRoutine routine, const DotCore& core, const T* lhs, const T* rhs, T* out, bool add, void* scratch) {
    if constexpr (std::is_same_v<T, float>)
        if (routine == DotRoutine::Library) return sgemm(core, lhs, rhs, out, add ? 1.0f : 0.0f);
    if constexpr (!std::is_same_v<T, std::uint64_t>)
        if (routine == DotRoutine::Packed) return packed_product(core, lhs, rhs, out, {.add = add}, scratch);
    if (is_slender(core) && core.k > 0) return slender_product(core, lhs, rhs, out, add);
    if (routine == DotRoutine::Small) return small_product(core, lhs, rhs, out, add);
    plain_product(core, lhs, rhs, out, add);
}

#define JAXSCOPE_CORE(T) template void core_product<T>(DotRoutine, const DotCore&, const T*, const T*, T out[], bool, void*);
JAXSCOPE_CORE(float)
JAXSCOPE_CORE(double)
JAXSCOPE_CORE(std::complex<float>)
JAXSCOPE_CORE(std::complex<double>)
JAXSCOPE_CORE(std::uint32_t)
JAXSCOPE_CORE(std::uint64_t)
#undef JAXSCOPE_CORE

}  // namespace jaxscope::exec
