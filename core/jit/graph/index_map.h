// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "ir/kernel_builder.h"
#include "ir/primitive.h"

namespace jaxscope::exec {

/// How an element-wise or index-mapping equation reads its operands, found by running its lower rule once on symbolic indices.
/// Dimensions of length 1 are left out everywhere: [4,256] and [4,256,1] index alike.
struct IndexMap {
    enum class Access : std::uint8_t {
        None,       ///< never read
        Identity,   ///< at the output's own index
        Broadcast,  ///< at some of the output's dimensions, in order: `dims`
        General,    ///< anywhere: slices, gathers, ... or, with `dims`, at all or some of the output's dimensions in another order
    };
    struct Operand {
        Access access = Access::None;
        std::vector<int> dims;  ///< Broadcast, General: for each dimension of the operand (1s left out), which one of the output's
    };
    std::vector<Operand> operands;
    int cost = 0;         ///< scalar operations, transcendental ones count 10 or more
    bool copies = false;  ///< the result is operand 0's element unchanged
};

Dims without_ones(const Dims& shape);
/// How many elements dimensions first to last have together; 1 where there are none.
std::int64_t run_length(const Dims& shape, int first, int last);
/// Does `op` choose by the place in its result alone what it reads (concatenations, stacks, padding)? Loops are split there.
bool is_join(const Op& op);
/// Runs the lower rule of `op`. Throws what the rule throws.
IndexMap probe_index_map(const Op& op);

/// Which dimension the longest run of trailing ones begins with that the access doesn't take apart. `rank`: of the node's shape without 1s.
std::size_t first_joined(const IndexMap::Operand& o, std::size_t rank);
/// The same of what is read at `dims`, of a node of at least one dimension.
std::size_t first_joined(const std::vector<int>& dims, std::size_t rank);
/// Do dimensions d - 1 and d of the node's follow one another in what is read at `dims` too, or are both not in it?
bool joined(const std::vector<int>& dims, int d);

}  // namespace jaxscope::exec
