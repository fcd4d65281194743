// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/intern.h"
#include "ir/jaxpr.h"
#include "ir/types/manual_axes.h"

namespace jaxscope {

/// What transformations have made of one program's jaxprs, so that a sub-jaxpr used ten times is transformed once and its result is one
/// object too. Belongs to whoever looks at the program (Inspection) and goes with it. Rules and transformations don't hand it around: they
/// use the thread's current one, which a TransformScope sets. Thread-safe: several threads may look at one program.
class TransformCache {
public:
    TransformCache() = default;
    TransformCache(const TransformCache&) = delete;
    TransformCache& operator=(const TransformCache&) = delete;
    ~TransformCache() = default;

    /// Of the thread's innermost TransformScope. Without one, as in tests of single rules, the process's own.
    static TransformCache& current();
    /// The part that `owner`, an object that lives for ever, keeps its results in; made when first asked for. What the body of a shard_map
    /// becomes is another thing outside of it.
    template <class T>
    T& part(const void* owner) {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Part>& slot = parts_[{owner, ManualScope::number()}];
        if (!slot) slot = std::make_unique<PartOf<T>>();
        return static_cast<PartOf<T>&>(*slot).value;
    }
    /// Number of results.
    std::size_t size() const;

    /// Where a scope finds more results than these, it starts anew: policies tried one after the other don't add up.
    static constexpr std::size_t kMost = 8192;

private:
    friend class TransformScope;
    struct Part {
        virtual ~Part() = default;
        virtual std::size_t size() const = 0;
    };
    template <class T>
    struct PartOf final : Part {
        std::size_t size() const override { return value.size(); }
        T value;
    };
    void enter();
    void leave();
    std::size_t size_locked() const;
    mutable std::mutex mutex_;
    std::map<std::pair<const void*, std::uint32_t>, std::unique_ptr<Part>> parts_;
    int scopes_ = 0;  ///< open ones: what their callers refer to must stay
};

/// Makes `cache` the thread's current one. References that transformations return stay good until the last scope of the cache ends.
class TransformScope {
public:
    explicit TransformScope(TransformCache& cache);
    TransformScope(const TransformScope&) = delete;
    TransformScope& operator=(const TransformScope&) = delete;
    ~TransformScope();

private:
    TransformCache& cache_;
    TransformCache* outer_;
};

/// While one lives JAX would be evaluating a jaxpr's equations, not running the user's Python. What its transformations make in the one
/// case it doesn't find again in the other: an equation sets the mesh that was in force where it was traced, if only the empty one, and the
/// keys of its caches hold the mesh.
class EvaluatingScope {
public:
    explicit EvaluatingScope(bool evaluating);
    EvaluatingScope(const EvaluatingScope&) = delete;
    EvaluatingScope& operator=(const EvaluatingScope&) = delete;
    ~EvaluatingScope();
    static bool now();

private:
    bool outer_;
};

/// Results by the identity of the jaxpr and by the content of further arguments. Entries die with their jaxpr. Thread-safe; two threads may
/// compute the same result, the first one stays.
template <class Key, class Result>
class JaxprResults {
public:
    template <class Make>
    const Result& get(const JaxprPtr& j, const Key& key, std::size_t key_hash, Make make) {
        const std::size_t h = hash_mix(key_hash, reinterpret_cast<std::size_t>(j.get()));
        if (const Result* found = find(j, key, h)) return *found;
        auto made = std::make_shared<const Result>(make());  // outside the lock: it recurses into nested jaxprs
        const std::lock_guard lock(mutex_);
        if (const Result* found = find_locked(j, key, h)) return *found;
        if (entries_.size() >= purge_at_) purge();
        return *entries_.emplace(h, Entry{j, key, std::move(made)})->second.result;
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return entries_.size();
    }

private:
    struct Entry {
        std::weak_ptr<const Jaxpr> jaxpr;
        Key key;
        std::shared_ptr<const Result> result;
    };
    const Result* find(const JaxprPtr& j, const Key& key, std::size_t h) {
        const std::lock_guard lock(mutex_);
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
    mutable std::mutex mutex_;
};

/// One transformation's results in the current TransformCache: a static object of the function that makes them.
template <class Key, class Result>
class CachedTransform {
public:
    CachedTransform() = default;
    /// `shared`: JAX's cache doesn't tell jaxprs from Python (EvaluatingScope).
    struct Shared {};
    explicit CachedTransform(Shared) : shared_(true) {}
    template <class Make>
    const Result& get(const JaxprPtr& j, const Key& key, std::size_t key_hash, Make make) const {
        const char* owner = &addresses_[!shared_ && EvaluatingScope::now()];
        return TransformCache::current().part<JaxprResults<Key, Result>>(owner).get(j, key, key_hash, std::move(make));
    }

private:
    bool shared_ = false;
    char addresses_[2] = {};  ///< which transformation it is, of Python and of jaxprs
};

inline std::size_t hash_of(const std::vector<bool>& v) { return std::hash<std::vector<bool>>{}(v); }

}  // namespace jaxscope
