// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <any>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ir/transform_cache.h"
#include "ir/types/type_mesh.h"

namespace jaxscope {

/// One stage under one key; empty until it was computed.
struct StageEntry {
    std::recursive_mutex mutex;
    std::any value;
};

/// Stages by content: the same key, the same result. Shared by the inspections of one program, gone with the last of them. What no open
/// inspection has asked for stays only while it is among the last `kMost`: policies tried all day don't add up.
class StageCache {
public:
    static constexpr std::size_t kMost = 64;

    /// `type_mesh`: the mesh that the program's types speak of (TypeMeshScope).
    explicit StageCache(Attr type_mesh) : type_mesh(std::move(type_mesh)) {}

    std::shared_ptr<StageEntry> entry(const std::string& key) {
        const std::lock_guard lock(mutex_);
        std::weak_ptr<StageEntry>& slot = entries_[key];
        std::shared_ptr<StageEntry> found = slot.lock();
        if (!found) slot = found = std::make_shared<StageEntry>();
        std::erase(recent_, found);
        recent_.push_back(found);
        if (recent_.size() > kMost) recent_.pop_front();
        if (entries_.size() > 4 * kMost) std::erase_if(entries_, [](const auto& e) { return e.second.expired(); });
        return found;
    }
    /// Stages that are kept now.
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        std::size_t n = 0;
        for (const auto& [key, e] : entries_) n += e.expired() ? 0 : 1;
        return n;
    }
    const Attr type_mesh;
    TransformCache transforms;  ///< what all stages make of the program's jaxprs

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::weak_ptr<StageEntry>> entries_;
    std::deque<std::shared_ptr<StageEntry>> recent_;  ///< the last one asked for is the last
};

/// The stages of one inspection: what it returned by reference stays as long as it does. A stage is computed once even when two threads or
/// two inspections ask for it: the second waits.
class HeldStages {
public:
    explicit HeldStages(std::shared_ptr<StageCache> shared) : shared_(std::move(shared)) {}
    template <class T, class Make>
    const T& get(const std::string& key, Make make) {
        const std::shared_ptr<StageEntry> entry = hold(key);
        const std::lock_guard lock(entry->mutex);
        const TransformScope scope(shared_->transforms);
        const TypeMeshScope mesh(shared_->type_mesh);
        if (!entry->value.has_value())
            entry->value = std::make_shared<const T>(make());  // an error leaves it empty: asked again, tried again
        return *std::any_cast<const std::shared_ptr<const T>&>(entry->value);
    }
    const std::shared_ptr<StageCache>& shared() const { return shared_; }

private:
    std::shared_ptr<StageEntry> hold(const std::string& key) {
        const std::lock_guard lock(mutex_);
        std::shared_ptr<StageEntry>& slot = held_[key];
        if (!slot) slot = shared_->entry(key);
        return slot;
    }
    std::shared_ptr<StageCache> shared_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<StageEntry>> held_;
};

}  // namespace jaxscope
