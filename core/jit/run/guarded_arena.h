// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// Debug mode: the arena of a computation that was planned with `guarded`, while it runs. Every buffer ends at a page that nobody may touch
/// and begins behind one; what is made is poisoned before, and what nobody reads any more can't be read. Whoever does ends the process
/// with SIGSEGV, after a line on standard error that names the equation: such a run belongs into a child (base/supervised.h).
class GuardedArena {
public:
    GuardedArena(const Computation& c, char* arena);
    ~GuardedArena();
    GuardedArena(const GuardedArena&) = delete;
    GuardedArena& operator=(const GuardedArena&) = delete;
    void before(std::size_t step);
    /// Throws Error{CannotRun} where generated code asked for an element outside of its buffer.
    void after(std::size_t step);

private:
    void forbid(int buffer) const;
    const Computation& c_;
    char* arena_;
    std::vector<std::vector<int>> born_, dead_;  ///< buffers, by step
    const Node* outer_;                          ///< what ran when this began: the loop
};

}  // namespace jaxscope::exec
