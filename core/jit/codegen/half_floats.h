// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include <llvm/IR/IRBuilder.h>

namespace llvm {
class Function;
struct VecDesc;
}  // namespace llvm

namespace jaxscope::exec {

// float16, of which a register holds the number as a float32. Where the processor converts it, by its instructions: as calls that the
// loop vectoriser widens (half_calls), and that become LLVM's conversions after the last pass that would rather compute with float16,
// which LLVM 14 takes apart. Elsewhere by integer arithmetic. Right also where float32 numbers that aren't normal count as zero.

/// A float32 rounded to float16, and its 16 bits where they come for nothing.
struct RoundedHalf {
    llvm::Value *value, *bits;
};

/// The float32 that 16 bits stand for.
llvm::Value* half_value(llvm::IRBuilder<>& b, llvm::Value* bits);
/// The 16 bits of a float32 that has been rounded to float16.
llvm::Value* half_bits(llvm::IRBuilder<>& b, llvm::Value* rounded);
/// The nearest number of float16, ties to even.
RoundedHalf rounded_to_half(llvm::IRBuilder<>& b, llvm::Value* x);

/// The calls, and what they are for several numbers.
std::span<const llvm::VecDesc> half_calls();
/// Is it one of them? It may be made of any number, also one that nobody asked for.
bool is_half_call(const llvm::Instruction& i);
/// LLVM's conversions instead of the calls. True where there were any.
bool lower_half_calls(llvm::Function& f);

}  // namespace jaxscope::exec
