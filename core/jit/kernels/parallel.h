#pragma once
#include <cstdint>
#include <functional>

#include "base/signals.h"

namespace jaxscope::exec {

constexpr double kParallelWork = 60000;  ///< scalar operations below which waking threads costs more than it brings

/// How many threads OpenMP really gives where `wanted` are asked for: OMP_THREAD_LIMIT and its like in the environment may allow fewer.
int threads_given(int wanted);

/// Calls fn(begin, end) on shares of [0, n), on this call's threads when there is work enough (`work`: scalar operations in all).
void parallel_for(int threads, std::int64_t n, double work, const std::function<void(std::int64_t, std::int64_t)>& fn);

/// Calls fn(thread, begin, end) on shares of [0, n), each but the last a multiple of `unit`, on at most `threads` threads. Whatever number
/// of them comes, all of [0, n) is done; `thread` counts from 0 and stays below `threads`. What fn throws is thrown here.
void parallel_shares(int threads, std::int64_t n, std::int64_t unit, const std::function<void(int, std::int64_t, std::int64_t)>& fn);

/// The number of threads that libraries find when they ask OpenMP, on this thread, for as long as this stands. A library must find the
/// same number when it prepares a call and when it runs it: its scratch memory is made for that.
class LibraryThreads {
public:
    explicit LibraryThreads(int threads);
    ~LibraryThreads();
    LibraryThreads(const LibraryThreads&) = delete;
    LibraryThreads& operator=(const LibraryThreads&) = delete;

private:
    int threads_before_, dynamic_before_;
};

/// Stands around a run: this thread and those that OpenMP gives it run no signal handler (base/signals.h says why).
class ComputingThreads {
public:
    explicit ComputingThreads(int threads);

private:
    SignalsBlocked blocked_;
    LibraryThreads library_;
};

}  // namespace jaxscope::exec
