#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
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
        const std::size_t h = Hash{}(value);
        std::lock_guard lock(mutex_);
        auto [first, last] = index_.equal_range(h);
        for (auto it = first; it != last; ++it)
            if (get(it->second) == value) return it->second;
        const std::uint32_t id = size_;
        JAXSCOPE_ASSERT((id >> kBits) < kChunks);
        if ((id & kMask) == 0) {
            owned_.push_back(std::make_unique<T[]>(kMask + 1));
            chunks_[id >> kBits].store(owned_.back().get(), std::memory_order_release);
        }
        chunks_[id >> kBits].load(std::memory_order_relaxed)[id & kMask] = T(std::forward<Key>(value));
        index_.emplace(h, id);
        ++size_;
        return id;
    }

private:
    static constexpr unsigned kBits = 12;
    static constexpr std::uint32_t kMask = (1u << kBits) - 1;
    static constexpr std::size_t kChunks = 1u << 14;  // 67 million values
    std::array<std::atomic<T*>, kChunks> chunks_{};
    std::vector<std::unique_ptr<T[]>> owned_;
    std::unordered_multimap<std::size_t, std::uint32_t> index_;
    std::uint32_t size_ = 0;
    std::mutex mutex_;
};

inline std::size_t hash_mix(std::size_t seed, std::size_t value) {
    return (seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2))) * 0xff51afd7ed558ccdull;
}

}  // namespace jaxscope
