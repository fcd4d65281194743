// SPDX-License-Identifier: Apache-2.0
#include "devices/team.h"

#include "base/cancel.h"
#include "base/signals.h"

namespace jaxscope {

DeviceTeam::DeviceTeam(std::size_t devices) : errors_(devices) {
    for (std::size_t d = 0; d < devices; ++d)
        threads_.emplace_back([this, d] {
            block_signals();  // no handler runs on a thread that computes
            serve(d);
        });
}

DeviceTeam::~DeviceTeam() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    begin_.notify_all();
    for (std::thread& t : threads_) t.join();
}

void DeviceTeam::serve(std::size_t device) {
    for (std::uint64_t seen = 0;;) {
        const std::function<void(std::size_t)>* work = nullptr;
        {
            std::unique_lock lock(mutex_);
            begin_.wait(lock, [&] { return over_ || round_ != seen; });
            if (over_) return;
            seen = round_;
            work = work_;
        }
        try {
            (*work)(device);
        } catch (...) {
            errors_[device] = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) done_.notify_one();
    }
}

void DeviceTeam::each(const std::function<void(std::size_t)>& work) {
    const CancelScope* const scope = CancelScope::current();
    const std::function<void(std::size_t)> scoped = [&](std::size_t device) {
        const CancelScope cancel(scope);
        work(device);
    };
    std::unique_lock lock(mutex_);
    work_ = &scoped;
    busy_ = threads_.size();
    ++round_;
    begin_.notify_all();
    done_.wait(lock, [&] { return busy_ == 0; });
    std::exception_ptr first;
    for (std::exception_ptr& e : errors_) {
        if (e && !first) first = e;
        e = nullptr;
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace jaxscope
