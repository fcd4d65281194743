// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "ir/jaxpr.h"

namespace jaxscope {

/// What keeps the recomputation of a differentiated checkpoint apart from the first computation, so that no compiler merges the two.
enum class RematLowering : std::uint8_t {
    Barrier,  ///< its inputs pass an optimization barrier: what JAX does today
    While,    ///< a loop that runs once, as a number that is drawn when it runs says (JAX before 2023, on GPUs)
    Cond,     ///< a branch that is always taken, as a number that is drawn when it runs says (JAX before 2023, elsewhere)
};
/// "barrier", "while", "cond".
const char* remat_lowering_name(RematLowering form);
/// Throws Error{BadUsage}, naming the three.
RematLowering parse_remat_lowering(std::string_view name);

/// A function of the same inputs and results whose body runs inside the loop or branch; the body itself for Barrier. An array that is
/// made before the number is known holds anything.
JaxprPtr lowered_remat(const JaxprPtr& body, RematLowering form);

}  // namespace jaxscope
