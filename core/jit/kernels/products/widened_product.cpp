// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "jit/kernels/products/converted_lines.h"
#include "jit/kernels/products/core_product.h"
#include "jit/kernels/products/dot_shape.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

/// A block of a matrix as lines of neighbours; a wide copy has one line behind the other.
struct Lines {
    std::int64_t count, length, stride, step;
    bool by_rows;

    static Lines of(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
        const bool by_rows = row == column ? columns >= rows : column == 1 || (row != 1 && column < row);
        if (by_rows) return {rows, columns, row, column, true};
        return {columns, rows, column, row, false};
    }
    std::int64_t row() const { return by_rows ? length : 1; }
    std::int64_t column() const { return by_rows ? 1 : length; }
    /// Calls fn(first element, elements, where in the copy): lines without gaps are one.
    template <class Fn>
    void each(const Fn& fn) const {
        if (step == 1 && stride == length) return fn(std::int64_t{0}, count * length, std::int64_t{0});
        for (std::int64_t i = 0; i < count; ++i) fn(i * stride, length, i * length);
    }
};

std::int64_t pieces_of(std::int64_t n, std::int64_t most) {
    return std::max<std::int64_t>(1, (n + most - 1) / std::max<std::int64_t>(most, 1));
}
/// The least length that cuts n into as many pieces as `most` does.
std::int64_t even(std::int64_t n, std::int64_t most) {
    const std::int64_t pieces = pieces_of(n, most);
    return std::max<std::int64_t>(1, (n + pieces - 1) / pieces);
}

/// The result is cut into blocks, each of which one thread sums up along k: what it reads stays in the second-level cache.
struct ProductBlocks {
    std::int64_t m, n, k;

    ProductBlocks(const DotShape& shape, int threads) {
        constexpr std::int64_t kNumbers = 1 << 17, kRows = 256, kColumns = 512, kDepth = 1024, kLeast = 48;
        constexpr double kWorthCutting = 4e6;
        const DotCore& c = shape.core;
        m = even(c.m, kRows), n = even(c.n, kColumns);
        const double work = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
        while (work >= kWorthCutting && shape.count() * rows(c) * columns(c) < threads && std::max(m, n) > kLeast) {
            std::int64_t& longer = m >= n ? m : n;
            longer = (longer + 1) / 2;
        }
        k = even(c.k, std::min(kDepth, kNumbers / std::max(m, n)));
    }
    std::int64_t rows(const DotCore& c) const { return pieces_of(c.m, m); }
    std::int64_t columns(const DotCore& c) const { return pieces_of(c.n, n); }
    std::int64_t depths(const DotCore& c) const { return pieces_of(c.k, k); }
};

class WidenedProduct final : public LibraryCall {
public:
    WidenedProduct(const Op& op, const DotShape& shape, Arithmetic arithmetic, int wanted)
        : shape_(shape), arithmetic_(arithmetic), blocks_(shape, wanted) {
        for (std::size_t i = 0; i < 3; ++i) {
            types_[i] = (i < 2 ? op.in[i] : op.out[0])->dtype;
            wide_[i] = !native(arithmetic, types_[i]);
        }
        const DotCore core = core_of(blocks_.m, blocks_.n, std::min(blocks_.k, shape.core.k));  // which may be none
        routine_ = routine_of(core, arithmetic);
        const std::array<std::int64_t, 3> numbers{core.m * core.k, core.k * core.n, core.m * core.n};
        for (std::size_t i = 0; i < 3; ++i) {
            at_[i] = own_bytes_;
            if (wide_[i]) own_bytes_ = checked_add(own_bytes_, checked_align(checked_mul(numbers[i], width(arithmetic)), 64));
        }
        core_at_ = own_bytes_;
        own_bytes_ = checked_add(own_bytes_, checked_align(core_product_bytes(routine_, arithmetic, core), 64));
    }
    std::int64_t scratch_bytes() const override { return checked_mul(own_bytes_, threads); }
    bool multiplies_by_library() const override { return routine_ == DotRoutine::Library && arithmetic_ == Arithmetic::F32; }

    void run(void* const* in, void* const* out, void* scratch) const override {
        const DotCore& c = shape_.core;
        if (c.m == 0 || c.n == 0 || shape_.count() == 0) return;
        const std::array<std::byte*, 3> memory{static_cast<std::byte*>(in[0]), static_cast<std::byte*>(in[1]),
                                               static_cast<std::byte*>(out[0])};
        const std::int64_t blocks = blocks_.rows(c) * blocks_.columns(c), tasks = shape_.count() * blocks;
        const double work = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
        const int sharers = work * static_cast<double>(shape_.count()) < kParallelWork ? 1 : threads;
        with_number(arithmetic_, [&]<class T>(T) {
            parallel_shares(sharers, tasks, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i)
                    block<T>(memory, i / blocks, i % blocks, static_cast<std::byte*>(scratch) + thread * own_bytes_);
            });
        });
    }

private:
    /// A block's core: wide copies lie as their operands do, in lines without gaps.
    DotCore core_of(std::int64_t m, std::int64_t n, std::int64_t k) const {
        DotCore core = shape_.core;
        core.m = m, core.n = n, core.k = k;
        if (const Lines l = lhs_lines(core); wide_[0]) core.lhs_m = l.row(), core.lhs_k = l.column();
        if (const Lines l = rhs_lines(core); wide_[1]) core.rhs_k = l.row(), core.rhs_n = l.column();
        if (const Lines l = out_lines(core); wide_[2]) core.out_m = l.row(), core.out_n = l.column();
        return core;
    }
    // Of a block that is as large as `core` says, in the equation's memory.
    Lines lhs_lines(const DotCore& core) const { return Lines::of(core.m, core.k, shape_.core.lhs_m, shape_.core.lhs_k); }
    Lines rhs_lines(const DotCore& core) const { return Lines::of(core.k, core.n, shape_.core.rhs_k, shape_.core.rhs_n); }
    Lines out_lines(const DotCore& core) const { return Lines::of(core.m, core.n, shape_.core.out_m, shape_.core.out_n); }

    /// Numbers of an operand from its element `first` on, as they lie or in a wide copy.
    template <class T>
    const T* operand(std::size_t i, const std::byte* memory, std::int64_t first, const Lines& lines, std::byte* scratch) const {
        const std::byte* from = memory + first * byte_size(types_[i]);
        if (!wide_[i]) return reinterpret_cast<const T*>(from);
        T* to = reinterpret_cast<T*>(scratch + at_[i]);
        lines.each([&](std::int64_t begin, std::int64_t n, std::int64_t there) {
            widen_line(from + begin * byte_size(types_[i]), types_[i], n, lines.step, to + there);
        });
        return to;
    }
    /// Block number `number` of product `index`.
    template <class T>
    void block(const std::array<std::byte*, 3>& memory, std::int64_t index, std::int64_t number, std::byte* scratch) const {
        const DotCore& c = shape_.core;
        const DotLoop at = shape_.place(index);
        const std::int64_t m = number / blocks_.columns(c) * blocks_.m, n = number % blocks_.columns(c) * blocks_.n;
        const std::int64_t rows = std::min(blocks_.m, c.m - m), columns = std::min(blocks_.n, c.n - n);
        std::byte* const place = memory[2] + (at.out + m * c.out_m + n * c.out_n) * byte_size(types_[2]);
        T* const out = reinterpret_cast<T*>(wide_[2] ? scratch + at_[2] : place);
        bool add = false;
        for (std::int64_t s = 0; s < shape_.sum_count(); ++s)
            for (std::int64_t d = 0; d < blocks_.depths(c); ++d, add = true) {
                const DotLoop sum = shape_.sum_place(s);
                const std::int64_t k = d * blocks_.k;
                const DotCore core = core_of(rows, columns, std::min(blocks_.k, c.k - k));
                const T* lhs = operand<T>(0, memory[0], at.lhs + sum.lhs + m * c.lhs_m + k * c.lhs_k, lhs_lines(core), scratch);
                const T* rhs = operand<T>(1, memory[1], at.rhs + sum.rhs + k * c.rhs_k + n * c.rhs_n, rhs_lines(core), scratch);
                core_product(routine_, core, lhs, rhs, out, add, scratch + core_at_);
            }
        if (!wide_[2]) return;
        const Lines lines = out_lines(core_of(rows, columns, 0));
        lines.each([&](std::int64_t first, std::int64_t count, std::int64_t there) {
            narrow_line(out + there, types_[2], count, lines.step, place + first * byte_size(types_[2]));
        });
    }

    DotShape shape_;
    Arithmetic arithmetic_;
    ProductBlocks blocks_;
    DotRoutine routine_ = DotRoutine::Plain;
    std::array<DType, 3> types_{};
    std::array<bool, 3> wide_{};        ///< left, right, result: isn't stored as it is computed with
    std::array<std::int64_t, 3> at_{};  ///< of the wide copies in a thread's scratch
    std::int64_t core_at_ = 0, own_bytes_ = 0;
};

}  // namespace

LibraryCallPtr make_widened_product(const Op& op, const DotShape& shape, Arithmetic arithmetic, int threads) {
    return std::make_shared<WidenedProduct>(op, shape, arithmetic, threads);
}

}  // namespace jaxscope::exec
