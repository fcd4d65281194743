// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/random/random_bits.h"
#include "jit/kernels/special/special_functions.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/random.h"
#include "lax/routine_primitives.h"

// random_gamma: Marsaglia and Tsang's rejection, each sample with a key of its own, with JAX's splits and JAX's bits.
namespace jaxscope::exec {

namespace {

/// One key and what can be made of it; up to four words.
struct Key {
    DType kind = DType::KeyFry;
    bool partitionable = true;
    std::array<std::uint32_t, 4> words{};

    Key child(std::int64_t i, std::int64_t n) const {
        Key out = *this;
        if (kind == DType::KeyUnsafeRbg) {
            split_unsafe_key(words.data(), i, n, out.words.data());
            return out;
        }
        for (std::size_t half = 0; half < (kind == DType::KeyFry ? 1u : 2u); ++half) {
            const Pair y = split_key({words[2 * half], words[2 * half + 1]}, i, n, partitionable);
            out.words[2 * half] = y.first, out.words[2 * half + 1] = y.second;
        }
        return out;
    }
    std::uint64_t bits(std::int64_t width) const {
        if (kind == DType::KeyFry) return scalar_bits({words[0], words[1]}, width, partitionable);
        std::uint64_t out = 0;
        BitGenerator(BitAlgorithm::Philox, {}, width).fill(BitGenerator::state_of(words.data()), 0, 1, &out);
        return out;
    }
};

/// Arithmetic of a dtype: in double, rounded after each operation.
class Rounding {
public:
    explicit Rounding(DType d) : dtype_(d) {}
    double operator()(double x) const {
        if (dtype_ == DType::F64) return x;
        if (dtype_ == DType::F32) return static_cast<float>(x);
        return small_float_value(dtype_, small_float_bits(dtype_, x));
    }
    int mantissa() const { return info(dtype_).mantissa_bits; }
    std::int64_t width() const { return byte_size(dtype_); }

private:
    DType dtype_;
};

/// In [low, high): random mantissa bits behind an exponent of 1.
double uniform(const Rounding& r, const Key& key, double low, double high) {
    const std::int64_t width = r.mantissa() < 8 ? 1 : r.width();
    const std::uint64_t mantissa = key.bits(width) >> (8 * width - r.mantissa());
    const double unit = std::ldexp(static_cast<double>(mantissa), -r.mantissa());
    return std::max(low, r(r(unit * r(high - low)) + low));
}
double normal(const Rounding& r, const Key& key) {
    const double low = std::ldexp(1.0, -r.mantissa() - 1) - 1;  // the number after -1
    return r(r(1.4142135623730951) * r(erf_inv(uniform(r, key, low, 1))));
}

class Sampler {
public:
    Sampler(DType d, bool log_space) : r_(d), log_space_(log_space) {}
    double draw(const Key& start, double alpha) const {
        const bool large = alpha >= 1;  // smaller ones are drawn for alpha + 1 and multiplied by a power of a uniform number
        const double d = r_((large ? alpha : r_(alpha + 1)) - r_(1.0 / 3)), c = r_(r_(1.0 / 3) / r_(std::sqrt(d)));
        Key key = start.child(0, 2);
        const Key boost_key = start.child(1, 2);
        double x = 0, v = 1, u = 2;
        while (rejected(x, v, u, d)) {
            const Key x_key = key.child(1, 3), u_key = key.child(2, 3);
            key = key.child(0, 3);
            const auto [normal_x, factor] = positive_factor(x_key, c);
            x = r_(normal_x * normal_x);
            v = r_(r_(factor * factor) * factor);
            u = uniform(r_, u_key, 0, 1);
        }
        if (!log_space_) {
            const double boost = large ? 1 : r_(std::pow(r_(1 - uniform(r_, boost_key, 0, 1)), r_(1 / alpha)));
            return r_(r_(d * v) * boost);
        }
        const double log_uniform = r_(std::log1p(-uniform(r_, boost_key, 0, 1)));
        const double boost = large || log_uniform == 0 ? 0 : r_(log_uniform * r_(1 / alpha));
        return r_(r_(r_(std::log(d)) + r_(std::log(v))) + boost);
    }

private:
    bool rejected(double x, double v, double u, double d) const {
        const double squeeze = r_(1 - r_(r_(0.0331) * r_(x * x)));
        if (!(u >= squeeze)) return false;
        return r_(std::log(u)) >= r_(r_(x * 0.5) + r_(d * r_(r_(1 - v) + r_(std::log(v)))));
    }
    std::pair<double, double> positive_factor(Key key, double c) const {
        double x = 0, v = -1;
        while (v <= 0) {
            x = normal(r_, key.child(1, 2));
            v = r_(1 + r_(x * c));
            key = key.child(0, 2);
        }
        return {x, v};
    }
    Rounding r_;
    bool log_space_;
};

class RandomGamma final : public LibraryCall {
public:
    explicit RandomGamma(const Op& op)
        : op_(op),
          keys_(op.in[0]->size()),
          each_(keys_ ? op.in[1]->size() / keys_ : 0),
          width_(byte_size(op.in[1]->dtype)),
          log_space_(op.as<RandomGammaParams>().log_space) {}
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t n = keys_ * each_;
        const Sampler sampler(op_.in[1]->dtype, log_space_);
        parallel_for(threads, n, 1000.0 * static_cast<double>(n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const Element alpha = load_element(op_.in[1]->dtype, static_cast<const std::byte*>(in[1]) + i * width_);
                const double sample = sampler.draw(key_of(in[0], i), alpha.number.real());
                store_element(op_.in[1]->dtype, static_cast<std::byte*>(out[0]) + i * width_, {0, sample});
            }
        });
    }

private:
    Key key_at(const void* keys, std::int64_t k) const {
        Key key{op_.in[0]->dtype, op_.context->threefry_partitionable, {}};
        const std::int64_t words = byte_size(key.kind) / 4;
        std::copy_n(static_cast<const std::uint32_t*>(keys) + words * k, words, key.words.begin());
        return key;
    }
    /// Of sample `i`: its share of the split of its own key. unsafe_rbg splits all keys at once, by the first.
    Key key_of(const void* keys, std::int64_t i) const {
        if (op_.in[0]->dtype == DType::KeyUnsafeRbg) return key_at(keys, 0).child(i, keys_ * each_);
        return key_at(keys, i / each_).child(i % each_, each_);
    }
    Op op_;
    std::int64_t keys_, each_, width_;
    bool log_space_;
};

}  // namespace

LibraryCallPtr make_gamma_routine(const Op& op) {
    if (op.prim != &kRandomGamma) return nullptr;
    return std::make_shared<RandomGamma>(op);
}

}  // namespace jaxscope::exec
