// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// What one transformation makes of the function that is differentiated. An equation keeps the traceback of the one that it was made from
/// in every stage (ir/source.h): that is how what became of it is found.
struct TransformStage {
    enum class Kind : std::uint8_t { Function, Jvp, Known, Unknown, Transposed, Dce, Vmap } kind = Kind::Function;
    JaxprPtr jaxpr;  ///< null: `problem` says why it can't be had
    std::string problem;
};

constexpr std::int64_t kVmapExamples = 8;  ///< length of the axis in `Vmap`: as many as `transform --apply vmap` takes

/// In the order of the kinds: the function, its jvp, the two halves of the linearized one (what the policy saves goes from one to the
/// other), the second one transposed, value and pullback without what no cotangent needs, the function mapped over all inputs.
/// `wrt` per input; the first `num_outputs` results are differentiated. A stage that can't be had doesn't keep the others.
std::vector<TransformStage> transform_stages(const JaxprPtr& function, const std::vector<bool>& wrt, std::size_t num_outputs);

}  // namespace jaxscope
