#pragma once
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// The step with one differentiation done otherwise: in `marked` (capture format, section 6) the calls jaxscope_forward_K and
/// jaxscope_backward_K are replaced by `forward` and `backward`, inlined.
///
/// `forward`    the region's constvars and invars in; its results (outputs and aux), then residuals out.
/// `backward`   those residuals, then cotangents of the outputs in; cotangents of the differentiated inputs out.
/// `results`    how many results the region's own jaxpr has.
/// Throws       Error{NotFound} when the two calls don't stand in one jaxpr (the pullback was called elsewhere).
JaxprPtr splice_region(const JaxprPtr& marked, int mark, const Jaxpr& forward, const Jaxpr& backward, std::size_t results);

}  // namespace jaxscope
