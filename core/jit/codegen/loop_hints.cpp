// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/loop_hints.h"

#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Metadata.h>

namespace jaxscope::exec {

namespace {

/// A body whose time is that of chains of polynomials in f32 (vector_math.h): more of it than an out-of-order window overlaps by itself.
/// Calls and divisions of whole numbers would be made one element at a time under a mask, gathers and whole numbers wait for nothing.
bool is_chain_of_formulas(const llvm::BasicBlock& body) {
    constexpr std::size_t kLeastSteps = 16, kShare = 8;  // measured: below that bodies overlap as they are
    std::size_t steps = 0;
    for (const llvm::Instruction& i : body) {
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) {
            if (!llvm::isa<llvm::IntrinsicInst>(call)) return false;
            if (call->getIntrinsicID() == llvm::Intrinsic::fma && i.getType()->isFloatTy()) ++steps;
        }
        if (i.isIntDivRem()) return false;
    }
    return steps >= kLeastSteps && steps * kShare >= body.size();
}

}  // namespace

void mark_parallel(llvm::BasicBlock& body, llvm::BranchInst& back, const LoopFacts& facts) {
    llvm::LLVMContext& context = body.getContext();
    for (llvm::Instruction& i : body)
        if (i.mayReadOrWriteMemory()) i.setMetadata(llvm::LLVMContext::MD_access_group, facts.access_group);
    std::vector<llvm::Metadata*> hints{nullptr};
    const auto hint = [&](const char* name, llvm::Metadata* value) {
        hints.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, name), value}));
    };
    llvm::Metadata* yes = llvm::ConstantAsMetadata::get(llvm::ConstantInt::getTrue(context));
    hint("llvm.loop.vectorize.enable", yes);
    hint("llvm.loop.parallel_accesses", facts.access_group);
    if (is_chain_of_formulas(body)) {
        constexpr std::int64_t kLanes = 16;
        constexpr std::uint32_t kVectors = 2;
        if (facts.trips >= 2 * kVectors * kLanes)
            hint("llvm.loop.interleave.count",
                 llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), kVectors)));
        if (facts.masks) hint("llvm.loop.vectorize.predicate.enable", yes);
    }
    llvm::MDNode* id = llvm::MDNode::getDistinct(context, hints);
    id->replaceOperandWith(0, id);
    back.setMetadata(llvm::LLVMContext::MD_loop, id);
}

}  // namespace jaxscope::exec
