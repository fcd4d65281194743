// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <functional>

#include <dnnl.h>

#include "base/checked.h"
#include "ir/types/element.h"
#include "jit/kernels/narrow_floats.h"
#include "jit/kernels/products/dot_routine.h"
#include "jit/kernels/products/dot_shape.h"
#include "jit/kernels/products/packed_product.h"
#include "jit/kernels/products/relaid_product.h"
#include "jit/kernels/products/slender_product.h"
#include "jit/kernels/products/small_product.h"
#include "jit/kernels/threads/parallel.h"

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

template <class T>
T to_number(const Element& e, DType d) {
    if constexpr (std::is_unsigned_v<T>)
        return is_inexact(d) ? static_cast<T>(e.number.real()) : static_cast<T>(e.integer);
    else if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(is_inexact(d) ? e.number.real() : static_cast<double>(e.integer));
    else
        return is_inexact(d) ? T(static_cast<typename T::value_type>(e.number.real()), static_cast<typename T::value_type>(e.number.imag()))
                             : T(static_cast<typename T::value_type>(e.integer));
}
template <class T>
Element to_element(T v) {
    if constexpr (std::is_unsigned_v<T>)
        return {static_cast<std::int64_t>(v), {}};
    else if constexpr (std::is_floating_point_v<T>)
        return {0, {static_cast<double>(v), 0}};
    else
        return {0, {v.real(), v.imag()}};
}

template <class T>
void widen(const void* from, DType d, std::int64_t n, T* to) {
    if constexpr (std::is_same_v<T, float>) {
        if (d == DType::BF16) return widen_bf16(static_cast<const std::uint16_t*>(from), n, to);
        if (d == DType::F16) return widen_f16(static_cast<const std::uint16_t*>(from), n, to);
    }
    for (std::int64_t i = 0; i < n; ++i) to[i] = to_number<T>(load_element(d, static_cast<const std::byte*>(from) + i * byte_size(d)), d);
}
template <class T>
void narrow(const T* from, DType d, std::int64_t n, void* to) {
    if constexpr (std::is_same_v<T, float>) {
        if (d == DType::BF16) return narrow_bf16(from, n, static_cast<std::uint16_t*>(to));
        if (d == DType::F16) return narrow_f16(from, n, static_cast<std::uint16_t*>(to));
    }
    for (std::int64_t i = 0; i < n; ++i) store_element(d, static_cast<std::byte*>(to) + i * byte_size(d), to_element(from[i]));
}

class DotCall final : public LibraryCall {
public:
    DotCall(const Op& op, const DotShape& shape)
        : op_(op), shape_(shape), arithmetic_(arithmetic_of(op)), routine_(routine_of(shape.core, arithmetic_)) {
        std::int64_t at = 0;
        const auto reserve = [&](AvalRef a) {
            const std::int64_t here = at;
            at = checked_add(at, native(arithmetic_, a->dtype) ? 0 : checked_align(checked_mul(a->size(), width(arithmetic_)), 64));
            return here;
        };
        lhs_at_ = reserve(op.in[0]), rhs_at_ = reserve(op.in[1]), out_at_ = reserve(op.out[0]);
        bytes_ = at;
        if (routine_ == DotRoutine::Packed) packed_bytes_ = bytes_to_pack();
    }
    std::int64_t scratch_bytes() const override { return checked_add(bytes_, checked_mul(packed_bytes_, threads)); }

    void run(void* const* in, void* const* out, void* scratch) const override {
        switch (arithmetic_) {
            case Arithmetic::F32:
                return run_as<float>(in, out, static_cast<char*>(scratch));
            case Arithmetic::F64:
                return run_as<double>(in, out, static_cast<char*>(scratch));
            case Arithmetic::C64:
                return run_as<std::complex<float>>(in, out, static_cast<char*>(scratch));
            case Arithmetic::C128:
                return run_as<std::complex<double>>(in, out, static_cast<char*>(scratch));
            case Arithmetic::Word32:
                return run_as<std::uint32_t>(in, out, static_cast<char*>(scratch));
            case Arithmetic::Word64:
                return run_as<std::uint64_t>(in, out, static_cast<char*>(scratch));
        }
    }

private:
    template <class T>
    void run_as(void* const* in, void* const* out, char* scratch) const {
        const auto operand = [&](std::size_t i, std::int64_t at) -> const T* {
            if (native(arithmetic_, op_.in[i]->dtype)) return static_cast<const T*>(in[i]);
            const DType d = op_.in[i]->dtype;
            shared(op_.in[i]->size(), [&](std::int64_t begin, std::int64_t end) {
                widen(static_cast<const std::byte*>(in[i]) + begin * byte_size(d), d, end - begin,
                      reinterpret_cast<T*>(scratch + at) + begin);
            });
            return reinterpret_cast<const T*>(scratch + at);
        };
        const T *a = operand(0, lhs_at_), *b = operand(1, rhs_at_);
        const bool direct = native(arithmetic_, op_.out[0]->dtype);
        T* result = direct ? static_cast<T*>(out[0]) : reinterpret_cast<T*>(scratch + out_at_);
        const std::int64_t n = op_.out[0]->size();
        if (n == 0) return;
        products(a, b, result, scratch + bytes_);
        if (direct) return;
        const DType d = op_.out[0]->dtype;
        shared(n, [&](std::int64_t begin, std::int64_t end) {
            narrow(result + begin, d, end - begin, static_cast<std::byte*>(out[0]) + begin * byte_size(d));
        });
    }
    template <class Fn>
    void shared(std::int64_t n, const Fn& fn) const {
        parallel_for(threads, n, 2.0 * static_cast<double>(n), fn);
    }

    template <class T>
    void products(const T* a, const T* b, T* out, char* packed) const {
        const std::int64_t count = shape_.count();
        const DotCore& c = shape_.core;
        const double flops = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
        // Many small products: whole ones to each thread. Large ones: each is cut where its result is longer.
        if (count >= threads && count > 1 && flops < 2e8)
            return parallel_shares(flops * static_cast<double>(count) < kParallelWork ? 1 : threads, count, 1,
                                   [&](int thread, std::int64_t begin, std::int64_t end) {
                                       for (std::int64_t i = begin; i < end; ++i)
                                           part(a, b, out, i, {0, c.m, 0, c.n}, packed + thread * packed_bytes_);
                                   });
        const bool rows = c.m >= c.n;
        const std::int64_t length = rows ? c.m : c.n, share = share_of(length, flops);
        for (std::int64_t i = 0; i < count; ++i)
            run_shares(threads, (length + share - 1) / share, [&](int thread, std::int64_t s) {
                const std::int64_t begin = s * share, end = std::min(length, begin + share);
                part(a, b, out, i, rows ? Part{begin, end, 0, c.n} : Part{0, c.m, begin, end}, packed + thread * packed_bytes_);
            });
    }
    /// How much of a result's longer side each thread computes: a multiple of what the library's inner loop takes at once.
    std::int64_t share_of(std::int64_t length, double flops) const {
        constexpr double kOfOneThread = 400000;  // 4 microseconds
        constexpr std::int64_t kUnit = 48;
        if (threads <= 1 || flops < kOfOneThread || length <= kUnit) return std::max<std::int64_t>(length, 1);
        const std::int64_t each = (length + threads - 1) / threads;
        return (each + kUnit - 1) / kUnit * kUnit;
    }

    /// Rows [m0, m1) and columns [n0, n1).
    struct Part {
        std::int64_t m0, m1, n0, n1;
    };
    std::int64_t bytes_to_pack() const {
        switch (arithmetic_) {
            case Arithmetic::F64:
                return packed_bytes<double>(shape_.core);
            case Arithmetic::C64:
                return packed_bytes<std::complex<float>>(shape_.core);
            case Arithmetic::C128:
                return packed_bytes<std::complex<double>>(shape_.core);
            default:
                return packed_bytes<float>(shape_.core);
        }
    }
    /// Whole or a part of the core, by the routine that was chosen for all of it: a part may be too short for it, but no more than that.
    template <class T>
    void one(const DotCore& core, const T* a, const T* b, T* out, bool add, char* packed) const {
        if constexpr (std::is_same_v<T, float>)
            if (routine_ == DotRoutine::Library) return sgemm(core, a, b, out, add ? 1.0f : 0.0f);
        if constexpr (!std::is_same_v<T, std::uint64_t>)
            if (routine_ == DotRoutine::Packed) return packed_product(core, a, b, out, {.add = add}, packed);
        if (is_slender(core) && core.k > 0) return slender_product(core, a, b, out, add);
        if (routine_ == DotRoutine::Small) return small_product(core, a, b, out, add);
        plain_product(core, a, b, out, add);
    }
    /// A part of product number `index`.
    template <class T>
    void part(const T* a, const T* b, T* out, std::int64_t index, const Part& p, char* packed) const {
        DotCore core = shape_.core;
        core.m = p.m1 - p.m0, core.n = p.n1 - p.n0;
        a += p.m0 * core.lhs_m, b += p.n0 * core.rhs_n;
        out += p.m0 * core.out_m + p.n0 * core.out_n;
        const DotLoop at = shape_.place(index);
        a += at.lhs, b += at.rhs, out += at.out;
        std::int64_t sums = 1;
        for (const DotLoop& l : shape_.sums) sums *= l.size;
        for (std::int64_t s = 0; s < sums; ++s) {
            const T *pa = a, *pb = b;
            std::int64_t rest = s;
            for (std::size_t l = shape_.sums.size(); l-- > 0;) {
                const DotLoop& loop = shape_.sums[l];
                pa += rest % loop.size * loop.lhs, pb += rest % loop.size * loop.rhs;
                rest /= loop.size;
            }
            one(core, pa, pb, out, s > 0, packed);
        }
    }

    Op op_;
    DotShape shape_;
    Arithmetic arithmetic_;
    DotRoutine routine_;
    std::int64_t lhs_at_ = 0, rhs_at_ = 0, out_at_ = 0, bytes_ = 0, packed_bytes_ = 0;  ///< packed: of each thread
};

}  // namespace

LibraryCallPtr make_dot(const Op& op, const DotKernel& spec, const Layouts& layouts, int threads) {
    const DotPlan plan = dot_plan(op, spec, layouts);
    const DotShape shape = dot_shape(op, spec, plan.layouts);
    LibraryCallPtr call = make_narrow_product(op, shape);
    if (!call) call = std::make_shared<DotCall>(op, shape);
    call->threads = threads;
    return plan.copied[0] || plan.copied[1] ? make_relaid_product(op, layouts, plan, std::move(call)) : call;
}

}  // namespace jaxscope::exec
