// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "jit/kernels/products/dot_shape.h"
#include "jit/kernels/products/onednn.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

using dnnl::memory;

bool narrow_types(DType l, DType r, DType o) {
    if (l == DType::BF16 && r == DType::BF16) return o == DType::BF16 || o == DType::F32;
    return (l == DType::S8 || l == DType::U8) && r == DType::S8 && o == DType::S32 && multiplies_bytes_exactly();
}

/// A product of a fixed size, with the library's scratch memory.
struct Block {
    dnnl::matmul product;
    memory::desc lhs, rhs, out, scratchpad;
    std::string_view way;  ///< of the library's to compute it
    bool in(const char* name) const { return way.find(name) != std::string_view::npos; }
};

/// Blocks of one side of the result.
struct Cut {
    bool by_rows = true;
    std::int64_t length = 0, block = 1;
    std::optional<Block> whole, rest;  ///< the last one may be shorter
    std::int64_t blocks() const { return (length + block - 1) / block; }
    bool all_in(const char* name) const { return whole->in(name) && (!rest || rest->in(name)); }
    bool any_in(const char* name) const { return whole->in(name) || (rest && rest->in(name)); }
};

/// Each product is cut into blocks, whose size doesn't depend on the number of threads: of its result's longer side, but for the library's
/// quickest way (batches of small products, three to six times as quick), which takes dense matrices alone.
class NarrowProduct final : public LibraryCall {
public:
    NarrowProduct(const Op& op, const DotShape& shape) : shape_(shape) {
        DotCore& core = shape_.core;
        swapped_ = core.out_n != 1 && core.n != 1;  // the library stores by rows: the transposed product
        if (swapped_) core = core.transposed();
        for (std::size_t i = 0; i < 3; ++i) {
            const DType d = i < 2 ? op.in[swapped_ ? 1 - i : i]->dtype : op.out[0]->dtype;
            types_[i] = *library_type(d), widths_[i] = byte_size(d);
        }
        const DotCore& c = shape_.core;
        const double work = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
        constexpr double kWorthCutting = 4e6;
        constexpr std::int64_t kLeastRows = 16;
        cut_ = cut(c.m >= c.n, work >= kWorthCutting);
        if (work >= kWorthCutting && !cut_.all_in("brg") && (cut_.by_rows ? c.n : c.m) >= 2 * kLeastRows)
            if (Cut other = cut(!cut_.by_rows, true); other.all_in("brg")) cut_ = std::move(other);
        for (const auto& b : {cut_.whole, cut_.rest})
            if (b) own_bytes_ = std::max(own_bytes_, checked_align(static_cast<std::int64_t>(b->scratchpad.get_size()), 64));
        serial_ = work * static_cast<double>(shape_.count()) < kWorthCutting;
    }
    bool complete() const { return !cut_.any_in("ref"); }
    std::int64_t scratch_bytes() const override { return checked_mul(own_bytes_, threads); }

    void run(void* const* in, void* const* out, void* scratch) const override { compute(in, out, scratch, {}); }

    bool has_pieces(std::int64_t granule) const override {
        const DotCore& c = shape_.core;
        if (swapped_ || !cut_.by_rows || !c.dense_rows()) return false;
        return c.m * c.n % granule == 0 && (cut_.blocks() == 1 || cut_.block * c.n % granule == 0);
    }
    void run_in_pieces(void* const* in, void* const* out, void* scratch, std::int64_t, const BehindPieces& behind) const override {
        compute(in, out, scratch, behind);
    }

private:
    void compute(void* const* in, void* const* out, void* scratch, const BehindPieces& behind) const {
        const DotCore& c = shape_.core;
        const std::int64_t blocks = cut_.blocks();
        const bool serial = serial_ && behind.work < kParallelWork;
        run_shares_of(serial, shape_.count() * blocks, [&](int thread, std::int64_t i) {
            DotLoop at = shape_.place(i / blocks);
            if (swapped_) std::swap(at.lhs, at.rhs);
            const std::int64_t first = i % blocks * cut_.block;
            const Block& b = first + cut_.block <= cut_.length ? *cut_.whole : *cut_.rest;
            const auto place = [&](std::size_t k, void* base, std::int64_t offset) {
                return static_cast<char*>(base) + offset * widths_[k];
            };
            const std::int64_t row = cut_.by_rows ? first : 0, column = cut_.by_rows ? 0 : first;
            dnnl::stream stream(cpu_engine());
            b.product.execute(
                stream, {{DNNL_ARG_SRC, memory(b.lhs, cpu_engine(), place(0, in[swapped_ ? 1 : 0], at.lhs + row * c.lhs_m))},
                         {DNNL_ARG_WEIGHTS, memory(b.rhs, cpu_engine(), place(1, in[swapped_ ? 0 : 1], at.rhs + column * c.rhs_n))},
                         {DNNL_ARG_DST, memory(b.out, cpu_engine(), place(2, out[0], at.out + row * c.out_m + column * c.out_n))},
                         {DNNL_ARG_SCRATCHPAD, memory(b.scratchpad, cpu_engine(), static_cast<char*>(scratch) + thread * own_bytes_)}});
            if (cut_.by_rows)
                behind.done(behind.context, thread, at.out + row * c.n, at.out + std::min(cut_.length, row + cut_.block) * c.n);
        });
    }
    Cut cut(bool by_rows, bool several) const {
        constexpr std::int64_t kUnit = 64, kMost = 512;
        Cut out{by_rows, by_rows ? shape_.core.m : shape_.core.n, 1, {}, {}};
        // An even number of blocks, so that two threads have as much to do.
        const std::int64_t pieces = several ? std::max<std::int64_t>(2, (out.length / kMost + 1) / 2 * 2) : 1;
        const std::int64_t unit = out.length / pieces >= kUnit ? kUnit : 1;
        out.block = pieces == 1 ? out.length : std::min(out.length, ((out.length + pieces - 1) / pieces + unit - 1) / unit * unit);
        out.whole = make_block(by_rows, out.block);
        if (out.length % out.block != 0) out.rest = make_block(by_rows, out.length % out.block);
        return out;
    }
    Block make_block(bool by_rows, std::int64_t length) const {
        const DotCore& c = shape_.core;
        const std::int64_t m = by_rows ? length : c.m, n = by_rows ? c.n : length;
        // A dimension of one element has any stride: the one that makes the operand dense.
        const auto describe = [](memory::data_type t, std::int64_t rows, std::int64_t cols, std::int64_t row, std::int64_t col) {
            if (cols == 1 && row != 1) col = 1;
            if (rows == 1 && col == 1) row = cols;
            return memory::desc({rows, cols}, t, memory::dims{row, col});
        };
        Block b;
        b.lhs = describe(types_[0], m, c.k, c.lhs_m, c.lhs_k), b.rhs = describe(types_[1], c.k, n, c.rhs_k, c.rhs_n);
        b.out = describe(types_[2], m, n, c.out_m, c.out_n);
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(b.lhs, b.rhs, b.out), attr, cpu_engine());
        b.product = dnnl::matmul(pd), b.scratchpad = pd.scratchpad_desc();
        b.way = pd.impl_info_str();  // a literal of the library's
        return b;
    }
    template <class Fn>
    void run_shares_of(bool serial, std::int64_t n, const Fn& fn) const {
        // More products than the pool counts: each share takes several.
        const std::int64_t most = 4096, each = (n + most - 1) / most;
        run_shares(serial ? 1 : threads, (n + each - 1) / each, [&](int thread, std::int64_t share) {
            for (std::int64_t i = share * each; i < std::min(n, (share + 1) * each); ++i) fn(thread, i);
        });
    }

    DotShape shape_;
    std::array<memory::data_type, 3> types_{};
    std::array<std::int64_t, 3> widths_{};
    bool swapped_ = false, serial_ = false;
    std::int64_t own_bytes_ = 0;
    Cut cut_;
};

}  // namespace

LibraryCallPtr make_narrow_product(const Op& op, const DotShape& shape) {
    if (!narrow_types(op.in[0]->dtype, op.in[1]->dtype, op.out[0]->dtype)) return nullptr;
    const DotCore& c = shape.core;
    constexpr std::int64_t kFew = 8;  // sums: the library computes them one by one
    if (c.m * c.n < kFew || !shape.sums.empty() || op.in[0]->size() == 0 || op.in[1]->size() == 0 || op.out[0]->size() == 0 || c.k == 0)
        return nullptr;
    try {
        auto call = std::make_shared<NarrowProduct>(op, shape);
        if (call->complete()) return call;
    } catch (const dnnl::error&) {  // a layout or type that the library refuses
    }
    return nullptr;
}

}  // namespace jaxscope::exec
