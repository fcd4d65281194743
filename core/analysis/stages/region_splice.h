// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// One differentiation done otherwise.
struct NewRegion {
    int mark = 0;
    JaxprPtr forward;         ///< closed; the region's constvars, then its invars in; its results (outputs and aux), then residuals out
    JaxprPtr backward;        ///< closed; those residuals, then cotangents of the outputs in; cotangents of the differentiated inputs out
    std::size_t results = 0;  ///< how many results the region's own jaxpr has
};

/// The step with differentiations done otherwise: in the program's `marked` (capture format, section 6) the calls of their marks are
/// replaced by the new halves, inlined. Which forward call a backward call belongs to is told by the residuals that it reads; jitted
/// functions that only one of the two stands in are inlined.
/// Throws Error{NoRule} where the two can't be brought into one jaxpr (a pullback that is called in a scan), or are mapped otherwise.
JaxprPtr splice_regions(const Program& program, std::vector<NewRegion> regions);

}  // namespace jaxscope
