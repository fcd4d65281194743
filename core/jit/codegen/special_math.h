// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace jaxscope::exec {

/// Functions that the C library doesn't have or computes one by one, as straight-line formulas that the loop vectoriser widens: the names
/// of KFunction. Of f32 and f64 i0e and i1e; of f32, computed in double precision, lgamma and digamma. Null: the runtime has it
/// (runtime_math.h).
llvm::Value* special_function(llvm::IRBuilder<>& b, const char* name, llvm::Value* x);
llvm::Value* erf_inv_f64(llvm::IRBuilder<>& b, llvm::Value* x);

}  // namespace jaxscope::exec
