// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// How operands and results of a loop divide.
struct LoopShape {
    std::size_t consts = 0;       ///< of the body
    std::size_t cond_consts = 0;  ///< of a while's condition, in front
    std::size_t carries = 0;
    std::int64_t length = 0;
    bool reverse = false;
    std::size_t first_carry() const { return cond_consts + consts; }  ///< operand
};
/// Of a scan or while. Throws Error{BadInput} where its counts don't fit its operands.
LoopShape loop_shape(const Node& n);

/// Plans a body; per result of the body the operand whose memory it should take.
using PlanBody = std::function<ComputationPtr(const GraphPtr& body, const std::vector<std::optional<int>>& alias)>;

/// Plans the bodies of a scan, while or cond into `t` and returns the scratch it needs: the bodies' arena, a second buffer for
/// each carry that a body can't update in place, slots for what nobody reads; each piece a multiple of `alignment`.
std::int64_t prepare_loop(Thunk& t, const Node& n, const PlanBody& plan_body, std::int64_t alignment);

/// May result `write` stand in the memory of operand `read`? For carries that the body updates in place.
bool loop_in_place(const Thunk& t, const Node& n, std::size_t read, std::size_t write);

}  // namespace jaxscope::exec
