// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/half_floats.h"

#include <llvm/IR/Intrinsics.h>

namespace jaxscope::exec {

namespace {

using llvm::Value;

constexpr std::uint32_t kInfinity = 0x7f800000, kLeastNormal = 0x38800000;  // 2^-14
constexpr std::uint32_t kBias = 112u << 23;                                 ///< between the exponents of both types
constexpr std::uint32_t kFirstAbove = 0x477ff000;                           ///< 65520, the first number that becomes infinity
constexpr double kStep = 0x1p-24;                                           ///< between numbers that aren't normal

}  // namespace

Value* half_value(llvm::IRBuilder<>& b, Value* bits) {
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

Value* half_bits(llvm::IRBuilder<>& b, Value* rounded) {
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

Value* rounded_to_half(llvm::IRBuilder<>& b, Value* x) {
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

}  // namespace jaxscope::exec
