#include <array>
#include <cstring>

#include "base/checked.h"
#include "ir/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/parallel.h"
#include "lax/primitives.h"

// Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), 20 rounds, and what JAX builds of it: bits, split,
// fold_in and seed, in both numberings of counters (jax_threefry_partitionable on and off). Bit-equal to JAX 0.10.2.
namespace jaxscope::exec {

namespace {

struct Pair {
    std::uint32_t first, second;
};

std::uint32_t rotate(std::uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

Pair threefry(Pair key, Pair x) {
    static constexpr std::array<std::array<int, 4>, 2> rotations{{{13, 15, 26, 6}, {17, 29, 16, 24}}};
    const std::array<std::uint32_t, 3> k{key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAu};
    x.first += k[0], x.second += k[1];
    for (std::uint32_t i = 0; i < 5; ++i) {
        for (const int r : rotations[i % 2]) {
            x.first += x.second;
            x.second = rotate(x.second, r) ^ x.first;
        }
        x.first += k[(i + 1) % 3];
        x.second += k[(i + 2) % 3] + i + 1;
    }
    return x;
}

/// The hash of counters 0 .. n-1 as JAX's threefry_2x32 pairs them: the first half with the second half, a 0 behind an odd number.
void hash_halves(Pair key, std::int64_t n, std::uint32_t* out) {
    const std::int64_t half = (n + 1) / 2;
    for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t other = half + i;
        const Pair y = threefry(key, {static_cast<std::uint32_t>(i), other < n ? static_cast<std::uint32_t>(other) : 0u});
        out[i] = y.first;
        if (other < n) out[other] = y.second;
    }
}

Pair key_at(const void* keys, std::int64_t i) {
    const auto* words = static_cast<const std::uint32_t*>(keys) + 2 * i;
    return {words[0], words[1]};
}
Pair counter(std::int64_t i) { return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) >> 32), static_cast<std::uint32_t>(i)}; }

void require_fry(DType d) {
    if (d != DType::KeyFry)
        throw Error(ErrorCode::NoRule, std::string("expected a key of the implementation fry, found ") + info(d).name +
                                           ", whose bits come of the compiler's own generator");
}

class RandomBits final : public LibraryCall {
public:
    explicit RandomBits(const Op& op) : op_(op) {
        require_fry(op.in[0]->dtype);
        keys_ = op.in[0]->size();
        each_ = keys_ ? op.out[0]->size() / keys_ : 0;
        width_ = byte_size(op.out[0]->dtype);
        words_ = (checked_mul(each_, width_) + 3) / 4;
        partitionable_ = op.context->threefry_partitionable;
    }
    std::int64_t scratch_bytes() const override { return partitionable_ ? 0 : checked_mul(words_, 4); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        for (std::int64_t k = 0; k < keys_; ++k) {
            auto* target = static_cast<std::byte*>(out[0]) + k * each_ * width_;
            if (partitionable_)
                partitionable(key_at(in[0], k), target);
            else
                original(key_at(in[0], k), target, static_cast<std::uint32_t*>(scratch));
        }
    }

private:
    void partitionable(Pair key, std::byte* out) const {
        parallel_for(threads, each_, 60.0 * static_cast<double>(each_), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const Pair y = threefry(key, counter(i));
                const std::uint64_t bits = width_ == 8 ? static_cast<std::uint64_t>(y.first) << 32 | y.second : y.first ^ y.second;
                std::memcpy(out + i * width_, &bits, static_cast<std::size_t>(width_));  // little-endian: the low bytes
            }
        });
    }
    void original(Pair key, std::byte* out, std::uint32_t* words) const {
        hash_halves(key, words_, words);
        if (width_ < 8) {
            std::memcpy(out, words, static_cast<std::size_t>(each_ * width_));
            return;
        }
        for (std::int64_t i = 0; i < each_; ++i) {
            const std::uint64_t bits = static_cast<std::uint64_t>(words[i]) << 32 | words[each_ + i];
            std::memcpy(out + i * 8, &bits, 8);
        }
    }
    Op op_;
    std::int64_t keys_, each_, width_, words_;
    bool partitionable_;
};

class RandomSplit final : public LibraryCall {
public:
    explicit RandomSplit(const Op& op) : op_(op) { require_fry(op.in[0]->dtype); }
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t keys = op_.in[0]->size(), each = keys ? op_.out[0]->size() / keys : 0;
        for (std::int64_t k = 0; k < keys; ++k) {
            auto* target = static_cast<std::uint32_t*>(out[0]) + 2 * each * k;
            const Pair key = key_at(in[0], k);
            if (!op_.context->threefry_partitionable) {
                hash_halves(key, 2 * each, target);
                continue;
            }
            for (std::int64_t i = 0; i < each; ++i) {
                const Pair y = threefry(key, counter(i));
                target[2 * i] = y.first, target[2 * i + 1] = y.second;
            }
        }
    }

private:
    Op op_;
};

std::uint64_t integer_at(DType d, const void* base, std::int64_t i) {
    const auto v = static_cast<std::uint64_t>(load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d)).integer);
    return byte_size(d) < 8 ? v & 0xFFFFFFFFu : v;
}

class RandomFoldIn final : public LibraryCall {
public:
    explicit RandomFoldIn(const Op& op) : op_(op) { require_fry(op.in[0]->dtype); }
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t n = op_.out[0]->size();
        for (std::int64_t i = 0; i < n; ++i) {
            const auto data = static_cast<std::uint32_t>(integer_at(op_.in[1]->dtype, in[1], stretched(op_.in[1]->shape, i)));
            const Pair y = threefry(key_at(in[0], stretched(op_.in[0]->shape, i)), {0, data});
            std::memcpy(static_cast<std::byte*>(out[0]) + 8 * i, &y, 8);
        }
    }

private:
    /// Which element of an operand of shape `from` stands for element `i` of the result: scalars and dimensions of 1 are stretched.
    std::int64_t stretched(const Dims& from, std::int64_t i) const {
        const Dims& to = op_.out[0]->shape;
        std::int64_t at = 0, stride = 1;
        for (std::size_t d = from.size(); d-- > 0;) {
            if (from[d] != 1) at += i % to[d] * stride;
            stride *= from[d];
            i /= to[d];
        }
        return at;
    }
    Op op_;
};

class RandomSeed final : public LibraryCall {
public:
    explicit RandomSeed(const Op& op) : op_(op) { require_fry(op.out[0]->dtype); }
    void run(void* const* in, void* const* out, void*) const override {
        for (std::int64_t i = 0; i < op_.in[0]->size(); ++i) {
            const std::uint64_t seed = integer_at(op_.in[0]->dtype, in[0], i);
            const Pair key{static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
            std::memcpy(static_cast<std::byte*>(out[0]) + 8 * i, &key, 8);
        }
    }

private:
    Op op_;
};

class Threefry final : public LibraryCall {
public:
    explicit Threefry(const Op& op) : op_(op) {
        for (const AvalRef a : op.in) strides_.push_back(broadcast_strides(a->shape, op.out[0]->shape));
    }
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t n = op_.out[0]->size();
        parallel_for(threads, n, 60.0 * static_cast<double>(n), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const auto word = [&](std::size_t k) { return static_cast<const std::uint32_t*>(in[k])[position(strides_[k], i)]; };
                const Pair y = threefry({word(0), word(1)}, {word(2), word(3)});
                static_cast<std::uint32_t*>(out[0])[i] = y.first;
                static_cast<std::uint32_t*>(out[1])[i] = y.second;
            }
        });
    }

private:
    /// NumPy's broadcasting: trailing dimensions align, those of length 1 stay in place.
    static Dims broadcast_strides(const Dims& from, const Dims& to) {
        const Dims own = row_major_strides(from);
        Dims out(to.size(), 0);
        for (std::size_t d = 0; d < from.size(); ++d)
            if (from[d] != 1) out[to.size() - from.size() + d] = own[d];
        return out;
    }
    std::int64_t position(const Dims& strides, std::int64_t i) const {
        std::int64_t at = 0;
        for (std::size_t d = strides.size(); d-- > 0;) {
            const std::int64_t length = op_.out[0]->shape[d];
            at += i % length * strides[d];
            i /= length;
        }
        return at;
    }
    Op op_;
    std::vector<Dims> strides_;
};

}  // namespace

LibraryCallPtr make_random_routine(const Op& op) {
    if (op.prim == &kRandomBits) return std::make_shared<RandomBits>(op);
    if (op.prim == &kRandomSplit) return std::make_shared<RandomSplit>(op);
    if (op.prim == &kRandomFoldIn) return std::make_shared<RandomFoldIn>(op);
    if (op.prim == &kRandomSeed) return std::make_shared<RandomSeed>(op);
    if (op.prim == &kThreefry) return std::make_shared<Threefry>(op);
    return nullptr;
}

}  // namespace jaxscope::exec
