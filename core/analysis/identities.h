// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/stages/stages.h"

namespace jaxscope {

// Tables are sorted, filtered and made anew, so what is selected, compared or kept is named by what it is. A residual's name is ResidualId,
// a donated leaf's its number among the program's inputs.

/// Which value stands in a buffer of a plan. Arguments and results have the same identity under every policy; what an equation makes has it
/// in plans of one program.
struct BufferId {
    BufferRole role = BufferRole::Temporary;
    int number = -1;               ///< of the argument, output or constant
    std::uint64_t derivation = 0;  ///< which program `eqn` stands in (MemoryPlan::derivation); 0 for arguments and outputs
    std::string eqn;               ///< path of the equation that makes it
    std::vector<int> opened;       ///< steps inside of which it is (MemoryPlan::opened)
    int nth = 0;                   ///< among the buffers for which all of the above is the same
    friend bool operator==(const BufferId&, const BufferId&) = default;
};

BufferId id_of(const MemoryPlan& plan, int buffer);
/// Index into `plan.buffers`, or -1. Linear in the buffers.
int buffer_index(const MemoryPlan& plan, const BufferId& id);
/// The buffer in a whole program's plan or inside of its steps; null: there is none.
const PlannedBuffer* find_buffer(const MemoryPlan& whole, const BufferId& id);
/// The plan in which it stands: the whole one, or that of what runs inside of a step; null: there is none.
const MemoryPlan* plan_of(const MemoryPlan& whole, const BufferId& id);

/// Null: the report has no such residual.
const ResidualRow* find_residual(const ResidualReport& report, const ResidualId& id);
/// Of the donated leaf that is this input; null: it isn't donated.
const DonatedLeaf* find_donated(const DonationReport& report, int input);

}  // namespace jaxscope
