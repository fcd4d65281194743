// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work off the window's thread. Comes in: functions. Goes out: what is to be done with their results, on the window's thread. Never here:
// what is computed, and waiting for it.
#include <QObject>
#include <QThreadPool>
#include <functional>
#include <memory>
#include <mutex>

#include "base/cancel.h"

namespace jaxscope::views {

/// Has functions called on an object's thread, as long as the object is there. Threads that outlive the object hold it.
class Mailbox {
public:
    explicit Mailbox(QObject* owner) : owner_(owner) {}
    void post(std::function<void()> call);
    /// The owner goes away.
    void close();

private:
    std::mutex mutex_;
    QObject* owner_;
};

/// One thread in the background. Whoever lets go of it doesn't wait: what has not begun is dropped, what runs is left behind to end by
/// itself.
class BackgroundThread {
public:
    explicit BackgroundThread(unsigned stack_bytes = 0);
    ~BackgroundThread();
    BackgroundThread(const BackgroundThread&) = delete;
    BackgroundThread& operator=(const BackgroundThread&) = delete;
    void start(std::function<void()> work);
    /// Drops what has not begun.
    void drop() { pool_->clear(); }

    /// Does something still run whose worker is gone? A process that ends then must not take its tables apart.
    static bool any_left_behind();
    /// For those who count memory or threads at the end (tests).
    static void wait_for_left_behind();

private:
    std::unique_ptr<QThreadPool> pool_;
};

/// Work of which only the last request counts: a new one cancels the one before it.
class Latest {
public:
    explicit Latest(QObject* owner, unsigned stack_bytes = 0) : worker_(stack_bytes), mailbox_(std::make_shared<Mailbox>(owner)) {}
    ~Latest();
    Latest(const Latest&) = delete;
    Latest& operator=(const Latest&) = delete;
    /// `work` runs in the background, in a CancelScope; what it returns is called on the owner's thread unless a later request was made.
    void start(std::function<std::function<void()>()> work);
    void cancel();
    bool busy() const { return running_ != nullptr; }

private:
    BackgroundThread worker_;
    std::shared_ptr<Mailbox> mailbox_;
    std::shared_ptr<CancelToken> running_;
};

}  // namespace jaxscope::views
