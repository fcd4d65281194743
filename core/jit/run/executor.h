#pragma once
// Floor `jit/run`: running. Comes in: a planned computation with its code. Goes out: results, times, and what was resident. Never
// here: decisions about memory; measured figures must not read the plan's.
#include <vector>

#include "jit/jit.h"
#include "jit/plan/computation.h"
#include "jit/run/loops.h"

namespace jaxscope::exec {

/// Gives the constants of a computation and its bodies their bytes.
void fill_pool(Computation& c);

/// Does it compute on the caller's thread alone, in compiled code alone? Then it needs no ComputingThreads, which costs microseconds.
bool runs_alone(const Computation& c);

/// Runs all thunks. `in`, `out`: pointers per input and output; `arena`: arena_bytes, 64-byte aligned.
/// Throws Error{Cancelled}; Error{CannotRun} with the equation when `check_nan` finds one.
void run_computation(const Computation& c, void* const* in, void* const* out, char* arena, const RunState& state);

}  // namespace jaxscope::exec
