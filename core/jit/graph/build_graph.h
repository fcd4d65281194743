#pragma once
#include "calls/remat_lowering.h"
#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// Inlines calls (jit, closed_call, custom_jvp_call, ...; remat behind a barrier, or in the loop or branch of `remat`, where JAX lowers it
/// so), expands what has no kernel of its own, merges equal equations (never across a barrier) and drops dead ones. Throws
/// Error{UnknownPrimitive, NoRule} with the equation and source of what can't run. Cost linear in equations.
GraphPtr build_graph(const JaxprPtr& program, RematLowering remat = RematLowering::Barrier);

}  // namespace jaxscope::exec
