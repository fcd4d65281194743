// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "ir/types/aval.h"

// Counter-based generators as plain functions: Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3") with what JAX
// builds of it, and XLA's RngBitGenerator on a CPU. Bit-equal to JAX 0.10.2.
namespace jaxscope::exec {

struct Pair {
    std::uint32_t first, second;
};
/// 20 rounds.
Pair threefry(Pair key, Pair x);

/// Many pairs, which are hashed side by side.
struct Pairs {
    static constexpr std::int64_t kCount = 64;
    alignas(64) std::array<std::uint32_t, kCount> first, second;
};
void threefry(Pair key, Pairs& x);
/// Each by its own key.
void threefry(const Pairs& keys, Pairs& x);

/// The hash of counters 0 .. n-1 as JAX's threefry_2x32 pairs them: the first half with the second half, a 0 behind an odd number.
void hash_halves(Pair key, std::int64_t n, std::uint32_t* out);

inline Pair counter(std::int64_t i) {
    return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) >> 32), static_cast<std::uint32_t>(i)};
}

/// Those of the numbers from `first` on.
Pairs counters(std::int64_t first);

/// Keys number `i` of `n` that `key` is split into; both numberings of counters (jax_threefry_partitionable).
Pair split_key(Pair key, std::int64_t i, std::int64_t n, bool partitionable);
/// One number of `width` bytes: random_bits of shape ().
std::uint64_t scalar_bits(Pair key, std::int64_t width, bool partitionable);

enum class BitAlgorithm : std::uint8_t { Philox, Threefry };  ///< XLA's default on a CPU is Philox

/// XLA's RngBitGenerator: a state of two words, 64 bits each, and an array of `shape`, whose elements have 1, 2, 4 or 8 bytes.
class BitGenerator {
public:
    BitGenerator(BitAlgorithm algorithm, Dims shape, std::int64_t width);
    using State = std::array<std::uint64_t, 2>;
    static State state_of(const void* key);  ///< of uint32[4] or uint64[2] in memory
    /// Elements `begin` to `end`, the first of them at `out`.
    void fill(const State& state, std::int64_t begin, std::int64_t end, void* out) const;
    State after(const State& state) const;
    std::int64_t size() const { return size_; }
    std::int64_t width() const { return width_; }

private:
    std::uint64_t philox_at(const State& state, std::int64_t i) const;
    std::uint64_t threefry_at(const State& state, std::int64_t i) const;
    BitAlgorithm algorithm_;
    Dims shape_, half_;
    std::size_t split_ = 0;
    std::int64_t width_, size_ = 1;
};

constexpr std::int64_t kUnsafeRows = 10;  ///< unsafe_rbg takes one row of four words out of ten for a hash
/// Key number `i` of `n` that a key of unsafe_rbg is split into: four words, the first of ten rows.
void split_unsafe_key(const void* key, std::int64_t i, std::int64_t n, std::uint32_t* out);

}  // namespace jaxscope::exec
