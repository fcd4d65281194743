// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "jit/kernels/products/core_product.h"
#include "jit/kernels/products/dot_shape.h"
#include "jit/kernels/products/relaid_product.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

/// A product of operands that are computed with as they are stored.
class DotCall final : public LibraryCall {
public:
    DotCall(const DotShape& shape, Arithmetic arithmetic, std::int64_t added_bytes)
        : shape_(shape), arithmetic_(arithmetic), routine_(routine_of(shape.core, arithmetic)), added_bytes_(added_bytes) {
        own_bytes_ = core_product_bytes(routine_, arithmetic, shape.core);
    }
    std::int64_t scratch_bytes() const override { return checked_mul(own_bytes_, threads); }

    bool in_place(std::size_t in, std::size_t out) const override { return in == 2 && out == 0 && added_bytes_ > 0; }

    void run(void* const* in, void* const* out, void* scratch) const override {
        if (added_bytes_ > 0 && in[2] != out[0]) std::memcpy(out[0], in[2], static_cast<std::size_t>(added_bytes_));
        with_number(arithmetic_, [&]<class T>(T) {
            products(static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out[0]), static_cast<char*>(scratch));
        });
    }

private:
    template <class T>
    void products(const T* a, const T* b, T* out, char* scratch) const {
        const std::int64_t count = shape_.count();
        const DotCore& c = shape_.core;
        if (count == 0 || c.m == 0 || c.n == 0) return;
        const double flops = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
        // Many small products: whole ones to each thread. Large ones: each is cut where its result is longer.
        if (count >= threads && count > 1 && flops < 2e8)
            return parallel_shares(flops * static_cast<double>(count) < kParallelWork ? 1 : threads, count, 1,
                                   [&](int thread, std::int64_t begin, std::int64_t end) {
                                       for (std::int64_t i = begin; i < end; ++i)
                                           part(a, b, out, i, {0, c.m, 0, c.n}, scratch + thread * own_bytes_);
                                   });
        const bool rows = c.m >= c.n;
        const std::int64_t length = rows ? c.m : c.n, share = share_of(length, flops);
        for (std::int64_t i = 0; i < count; ++i)
            run_shares(threads, (length + share - 1) / share, [&](int thread, std::int64_t s) {
                const std::int64_t begin = s * share, end = std::min(length, begin + share);
                part(a, b, out, i, rows ? Part{begin, end, 0, c.n} : Part{0, c.m, begin, end}, scratch + thread * own_bytes_);
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
    /// A part of product number `index`.
    template <class T>
    void part(const T* a, const T* b, T* out, std::int64_t index, const Part& p, char* scratch) const {
        DotCore core = shape_.core;
        core.m = p.m1 - p.m0, core.n = p.n1 - p.n0;
        const DotLoop at = shape_.place(index);
        a += at.lhs + p.m0 * core.lhs_m, b += at.rhs + p.n0 * core.rhs_n;
        out += at.out + p.m0 * core.out_m + p.n0 * core.out_n;
        for (std::int64_t s = 0; s < shape_.sum_count(); ++s) {
            const DotLoop sum = shape_.sum_place(s);
            core_product(routine_, core, a + sum.lhs, b + sum.rhs, out, s > 0 || added_bytes_ > 0, scratch);
        }
    }

    DotShape shape_;
    Arithmetic arithmetic_;
    DotRoutine routine_;
    std::int64_t own_bytes_ = 0;  ///< scratch of each thread
    std::int64_t added_bytes_;    ///< of the operand that the product is added to; 0 where there is none
};

}  // namespace

LibraryCallPtr make_dot(const Op& op, const DotKernel& spec, const Layouts& layouts, int threads) {
    const DotPlan plan = dot_plan(op, spec, layouts);
    const DotShape shape = dot_shape(op, spec, plan.layouts);
    const Arithmetic arithmetic = arithmetic_of(op);
    const bool as_stored =
        native(arithmetic, op.in[0]->dtype) && native(arithmetic, op.in[1]->dtype) && native(arithmetic, op.out[0]->dtype);
    JAXSCOPE_ASSERT(as_stored || !spec.adds);
    LibraryCallPtr call = spec.adds ? nullptr : make_narrow_product(op, shape);
    if (!call)
        call = as_stored ? std::make_shared<DotCall>(shape, arithmetic, spec.adds ? op.out[0]->bytes() : 0)
                         : make_widened_product(op, shape, arithmetic, threads);
    call->threads = threads;
    return plan.copied[0] || plan.copied[1] ? make_relaid_product(op, layouts, plan, std::move(call)) : call;
}

}  // namespace jaxscope::exec
