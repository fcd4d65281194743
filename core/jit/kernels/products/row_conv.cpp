// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "base/checked.h"
#include "jit/kernels/products/conv_sides.h"
#include "jit/kernels/products/core_product.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

/// Convolutions of few features whose points lie side by side (jnp.convolve, correlate2d), and banks of long filters over one signal or
/// two: each row of points is a product of the weights with the row itself, read again one element further for each tap.
class RowConv final : public LibraryCall {
public:
    RowConv(const Op& op, const ConvKernel& spec)
        : k_(spec),
          lhs_(op.in[0]->shape, spec.lhs_spec),
          rhs_(op.in[1]->shape, spec.rhs_spec),
          out_(op.out[0]->shape, spec.out_spec),
          arithmetic_(arithmetic_of(op)),
          features_(rhs_.size[0] / spec.feature_groups),
          last_(rhs_.size.size() - 1),
          routine_(features_ > kFewFeatures ? DotRoutine::Packed : DotRoutine::Slender) {
        own_bytes_ = checked_align(core_product_bytes(routine_, arithmetic_, {features_, kTile, rhs_.size[last_]}), 64);
        for (std::size_t s = 2; s < last_; ++s) rows_ *= out_.size[s], row_taps_ *= rhs_.size[s];
        work_ = 2.0 * static_cast<double>(op.out[0]->size()) * static_cast<double>(rhs_.size[1] * row_taps_ * rhs_.size[last_]);
    }
    std::int64_t scratch_bytes() const override { return checked_mul(own_bytes_, threads); }
    static bool fits(const Op& op, const ConvKernel& spec) {
        constexpr std::int64_t kFewPairs = 4;
        const DType d = op.out[0]->dtype;
        const bool floats = d == DType::F32 || d == DType::F64 || d == DType::C64 || d == DType::C128;
        if (!floats || op.in[0]->dtype != d || op.in[1]->dtype != d || spec.batch_groups != 1 || spec.window_strides.empty()) return false;
        const auto ones = [](const Dims& dims) { return std::ranges::all_of(dims, [](std::int64_t n) { return n == 1; }); };
        if (!ones(spec.lhs_dilation) || spec.window_strides.back() != 1) return false;
        const ConvSide lhs(op.in[0]->shape, spec.lhs_spec), rhs(op.in[1]->shape, spec.rhs_spec), out(op.out[0]->shape, spec.out_spec);
        if ((lhs.stride.back() != 1 && lhs.size.back() != 1) || (out.stride.back() != 1 && out.size.back() != 1)) return false;
        const std::int64_t features = rhs.size[0] / spec.feature_groups;
        if (d != DType::F32) return features <= kFewFeatures;
        // Against the matrix library: measured.
        constexpr std::int64_t kManyTaps = 8, kFilterTaps = 33, kFewSignals = 2, kManyFilters = 128;
        const bool bank = rhs.size.size() == 3 && rhs.size[1] <= kFewSignals && features <= kManyFilters &&
                          rhs.size.back() >= kFilterTaps && out.size.back() >= kTile / 2;
        if (bank) return true;
        return features * rhs.size[1] <= kFewPairs && (rhs.size.size() == 3 || rhs.size.back() >= kManyTaps);
    }

    void run(void* const* in, void* const* out, void* scratch) const override {
        with_number(arithmetic_, [&]<class T>(T) {
            if constexpr (!std::is_integral_v<T>)
                all(static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out[0]), static_cast<char*>(scratch));
        });
    }

private:
    static constexpr std::int64_t kTile = 2048;  ///< points of a task
    static constexpr std::int64_t kFewFeatures = 4;

    template <class T>
    void all(const T* x, const T* w, T* out, char* scratch) const {
        const std::int64_t tiles = (out_.size[last_] + kTile - 1) / kTile, groups = k_.feature_groups;
        const int sharers = work_ < kParallelWork ? 1 : threads;
        parallel_shares(sharers, out_.size[0] * groups * rows_ * tiles, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t row = i / tiles % rows_, group = i / tiles / rows_ % groups, batch = i / tiles / rows_ / groups;
                const std::int64_t first = i % tiles * kTile;
                tile(x + batch * lhs_.stride[0] + group * rhs_.size[1] * lhs_.stride[1], w + group * features_ * rhs_.stride[0],
                     out + batch * out_.stride[0] + group * features_ * out_.stride[1], row, first,
                     std::min(out_.size[last_], first + kTile), scratch + thread * own_bytes_);
            }
        });
    }
    /// Points [begin, end) of row `row`, of all features of a group.
    template <class T>
    void tile(const T* x, const T* w, T* out, std::int64_t row, std::int64_t begin, std::int64_t end, void* own) const {
        out += out_.place(row, last_);
        const ConvTaps taps{k_, lhs_, rhs_, out_};
        bool add = false;
        for (std::int64_t tap = 0; tap < row_taps_; ++tap) {
            std::int64_t at = 0;
            if (!taps.locate(row, tap, last_, at)) continue;
            const std::int64_t weight = rhs_.place(tap, last_);
            for (std::int64_t i = 0; i < rhs_.size[1]; ++i, add = true)
                add_row(x + at + i * lhs_.stride[1], w + weight + i * rhs_.stride[1], out, begin, end, add, own);
        }
        if (add) return;
        for (std::int64_t f = 0; f < features_; ++f) std::fill_n(out + f * out_.stride[1] + begin, end - begin, T(0));
    }
    /// Where every tap lies inside of the row, one product; at its ends one for each point, of the taps that do.
    template <class T>
    void add_row(const T* x, const T* w, T* out, std::int64_t begin, std::int64_t end, bool add, void* own) const {
        const std::int64_t pad = k_.padding.back().first, step = k_.rhs_dilation.back(), taps = rhs_.size[last_], length = lhs_.size[last_];
        const std::int64_t low = std::clamp(pad, begin, end), high = std::clamp(length + pad - (taps - 1) * step, low, end);
        const auto product = [&](DotRoutine routine, std::int64_t point, std::int64_t points, std::int64_t tap, std::int64_t count) {
            const DotCore core{features_, points, count, rhs_.stride[0], rhs_.stride[last_], step, 1, out_.stride[1], 1};
            core_product(routine, core, w + tap * rhs_.stride[last_], x + point + tap * step - pad, out + point, add, own);
        };
        if (high > low) product(routine_, low, high - low, 0, taps);
        const auto alone = [&](std::int64_t point) {
            const std::int64_t before = std::max<std::int64_t>(pad - point, 0), behind = length - 1 + pad - point;
            const std::int64_t tap = (before + step - 1) / step, stop = behind < 0 ? 0 : std::min(taps, behind / step + 1);
            product(DotRoutine::Slender, point, 1, tap, std::max<std::int64_t>(stop - tap, 0));
        };
        for (std::int64_t p = begin; p < low; ++p) alone(p);
        for (std::int64_t p = high; p < end; ++p) alone(p);
    }

    ConvKernel k_;
    ConvSide lhs_, rhs_, out_;
    Arithmetic arithmetic_;
    std::int64_t features_;
    std::size_t last_;  ///< dimension of the points that lie side by side
    DotRoutine routine_;
    std::int64_t own_bytes_ = 0;  ///< scratch memory of a thread
    std::int64_t rows_ = 1, row_taps_ = 1;
    double work_ = 0;
};

}  // namespace

LibraryCallPtr make_row_conv(const Op& op, const ConvKernel& spec) {
    return RowConv::fits(op, spec) ? std::make_shared<RowConv>(op, spec) : nullptr;
}

}  // namespace jaxscope::exec
