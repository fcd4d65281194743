#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/intern.h"
#include "ir/jaxpr.h"

namespace jaxscope {

/// Results of a transformation by the identity of the jaxpr and further arguments: a sub-jaxpr used ten times is transformed once, and its
/// result is one object too. Entries die with their jaxpr. Thread-safe; two threads may compute the same result, the first one stays.
template <class Key, class Result>
class JaxprCache {
public:
    /// References stay good as long as the jaxpr lives: callers that keep a result longer copy it.
    template <class Make>
    const Result& get(const JaxprPtr& j, const Key& key, std::size_t key_hash, Make make) {
        const std::size_t h = hash_mix(key_hash, reinterpret_cast<std::size_t>(j.get()));
        if (const Result* found = find(j, key, h)) return *found;
        auto made = std::make_shared<const Result>(make());  // outside the lock: it recurses into nested jaxprs
        std::lock_guard lock(mutex_);
        if (const Result* found = find_locked(j, key, h)) return *found;
        if (entries_.size() >= purge_at_) purge();
        return *entries_.emplace(h, Entry{j, key, std::move(made)})->second.result;
    }

private:
    struct Entry {
        std::weak_ptr<const Jaxpr> jaxpr;
        Key key;
        std::shared_ptr<const Result> result;
    };
    const Result* find(const JaxprPtr& j, const Key& key, std::size_t h) {
        std::lock_guard lock(mutex_);
        return find_locked(j, key, h);
    }
    const Result* find_locked(const JaxprPtr& j, const Key& key, std::size_t h) {
        auto [first, last] = entries_.equal_range(h);
        for (auto it = first; it != last; ++it)
            if (it->second.key == key && it->second.jaxpr.lock() == j) return it->second.result.get();
        return nullptr;
    }
    void purge() {
        std::vector<std::shared_ptr<const Result>> dead;  // destroyed last: results own jaxprs
        for (auto it = entries_.begin(); it != entries_.end();)
            if (it->second.jaxpr.expired()) {
                dead.push_back(std::move(it->second.result));
                it = entries_.erase(it);
            } else {
                ++it;
            }
        purge_at_ = std::max<std::size_t>(256, 2 * entries_.size());
    }
    std::unordered_multimap<std::size_t, Entry> entries_;
    std::size_t purge_at_ = 256;
    std::mutex mutex_;
};

inline std::size_t hash_of(const std::vector<bool>& v) { return std::hash<std::vector<bool>>{}(v); }

}  // namespace jaxscope
