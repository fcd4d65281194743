// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

namespace llvm {
class BasicBlock;
}  // namespace llvm

namespace jaxscope::exec {

/// The pieces of a loop of one block in their order, the block itself last; one where there is nothing to split.
/// A body that asks where it is (parts joined along the columns, padding) is written once for each answer: a question that a whole piece
/// answers alike is gone, and with it what only the other answer read, so that elements side by side are read as vectors. Otherwise LLVM
/// gathers them one by one from every part.
/// `body`: ends in a conditional branch back to itself or on; its first phi counts up from a constant by one. `before`: where it is
/// entered from; the caller branches to the first piece.
std::vector<llvm::BasicBlock*> split_at_places(llvm::BasicBlock& body, llvm::BasicBlock& before);

}  // namespace jaxscope::exec
