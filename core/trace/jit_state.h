#pragma once
// What a jitted function keeps: its traces, their donation pairs and compiled code. Captures read it.
#include <mutex>

#include "donation/pairing.h"
#include "jit/jit.h"
#include "trace/functions.h"

namespace jaxscope::jax::detail {

/// One trace of a jitted function. Only a trace that succeeded becomes one.
struct JitEntry {
    const void* type = nullptr;
    PyTreeDef tree;
    Avals avals;
    Traced traced;
    std::shared_ptr<const ::jaxscope::Program> program;
    DonationReport donation;
    void* prototype = nullptr;  ///< the traced call's result: what isn't an array of later results
    void (*drop)(void*) = nullptr;
    std::shared_ptr<Executable> executable;
    std::mutex running;
    JitEntry() = default;
    JitEntry(const JitEntry&) = delete;
    JitEntry& operator=(const JitEntry&) = delete;
    ~JitEntry();
};

class JitState {
public:
    std::atomic<int> refs{1};
    JitOptions options;
    Where where;
    std::mutex mutex;
    std::vector<std::shared_ptr<JitEntry>> entries;
    std::vector<std::string> reasons;
    std::string warnings;
};

/// The trace for these arguments, made if there is none.
std::shared_ptr<JitEntry> find_entry(JitState& state, Call& call);

}  // namespace jaxscope::jax::detail
