// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace llvm {
class BasicBlock;
class MDNode;
}  // namespace llvm

namespace jaxscope::exec {

/// Shorter loops LLVM may write out whole, and they are left to it.
constexpr std::int64_t kLeastTripsOfALoop = 33;
/// Instructions of a body that isn't written out many times, nor compiled with more care than its turns are worth.
constexpr std::size_t kLongBody = 256;

struct LoopFacts {
    llvm::MDNode* access_group;  ///< of the kernel's memory accesses
    bool masks;                  ///< see emit_kernel
    bool strided;                ///< turns are whole rows, whose elements are written out in the body
    bool whole;                  ///< all turns at once, under a mask
};

/// Calls and divisions of whole numbers would be made one element at a time under a mask.
bool can_be_masked(const llvm::BasicBlock& body);

/// Tells LLVM's vectoriser what it can't see of a loop of one block: iterations touch different elements, or the same ones only to read.
/// Loops of long chains of arithmetic (exp, tanh, log: each step waits for the one before) are made two vectors at a time, which halves
/// the time, and where the processor has masks one loop does the rest as well, where LLVM makes three: as much less to compile. Loops
/// that turn often aren't unrolled: LLVM would write out all 1,024 steps of a row of 1,024, which takes it three times as long and saves
/// next to nothing.
void mark_parallel(llvm::BasicBlock& body, const LoopFacts& facts);

}  // namespace jaxscope::exec
