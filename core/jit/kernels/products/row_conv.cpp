// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "jit/kernels/products/conv_sides.h"
#include "jit/kernels/products/core_product.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

/// Convolutions of few features whose points lie side by side (jnp.convolve, correlate2d): each row of points is a product of the weights
/// with the row itself, read again one element further for each tap.
class RowConv final : public LibraryCall {
public:
    RowConv(const Op& op, const ConvKernel& spec)
        : k_(spec),
          lhs_(op.in[0]->shape, spec.lhs_spec),
          rhs_(op.in[1]->shape, spec.rhs_spec),
          out_(op.out[0]->shape, spec.out_spec),
          arithmetic_(arithmetic_of(op)),
          features_(rhs_.size[0] / spec.feature_groups),
          last_(rhs_.size.size() - 1) {
        for (std::size_t s = 2; s < last_; ++s) rows_ *= out_.size[s], row_taps_ *= rhs_.size[s];
        work_ = 2.0 * static_cast<double>(op.out[0]->size()) * static_cast<double>(rhs_.size[1] * row_taps_ * rhs_.size[last_]);
    }
    static bool fits(const Op& op, const ConvKernel& spec) {
        constexpr std::int64_t kFewPairs = 4, kFewFeatures = 4;
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
        constexpr std::int64_t kManyTaps = 8;
        return features * rhs.size[1] <= kFewPairs && (rhs.size.size() == 3 || rhs.size.back() >= kManyTaps);
    }

    void run(void* const* in, void* const* out, void*) const override {
        with_number(arithmetic_, [&]<class T>(T) {
            if constexpr (!std::is_integral_v<T>) all(static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out[0]));
        });
    }

private:
    static constexpr std::int64_t kTile = 2048;  ///< points of a task

    template <class T>
    void all(const T* x, const T* w, T* out) const {
        const std::int64_t tiles = (out_.size[last_] + kTile - 1) / kTile, groups = k_.feature_groups;
        parallel_for(threads, out_.size[0] * groups * rows_ * tiles, work_, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t row = i / tiles % rows_, group = i / tiles / rows_ % groups, batch = i / tiles / rows_ / groups;
                const std::int64_t first = i % tiles * kTile;
                tile(x + batch * lhs_.stride[0] + group * rhs_.size[1] * lhs_.stride[1], w + group * features_ * rhs_.stride[0],
                     out + batch * out_.stride[0] + group * features_ * out_.stride[1], row, first,
                     std::min(out_.size[last_], first + kTile));
            }
        });
    }
    /// Points [begin, end) of row `row`, of all features of a group.
    template <class T>
    void tile(const T* x, const T* w, T* out, std::int64_t row, std::int64_t begin, std::int64_t end) const {
        out += out_.place(row, last_);
        const ConvTaps taps{k_, lhs_, rhs_, out_};
        bool add = false;
        for (std::int64_t tap = 0; tap < row_taps_; ++tap) {
            std::int64_t at = 0;
            if (!taps.locate(row, tap, last_, at)) continue;
            const std::int64_t weight = rhs_.place(tap, last_);
            for (std::int64_t i = 0; i < rhs_.size[1]; ++i, add = true)
                add_row(x + at + i * lhs_.stride[1], w + weight + i * rhs_.stride[1], out, begin, end, add);
        }
        if (add) return;
        for (std::int64_t f = 0; f < features_; ++f) std::fill_n(out + f * out_.stride[1] + begin, end - begin, T(0));
    }
    /// Where every tap lies inside of the row, one product; at its ends one for each point, of the taps that do.
    template <class T>
    void add_row(const T* x, const T* w, T* out, std::int64_t begin, std::int64_t end, bool add) const {
        const std::int64_t pad = k_.padding.back().first, step = k_.rhs_dilation.back(), taps = rhs_.size[last_], length = lhs_.size[last_];
        const std::int64_t low = std::clamp(pad, begin, end), high = std::clamp(length + pad - (taps - 1) * step, low, end);
        const auto product = [&](std::int64_t point, std::int64_t points, std::int64_t tap, std::int64_t count) {
            const DotCore core{features_, points, count, rhs_.stride[0], rhs_.stride[last_], step, 1, out_.stride[1], 1};
            core_product(DotRoutine::Slender, core, w + tap * rhs_.stride[last_], x + point + tap * step - pad, out + point, add, nullptr);
        };
        if (high > low) product(low, high - low, 0, taps);
        const auto alone = [&](std::int64_t point) {
            const std::int64_t before = std::max<std::int64_t>(pad - point, 0), behind = length - 1 + pad - point;
            const std::int64_t tap = (before + step - 1) / step, stop = behind < 0 ? 0 : std::min(taps, behind / step + 1);
            product(point, 1, tap, std::max<std::int64_t>(stop - tap, 0));
        };
        for (std::int64_t p = begin; p < low; ++p) alone(p);
        for (std::int64_t p = high; p < end; ++p) alone(p);
    }

    ConvKernel k_;
    ConvSide lhs_, rhs_, out_;
    Arithmetic arithmetic_;
    std::int64_t features_;
    std::size_t last_;  ///< dimension of the points that lie side by side
    std::int64_t rows_ = 1, row_taps_ = 1;
    double work_ = 0;
};

}  // namespace

LibraryCallPtr make_row_conv(const Op& op, const ConvKernel& spec) {
    return RowConv::fits(op, spec) ? std::make_shared<RowConv>(op, spec) : nullptr;
}

}  // namespace jaxscope::exec
