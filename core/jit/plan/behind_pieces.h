// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// Finds the kernels that can run behind each piece of a product's result while it lies in the cache: a bias, an activation, what is added
/// to it, a softmax over its rows. They stay steps of their own, which are planned and told one by one; where nobody watches they run
/// together (Thunk::granule). Call it when the memory is planned: what it finds overlaps nothing that the product still reads.
void join_pieces(Computation& c);

}  // namespace jaxscope::exec
