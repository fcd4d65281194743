// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

namespace jaxscope {

namespace {

struct Shared {
    std::mutex mutex;
    std::function<void(const ProgressState*)> listener;
    std::atomic<bool> listened_to{false};
    Progress* innermost = nullptr;
    std::thread::id thread;
};
Shared& shared() {
    static auto& s = *new Shared;
    return s;
}

}  // namespace

Progress::Progress(std::string what, std::int64_t total) : state_{std::move(what), {}, 0, total} {
    Shared& s = shared();
    if (!s.listened_to) return;
    const std::lock_guard lock(s.mutex);
    if (s.innermost && s.thread != std::this_thread::get_id()) return;
    shown_ = true;
    s.thread = std::this_thread::get_id();
    outer_ = std::exchange(s.innermost, this);
}

Progress::~Progress() {
    if (!shown_) return;
    Shared& s = shared();
    const std::lock_guard lock(s.mutex);
    s.innermost = outer_;
    if (s.listener) s.listener(outer_ ? &outer_->state_ : nullptr);
}

void Progress::begin(std::string_view item) {
    if (!shown_) return;
    Shared& s = shared();
    const std::lock_guard lock(s.mutex);
    state_.item = item;
    ++state_.number;
    if (s.listener && s.innermost == this) s.listener(&state_);
}

void listen_to_progress(std::function<void(const ProgressState*)> listener) {
    Shared& s = shared();
    const std::lock_guard lock(s.mutex);
    s.listened_to = static_cast<bool>(listener);
    s.listener = std::move(listener);
}

void hide_progress() {
    Shared& s = shared();
    if (!s.listened_to) return;
    const std::lock_guard lock(s.mutex);
    if (s.listener && s.innermost) s.listener(nullptr);
}

}  // namespace jaxscope
