// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace llvm {
class BasicBlock;
class BranchInst;
class MDNode;
}  // namespace llvm

namespace jaxscope::exec {

struct LoopFacts {
    llvm::MDNode* access_group;  ///< of the kernel's memory accesses
    std::int64_t trips;          ///< INT64_MAX where they aren't known
    bool masks;                  ///< see emit_kernel
};

/// Tells LLVM's vectoriser what it can't see of a loop of one block: iterations touch different elements, or the same ones only to read.
/// Loops of long chains of arithmetic (exp, tanh, log: each step waits for the one before) are made two vectors at a time, which halves
/// the time, and where the processor has masks one loop does the rest as well, where LLVM makes three: as much less to compile.
void mark_parallel(llvm::BasicBlock& body, llvm::BranchInst& back, const LoopFacts& facts);

}  // namespace jaxscope::exec
