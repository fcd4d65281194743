// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "jit/codegen/vector_function.h"

namespace jaxscope::exec {

/// fmodf of whole vectors, for what this processor has; glibc's library of vector functions has none. Exact, as fmodf.
void add_remainders(std::vector<VectorFunction>& all);

}  // namespace jaxscope::exec
