// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/random/random_bits.h"

#include <algorithm>
#include <cstring>

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint64_t joined(std::uint32_t low_word, std::uint32_t high_word) { return static_cast<std::uint64_t>(high_word) << 32 | low_word; }

/// Philox-4x32, 10 rounds.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> x, std::uint32_t k0, std::uint32_t k1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{x[0]} * 0xD2511F53u, b = std::uint64_t{x[2]} * 0xCD9E8D57u;
        x = {high(b) ^ x[1] ^ k0, low(b), high(a) ^ x[3] ^ k1, low(a)};
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return x;
}

}  // namespace

namespace threefry_kernels {
#define JAXSCOPE_KERNELS "jit/kernels/random/random_hash.inl"
#include "jit/kernels/per_processor.inc"
}  // namespace threefry_kernels

Pair threefry(Pair key, Pair x) {
    std::uint32_t words[3][1] = {{key.first}, {key.second}, {}};
    threefry_kernels::any_processor::hash<std::uint32_t, 1, 1>(words, &x.first, &x.second);
    return x;
}
void threefry(Pair key, Pairs& x) { JAXSCOPE_ON_THIS_PROCESSOR(threefry_kernels, hash_pairs(key, x)); }
void threefry(const Pairs& keys, Pairs& x) { JAXSCOPE_ON_THIS_PROCESSOR(threefry_kernels, hash_each(keys, x)); }

Pairs counters(std::int64_t first) {
    Pairs x;
    for (std::size_t l = 0; l < x.first.size(); ++l) {
        const Pair c = counter(first + static_cast<std::int64_t>(l));
        x.first[l] = c.first, x.second[l] = c.second;
    }
    return x;
}

void hash_halves(Pair key, std::int64_t n, std::uint32_t* out) {
    const std::int64_t half = (n + 1) / 2;
    for (std::int64_t begin = 0; begin < half; begin += Pairs::kCount) {
        const std::int64_t count = std::min(Pairs::kCount, half - begin);
        Pairs x{};
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t own = begin + i, other = half + own;
            x.first[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(own);
            x.second[static_cast<std::size_t>(i)] = other < n ? static_cast<std::uint32_t>(other) : 0u;
        }
        threefry(key, x);
        std::copy_n(x.first.begin(), count, out + begin);
        std::copy_n(x.second.begin(), std::min(count, n - half - begin), out + half + begin);
    }
}

Pair split_key(Pair key, std::int64_t i, std::int64_t n, bool partitionable) {
    if (partitionable) return threefry(key, counter(i));
    // Words 2i and 2i+1 of hash_halves over 2n counters.
    const auto word = [&](std::int64_t w) {
        const std::int64_t first = w < n ? w : w - n;
        const Pair y = threefry(key, {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + n)});
        return w < n ? y.first : y.second;
    };
    return {word(2 * i), word(2 * i + 1)};
}

std::uint64_t scalar_bits(Pair key, std::int64_t width, bool partitionable) {
    const Pair y = threefry(key, {0, width == 8 && !partitionable ? 1u : 0u});
    if (width == 8) return joined(y.second, y.first);
    const std::uint32_t word = partitionable ? y.first ^ y.second : y.first;
    return width == 4 ? word : word & ((std::uint32_t{1} << (8 * width)) - 1);
}

BitGenerator::BitGenerator(BitAlgorithm algorithm, Dims shape, std::int64_t width)
    : algorithm_(algorithm), shape_(std::move(shape)), half_(shape_), width_(width) {
    for (const std::int64_t d : shape_) size_ *= d;
    if (shape_.empty()) return;
    // Threefry's two words go to neighbours along the first even dimension, else along the longest.
    const auto even = std::find_if(shape_.begin(), shape_.end(), [](std::int64_t d) { return d % 2 == 0; });
    split_ = static_cast<std::size_t>((even != shape_.end() ? even : std::max_element(shape_.begin(), shape_.end())) - shape_.begin());
    half_[split_] = (half_[split_] + 1) / 2;
}

BitGenerator::State BitGenerator::state_of(const void* key) {
    State s{};
    std::memcpy(s.data(), key, sizeof(s));
    return s;
}

std::uint64_t BitGenerator::philox_at(const State& state, std::int64_t i) const {
    const std::int64_t per_block = width_ == 8 ? 2 : 4;
    const auto block = static_cast<std::uint64_t>(i / per_block);
    const std::uint64_t lower = state[1] + block, upper = state[0] + (lower < block ? 1 : 0);
    const auto words = philox({low(lower), high(lower), low(upper), high(upper)}, low(state[0]), high(state[0]));
    const auto at = static_cast<std::size_t>(i % per_block);
    return width_ == 8 ? joined(words[2 * at], words[2 * at + 1]) : words[at];
}

std::uint64_t BitGenerator::threefry_at(const State& state, std::int64_t i) const {
    std::int64_t position = i;
    bool second = false;
    if (width_ < 8) {
        std::int64_t stride = 1;
        position = 0;
        for (std::size_t d = shape_.size(); d-- > 0;) {
            std::int64_t at = i % shape_[d];
            i /= shape_[d];
            if (d == split_) second = at % 2 == 1, at /= 2;
            position += at * stride;
            stride *= half_[d];
        }
    }
    const std::uint64_t x = state[1] + static_cast<std::uint64_t>(position);
    const Pair y = threefry({low(state[0]), high(state[0])}, {low(x), high(x)});
    return width_ == 8 ? joined(y.first, y.second) : second ? y.second : y.first;
}

void BitGenerator::fill(const State& state, std::int64_t begin, std::int64_t end, void* out) const {
    for (std::int64_t i = begin; i < end; ++i) {
        const std::uint64_t bits = algorithm_ == BitAlgorithm::Philox ? philox_at(state, i) : threefry_at(state, i);
        std::memcpy(static_cast<char*>(out) + (i - begin) * width_, &bits,
                    static_cast<std::size_t>(width_));  // little-endian: the low bytes
    }
}

BitGenerator::State BitGenerator::after(const State& state) const {
    std::int64_t used = size_;
    if (algorithm_ == BitAlgorithm::Philox) {
        used = width_ == 8 ? (size_ + 1) / 2 : (size_ + 3) / 4;
    } else if (width_ < 8) {
        used = 1;
        for (const std::int64_t d : half_) used *= d;
    }
    return {state[0], state[1] + static_cast<std::uint64_t>(used)};
}

void split_unsafe_key(const void* key, std::int64_t i, std::int64_t n, std::uint32_t* out) {
    const std::int64_t row = 4 * kUnsafeRows * i;
    BitGenerator(BitAlgorithm::Philox, {kUnsafeRows * n, 4}, 4).fill(BitGenerator::state_of(key), row, row + 4, out);
}

}  // namespace jaxscope::exec
