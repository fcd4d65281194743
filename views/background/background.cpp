// SPDX-License-Identifier: Apache-2.0
#include "background/background.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "base/error.h"

namespace jaxscope::views {
namespace {

/// Never destroyed: threads may still run when the process ends.
std::vector<std::unique_ptr<QThreadPool>>& left_behind() {
    static auto* pools = new std::vector<std::unique_ptr<QThreadPool>>;
    return *pools;
}

}  // namespace

void Mailbox::post(std::function<void()> call) {
    const std::lock_guard lock(mutex_);
    if (owner_ != nullptr) QMetaObject::invokeMethod(owner_, std::move(call), Qt::QueuedConnection);
}

void Mailbox::close() {
    const std::lock_guard lock(mutex_);
    owner_ = nullptr;
}

BackgroundThread::BackgroundThread(unsigned stack_bytes) : pool_(std::make_unique<QThreadPool>()) {
    pool_->setMaxThreadCount(1);
    if (stack_bytes > 0) pool_->setStackSize(stack_bytes);
}

BackgroundThread::~BackgroundThread() {
    pool_->clear();
    if (pool_->activeThreadCount() > 0) left_behind().push_back(std::move(pool_));
}

void BackgroundThread::start(std::function<void()> work) { pool_->start(std::move(work)); }

bool BackgroundThread::any_left_behind() {
    auto& pools = left_behind();
    pools.erase(std::remove_if(pools.begin(), pools.end(), [](const auto& pool) { return pool->activeThreadCount() == 0; }), pools.end());
    return !pools.empty();
}

void BackgroundThread::wait_for_left_behind() {
    for (const auto& pool : left_behind()) pool->waitForDone();
    left_behind().clear();
}

Latest::~Latest() {
    cancel();
    mailbox_->close();
}

void Latest::cancel() {
    worker_.drop();
    if (running_) running_->cancel();
    running_.reset();
}

void Latest::start(std::function<std::function<void()>()> work) {
    cancel();
    running_ = std::make_shared<CancelToken>();
    worker_.start([this, work = std::move(work), token = running_, mailbox = mailbox_] {
        const CancelScope scope(*token);
        std::function<void()> then;
        try {
            then = work();
        } catch (const std::exception& e) {
            const auto* error = dynamic_cast<const Error*>(&e);
            if (error != nullptr && error->code == ErrorCode::Cancelled) return;  // whoever cancelled it wants no answer
            then = [thrown = std::current_exception()] { std::rethrow_exception(thrown); };
        }
        mailbox->post([this, token, then = std::move(then)] {
            if (token != running_) return;
            running_.reset();
            if (then) then();
        });
    });
}

}  // namespace jaxscope::views
