// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/loop_hints.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Metadata.h>

#include "jit/codegen/half_floats.h"

namespace jaxscope::exec {

namespace {

/// A body whose time is that of chains of polynomials in f32 (vector_math.h): more of it than an out-of-order window overlaps by itself.
/// Gathers and whole numbers wait for nothing.
bool is_chain_of_formulas(const llvm::BasicBlock& body) {
    constexpr std::size_t kLeastSteps = 16, kShare = 8;  // measured: below that bodies overlap as they are
    const auto steps = static_cast<std::size_t>(std::count_if(body.begin(), body.end(), [](const llvm::Instruction& i) {
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        return call && call->getIntrinsicID() == llvm::Intrinsic::fma && i.getType()->isFloatTy();
    }));
    return steps >= kLeastSteps && steps * kShare >= body.size();
}

constexpr std::int64_t kLanes = 16, kMostLanes = 64;  ///< of f32, and of bytes

/// How often a loop runs where its bounds are constants; else more than any that is treated as a short one.
std::int64_t trips(const llvm::BasicBlock& body, const llvm::BranchInst& back) {
    const auto constant = [](const llvm::Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); };
    const auto* next = llvm::cast<llvm::ICmpInst>(back.getCondition());
    const auto& counter = llvm::cast<llvm::PHINode>(body.front());
    const llvm::ConstantInt *begin = constant(counter.getIncomingValue(0)), *end = constant(next->getOperand(1));
    return begin && end ? end->getSExtValue() - begin->getSExtValue() : INT64_MAX;
}

/// Enough that neither a chain of steps nor a sum waits for itself, and no more: every further vector is as much again to compile, and
/// takes registers.
std::int64_t vectors_at_once(const llvm::BasicBlock& body, bool chain) {
    constexpr std::size_t kShort = 24, kLong = 96, kLongChain = 768;  // instructions
    if (chain) return body.size() < kLongChain ? 2 : 1;
    const bool sums = std::distance(body.phis().begin(), body.phis().end()) > 1;  // the first counts
    if (body.size() < kShort) return sums ? 4 : 2;
    return sums && body.size() < kLong ? 2 : 1;
}

}  // namespace

bool can_be_masked(const llvm::BasicBlock& body) {
    return std::none_of(body.begin(), body.end(), [](const llvm::Instruction& i) {
        return i.isIntDivRem() || (llvm::isa<llvm::CallInst>(i) && !llvm::isa<llvm::IntrinsicInst>(i) && !is_half_call(i));
    });
}

void mark_parallel(llvm::BasicBlock& body, const LoopFacts& facts) {
    auto& back = llvm::cast<llvm::BranchInst>(*body.getTerminator());
    const std::int64_t turns = trips(body, back);
    llvm::LLVMContext& context = body.getContext();
    for (llvm::Instruction& i : body)
        if (i.mayReadOrWriteMemory()) i.setMetadata(llvm::LLVMContext::MD_access_group, facts.access_group);
    std::vector<llvm::Metadata*> hints{nullptr};
    const auto hint = [&](const char* name, llvm::Metadata* value) {
        hints.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, name), value}));
    };
    llvm::Metadata* yes = llvm::ConstantAsMetadata::get(llvm::ConstantInt::getTrue(context));
    // Of the short end of a long loop's pieces no vectors: they take as long to compile as the piece between.
    const bool end_of_pieces = turns < kLanes && body.size() > kLongBody;
    hint("llvm.loop.vectorize.enable", end_of_pieces ? llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context)) : yes);
    hint("llvm.loop.parallel_accesses", facts.access_group);
    const bool maskable = facts.masks && !facts.strided && can_be_masked(body);
    const bool chain = is_chain_of_formulas(body);
    const std::int64_t vectors = vectors_at_once(body, chain);
    // Nothing is left over: told so, LLVM makes no loops for the rest, which it would drop again.
    const bool even = turns != INT64_MAX && turns % (vectors * kMostLanes) == 0;
    if (even || facts.whole || (chain && maskable)) hint("llvm.loop.vectorize.predicate.enable", yes);
    if (facts.whole || end_of_pieces || turns >= kLeastTripsOfALoop) {
        hints.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.disable")}));
        if (turns >= 2 * vectors * kLanes)
            hint("llvm.loop.interleave.count", llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context),
                                                                                                    static_cast<std::uint64_t>(vectors))));
    }
    llvm::MDNode* id = llvm::MDNode::getDistinct(context, hints);
    id->replaceOperandWith(0, id);
    back.setMetadata(llvm::LLVMContext::MD_loop, id);
}

}  // namespace jaxscope::exec
