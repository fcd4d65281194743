#pragma once
#include <vector>

#include "jit/plan/computation.h"

namespace jaxscope::exec {

struct RunState {
    std::vector<double>* step_seconds = nullptr;  ///< of the outermost computation
    bool check_nan = false;
};

/// How a body is run: the executor's own function. It is handed down, because bodies hold loops in their turn.
using RunBody = void (*)(const Computation& c, void* const* in, void* const* out, char* arena, const RunState& state);

/// Runs a scan, while or cond. `buffers`: pointer of every buffer of the computation that holds the thunk.
void run_loop(const Thunk& t, const Node& n, const std::vector<char*>& buffers, const RunState& state, RunBody run_body);

}  // namespace jaxscope::exec
