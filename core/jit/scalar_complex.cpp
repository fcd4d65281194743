#include <cmath>
#include <limits>

#include <llvm/IR/Intrinsics.h>

#include "base/error.h"
#include "jit/scalar_ops.h"
#include "jit/vector_math.h"

namespace jaxscope::exec {

using llvm::Value;

namespace {

DType part_of(DType d) { return d == DType::C64 ? DType::F32 : DType::F64; }

}  // namespace

Number ScalarOps::complex_unary(KOp o, const Number& a) {
    Value *x = a.re, *y = a.im;
    const DType part = part_of(a.dtype);
    const auto f = [&](KOp k, Value* v) { return math_function(b, k, v); };
    const auto constant = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
    const auto complex = [&](Value* re, Value* im) { return Number{re, im, a.dtype}; };
    switch (o) {
        case KOp::Neg:
            return complex(b.CreateFNeg(x), b.CreateFNeg(y));
        case KOp::Conj:
            return complex(x, b.CreateFNeg(y));
        case KOp::Real:
            return {x, nullptr, part};
        case KOp::Imag:
            return {y, nullptr, part};
        case KOp::Abs:
            return {call_libm(b, "hypot", {x, y}), nullptr, part};
        case KOp::IsFinite: {
            const Number re = unary(KOp::IsFinite, {x, nullptr, part}), im = unary(KOp::IsFinite, {y, nullptr, part});
            return {b.CreateAnd(re.re, im.re), nullptr, DType::Bool};
        }
        case KOp::Exp: {
            Value* r = f(KOp::Exp, x);
            return complex(b.CreateFMul(r, f(KOp::Cos, y)), b.CreateFMul(r, f(KOp::Sin, y)));
        }
        case KOp::Log:
            return complex(f(KOp::Log, call_libm(b, "hypot", {x, y})), call_libm(b, "atan2", {y, x}));
        case KOp::Sin:
            return complex(b.CreateFMul(f(KOp::Sin, x), f(KOp::Cosh, y)), b.CreateFMul(f(KOp::Cos, x), f(KOp::Sinh, y)));
        case KOp::Cos:
            return complex(b.CreateFMul(f(KOp::Cos, x), f(KOp::Cosh, y)), b.CreateFNeg(b.CreateFMul(f(KOp::Sin, x), f(KOp::Sinh, y))));
        case KOp::Sign: {
            Value* r = call_libm(b, "hypot", {x, y});
            Value* zero = b.CreateFCmpOEQ(r, constant(0));
            Value* safe = b.CreateSelect(zero, constant(1), r);
            return complex(b.CreateFDiv(x, safe), b.CreateFDiv(y, safe));
        }
        case KOp::Sqrt:
        case KOp::Rsqrt: {
            // sqrt(z) = sqrt((|z| + |x|) / 2) and y over twice that, swapped for x < 0.
            Value* r = call_libm(b, "hypot", {x, y});
            Value* ax = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
            Value* t = f(KOp::Sqrt, b.CreateFMul(b.CreateFAdd(r, ax), constant(0.5)));
            Value* zero = b.CreateFCmpOEQ(t, constant(0));
            Value* other = b.CreateFDiv(y, b.CreateFMul(constant(2), b.CreateSelect(zero, constant(1), t)));
            Value* right = b.CreateFCmpOGE(x, constant(0));
            const Number root = complex(b.CreateSelect(right, t, b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, other)),
                                        b.CreateSelect(right, other, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, t, y)));
            return o == KOp::Sqrt ? root : complex_binary(KOp::Div, complex(constant(1), constant(0)), root);
        }
        case KOp::Tanh: {
            // tanh(x + iy) = (sinh 2x + i sin 2y) / (cosh 2x + cos 2y)
            Value *x2 = b.CreateFMul(constant(2), x), *y2 = b.CreateFMul(constant(2), y);
            Value* d = b.CreateFAdd(f(KOp::Cosh, x2), f(KOp::Cos, y2));
            return complex(b.CreateFDiv(f(KOp::Sinh, x2), d), b.CreateFDiv(f(KOp::Sin, y2), d));
        }
        case KOp::Log1p:
            return complex_unary(KOp::Log, complex(b.CreateFAdd(x, constant(1)), y));
        case KOp::Expm1: {
            const Number e = complex_unary(KOp::Exp, a);
            return complex(b.CreateFSub(e.re, constant(1)), e.im);
        }
        default:
            throw Error(ErrorCode::NoRule,
                        std::string("expected an operation that exists for ") + info(a.dtype).name + ", found one that isn't written");
    }
}

Number ScalarOps::complex_binary(KOp o, const Number& l, const Number& r) {
    Value *a = l.re, *c = l.im, *e = r.re, *g = r.im;
    const auto complex = [&](Value* re, Value* im) { return Number{re, im, l.dtype}; };
    const auto truth = [&](Value* v) { return Number{v, nullptr, DType::Bool}; };
    switch (o) {
        case KOp::Add:
            return complex(b.CreateFAdd(a, e), b.CreateFAdd(c, g));
        case KOp::Sub:
            return complex(b.CreateFSub(a, e), b.CreateFSub(c, g));
        case KOp::Mul:
            return complex(b.CreateFSub(b.CreateFMul(a, e), b.CreateFMul(c, g)), b.CreateFAdd(b.CreateFMul(a, g), b.CreateFMul(c, e)));
        case KOp::Div: {
            // Smith's way: scaled by the larger part of the divisor, so that no square overflows.
            Value* ae = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, e);
            Value* ag = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, g);
            Value* wide = b.CreateFCmpOGE(ae, ag);
            Value* big = b.CreateSelect(wide, e, g);
            Value* ratio = b.CreateFDiv(b.CreateSelect(wide, g, e), big);
            Value* denominator = b.CreateFAdd(big, b.CreateFMul(ratio, b.CreateSelect(wide, g, e)));
            Value* re = b.CreateSelect(wide, b.CreateFAdd(a, b.CreateFMul(c, ratio)), b.CreateFAdd(b.CreateFMul(a, ratio), c));
            Value* im = b.CreateSelect(wide, b.CreateFSub(c, b.CreateFMul(a, ratio)), b.CreateFSub(b.CreateFMul(c, ratio), a));
            return complex(b.CreateFDiv(re, denominator), b.CreateFDiv(im, denominator));
        }
        case KOp::Eq:
            return truth(b.CreateAnd(b.CreateFCmpOEQ(a, e), b.CreateFCmpOEQ(c, g)));
        case KOp::Ne:
            return truth(b.CreateOr(b.CreateFCmpUNE(a, e), b.CreateFCmpUNE(c, g)));
        case KOp::Pow: {
            // 0 to a power is 0, to the power 0 it is 1.
            const Number power = complex_unary(KOp::Exp, complex_binary(KOp::Mul, complex_unary(KOp::Log, l), r));
            Value* zero = llvm::ConstantFP::get(a->getType(), 0.0);
            Value* base_zero = b.CreateAnd(b.CreateFCmpOEQ(a, zero), b.CreateFCmpOEQ(c, zero));
            Value* exponent_zero = b.CreateAnd(b.CreateFCmpOEQ(e, zero), b.CreateFCmpOEQ(g, zero));
            Value* at_zero = b.CreateSelect(exponent_zero, llvm::ConstantFP::get(a->getType(), 1.0), zero);
            return complex(b.CreateSelect(base_zero, at_zero, power.re), b.CreateSelect(base_zero, zero, power.im));
        }
        default:
            throw Error(ErrorCode::NoRule,
                        std::string("expected an operation that exists for ") + info(l.dtype).name + ", found one that isn't written");
    }
}

// ---- Accumulators of reductions -------------------------------------------------------------------------------------------------
// Max and min of floats run on integers in the same order (NaN above everything, or below for min), which the vectoriser
// recognises; a float comparison that propagates NaN it does not.

namespace {

bool ordered_as_integers(ReduceKind k, DType d) { return is_float(d) && (k == ReduceKind::Max || k == ReduceKind::Min); }

}  // namespace

llvm::Type* ScalarOps::accumulator_type(ReduceKind k, DType d) const {
    llvm::Type* t = register_type(d);
    if (ordered_as_integers(k, d)) return b.getIntNTy(t->getPrimitiveSizeInBits());
    return d == DType::Bool ? b.getInt8Ty() : t;
}

Value* ScalarOps::accumulator_start(ReduceKind k, DType d) {
    llvm::Type* t = accumulator_type(k, d);
    if (ordered_as_integers(k, d)) {
        const double lowest = -std::numeric_limits<double>::infinity();
        Value* start = llvm::ConstantFP::get(register_type(d), k == ReduceKind::Max ? lowest : -lowest);
        return to_accumulator(k, {start, nullptr, d});
    }
    const bool is_signed = is_signed_int(d);
    switch (k) {
        case ReduceKind::Sum:
        case ReduceKind::Or:
        case ReduceKind::Xor:
            return llvm::Constant::getNullValue(t);
        case ReduceKind::Prod:
            return t->isFloatingPointTy() ? llvm::ConstantFP::get(t, 1.0) : llvm::ConstantInt::get(t, 1);
        case ReduceKind::And:
            return d == DType::Bool ? llvm::ConstantInt::get(t, 1) : llvm::Constant::getAllOnesValue(t);
        case ReduceKind::Max:
            if (d == DType::Bool || !is_signed) return llvm::ConstantInt::get(t, 0);
            return literal(d, 0, 0, -(std::int64_t{1} << (d == DType::S4 ? 3 : d == DType::S2 ? 1 : byte_size(d) * 8 - 1))).re;
        case ReduceKind::Min:
            if (d == DType::Bool) return llvm::ConstantInt::get(t, 1);
            if (d == DType::U4) return llvm::ConstantInt::get(t, 15);
            if (d == DType::U2) return llvm::ConstantInt::get(t, 3);
            if (!is_signed) return llvm::Constant::getAllOnesValue(t);
            return literal(d, 0, 0,
                           static_cast<std::int64_t>((std::uint64_t{1} << (d == DType::S4   ? 3
                                                                           : d == DType::S2 ? 1
                                                                                            : byte_size(d) * 8 - 1)) -
                                                     1))
                .re;
        default:
            break;
    }
    throw Error(ErrorCode::NoRule, "expected a reduction of elements alone, found one of positions");
}

Value* ScalarOps::to_accumulator(ReduceKind k, const Number& v) {
    if (v.dtype == DType::Bool) return b.CreateZExt(v.re, b.getInt8Ty());
    if (!ordered_as_integers(k, v.dtype)) return v.re;
    llvm::Type* t = accumulator_type(k, v.dtype);
    const unsigned bits = t->getIntegerBitWidth();
    Value* i = b.CreateBitCast(v.re, t);
    Value* ordered = b.CreateXor(i, b.CreateLShr(b.CreateAShr(i, llvm::ConstantInt::get(t, bits - 1)), llvm::ConstantInt::get(t, 1)));
    const llvm::APInt extreme = k == ReduceKind::Max ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits);
    return b.CreateSelect(b.CreateFCmpUNO(v.re, v.re), llvm::ConstantInt::get(t, extreme), ordered);
}

Number ScalarOps::from_accumulator(ReduceKind k, DType d, Value* acc) {
    if (d == DType::Bool) return {b.CreateICmpNE(acc, b.getInt8(0)), nullptr, d};
    if (!ordered_as_integers(k, d)) return {is_float(d) ? round_to(d, acc) : wrap(d, acc), nullptr, d};
    llvm::Type* t = acc->getType();
    const unsigned bits = t->getIntegerBitWidth();
    Value* i = b.CreateXor(acc, b.CreateLShr(b.CreateAShr(acc, llvm::ConstantInt::get(t, bits - 1)), llvm::ConstantInt::get(t, 1)));
    const llvm::APInt extreme = k == ReduceKind::Max ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits);
    Value* nan = llvm::ConstantFP::getNaN(register_type(d));
    return {b.CreateSelect(b.CreateICmpEQ(acc, llvm::ConstantInt::get(t, extreme)), nan, b.CreateBitCast(i, register_type(d))), nullptr, d};
}

Value* ScalarOps::accumulate(ReduceKind k, DType d, Value* acc, Value* e) {
    const bool is_float_type = e->getType()->isFloatingPointTy();
    // Sums may be taken in any order: that is what lets the loop keep many partial sums, which also makes them more accurate.
    llvm::IRBuilder<>::FastMathFlagGuard guard(b);
    llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    b.setFastMathFlags(flags);
    switch (k) {
        case ReduceKind::Sum:
            if (d == DType::Bool) return b.CreateOr(acc, e);
            return is_float_type ? b.CreateFAdd(acc, e) : b.CreateAdd(acc, e);
        case ReduceKind::Prod:
            return is_float_type ? b.CreateFMul(acc, e) : d == DType::Bool ? b.CreateAnd(acc, e) : b.CreateMul(acc, e);
        case ReduceKind::And:
            return b.CreateAnd(acc, e);
        case ReduceKind::Or:
            return b.CreateOr(acc, e);
        case ReduceKind::Xor:
            return b.CreateXor(acc, e);
        case ReduceKind::Max:
        case ReduceKind::Min: {
            const bool is_signed = is_float(d) || is_signed_int(d);
            Value* first = k == ReduceKind::Max ? (is_signed ? b.CreateICmpSGT(acc, e) : b.CreateICmpUGT(acc, e))
                                                : (is_signed ? b.CreateICmpSLT(acc, e) : b.CreateICmpULT(acc, e));
            return b.CreateSelect(first, acc, e);
        }
        default:
            break;
    }
    throw Error(ErrorCode::NoRule, "expected a reduction of elements alone, found one of positions");
}

}  // namespace jaxscope::exec
