// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

namespace jaxscope::exec {

/// Arithmetic on one f32 (or f64) value, written as formulas.
class Formula {
public:
    explicit Formula(llvm::IRBuilder<>& builder) : b(builder) {}
    llvm::Value* c(double v) const { return llvm::ConstantFP::get(b.getFloatTy(), v); }
    llvm::Value* ci(std::uint32_t v) const { return b.getInt32(v); }
    llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) const {
        return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
    }
    llvm::Value* fabs(llvm::Value* x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
    llvm::Value* round(llvm::Value* x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x); }
    llvm::Value* bits(llvm::Value* x) const { return b.CreateBitCast(x, b.getInt32Ty()); }
    llvm::Value* number(llvm::Value* x) const { return b.CreateBitCast(x, b.getFloatTy()); }
    llvm::Value* copysign(llvm::Value* x, llvm::Value* sign) const { return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign); }
    /// Horner's scheme, highest power first.
    llvm::Value* poly(llvm::Value* x, std::initializer_list<double> coefficients) const {
        llvm::Value* r = nullptr;
        for (const double k : coefficients) r = r ? fma(r, x, of(x, k)) : of(x, k);
        return r;
    }
    llvm::Constant* of(llvm::Value* like, double v) const { return llvm::ConstantFP::get(like->getType(), v); }
    llvm::Value* clamp(llvm::Value* x, double low, double high) const {  // NaN stays one: both comparisons are false of it
        llvm::Value* t = b.CreateSelect(b.CreateFCmpOLT(x, c(low)), c(low), x);
        return b.CreateSelect(b.CreateFCmpOGT(t, c(high)), c(high), t);
    }
    llvm::IRBuilder<>& b;
};

}  // namespace jaxscope::exec
