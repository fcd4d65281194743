// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "calls/remat/remat_lowering.h"
#include "jit/graph/graph.h"

namespace jaxscope {
struct TargetDevice;
}

namespace jaxscope::exec {

struct GraphOptions {
    RematLowering remat = RematLowering::Barrier;
    bool over_devices = false;   ///< collectives over axes of a mesh are nodes, which nothing but a plan can have
    bool show_operands = false;  ///< what has no result (debug_print) reads its operands, so that they are in memory; else it is only met
    bool write_prints = false;   ///< debug_print reads its operands and writes its text
    /// Nobody runs it: what is best done by a routine of this processor is element by element, what that device's compiler has a routine
    /// for is one node, and what a convolution reads of an argument that comes otherwise is a copy as the convolution wants it.
    const TargetDevice* target = nullptr;
};

/// Inlines calls (jit, closed_call, custom_jvp_call, ...; remat behind a barrier, or in the loop or branch of `options.remat`, where JAX
/// lowers it so), expands what has no kernel of its own, merges equal equations (never across a barrier) and drops dead ones. Throws
/// Error{UnknownPrimitive, NoRule} with the equation and source of what can't run. Cost linear in equations.
GraphPtr build_graph(const JaxprPtr& program, const GraphOptions& options = {});

}  // namespace jaxscope::exec
