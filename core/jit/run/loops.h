#pragma once
#include "jit/run/executor.h"

namespace jaxscope::exec {

/// Runs a scan, while or cond. `buffers`: pointer of every buffer of the computation that holds the thunk.
void run_loop(const Thunk& t, const Node& n, const std::vector<char*>& buffers, const RunState& state);

}  // namespace jaxscope::exec
