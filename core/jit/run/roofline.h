// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/jit.h"

namespace jaxscope::exec {

/// What this machine reaches now, on so many threads: a product of two matrices, and a copy of more than caches hold. Takes some 50 ms.
Roofline measure_roofline(int threads);

}  // namespace jaxscope::exec
