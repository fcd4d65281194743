// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/matrices/lapack_lock.h"

#include <dlfcn.h>

namespace jaxscope::exec {

namespace {

/// OpenBLAS says for how many threads it was built: 0 for one (sequential).
bool one_at_a_time() {
    using Parallel = int (*)();
    const auto parallel = reinterpret_cast<Parallel>(::dlsym(RTLD_DEFAULT, "openblas_get_parallel"));  // NOLINT: dlsym's only way
    return parallel && parallel() == 0;
}

}  // namespace

bool lapack_takes_turns() {
    static const bool turns = one_at_a_time();
    return turns;
}

LapackLock::LapackLock() {
    static std::mutex mutex;
    if (lapack_takes_turns()) lock_ = std::unique_lock(mutex);
}

}  // namespace jaxscope::exec
