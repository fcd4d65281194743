// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/threads/parallel.h"

#include <omp.h>

namespace jaxscope::exec {

int usable_threads(int wanted) {
    const int most = std::min(omp_get_thread_limit(), WorkerPool::kMostThreads);
    return std::clamp(wanted > 0 ? wanted : omp_get_max_threads(), 1, std::max(most, 1));
}

SerialLibraries::SerialLibraries() : threads_before_(omp_get_max_threads()) { omp_set_num_threads(1); }
SerialLibraries::~SerialLibraries() { omp_set_num_threads(threads_before_); }

}  // namespace jaxscope::exec
