// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace jaxscope::exec {

/// The threads that runs share: the caller's own, and workers that are started when they are first wanted and kept. A worker that finds
/// nothing to do spins for kSpinMicroseconds, so that a loop of small kernels finds it awake, then sleeps until it is called. Shares aren't
/// tied to threads: whoever comes takes the next one, so that a caller whose workers sleep, or wait for a busy core, does the work itself.
class WorkerPool {
public:
    static constexpr int kSpinMicroseconds = 50;
    static constexpr int kMostThreads = 1024;
    static constexpr std::int64_t kMostShares = 1 << 14;

    static WorkerPool& shared();

    /// A function without its type: `call(context, thread, share)`.
    struct Task {
        void (*call)(void* context, int thread, std::int64_t share);
        void* context;
    };
    /// Calls task for each share in [0, shares), shares < kMostShares, on at most `threads` threads, and returns when all are done.
    /// `thread` counts from 0 (the caller) and stays below `threads`; no two calls at a time have the same. A task doesn't throw. Where the
    /// workers serve another caller, or a task calls, all is done by the calling thread.
    void run(int threads, std::int64_t shares, Task task);

private:
    struct State;
    WorkerPool();
    State* state_;
};

}  // namespace jaxscope::exec
