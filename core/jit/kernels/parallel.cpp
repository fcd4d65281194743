#include "jit/kernels/parallel.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include <omp.h>

namespace jaxscope::exec {

namespace {

/// The first exception of several threads: none may leave a parallel region.
class FirstFailure {
public:
    template <class Fn>
    void guard(const Fn& fn) {
        try {
            fn();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

int threads_given(int wanted) {
    const int levels = omp_get_max_active_levels();
    return levels < 1 ? 1 : std::max(1, std::min(wanted, omp_get_thread_limit()));
}

void parallel_shares(int threads, std::int64_t n, std::int64_t unit, const std::function<void(int, std::int64_t, std::int64_t)>& fn) {
    if (n <= 0) return;
    if (threads <= 1 || n <= unit) return fn(0, 0, n);
    FirstFailure failure;
#pragma omp parallel num_threads(threads)
    {
        const std::int64_t came = omp_get_num_threads(), id = omp_get_thread_num();
        const std::int64_t share = ((n + came - 1) / came + unit - 1) / unit * unit;
        const std::int64_t begin = id * share, end = std::min(n, begin + share);
        if (begin < end) failure.guard([&] { fn(static_cast<int>(id), begin, end); });
    }
    failure.rethrow();
}

void parallel_for(int threads, std::int64_t n, double work, const std::function<void(std::int64_t, std::int64_t)>& fn) {
    if (n <= 0) return;
    if (threads <= 1 || n == 1 || work < kParallelWork) return fn(0, n);
    parallel_shares(threads, n, 1, [&fn](int, std::int64_t begin, std::int64_t end) { fn(begin, end); });
}

LibraryThreads::LibraryThreads(int threads) : threads_before_(omp_get_max_threads()), dynamic_before_(omp_get_dynamic()) {
    omp_set_dynamic(0);
    omp_set_num_threads(threads_given(threads));
}
LibraryThreads::~LibraryThreads() {
    omp_set_num_threads(threads_before_);
    omp_set_dynamic(dynamic_before_);
}

ComputingThreads::ComputingThreads(int threads) : library_(threads) {
    // Threads that OpenMP starts from here on inherit what is blocked. Those that it keeps from another use of this thread may not have it.
    if (threads > 1) {
#pragma omp parallel num_threads(threads)
        if (omp_get_thread_num() != 0) block_signals();
    }
}

}  // namespace jaxscope::exec
