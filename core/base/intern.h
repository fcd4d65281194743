// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace jaxscope {

/// A process-wide table of immutable values that hands out dense 4-byte numbers. Reading takes no lock: values sit in
/// chunks that never move. Values live as long as the process: meant for small, widely shared ones (strings, avals, frames).
template <class T, class Hash = std::hash<T>>
class InternTable {
public:
    const T& get(std::uint32_t id) const { return chunks_[id >> kBits].load(std::memory_order_acquire)[id & kMask]; }
    template <class Key>
    std::uint32_t intern(Key&& value) {
        // Fibonacci hashing: what tells values apart may stand in a few bits of their hash.
        const auto tag = static_cast<std::uint32_t>((0x9E3779B97F4A7C15ull * Hash{}(value)) >> 32);
        std::lock_guard lock(mutex_);
        if (4 * (std::size_t{size_} + 1) > 3 * index_.size()) grow();
        std::size_t at = tag & (index_.size() - 1);
        for (; index_[at].id != kNone; at = (at + 1) & (index_.size() - 1))
            if (index_[at].tag == tag && get(index_[at].id) == value) return index_[at].id;
        const std::uint32_t id = size_;
        JAXSCOPE_ASSERT((id >> kBits) < kChunks);
        if ((id & kMask) == 0) {
            owned_.push_back(std::make_unique<T[]>(kMask + 1));
            chunks_[id >> kBits].store(owned_.back().get(), std::memory_order_release);
        }
        chunks_[id >> kBits].load(std::memory_order_relaxed)[id & kMask] = T(std::forward<Key>(value));
        index_[at] = {tag, id};
        ++size_;
        return id;
    }

private:
    static constexpr unsigned kBits = 12;
    static constexpr std::uint32_t kMask = (1u << kBits) - 1;
    static constexpr std::size_t kChunks = 1u << 14;  // 67 million values
    static constexpr std::uint32_t kNone = UINT32_MAX;
    /// Open addressing, 8 bytes an entry: the values are small, and a node of a map would take more than they do.
    struct IndexEntry {
        std::uint32_t tag = 0, id = kNone;
    };
    void grow() {
        std::vector<IndexEntry> wider(std::max<std::size_t>(64, 2 * index_.size()));
        for (const IndexEntry& e : index_) {
            if (e.id == kNone) continue;
            std::size_t at = e.tag & (wider.size() - 1);
            while (wider[at].id != kNone) at = (at + 1) & (wider.size() - 1);
            wider[at] = e;
        }
        index_ = std::move(wider);
    }
    std::array<std::atomic<T*>, kChunks> chunks_{};
    std::vector<std::unique_ptr<T[]>> owned_;
    std::vector<IndexEntry> index_;  ///< a power of two long
    std::uint32_t size_ = 0;
    std::mutex mutex_;
};

inline std::size_t hash_mix(std::size_t seed, std::size_t value) {
    return (seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2))) * 0xff51afd7ed558ccdull;
}

}  // namespace jaxscope
