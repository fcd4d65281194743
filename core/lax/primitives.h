// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/primitive.h"

namespace jaxscope {

// The primitives that rules and transformations emit, and those that code outside of their families must recognise. Everything else is
// known by its traits (ir/primitive.h) and by its family's list alone.

// unary.cpp
extern const Primitive kNeg, kSign, kFloor, kCeil, kRound, kExp, kExp2, kLog, kLog1p, kExpm1, kTanh, kLogistic, kSin, kCos, kTan, kSqrt,
    kCbrt, kRsqrt, kSquare, kIntegerPow, kAbs, kIsFinite, kNot, kReal, kImag, kConj;
extern const Primitive kPopulationCount, kClz;
// inverse_trig.cpp
extern const Primitive kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh, kAtanh;
// special.cpp
extern const Primitive kErf, kErfc, kErfInv, kLgamma, kDigamma;
// gamma.cpp
extern const Primitive kPolygamma, kIgammaGradA, kBesselI0e, kBesselI1e;
// binary.cpp
extern const Primitive kAdd, kSub, kMul, kDiv, kRem, kMax, kMin, kPow, kAtan2, kNextAfter, kAnd, kOr, kXor, kShiftLeft, kShiftRightLogical,
    kShiftRightArithmetic, kComplex, kAddAny;
// compare.cpp
extern const Primitive kEq, kNe, kLt, kLe, kGt, kGe, kEqTo, kLtTo, kLeTo, kSelectN, kClamp;
// convert.cpp
extern const Primitive kConvertElementType, kBitcastConvertType, kReducePrecision, kName, kStopGradient, kCopy, kCopyP,
    kOptimizationBarrier;
// reduce.cpp
extern const Primitive kReduceSum, kReduceProd, kReduceMax, kReduceMin, kReduceAnd, kReduceOr, kReduceXor, kArgMax, kArgMin;
// cumulative.cpp
extern const Primitive kCumSum, kCumProd, kCumMax, kCumMin, kCumLogSumExp;

// shape_ops.cpp, pad.cpp, joining.cpp, slicing.cpp, gather.cpp, scatter*.cpp, dot.cpp, conv.cpp, sort.cpp
extern const Primitive kBroadcastInDim, kReshape, kSqueeze, kTranspose, kRev, kPad, kIota, kConcatenate, kSplit, kTile, kStack, kUnstack,
    kSlice, kDynamicSlice, kDynamicUpdateSlice, kGather, kScatter, kScatterAdd, kScatterSub, kScatterMul, kScatterMin, kScatterMax,
    kDotGeneral, kConvGeneralDilated, kSort, kTopK;
// windows.cpp
extern const Primitive kReduceWindowSum, kReduceWindowMax, kReduceWindowMin, kSelectAndGatherAdd, kSelectAndScatterAdd;
// linalg.cpp, fft.cpp
extern const Primitive kCholesky, kTriangularSolve, kLu, kLuPivotsToPermutation, kQr, kGeqrf, kHessenberg, kHouseholderProduct, kSvd, kEigh,
    kEig, kFft;
// placement.cpp
extern const Primitive kDevicePut, kShardingConstraint, kEmpty, kEmpty2, kRngBitGenerator, kRngUniform;
// random.cpp
extern const Primitive kRandomBits, kRandomSplit, kRandomFoldIn, kRandomSeed, kRandomUnwrap, kThreefry;
// shown.cpp
extern const Primitive kGet, kSwap, kAddUpdate;

}  // namespace jaxscope
