// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "base/checked.h"
#include "jit/kernels/products/conv_sides.h"
#include "jit/kernels/products/converted_lines.h"
#include "jit/kernels/products/core_product.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

/// Convolutions of few features whose points lie side by side (jnp.convolve, correlate2d), and banks of long filters over one signal or
/// two: each row of points is a product of the weights with the row itself, read again one element further for each tap. Of a type that
/// isn't computed in, rows are widened a tile at a time.
class RowConv final : public LibraryCall {
public:
    RowConv(const Op& op, const ConvKernel& spec)
        : k_(spec),
          lhs_(op.in[0]->shape, spec.lhs_spec),
          rhs_(op.in[1]->shape, spec.rhs_spec),
          out_(op.out[0]->shape, spec.out_spec),
          types_{op.in[0]->dtype, op.in[1]->dtype, op.out[0]->dtype},
          arithmetic_(arithmetic_of(op)),
          features_(rhs_.size[0] / spec.feature_groups),
          last_(rhs_.size.size() - 1),
          routine_(features_ > kFewFeatures ? DotRoutine::Packed : DotRoutine::Slender) {
        const std::int64_t number = width(arithmetic_), reach = (rhs_.size[last_] - 1) * spec.rhs_dilation.back();
        if (widened(types_.rhs)) weight_bytes_ = checked_align(checked_mul(rhs_.elements(), number), 64);
        product_bytes_ = checked_align(core_product_bytes(routine_, arithmetic_, {features_, kTile, rhs_.size[last_]}), 64);
        if (widened(types_.lhs)) line_bytes_ = checked_align(checked_mul(std::min(lhs_.size[last_], kTile + reach), number), 64);
        const std::int64_t sum_bytes = widened(types_.out) ? checked_align(features_ * kTile * number, 64) : 0;
        own_bytes_ = product_bytes_ + line_bytes_ + sum_bytes;
        for (std::size_t s = 2; s < last_; ++s) rows_ *= out_.size[s], row_taps_ *= rhs_.size[s];
        work_ = 2.0 * static_cast<double>(op.out[0]->size()) * static_cast<double>(rhs_.size[1] * row_taps_ * rhs_.size[last_]);
    }
    std::int64_t scratch_bytes() const override { return checked_add(weight_bytes_, checked_mul(own_bytes_, threads)); }
    static bool fits(const Op& op, const ConvKernel& spec) {
        constexpr std::int64_t kFewPairs = 4;
        const DType d = op.out[0]->dtype;
        const bool numbers = d != DType::Bool && d != DType::Float0 && (is_inexact(d) || is_integer(d));
        if (!numbers || op.in[0]->dtype != d || op.in[1]->dtype != d || spec.batch_groups != 1 || spec.window_strides.empty()) return false;
        const auto ones = [](const Dims& dims) { return std::ranges::all_of(dims, [](std::int64_t n) { return n == 1; }); };
        if (!ones(spec.lhs_dilation) || spec.window_strides.back() != 1) return false;
        const ConvSide lhs(op.in[0]->shape, spec.lhs_spec), rhs(op.in[1]->shape, spec.rhs_spec), out(op.out[0]->shape, spec.out_spec);
        if ((lhs.stride.back() != 1 && lhs.size.back() != 1) || (out.stride.back() != 1 && out.size.back() != 1)) return false;
        const std::int64_t features = rhs.size[0] / spec.feature_groups;
        if (arithmetic_of(op) != Arithmetic::F32) return features <= kFewFeatures;
        // Against the matrix library: measured.
        constexpr std::int64_t kManyTaps = 8, kFilterTaps = 33, kFewSignals = 2, kManyFilters = 128;
        const bool bank = rhs.size.size() == 3 && rhs.size[1] <= kFewSignals && features <= kManyFilters &&
                          rhs.size.back() >= kFilterTaps && out.size.back() >= kTile / 2;
        if (bank && d == DType::F32) return true;
        return features * rhs.size[1] <= kFewPairs && (rhs.size.size() == 3 || rhs.size.back() >= kManyTaps);
    }

    void run(void* const* in, void* const* out, void* scratch) const override {
        const std::byte *x = static_cast<const std::byte*>(in[0]), *w = static_cast<const std::byte*>(in[1]);
        auto* const own = static_cast<std::byte*>(scratch);
        with_number(arithmetic_, [&]<class T>(T) {
            if (widened(types_.rhs)) widen_line(w, types_.rhs, rhs_.elements(), 1, reinterpret_cast<T*>(own));
            all(x, reinterpret_cast<const T*>(widened(types_.rhs) ? own : w), static_cast<std::byte*>(out[0]), own + weight_bytes_);
        });
    }

private:
    static constexpr std::int64_t kTile = 2048;  ///< points of a task
    static constexpr std::int64_t kFewFeatures = 4;

    bool widened(DType d) const { return !native(arithmetic_, d); }

    template <class T>
    void all(const std::byte* x, const T* w, std::byte* out, std::byte* scratch) const {
        const std::int64_t tiles = (out_.size[last_] + kTile - 1) / kTile, groups = k_.feature_groups;
        const int sharers = work_ < kParallelWork ? 1 : threads;
        parallel_shares(sharers, out_.size[0] * groups * rows_ * tiles, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t row = i / tiles % rows_, group = i / tiles / rows_ % groups, batch = i / tiles / rows_ / groups;
                const std::int64_t first = i % tiles * kTile;
                const Tile<T> tile{row, first, std::min(out_.size[last_], first + kTile), w + group * features_ * rhs_.stride[0],
                                   scratch + thread * own_bytes_};
                const std::int64_t from = batch * lhs_.stride[0] + group * rhs_.size[1] * lhs_.stride[1],
                                   to = batch * out_.stride[0] + group * features_ * out_.stride[1] + out_.place(row, last_) + first;
                fill(tile, x + from * byte_size(types_.lhs), out + to * byte_size(types_.out));
            }
        });
    }
    /// Points [begin, end) of row `row`, of all features of a group.
    template <class T>
    struct Tile {
        std::int64_t row, begin, end;
        const T* weights;
        std::byte* own;  ///< scratch memory of a thread
    };
    /// Part of a row of the left operand, from element `first` on.
    template <class T>
    struct Line {
        const T* numbers;
        std::int64_t first;
    };
    /// `out`: of the tile's first point.
    template <class T>
    void fill(const Tile<T>& tile, const std::byte* x, std::byte* out) const {
        const bool apart = widened(types_.out);
        T* sums = reinterpret_cast<T*>(apart ? tile.own + product_bytes_ + line_bytes_ : out);
        const std::int64_t pitch = apart ? kTile : out_.stride[1], points = tile.end - tile.begin;
        const ConvTaps taps{k_, lhs_, rhs_, out_};
        bool add = false;
        for (std::int64_t tap = 0; tap < row_taps_; ++tap) {
            std::int64_t at = 0;
            if (!taps.locate(tile.row, tap, last_, at)) continue;
            const std::int64_t weight = rhs_.place(tap, last_);
            for (std::int64_t i = 0; i < rhs_.size[1]; ++i, add = true)
                add_row(tile, line_of(tile, x + (at + i * lhs_.stride[1]) * byte_size(types_.lhs)),
                        tile.weights + weight + i * rhs_.stride[1], sums, pitch, add);
        }
        for (std::int64_t f = 0; f < features_; ++f) {
            T* const row = sums + f * pitch;
            if (!add) std::fill_n(row, points, T(0));
            if (apart) narrow_line(row, types_.out, points, 1, out + f * out_.stride[1] * byte_size(types_.out));
        }
    }
    /// What the tile reads of a row, or the row.
    template <class T>
    Line<T> line_of(const Tile<T>& tile, const std::byte* row) const {
        if (!widened(types_.lhs)) return {reinterpret_cast<const T*>(row), 0};
        const std::int64_t pad = k_.padding.back().first, reach = (rhs_.size[last_] - 1) * k_.rhs_dilation.back();
        const std::int64_t first = std::clamp<std::int64_t>(tile.begin - pad, 0, lhs_.size[last_]),
                           behind = std::clamp<std::int64_t>(tile.end - pad + reach, first, lhs_.size[last_]);
        T* const out = reinterpret_cast<T*>(tile.own + product_bytes_);
        widen_line(row + first * byte_size(types_.lhs), types_.lhs, behind - first, 1, out);
        return {out, first};
    }
    /// Where every tap lies inside of the row, one product; at its ends one for each point, of the taps that do.
    template <class T>
    void add_row(const Tile<T>& tile, Line<T> x, const T* w, T* sums, std::int64_t pitch, bool add) const {
        const std::int64_t pad = k_.padding.back().first, step = k_.rhs_dilation.back(), taps = rhs_.size[last_], length = lhs_.size[last_];
        const std::int64_t low = std::clamp(pad, tile.begin, tile.end), high = std::clamp(length + pad - (taps - 1) * step, low, tile.end);
        const auto product = [&](DotRoutine routine, std::int64_t point, std::int64_t points, std::int64_t tap, std::int64_t count) {
            const DotCore core{features_, points, count, rhs_.stride[0], rhs_.stride[last_], step, 1, pitch, 1};
            const std::int64_t at = count > 0 ? point + tap * step - pad - x.first : 0;
            core_product(routine, core, w + tap * rhs_.stride[last_], x.numbers + at, sums + (point - tile.begin), add, tile.own);
        };
        if (high > low) product(routine_, low, high - low, 0, taps);
        const auto alone = [&](std::int64_t point) {
            const std::int64_t before = std::max<std::int64_t>(pad - point, 0), behind = length - 1 + pad - point;
            const std::int64_t tap = (before + step - 1) / step, stop = behind < 0 ? 0 : std::min(taps, behind / step + 1);
            product(DotRoutine::Slender, point, 1, tap, std::max<std::int64_t>(stop - tap, 0));
        };
        for (std::int64_t p = tile.begin; p < low; ++p) alone(p);
        for (std::int64_t p = high; p < tile.end; ++p) alone(p);
    }

    struct Types {
        DType lhs, rhs, out;
    };

    ConvKernel k_;
    ConvSide lhs_, rhs_, out_;
    Types types_;
    Arithmetic arithmetic_;
    std::int64_t features_;
    std::size_t last_;  ///< dimension of the points that lie side by side
    DotRoutine routine_;
    // Scratch memory: weights that all threads read; of a thread what a product takes, a line of the left operand, sums of a tile.
    std::int64_t weight_bytes_ = 0, product_bytes_ = 0, line_bytes_ = 0, own_bytes_ = 0;
    std::int64_t rows_ = 1, row_taps_ = 1;
    double work_ = 0;
};

}  // namespace

LibraryCallPtr make_row_conv(const Op& op, const ConvKernel& spec) {
    return RowConv::fits(op, spec) ? std::make_shared<RowConv>(op, spec) : nullptr;
}

}  // namespace jaxscope::exec
