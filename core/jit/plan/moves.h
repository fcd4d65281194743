// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// Between buffers.
struct Move {
    int to, from;
    ValueId value;
};
/// Moves that are meant to be made at once, in an order in which each reads what stood there before: one into a buffer that another one
/// still reads waits for it; a circle is opened by a copy into what `spare` gives.
std::vector<Move> one_after_the_other(std::vector<Move> moves, const std::function<int(const Move&)>& spare);

}  // namespace jaxscope::exec
