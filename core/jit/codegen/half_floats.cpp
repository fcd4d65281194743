// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/half_floats.h"

#include <deque>
#include <string>
#include <vector>

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "jit/codegen/host.h"

namespace jaxscope::exec {

namespace {

using llvm::Value;

constexpr std::uint32_t kInfinity = 0x7f800000, kLeastNormal = 0x38800000;  // 2^-14
constexpr std::uint32_t kBias = 112u << 23;                                 ///< between the exponents of both types
constexpr std::uint32_t kFirstAbove = 0x477ff000;                           ///< 65520, the first number that becomes infinity
constexpr double kStep = 0x1p-24;                                           ///< between numbers that aren't normal

constexpr const char *kValue = "jaxscope_half_value", *kBits = "jaxscope_half_bits";

Value* call(llvm::IRBuilder<>& b, const char* name, Value* x, llvm::Type* result) {
    const auto callee = b.GetInsertBlock()->getModule()->getOrInsertFunction(name, llvm::FunctionType::get(result, {x->getType()}, false));
    llvm::CallInst* out = b.CreateCall(callee, {x});
    out->setDoesNotAccessMemory();
    out->setDoesNotThrow();
    out->addFnAttr(llvm::Attribute::WillReturn);
    return out;
}

Value* value_by_integers(llvm::IRBuilder<>& b, Value* bits) {
    Value* h = b.CreateZExt(bits, b.getInt32Ty());
    Value* sign = b.CreateShl(b.CreateAnd(h, b.getInt32(0x8000)), b.getInt32(16));
    Value* magnitude = b.CreateAnd(h, b.getInt32(0x7fff));
    Value* shifted = b.CreateShl(magnitude, b.getInt32(13));
    Value* small = b.CreateFMul(b.CreateSIToFP(magnitude, b.getFloatTy()), llvm::ConstantFP::get(b.getFloatTy(), kStep));
    Value* out = b.CreateAdd(shifted, b.getInt32(kBias));
    out = b.CreateSelect(b.CreateICmpULT(magnitude, b.getInt32(0x0400)), b.CreateBitCast(small, b.getInt32Ty()), out);
    out = b.CreateSelect(b.CreateICmpUGE(magnitude, b.getInt32(0x7c00)), b.CreateOr(shifted, b.getInt32(kInfinity)), out);
    return b.CreateBitCast(b.CreateOr(out, sign), b.getFloatTy());
}

Value* bits_by_integers(llvm::IRBuilder<>& b, Value* rounded) {
    Value* i = b.CreateBitCast(rounded, b.getInt32Ty());
    Value* sign = b.CreateAnd(b.CreateLShr(i, b.getInt32(16)), b.getInt32(0x8000));
    Value* magnitude = b.CreateAnd(i, b.getInt32(0x7fffffff));
    Value* is_small = b.CreateICmpULT(magnitude, b.getInt32(kLeastNormal));
    Value* few = b.CreateBitCast(b.CreateSelect(is_small, magnitude, b.getInt32(0)), b.getFloatTy());
    Value* small = b.CreateFPToSI(b.CreateFMul(few, llvm::ConstantFP::get(b.getFloatTy(), 1 / kStep)), b.getInt32Ty());
    Value* out = b.CreateLShr(b.CreateSub(magnitude, b.getInt32(kBias)), b.getInt32(13));
    Value* special = b.CreateOr(b.CreateAnd(b.CreateLShr(magnitude, b.getInt32(13)), b.getInt32(0x03ff)), b.getInt32(0x7c00));
    out = b.CreateSelect(is_small, small, out);
    out = b.CreateSelect(b.CreateICmpUGE(magnitude, b.getInt32(kInfinity)), special, out);
    return b.CreateTrunc(b.CreateOr(out, sign), b.getInt16Ty());
}

Value* rounded_by_integers(llvm::IRBuilder<>& b, Value* x) {
    Value* i = b.CreateBitCast(x, b.getInt32Ty());
    Value* sign = b.CreateAnd(i, b.getInt32(0x80000000u));
    Value* magnitude = b.CreateAnd(i, b.getInt32(0x7fffffff));
    Value* odd = b.CreateAnd(b.CreateLShr(magnitude, b.getInt32(13)), b.getInt32(1));
    Value* out = b.CreateAnd(b.CreateAdd(magnitude, b.CreateAdd(odd, b.getInt32(0x0fff))), b.getInt32(0xffffe000u));
    // Added to a half, the last bit of the sum is worth a step.
    llvm::Constant* half = llvm::ConstantFP::get(b.getFloatTy(), 0.5);
    Value* small = b.CreateFSub(b.CreateFAdd(b.CreateBitCast(magnitude, b.getFloatTy()), half), half);
    out = b.CreateSelect(b.CreateICmpULT(magnitude, b.getInt32(kLeastNormal)), b.CreateBitCast(small, b.getInt32Ty()), out);
    out = b.CreateSelect(b.CreateICmpUGE(magnitude, b.getInt32(kFirstAbove)), b.getInt32(kInfinity), out);
    Value* quiet = b.CreateOr(b.CreateAnd(magnitude, b.getInt32(0xffffe000u)), b.getInt32(0x00400000));
    out = b.CreateSelect(b.CreateICmpUGT(magnitude, b.getInt32(kInfinity)), quiet, out);
    return b.CreateBitCast(b.CreateOr(out, sign), b.getFloatTy());
}

}  // namespace

Value* half_value(llvm::IRBuilder<>& b, Value* bits) {
    return host().halves ? call(b, kValue, bits, b.getFloatTy()) : value_by_integers(b, bits);
}

Value* half_bits(llvm::IRBuilder<>& b, Value* rounded) {
    return host().halves ? call(b, kBits, rounded, b.getInt16Ty()) : bits_by_integers(b, rounded);
}

RoundedHalf rounded_to_half(llvm::IRBuilder<>& b, Value* x) {
    if (!host().halves) return {rounded_by_integers(b, x), nullptr};
    Value* bits = half_bits(b, x);
    return {half_value(b, bits), bits};
}

std::span<const llvm::VecDesc> half_calls() {
    static std::deque<std::string> names;
    static const auto all = [] {
        std::vector<llvm::VecDesc> out;
        for (const char* scalar : {kBits, kValue})
            for (const char* lanes : {"2", "4", "8", "16", "32", "64"})
                out.push_back({scalar, names.emplace_back(std::string(scalar) + '_' + lanes),
                               llvm::ElementCount::getFixed(static_cast<unsigned>(std::stoi(lanes)))});
        return out;
    }();
    return all;
}

bool is_half_call(const llvm::Instruction& i) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    const llvm::Function* f = call ? call->getCalledFunction() : nullptr;
    return f && (f->getName().startswith(kValue) || f->getName().startswith(kBits));
}

bool lower_half_calls(llvm::Function& f) {
    bool found = false;
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
        if (!is_half_call(i)) continue;
        llvm::IRBuilder<> b(&i);
        Value* x = i.getOperand(0);
        llvm::Type* half = i.getType()->getWithNewType(b.getHalfTy());
        const bool widens = i.getType()->isFPOrFPVectorTy();
        Value* out = widens ? b.CreateFPExt(b.CreateBitCast(x, half), i.getType()) : b.CreateBitCast(b.CreateFPTrunc(x, half), i.getType());
        i.replaceAllUsesWith(out);
        i.eraseFromParent();
        found = true;
    }
    return found;
}

}  // namespace jaxscope::exec
