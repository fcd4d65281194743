#pragma once
#include <any>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ir/transform_cache.h"

namespace jaxscope {

/// Stages by content: the same key, the same result. Shared by the inspections of one program. A stage is computed once even when two
/// threads ask for it: the second waits. Transformations' results go with it, when the last inspection of the program is closed.
class StageCache {
public:
    template <class T, class Make>
    const T& get(const std::string& key, Make make) {
        std::shared_ptr<Entry> entry;
        {
            std::lock_guard lock(mutex_);
            auto& slot = entries_[key];
            if (!slot) slot = std::make_shared<Entry>();
            entry = slot;
        }
        std::lock_guard lock(entry->mutex);
        const TransformScope scope(transforms);
        if (!entry->value.has_value())
            entry->value = std::make_shared<const T>(make());  // an error leaves it empty: asked again, tried again
        return *std::any_cast<const std::shared_ptr<const T>&>(entry->value);
    }
    TransformCache transforms;  ///< what all stages make of the program's jaxprs

private:
    struct Entry {
        std::recursive_mutex mutex;
        std::any value;
    };
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace jaxscope
