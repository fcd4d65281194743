// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>

namespace jaxscope::exec {

/// Does one call wait for the other (LapackLock)?
bool lapack_takes_turns();

/// Held round each call of LAPACK and BLAS, which come from several threads: those of a batch, of virtual devices, of whoever links this
/// library. Most libraries take them side by side, and nothing is locked. OpenBLAS built for one thread doesn't (seen with 0.3.21: LU,
/// triangular solves and eigenvalues of one thread overwrite another's): there one call waits for the other.
class LapackLock {
public:
    LapackLock();

private:
    std::unique_lock<std::mutex> lock_;
};

}  // namespace jaxscope::exec
