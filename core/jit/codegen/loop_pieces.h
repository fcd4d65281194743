// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace llvm {
class BasicBlock;
}  // namespace llvm

namespace jaxscope::exec {

struct Pieces {
    std::vector<llvm::BasicBlock*> loops;  ///< in their order, of one block each
    llvm::BasicBlock* entry;               ///< where the first is entered
};

/// Splits a loop of one block into pieces, itself the last; one where there is nothing to split.
/// A body that asks where it is (parts joined along the columns, padding) is written once for each answer: a question that a whole piece
/// answers alike is gone, and with it what only the other answer read, so that elements side by side are read as vectors. Otherwise LLVM
/// gathers them one by one from every part.
/// `body`: ends in a conditional branch back to itself or on; its first phi counts up by one, from a constant to a constant, or between 0
/// and `most` where it has no other phi. `before`: where it is entered from; the caller branches to the entry.
Pieces split_at_places(llvm::BasicBlock& body, llvm::BasicBlock& before, std::int64_t most);

}  // namespace jaxscope::exec
