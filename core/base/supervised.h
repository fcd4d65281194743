// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/error.h"

namespace jaxscope {

/// What a child may take; 0: as much as it likes.
struct ChildLimits {
    std::int64_t memory = 0;  ///< bytes that a run adds to the child's resident memory
    double seconds = 0;
    bool isolated = false;  ///< a child even without limits: what is done there may end the process
    bool any() const { return memory > 0 || seconds > 0 || isolated; }
};

/// What a run may have at its highest where `limit` is its limit: what the measurement itself and the threads' stacks take isn't refused.
inline std::int64_t allowed_memory(std::int64_t limit) { return limit + std::max<std::int64_t>(limit / 100, 1 << 20); }

/// Of a process that SIGKILL ended: why, as far as it is known. The system does that where memory is short, and counts how often; so may
/// anybody else, who leaves no trace. To be made before the process is started.
class KilledBy {
public:
    KilledBy();
    /// `planned`: bytes that its plan needs; 0: not known.
    Error error(std::int64_t planned) const;
    /// The same, of counts that were read: -1 where the system has none.
    static Error error(std::int64_t count_before, std::int64_t count_now, std::int64_t planned);

private:
    std::int64_t count_before_;
};

/// Does `work` in a child of this process (a fork: to be called before there are other threads that hold locks) and waits for it. Its
/// streams are this process's. Whoever cancels here (base/cancel.h) ends the child, with SIGTERM first; when this process dies, the child
/// does, too.
///
/// `work`   returns the child's exit code, and has told of its errors itself.
/// Returns  the exit code. Throws Error{CannotRun} when a limit is passed, or when somebody or the system killed the child (KilledBy); a
///          std::runtime_error that names the signal when the child died of itself: an illegal instruction, an abort.
int run_supervised(const ChildLimits& limits, const std::function<int()>& work);

/// Around a run, in the child: from now on what is resident beyond `before` counts against the limit. `planned`: bytes that it will take.
/// Costs nothing in other processes.
class CountedRun {
public:
    CountedRun(std::int64_t before, std::int64_t planned);
    ~CountedRun();
    CountedRun(const CountedRun&) = delete;
    CountedRun& operator=(const CountedRun&) = delete;
};

/// In a child: was it asked to end because of its time? Then the parent says why, and nobody else has to.
bool ended_by_supervisor();

/// Bytes of process `pid` that belong to no file, 0: this process; -1: not known.
std::int64_t anonymous_resident(int pid);

}  // namespace jaxscope
