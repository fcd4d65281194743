// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mutex>
#include <unordered_map>

#include "trace/jit/jit_state.h"

namespace jaxscope::jax::detail {

/// Would a call with the one key find the trace of the other?
bool same_key(const TraceKey& a, const TraceKey& b);

/// Traces of functions that hold nothing, for as long as the program runs: whoever jits such a function, and whatever is donated, it is
/// traced once, and calls of it inside of a program are calls of one jaxpr. As in JAX, which keeps traces by function object.
class SharedTraces {
public:
    static SharedTraces& get();
    /// Null: there is none. `wanted`: key and names.
    std::shared_ptr<const JitTrace> find(const void* function, const JitTrace& wanted) const;
    /// What closes over tracers is nobody else's.
    void add(const void* function, std::shared_ptr<const JitTrace> trace);
    void forget(const void* function);

private:
    mutable std::mutex mutex_;
    std::unordered_map<const void*, std::vector<std::shared_ptr<const JitTrace>>> of_function_;
};

}  // namespace jaxscope::jax::detail
