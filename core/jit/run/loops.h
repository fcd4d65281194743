#pragma once
#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// Builds the bodies of a scan, while or cond into `t` and returns the scratch it needs: the bodies' arena, a second buffer for
/// each carry that a body can't update in place, slots for what nobody reads.
std::int64_t prepare_loop(Thunk& t, const Node& n, const ComputationOptions& options);

/// May result `write` stand in the memory of operand `read`? For carries that the body updates in place.
bool loop_in_place(const Thunk& t, const Node& n, std::size_t read, std::size_t write);

/// Runs it. `buffers`: pointer of every buffer of the computation that holds the thunk.
void run_loop(const Thunk& t, const Node& n, const std::vector<char*>& buffers, const RunState& state);

}  // namespace jaxscope::exec
