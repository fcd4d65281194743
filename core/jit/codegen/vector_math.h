// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "ir/kernel_builder.h"

namespace jaxscope::exec {

/// Functions of one f32 or f64 argument. f32: straight-line polynomials that the loop vectoriser widens (relative error about 2e-7,
/// the whole range, infinities and NaN included); f64 and the rarer ones: calls of the C library.
llvm::Value* math_function(llvm::IRBuilder<>& b, KOp o, llvm::Value* x);
/// pow, atan2, nextafter, fmod.
llvm::Value* math_function(llvm::IRBuilder<>& b, KOp o, llvm::Value* x, llvm::Value* y);
/// A call of a pure C function of the same type in and out: "tan" becomes tanf for floats.
llvm::Value* call_libm(llvm::IRBuilder<>& b, const char* name, llvm::ArrayRef<llvm::Value*> args);

}  // namespace jaxscope::exec
