// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/threads/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <omp.h>
#include <pthread.h>

#include "base/signals.h"
#include "jit/kernels/threads/denormals.h"

namespace jaxscope::exec {

namespace {

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Calls `ready` until it holds, for as long as a worker may spin.
template <class Ready>
bool spin_until(const Ready& ready) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::microseconds(WorkerPool::kSpinMicroseconds);
    do {
        for (int i = 0; i < 32; ++i) {
            if (ready()) return true;
            relax();
        }
    } while (Clock::now() < end);
    return ready();
}

/// What is to be done, in one word that a thread takes a share from by one compare and exchange: the number of the job (24 bits), how many
/// threads may help (12), how many shares there are (14) and which comes next (14). Nobody touches a job of which he holds no share, so a
/// worker that comes late finds an empty or another word and nothing that has gone.
struct Ticket {
    std::uint64_t word;
    std::int64_t next() const { return static_cast<std::int64_t>(word & 0x3fff); }
    std::int64_t shares() const { return static_cast<std::int64_t>(word >> 14 & 0x3fff); }
    int threads() const { return static_cast<int>(word >> 28 & 0xfff); }
    bool open_to(int thread) const { return next() < shares() && thread < threads(); }
    static std::uint64_t make(std::uint64_t job, int threads, std::int64_t shares) {
        return (job & 0xffffff) << 40 | static_cast<std::uint64_t>(threads) << 28 | static_cast<std::uint64_t>(shares) << 14;
    }
};

thread_local bool inside_task = false;

}  // namespace

struct WorkerPool::State {
    std::mutex caller;  ///< held by whom the workers serve
    std::atomic<int> workers{0};
    Task task{};
    std::uint64_t job = 0;
    alignas(64) std::atomic<std::uint64_t> ticket{0};
    alignas(64) std::atomic<std::int64_t> open{0};  ///< shares that aren't done
    alignas(64) std::atomic<std::uint32_t> posted{0};
    std::atomic<int> sleeping{0};

    /// Takes shares until there are none.
    void help(int thread) {
        std::uint64_t word = ticket.load(std::memory_order_acquire);
        while (Ticket{word}.open_to(thread)) {
            if (!ticket.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
            task.call(task.context, thread, Ticket{word}.next());
            if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) open.notify_all();
            word = ticket.load(std::memory_order_acquire);
        }
    }
    [[noreturn]] void work(int thread) {
        block_signals();
        FlushedDenormals::for_good();
        omp_set_num_threads(1);  // libraries that ask OpenMP: the shares are the threads' work
        inside_task = true;
        while (true) {
            const std::uint32_t seen = posted.load();
            const auto called = [&] { return Ticket{ticket.load(std::memory_order_acquire)}.open_to(thread); };
            if (!spin_until(called)) {
                ++sleeping;
                if (!called()) posted.wait(seen);
                --sleeping;
            }
            help(thread);
        }
    }
    void start_workers(int wanted) {
        while (workers < wanted) {
            const int thread = workers + 1;
            try {
                std::thread([this, thread] { work(thread); }).detach();
            } catch (const std::system_error&) {
                return;  // those that there are, and the caller, do the work
            }
            workers = thread;
        }
    }
};

WorkerPool::WorkerPool() : state_(new State) {}

WorkerPool& WorkerPool::shared() {
    static auto& pool = *[] {
        auto* made = new WorkerPool;
        // A child that fork made has none of the threads: it starts with a pool of its own.
        pthread_atfork(nullptr, nullptr, [] { shared().state_ = new State; });
        return made;
    }();
    return pool;
}

void WorkerPool::run(int threads, std::int64_t shares, Task task) {
    threads = static_cast<int>(std::min<std::int64_t>({threads, shares, kMostThreads}));
    State& s = *state_;
    std::unique_lock<std::mutex> lock(s.caller, std::defer_lock);
    if (threads <= 1 || inside_task || !lock.try_lock()) {
        for (std::int64_t i = 0; i < shares; ++i) task.call(task.context, 0, i);
        return;
    }
    s.start_workers(threads - 1);
    s.task = task;
    s.open.store(shares, std::memory_order_relaxed);
    s.ticket.store(Ticket::make(++s.job, threads, shares), std::memory_order_release);
    ++s.posted;
    if (s.sleeping > 0) s.posted.notify_all();
    inside_task = true;
    s.help(0);
    inside_task = false;
    const auto done = [&] { return s.open.load(std::memory_order_acquire) == 0; };
    if (spin_until(done)) return;
    for (std::int64_t left = s.open.load(); left != 0; left = s.open.load()) s.open.wait(left);
}

}  // namespace jaxscope::exec
