// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a jitted function keeps: its traces, their donation pairs and compiled code. Captures read it.
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "calls/remat/remat_lowering.h"
#include "donation/pairing.h"
#include "jit/jit.h"
#include "trace/functions.h"

namespace jaxscope::jax::detail {

/// What calls of a function have to have in common to have one trace.
struct TraceKey {
    const void* type = nullptr;
    PyTreeDef tree;
    std::vector<std::string> keywords;  ///< per argument; empty: it came by position
    Avals avals;
    std::vector<std::vector<Array>> fixed;  ///< per argument the static number that the function takes as an Array
    std::uint64_t axes = 0;                 ///< names of mapped axes that it was traced under
};

/// A trace that succeeded.
struct JitTrace {
    TraceKey key;
    std::string name;                    ///< of the function
    std::vector<std::string> arguments;  ///< their names
    TracedCall call;
    void* prototype = nullptr;  ///< the traced call's result: what isn't an array of later results
    void (*drop)(void*) = nullptr;
    JitTrace() = default;
    JitTrace(const JitTrace&) = delete;
    JitTrace& operator=(const JitTrace&) = delete;
    ~JitTrace() {
        if (drop) drop(prototype);
    }
};

/// One trace of a jitted function, and what its calls need.
struct JitEntry {
    std::shared_ptr<const JitTrace> trace;
    std::shared_ptr<const ::jaxscope::Program> program;
    DonationReport donation;
    RematLowering remat_lowering = RematLowering::Barrier;
    bool warn = true;    ///< of donations that can't be used
    bool untold = true;  ///< its warnings weren't told yet
    const void* function = nullptr;
    // What a run needs; one at a time, as an executable has one arena.
    std::mutex running;
    std::shared_ptr<Executable> executable;
    std::size_t runs = 0;
    std::vector<std::uint32_t> plain, consumed;  ///< leaves that are read; those among them whose arrays the call deletes
    std::vector<std::size_t> leaves_as_taken;    ///< as Call's; empty: in order
    std::vector<const ArrayConst*> inputs;
    std::vector<ArrayPtr> given;
    const Traced& traced() const { return trace->call.traced; }
    const PyTreeDef& out_tree() const { return trace->call.out_tree; }
    void* prototype() const { return trace->prototype; }
};

/// How filter_jit and its forebears say what is donated; jit itself goes by numbers and names.
struct DonationRules {
    bool filter = false;        ///< they count, and everything that is no array is static
    bool marker = false;        ///< filter_jit's extra int32 result in front
    bool own_function = false;  ///< the first argument is the function object itself
    bool function = false, fallback = false;
    std::vector<bool> args;  ///< by position; others: fallback
    std::vector<std::pair<std::string, bool>> kwargs;
    bool warn = true;
};

class JitState {
public:
    std::atomic<int> refs{1};
    JitOptions options;
    Where where;
    int arity = -1;                  ///< parameters of the function; -1: it doesn't tell
    const void* function = nullptr;  ///< what tells one that holds nothing; null: it holds something
    DonationRules rules;
    std::recursive_mutex tracing;     ///< held while a trace is made: other threads wait for it, the function may call itself
    mutable std::shared_mutex lists;  ///< guards what follows
    std::vector<std::shared_ptr<JitEntry>> entries, cleared;
    std::vector<std::string> reasons;
    struct Known {
        std::string bytes;
        std::vector<std::uint32_t> avals;  ///< per leaf, ~0: none
        const void* type;
        JitEntry* entry;
    };
    std::unordered_multimap<std::size_t, Known> known;  ///< calls by key
};

/// The number that filter_jit puts in front of the results. That of a filter_jit which warns of donations is written out: what
/// transformations make of the call keeps that.
LiteralRef filter_marker(bool warns);
/// The trace for these arguments, made if there is none.
std::shared_ptr<JitEntry> find_entry(JitState& state, Call& call);

}  // namespace jaxscope::jax::detail
