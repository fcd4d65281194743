// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// A scan in blocks of turns. Products of what a turn reads of stacked operands with what is the same in every turn (x @ w of a recurrent
/// net) depend on no turn before, and those that are added to a carry (the gradients of w) are asked for by none behind: for a block of
/// turns each is one product, large enough for the library and for threads. The turns themselves run as an inner scan.
struct TurnBlocks {
    std::int64_t turns = 1;  ///< of a block; divides the scan's length
    GraphPtr body;           ///< of the scan over blocks: operands and results as of the scan's body, stacked ones by block
};

/// Nothing where it doesn't pay, or where the length has no divisor that fits. `body`: of the scan `op`, before sums and products are
/// joined (accumulate_products). `scan`: a node at its place, without operands. What is held for a block is at most an eighth of the
/// stacked arrays (512 KiB where that is less) and 4 MiB; sums of a carry are rounded block by block. The same for every number of threads.
std::optional<TurnBlocks> in_blocks_of_turns(const Graph& body, const Node& scan);

}  // namespace jaxscope::exec
