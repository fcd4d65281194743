// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "jit/kernels/random/random_bits.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/primitives.h"

// Bits, split, fold_in and seed of JAX's keys: fry in both numberings of counters (jax_threefry_partitionable on and off); rbg, which
// hashes as two keys of fry and takes its bits of XLA's generator; unsafe_rbg, which takes all of that generator. Arrays of keys are what
// vmap makes of one: the generator then fills one array for all, by the first key.
namespace jaxscope::exec {

namespace {

Pair key_at(const void* keys, std::int64_t i) {
    const auto* words = static_cast<const std::uint32_t*>(keys) + 2 * i;
    return {words[0], words[1]};
}
/// Words of a key: two of fry; four of rbg, which hold two of fry's, and of unsafe_rbg.
std::int64_t key_words(DType d) { return byte_size(d) / 4; }

constexpr double kWorkOfBlock = 400;
/// put(i, hash) for each i of [0, n): of pair(i) by key(i), many side by side.
template <class Key, class Each, class Put>
void hash_each(int threads, std::int64_t n, const Key& key, const Each& pair, const Put& put) {
    constexpr std::int64_t kFew = 4;
    if (n <= kFew) {
        for (std::int64_t i = 0; i < n; ++i) put(i, threefry(key(i), pair(i)));
        return;
    }
    const std::int64_t blocks = (n + Pairs::kCount - 1) / Pairs::kCount;
    parallel_for(threads, blocks, kWorkOfBlock * static_cast<double>(blocks), [&](std::int64_t begin, std::int64_t end) {
        Pairs keys{}, x{};
        for (std::int64_t b = begin; b < end; ++b) {
            const std::int64_t first = b * Pairs::kCount, count = std::min(Pairs::kCount, n - first);
            for (std::int64_t i = 0; i < count; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const Pair k = key(first + i), p = pair(first + i);
                keys.first[at] = k.first, keys.second[at] = k.second, x.first[at] = p.first, x.second[at] = p.second;
            }
            threefry(keys, x);
            for (std::int64_t i = 0; i < count; ++i)
                put(first + i, Pair{x.first[static_cast<std::size_t>(i)], x.second[static_cast<std::size_t>(i)]});
        }
    });
}
/// Counters 0 to `each` - 1 of each of many keys. Numbers of 32 bits divide in a third of the time.
template <class Put>
void hash_counters(int threads, const void* keys, std::int64_t count, std::int64_t each, const Put& put) {
    const auto with = [&]<class Number>(Number n) {
        hash_each(
            threads, count * each, [&](std::int64_t i) { return key_at(keys, static_cast<std::int64_t>(static_cast<Number>(i) / n)); },
            [&](std::int64_t i) { return counter(static_cast<std::int64_t>(static_cast<Number>(i) % n)); }, put);
    };
    if (count == 1)
        return hash_each(
            threads, each, [&](std::int64_t) { return key_at(keys, 0); }, counter, put);
    if (count * each <= std::numeric_limits<std::uint32_t>::max()) return with(static_cast<std::uint32_t>(each));
    with(static_cast<std::uint64_t>(each));
}

class RandomBits final : public LibraryCall {
public:
    explicit RandomBits(const Op& op) : op_(op) {
        keys_ = op.in[0]->size();
        each_ = keys_ ? op.out[0]->size() / keys_ : 0;
        width_ = byte_size(op.out[0]->dtype);
        words_ = (checked_mul(each_, width_) + 3) / 4;
        partitionable_ = op.context->threefry_partitionable;
    }
    std::int64_t scratch_bytes() const override { return partitionable_ ? 0 : checked_mul(words_, 4); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        auto* target = static_cast<std::byte*>(out[0]);
        if (partitionable_) return partitionable(in[0], target);
        for (std::int64_t k = 0; k < keys_; ++k)
            original(key_at(in[0], k), target + k * each_ * width_, static_cast<std::uint32_t*>(scratch));
    }

private:
    /// Blocks of counters of all keys.
    void partitionable(const void* keys, std::byte* out) const {
        if (each_ < Pairs::kCount)
            return hash_counters(threads, keys, keys_, each_, [&](std::int64_t i, Pair y) { put(out + i * width_, y); });
        const std::int64_t blocks = (each_ + Pairs::kCount - 1) / Pairs::kCount;
        parallel_for(threads, keys_ * blocks, kWorkOfBlock * static_cast<double>(keys_ * blocks),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t b = begin; b < end; ++b) {
                             const std::int64_t key = b / blocks, first = b % blocks * Pairs::kCount;
                             block(key_at(keys, key), first, std::min(Pairs::kCount, each_ - first), out + (key * each_ + first) * width_);
                         }
                     });
    }
    void block(Pair key, std::int64_t first, std::int64_t count, std::byte* out) const {
        Pairs x = counters(first);
        threefry(key, x);
        if (width_ == 4) {
            for (std::size_t i = 0; i < x.first.size(); ++i) x.first[i] ^= x.second[i];
            std::memcpy(out, x.first.data(), static_cast<std::size_t>(4 * count));
            return;
        }
        for (std::int64_t i = 0; i < count; ++i)
            put(out + i * width_, {x.first[static_cast<std::size_t>(i)], x.second[static_cast<std::size_t>(i)]});
    }
    void put(std::byte* to, Pair y) const {
        const std::uint64_t bits = width_ == 8 ? static_cast<std::uint64_t>(y.first) << 32 | y.second : y.first ^ y.second;
        std::memcpy(to, &bits, static_cast<std::size_t>(width_));  // little-endian: the low bytes
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
    explicit RandomSplit(const Op& op) : op_(op) {}
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t keys = op_.in[0]->size(), n = keys ? op_.out[0]->size() / keys : 0, pairs = key_words(op_.in[0]->dtype) / 2;
        auto* target = static_cast<std::byte*>(out[0]);
        if (pairs == 1 && op_.context->threefry_partitionable)
            return hash_counters(threads, in[0], keys, n, [&](std::int64_t i, Pair y) { std::memcpy(target + 8 * i, &y, 8); });
        for (std::int64_t k = 0; k < keys; ++k)
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t half = 0; half < pairs; ++half) {
                    const Pair y = split_key(key_at(in[0], pairs * k + half), i, n, op_.context->threefry_partitionable);
                    std::memcpy(static_cast<std::byte*>(out[0]) + 8 * (pairs * (n * k + i) + half), &y, 8);
                }
    }

private:
    Op op_;
};

/// Bits of rbg and unsafe_rbg keys.
class GeneratorBits final : public LibraryCall {
public:
    explicit GeneratorBits(const Op& op) : bits_(BitAlgorithm::Philox, op.out[0]->shape, byte_size(op.out[0]->dtype)) {
        if (bit_width(op.out[0]->dtype) < 8)
            throw Error(ErrorCode::NoRule, "expected random bits of 8-, 16-, 32- or 64-bit fields of an rbg key, as in JAX");
    }
    void run(void* const* in, void* const* out, void*) const override {
        if (bits_.size() == 0) return;
        const BitGenerator::State state = BitGenerator::state_of(in[0]);
        parallel_for(threads, bits_.size(), 60.0 * static_cast<double>(bits_.size()), [&](std::int64_t begin, std::int64_t end) {
            bits_.fill(state, begin, end, static_cast<std::byte*>(out[0]) + begin * bits_.width());
        });
    }

private:
    BitGenerator bits_;
};

class UnsafeSplit final : public LibraryCall {
public:
    explicit UnsafeSplit(const Op& op) : n_(op.out[0]->size()) {}
    void run(void* const* in, void* const* out, void*) const override {
        for (std::int64_t i = 0; i < n_; ++i) split_unsafe_key(in[0], i, n_, static_cast<std::uint32_t*>(out[0]) + 4 * i);
    }

private:
    std::int64_t n_;
};

std::uint64_t integer_at(DType d, const void* base, std::int64_t i) {
    const auto v = static_cast<std::uint64_t>(load_element(d, static_cast<const std::byte*>(base) + i * byte_size(d)).integer);
    return byte_size(d) < 8 ? v & 0xFFFFFFFFu : v;
}

class RandomFoldIn final : public LibraryCall {
public:
    explicit RandomFoldIn(const Op& op) : op_(op), hash_(BitAlgorithm::Philox, {op.in[1]->size(), kUnsafeRows, 4}, 4) {}
    void run(void* const* in, void* const* out, void*) const override {
        const std::int64_t n = op_.out[0]->size(), words = key_words(op_.in[0]->dtype);
        auto* target = static_cast<std::byte*>(out[0]);
        const Place key_of(op_.in[0]->shape, op_.out[0]->shape), datum_of(op_.in[1]->shape, op_.out[0]->shape);
        const DType type = op_.in[1]->dtype;
        if (words == 2)
            return hash_each(
                threads, n, [&](std::int64_t i) { return key_at(in[0], key_of(i)); },
                [&](std::int64_t i) {
                    return Pair{0, word(type, in[1], datum_of(i))};
                },
                [&](std::int64_t i, Pair y) { std::memcpy(target + 8 * i, &y, 8); });
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t key = key_of(i), data = datum_of(i);
            auto* to = static_cast<std::uint32_t*>(out[0]) + words * i;
            if (op_.in[0]->dtype == DType::KeyUnsafeRbg)
                unsafe(static_cast<const std::uint32_t*>(in[0]) + words * key, in[1], data, to);
            else
                for (std::int64_t half = 0; half < words / 2; ++half) {
                    const Pair y = threefry(key_at(in[0], words / 2 * key + half), {0, word(type, in[1], data)});
                    std::memcpy(to + 2 * half, &y, 8);
                }
        }
    }

private:
    static std::uint32_t word(DType d, const void* data, std::int64_t i) {
        if (d == DType::S32 || d == DType::U32) return static_cast<const std::uint32_t*>(data)[i];
        return static_cast<std::uint32_t>(integer_at(d, data, i));
    }
    /// The key with the last of ten rows that the datum generates; one generator, seeded by the first datum, makes the rows of all.
    void unsafe(const std::uint32_t* key, const void* data, std::int64_t i, std::uint32_t* to) const {
        const std::array<std::uint32_t, 4> seed{0, word(op_.in[1]->dtype, data, 0), 0, word(op_.in[1]->dtype, data, 0)};
        const std::int64_t row = 4 * (kUnsafeRows * i + kUnsafeRows - 1);
        hash_.fill(BitGenerator::state_of(seed.data()), row, row + 4, to);
        for (std::size_t k = 0; k < 4; ++k) to[k] ^= key[k];
    }
    /// Which element of an operand of shape `from` stands for an element of the result: scalars and dimensions of 1 are stretched.
    class Place {
    public:
        Place(const Dims& from, const Dims& to) : from_(from), to_(to), one_(element_count(from) == 1), same_(from == to) {}
        std::int64_t operator()(std::int64_t i) const {
            if (one_ || same_) return one_ ? 0 : i;
            std::int64_t at = 0, stride = 1;
            for (std::size_t d = from_.size(); d-- > 0;) {
                if (from_[d] != 1) at += i % to_[d] * stride;
                stride *= from_[d];
                i /= to_[d];
            }
            return at;
        }

    private:
        const Dims &from_, &to_;
        bool one_, same_;
    };
    Op op_;
    BitGenerator hash_;
};

class RandomSeed final : public LibraryCall {
public:
    explicit RandomSeed(const Op& op) : op_(op) {}
    void run(void* const* in, void* const* out, void*) const override {
        for (std::int64_t i = 0; i < op_.in[0]->size(); ++i) {
            const std::uint64_t seed = integer_at(op_.in[0]->dtype, in[0], i);
            const Pair key{static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
            const std::int64_t pairs = key_words(op_.out[0]->dtype) / 2;
            for (std::int64_t half = 0; half < pairs; ++half)
                std::memcpy(static_cast<std::byte*>(out[0]) + 8 * (pairs * i + half), &key, 8);
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
    const bool fry = !op.in.empty() && op.in[0]->is_array() && op.in[0]->dtype == DType::KeyFry;
    if (op.prim == &kRandomBits) {
        if (fry) return std::make_shared<RandomBits>(op);
        return std::make_shared<GeneratorBits>(op);
    }
    if (op.prim == &kRandomSplit) {
        if (op.in[0]->dtype == DType::KeyUnsafeRbg) return std::make_shared<UnsafeSplit>(op);
        return std::make_shared<RandomSplit>(op);
    }
    if (op.prim == &kRandomFoldIn) return std::make_shared<RandomFoldIn>(op);
    if (op.prim == &kRandomSeed) return std::make_shared<RandomSeed>(op);
    if (op.prim == &kThreefry) return std::make_shared<Threefry>(op);
    return nullptr;
}

}  // namespace jaxscope::exec
