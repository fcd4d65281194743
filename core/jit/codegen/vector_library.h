// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "jit/codegen/vector_function.h"

namespace jaxscope::exec {

/// glibc's libmvec, for the vectors of this processor; none where there is no such library. At most 4 units in the last place off. And
/// fmodf, which is exact (vector_remainder.h).
std::span<const VectorFunction> vector_functions();

}  // namespace jaxscope::exec
