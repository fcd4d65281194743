// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

/// Work of one equation, sub-jaxprs included: a scan's body times its length, the dearest branch of a cond, one turn of a while. A
/// primitive without a cost rule counts one operation per result element; bytes are those of its operands and results.
Cost cost_of(const Jaxpr& jaxpr, const Eqn& eqn);
/// Of all equations.
Cost cost_of(const Jaxpr& jaxpr);

struct WorkByPrimitive {
    std::int64_t count = 0;  ///< equations, each times how often it runs
    double flops = 0;
};
/// The equations of `unknown` (a split's unknown part) that were computed in the forward pass already: what stands in the staged
/// checkpoints and depends on residuals alone. By primitive.
std::map<std::string, WorkByPrimitive> recomputed_work(const Jaxpr& unknown, std::size_t num_residuals);

/// How often the bodies of an equation run: a scan's length, else 1.
std::int64_t repetitions(const Eqn& eqn);

}  // namespace jaxscope
