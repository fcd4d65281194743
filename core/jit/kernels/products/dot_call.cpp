// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>

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

    void run(void* const* in, void* const* out, void* scratch) const override { compute(in, out, scratch, nullptr); }

    bool multiplies_by_library() const override { return routine_ == DotRoutine::Library && arithmetic_ == Arithmetic::F32; }

    bool has_pieces(std::int64_t granule) const override {
        const DotCore& c = shape_.core;
        if (c.m == 0 || c.n == 0 || !c.dense_rows()) return false;
        const std::int64_t rows = rows_of(granule), share = is_small() ? c.m : share_of(c.m, flops(), rows);
        if (c.m % rows != 0 || rows > kLeastRows) return false;
        if (!is_small() && c.m < c.n && flops() >= kOfOneThread) return false;  // its columns are shared
        constexpr std::int64_t kInCache = 1 << 20;
        return c.k <= kFewTerms || share * c.n * width(arithmetic_) <= kInCache;
    }
    void run_in_pieces(void* const* in, void* const* out, void* scratch, std::int64_t granule, const BehindPieces& behind) const override {
        const Pieces pieces(behind, rows_of(granule), *this);
        compute(in, out, scratch, &pieces);
    }

private:
    static constexpr double kOfOneThread = 400000;  ///< 4 microseconds
    /// Of a short sum the library's own copy of an operand, once for each piece, costs less than a result that leaves the cache.
    static constexpr std::int64_t kFewTerms = 256, kLeastRows = 256, kPieceBytes = 1 << 19;

    struct Pieces {
        Pieces(const BehindPieces& behind, std::int64_t unit, const DotCall& call) : behind(behind), unit(unit), rows(call.shape_.core.m) {
            const DotCore& c = call.shape_.core;
            if (c.k <= kFewTerms) rows = std::max(kLeastRows, kPieceBytes / (c.n * width(call.arithmetic_))) / unit * unit;
        }
        const BehindPieces& behind;
        std::int64_t unit, rows;  ///< rows of the result that go together, and how many a piece has
    };
    std::int64_t rows_of(std::int64_t granule) const { return granule / std::gcd(granule, shape_.core.n); }
    double flops() const {
        const DotCore& c = shape_.core;
        return 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
    }
    /// Many small products: whole ones to each thread. Large ones: each is cut where its result is longer.
    bool is_small() const { return shape_.count() >= threads && shape_.count() > 1 && flops() < 2e8; }

    void compute(void* const* in, void* const* out, void* scratch, const Pieces* pieces) const {
        if (added_bytes_ > 0 && in[2] != out[0]) std::memcpy(out[0], in[2], static_cast<std::size_t>(added_bytes_));
        with_number(arithmetic_, [&]<class T>(T) {
            products(static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out[0]), static_cast<char*>(scratch),
                     pieces);
        });
    }
    template <class T>
    void products(const T* a, const T* b, T* out, char* scratch, const Pieces* pieces) const {
        const auto count = shape_.count();
        const DotCore& c = shape_.core;
        if (count == 0 || c.m == 0 || c.n == 0) return;
        const double work = flops() + (pieces ? pieces->behind.work / static_cast<double>(count) : 0);
        const auto compute = [&](int thread, std::int64_t i, const Part& p) {
            char* const own = scratch + thread * own_bytes_;
            pieces ? in_pieces(a, b, out, i, p, own, thread, *pieces) : part(a, b, out, i, p, own);
        };
        if (is_small())
            return parallel_shares(work * static_cast<double>(count) < kParallelWork ? 1 : threads, count, 1,
                                   [&](int thread, std::int64_t begin, std::int64_t end) {
                                       for (std::int64_t i = begin; i < end; ++i) compute(thread, i, {0, c.m, 0, c.n});
                                   });
        const bool rows = pieces || c.m >= c.n;
        const std::int64_t length = rows ? c.m : c.n, share = share_of(length, work, pieces ? pieces->unit : 1);
        for (std::int64_t i = 0; i < count; ++i)
            run_shares(threads, (length + share - 1) / share, [&](int thread, std::int64_t s) {
                const std::int64_t begin = s * share, end = std::min(length, begin + share);
                compute(thread, i, rows ? Part{begin, end, 0, c.n} : Part{0, c.m, begin, end});
            });
    }
    /// How much of a result's longer side each thread computes: a multiple of whole vectors, and of `unit`. The library takes 48 numbers at
    /// once, and two vectors or one at the end as quickly: shares of whole 48s gave one of two threads 96 of 128 columns.
    std::int64_t share_of(std::int64_t length, double work, std::int64_t unit) const {
        const std::int64_t at_once = routine_ == DotRoutine::Library ? 16 : 8;
        if (threads <= 1 || work < kOfOneThread || length <= at_once) return std::max<std::int64_t>(length, 1);
        const std::int64_t each = (length + threads - 1) / threads, step = (at_once + unit - 1) / unit * unit;
        return (each + step - 1) / step * step;
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

    /// Whole rows of product number `index`.
    template <class T>
    void in_pieces(const T* a, const T* b, T* out, std::int64_t index, const Part& p, char* scratch, int thread,
                   const Pieces& pieces) const {
        const std::int64_t first = shape_.place(index).out, n = shape_.core.n;
        for (std::int64_t m = p.m0; m < p.m1; m += pieces.rows) {
            const std::int64_t end = std::min(p.m1, m + pieces.rows);
            part(a, b, out, index, {m, end, p.n0, p.n1}, scratch);
            pieces.behind.done(pieces.behind.context, thread, first + m * n, first + end * n);
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
