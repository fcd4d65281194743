// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstring>

#include "base/checked.h"
#include "ir/types/element.h"
#include "jit/kernels/products/conv_sides.h"
#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

/// An element as the type that sums run in: integers modulo 2^32 or 2^64, floats of at most 32 bits as float.
template <class Sum>
Sum number(DType d, const std::byte* p) {
    const Element e = load_element(d, p);
    if constexpr (std::is_unsigned_v<Sum>)
        return static_cast<Sum>(e.integer);
    else if constexpr (std::is_floating_point_v<Sum>)
        return static_cast<Sum>(is_inexact(d) ? e.number.real() : static_cast<double>(e.integer));
    else
        return is_inexact(d) ? e.number : Sum(static_cast<double>(e.integer));
}
template <class Sum>
Element element(Sum v) {
    if constexpr (std::is_unsigned_v<Sum>)
        return {static_cast<std::int64_t>(v), {}};
    else
        return {0, std::complex<double>(v)};
}

/// Any dtype, any dilation, padding (negative too) and grouping. Weights are copied once so that those of all output features of a tap lie
/// side by side; one point of the result is computed for all features of a group at a time.
template <class Sum>
class PlainConv final : public LibraryCall {
public:
    PlainConv(const Op& op, const ConvKernel& spec)
        : op_(op),
          k_(spec),
          lhs_(op.in[0]->shape, spec.lhs_spec),
          rhs_(op.in[1]->shape, spec.rhs_spec),
          out_(op.out[0]->shape, spec.out_spec),
          groups_(std::max(spec.feature_groups, spec.batch_groups)),
          features_(rhs_.size[0] / groups_) {
        for (std::size_t s = 2; s < rhs_.size.size(); ++s) taps_ *= rhs_.size[s], points_ *= out_.size[s];
        weight_bytes_ = aligned(op.in[1]->size());
        sum_bytes_ = aligned(features_);
    }
    std::int64_t scratch_bytes() const override { return checked_add(weight_bytes_, checked_mul(sum_bytes_, threads)); }

    void run(void* const* in, void* const* out, void* scratch) const override {
        if (op_.out[0]->size() == 0) return;
        Sum* weights = static_cast<Sum*>(scratch);
        char* sums = static_cast<char*>(scratch) + weight_bytes_;
        const double weight_work = 10.0 * static_cast<double>(op_.in[1]->size());
        parallel_for(threads, groups_ * taps_, weight_work, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) pack(in[1], i / taps_, i % taps_, weights + i * rhs_.size[1] * features_);
        });
        const std::int64_t n = out_.size[0] * groups_ * points_;
        const double work = 2.0 * static_cast<double>(op_.out[0]->size()) * static_cast<double>(rhs_.size[1] * taps_);
        parallel_shares(work < kParallelWork ? 1 : threads, n, 1, [&](int thread, std::int64_t begin, std::int64_t end) {
            Sum* own = reinterpret_cast<Sum*>(sums + thread * sum_bytes_);
            for (std::int64_t i = begin; i < end; ++i) point(in[0], out[0], weights, i / points_, i % points_, own);
        });
    }

private:
    static std::int64_t aligned(std::int64_t n) { return checked_align(checked_mul(n, static_cast<std::int64_t>(sizeof(Sum))), 64); }

    /// The weights of a tap and group: [input feature][output feature].
    void pack(const void* base, std::int64_t group, std::int64_t tap, Sum* to) const {
        const std::int64_t at = group * features_ * rhs_.stride[0] + rhs_.place(tap, rhs_.size.size());
        const DType d = op_.in[1]->dtype;
        for (std::int64_t i = 0; i < rhs_.size[1]; ++i)
            for (std::int64_t o = 0; o < features_; ++o)
                *to++ = number<Sum>(d, static_cast<const std::byte*>(base) + (at + i * rhs_.stride[1] + o * rhs_.stride[0]) * byte_size(d));
    }
    /// Complex factors of a result in a wider type as JAX convolves them: three real convolutions, whose operands are sums in the factors'
    /// own type.
    Sum product(Sum x, Sum y) const {
        if constexpr (std::is_same_v<Sum, std::complex<double>>) {
            if (wider_) {
                const auto rounded = [](double v) { return static_cast<double>(static_cast<float>(v)); };
                const double both = rounded(x.real() + x.imag()) * y.real();
                return {both - x.imag() * rounded(y.real() + y.imag()), both + x.real() * rounded(y.imag() - y.real())};
            }
        }
        return x * y;
    }
    void point(const void* left, void* out, const Sum* weights, std::int64_t row, std::int64_t p, Sum* sums) const {
        const std::int64_t batch = row / groups_, group = row % groups_;
        // With batch groups, output features belong to groups of the left operand's batch; else to groups of its features.
        const bool of_batch = k_.batch_groups > 1;
        const std::int64_t first = (of_batch ? group * (lhs_.size[0] / groups_) + batch : batch) * lhs_.stride[0] +
                                   (of_batch ? 0 : group * rhs_.size[1]) * lhs_.stride[1];
        std::fill_n(sums, features_, Sum(0));
        const DType d = op_.in[0]->dtype;
        const ConvTaps taps{k_, lhs_, rhs_, out_};
        for (std::int64_t t = 0; t < taps_; ++t) {
            std::int64_t at = first;
            if (!taps.locate(p, t, rhs_.size.size(), at)) continue;
            const Sum* w = weights + (group * taps_ + t) * rhs_.size[1] * features_;
            for (std::int64_t i = 0; i < rhs_.size[1]; ++i, w += features_) {
                const Sum x = number<Sum>(d, static_cast<const std::byte*>(left) + (at + i * lhs_.stride[1]) * byte_size(d));
                for (std::int64_t o = 0; o < features_; ++o) sums[o] += product(x, w[o]);
            }
        }
        const std::int64_t to = batch * out_.stride[0] + group * features_ * out_.stride[1] + out_.place(p, out_.size.size());
        const DType result = op_.out[0]->dtype;
        for (std::int64_t o = 0; o < features_; ++o)
            store_element(result, static_cast<std::byte*>(out) + (to + o * out_.stride[1]) * byte_size(result), element(sums[o]));
    }

    Op op_;
    ConvKernel k_;
    ConvSide lhs_, rhs_, out_;
    std::int64_t groups_, features_, taps_ = 1, points_ = 1, weight_bytes_ = 0, sum_bytes_ = 0;
    bool wider_ = op_.in[0]->dtype == DType::C64 && op_.out[0]->dtype == DType::C128;  ///< complex factors, a result in a wider type
};

}  // namespace

LibraryCallPtr make_plain_conv(const Op& op, const ConvKernel& spec) {
    bool complex = false, wide = false, inexact = false;
    for (const AvalRef a : {op.in[0], op.in[1], op.out[0]}) {
        complex |= is_complex(a->dtype), wide |= a->dtype == DType::F64, inexact |= is_inexact(a->dtype);
    }
    if (complex) return std::make_shared<PlainConv<std::complex<double>>>(op, spec);
    if (wide) return std::make_shared<PlainConv<double>>(op, spec);
    if (inexact) return std::make_shared<PlainConv<float>>(op, spec);
    if (byte_size(op.out[0]->dtype) <= 4) return std::make_shared<PlainConv<std::uint32_t>>(op, spec);
    return std::make_shared<PlainConv<std::uint64_t>>(op, spec);
}

LibraryCallPtr make_conv(const Op& op, const ConvKernel& spec, int threads) {
    if (LibraryCallPtr call = make_row_conv(op, spec)) return call;
    if (LibraryCallPtr call = make_library_conv(op, spec, threads)) return call;
    return make_plain_conv(op, spec);
}

}  // namespace jaxscope::exec
