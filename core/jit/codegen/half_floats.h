// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace jaxscope::exec {

// float16 by integer arithmetic, which the loop vectoriser widens: LLVM 14 takes vectors of its own type for it apart. A register holds
// the number as a float32. Right also where float32 numbers that aren't normal count as zero.

/// The float32 that 16 bits stand for.
llvm::Value* half_value(llvm::IRBuilder<>& b, llvm::Value* bits);
/// The 16 bits of a float32 that has been rounded to float16.
llvm::Value* half_bits(llvm::IRBuilder<>& b, llvm::Value* rounded);
/// The nearest number of float16, ties to even, as a float32.
llvm::Value* rounded_to_half(llvm::IRBuilder<>& b, llvm::Value* x);

}  // namespace jaxscope::exec
