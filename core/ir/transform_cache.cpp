// SPDX-License-Identifier: Apache-2.0
#include "ir/transform_cache.h"

namespace jaxscope {

namespace {
thread_local TransformCache* of_this_thread = nullptr;
}

TransformCache& TransformCache::current() {
    static auto& own = *new TransformCache;  // never destroyed: static objects of tests hold jaxprs
    return of_this_thread ? *of_this_thread : own;
}

std::size_t TransformCache::size_locked() const {
    std::size_t n = 0;
    for (const auto& [owner, part] : parts_) n += part->size();
    return n;
}
std::size_t TransformCache::size() const {
    const std::lock_guard lock(mutex_);
    return size_locked();
}

void TransformCache::enter() {
    std::map<std::pair<const void*, std::uint32_t>, std::unique_ptr<Part>> old;  // declared before the lock, so destroyed without it
    const std::lock_guard lock(mutex_);
    if (scopes_++ == 0 && size_locked() > kMost) parts_.swap(old);
}
void TransformCache::leave() {
    const std::lock_guard lock(mutex_);
    --scopes_;
}

namespace {
thread_local bool evaluating_jaxpr = false;
}
EvaluatingScope::EvaluatingScope(bool evaluating) : outer_(evaluating_jaxpr) { evaluating_jaxpr = outer_ || evaluating; }
EvaluatingScope::~EvaluatingScope() { evaluating_jaxpr = outer_; }
bool EvaluatingScope::now() { return evaluating_jaxpr; }

TransformScope::TransformScope(TransformCache& cache) : cache_(cache), outer_(of_this_thread) {
    cache_.enter();
    of_this_thread = &cache;
}
TransformScope::~TransformScope() {
    of_this_thread = outer_;
    cache_.leave();
}

}  // namespace jaxscope
