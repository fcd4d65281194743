// SPDX-License-Identifier: Apache-2.0
// What a jitted function costs: analysis of its equations.
#include <jaxscope/jit.h>

#include "analysis/equations/cost.h"
#include "trace/jit/jit_state.h"

namespace jaxscope::jax::detail {

CostAnalysis cost_analysis(JitState& s, Call& call) {
    initialise();
    const Cost c = cost_of(*find_entry(s, call)->traced().jaxpr);
    return {c.flops, c.bytes};
}

}  // namespace jaxscope::jax::detail
