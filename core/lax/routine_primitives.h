// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/primitive.h"

namespace jaxscope {

// Primitives that other code knows only in order to run them as routines (jit/kernels); those that rules emit stand in lax/primitives.h.

// gamma.cpp; regularized_incomplete_beta is betainc.
extern const Primitive kIgamma, kIgammac, kZeta, kBetainc, kRandomGammaGrad;
// random.cpp
extern const Primitive kRandomGamma, kIota2x32;
extern const Primitive kRandomWrap;  ///< words as a key: of the front end
// linalg.cpp, tridiagonal.cpp
extern const Primitive kSchur, kTridiagonal, kTridiagonalSolve, kCholeskyUpdate;
// approx_top_k.cpp
extern const Primitive kApproxTopK;
// binary.cpp, ragged_dot.cpp: of the front end
extern const Primitive kMulHi, kRaggedDotGeneral;

}  // namespace jaxscope
