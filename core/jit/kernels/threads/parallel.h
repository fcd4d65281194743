// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "base/signals.h"
#include "jit/kernels/threads/denormals.h"
#include "jit/kernels/threads/worker_pool.h"

namespace jaxscope::exec {

constexpr double kParallelWork = 60000;  ///< scalar operations below which sharing them costs more than it brings

/// The first exception of several threads: a task of the pool throws none.
class FirstFailure {
public:
    template <class Fn>
    void guard(const Fn& fn) {
        try {
            fn();
        } catch (...) {
            if (!taken_.exchange(true)) failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::atomic<bool> taken_{false};
    std::exception_ptr failure_;
};

/// Calls fn(thread, share) for each share in [0, shares), whose number must not depend on who comes; `thread` is below `threads` and no two
/// calls at a time have the same. What fn throws is thrown here.
template <class Fn>
void run_shares(int threads, std::int64_t shares, const Fn& fn) {
    if (threads <= 1 || shares <= 1) {
        for (std::int64_t i = 0; i < shares; ++i) fn(0, i);
        return;
    }
    struct Shares {
        const Fn& fn;
        FirstFailure failure;
    } all{fn, {}};
    const auto call = [](void* context, int thread, std::int64_t share) {
        Shares& s = *static_cast<Shares*>(context);
        s.failure.guard([&] { s.fn(thread, share); });
    };
    WorkerPool::shared().run(threads, shares, {call, &all});
    all.failure.rethrow();
}

/// Calls fn(thread, begin, end) on shares of [0, n), each but the last a multiple of `unit`: several a thread, so that one that comes late
/// takes fewer. The shares depend on `threads` alone, not on who comes.
template <class Fn>
void parallel_shares(int threads, std::int64_t n, std::int64_t unit, const Fn& fn) {
    constexpr std::int64_t kSharesOfThread = 4;
    if (n <= 0) return;
    if (threads <= 1 || n <= unit) return fn(0, std::int64_t{0}, n);
    const std::int64_t wanted = std::min<std::int64_t>(kSharesOfThread * threads, WorkerPool::kMostShares - 1);
    const std::int64_t share = ((n + wanted - 1) / wanted + unit - 1) / unit * unit;
    run_shares(threads, (n + share - 1) / share, [&](int thread, std::int64_t i) { fn(thread, i * share, std::min(n, (i + 1) * share)); });
}

/// Calls fn(begin, end) on shares of [0, n), on this call's threads when there is work enough (`work`: scalar operations in all).
template <class Fn>
void parallel_for(int threads, std::int64_t n, double work, const Fn& fn) {
    if (n <= 0) return;
    if (threads <= 1 || n == 1 || work < kParallelWork) return fn(std::int64_t{0}, n);
    parallel_shares(threads, n, 1, [&fn](int, std::int64_t begin, std::int64_t end) { fn(begin, end); });
}

/// How many threads a run takes where `wanted` are asked for (0: as many as OMP_NUM_THREADS says, or else as the process has cores), within
/// OMP_THREAD_LIMIT: the environment's words are OpenMP's, though the threads are ours.
int usable_threads(int wanted);

/// Libraries that ask OpenMP, on this thread, find one thread for as long as this stands: the pool shares their work out, and a team of
/// OpenMP's own would spin beside it. A library must find the same when it prepares a call and when it runs it.
class SerialLibraries {
public:
    SerialLibraries();
    ~SerialLibraries();
    SerialLibraries(const SerialLibraries&) = delete;
    SerialLibraries& operator=(const SerialLibraries&) = delete;

private:
    int threads_before_;
};

/// Stands around a run: this thread runs no signal handler (base/signals.h says why) and flushes denormals, as the pool's threads do.
class ComputingThread {
    SignalsBlocked blocked_;
    SerialLibraries libraries_;
    FlushedDenormals flushed_;
};

}  // namespace jaxscope::exec
