// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <llvm/IR/Intrinsics.h>

#include "base/error.h"
#include "jit/codegen/scalar_ops.h"
#include "jit/codegen/vector_math.h"

namespace jaxscope::exec {

using llvm::Value;

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
        case KOp::Sinh:
            return complex(b.CreateFMul(f(KOp::Sinh, x), f(KOp::Cos, y)), b.CreateFMul(f(KOp::Cosh, x), f(KOp::Sin, y)));
        case KOp::Cosh:
            return complex(b.CreateFMul(f(KOp::Cosh, x), f(KOp::Cos, y)), b.CreateFMul(f(KOp::Sinh, x), f(KOp::Sin, y)));
        case KOp::Tanh: {
            // tanh(x + iy) = (sinh 2x + i sin 2y) / (cosh 2x + cos 2y); beyond 20 it is 1, where cosh would overflow.
            Value* near = b.CreateMaxNum(b.CreateMinNum(x, constant(20)), constant(-20));
            Value* bounded = b.CreateSelect(b.CreateFCmpUNO(x, x), x, near);
            Value *x2 = b.CreateFMul(constant(2), bounded), *y2 = b.CreateFMul(constant(2), y);
            Value* d = b.CreateFAdd(f(KOp::Cosh, x2), f(KOp::Cos, y2));
            return complex(b.CreateFDiv(f(KOp::Sinh, x2), d), b.CreateFDiv(f(KOp::Sin, y2), d));
        }
        case KOp::Tan:
        case KOp::Asinh:
        case KOp::Atan: {
            // g(z) = -i h(iz) for tan and tanh, asinh and asin, atan and atanh.
            const KOp other = o == KOp::Tan ? KOp::Tanh : o == KOp::Asinh ? KOp::Asin : KOp::Atanh;
            const Number h = complex_unary(other, complex(b.CreateFNeg(y), x));
            return complex(h.im, b.CreateFNeg(h.re));
        }
        case KOp::Asin:
        case KOp::Acos:
        case KOp::Acosh:
            return complex_inverse(o, a);
        case KOp::Atanh: {
            // log|(1 + z) / (1 - z)| / 2 and half the angle, neither by differences of what is nearly equal.
            Value *up = b.CreateFAdd(constant(1), x), *down = b.CreateFSub(constant(1), x), *y2 = b.CreateFMul(y, y);
            Value* ratio = b.CreateFDiv(b.CreateFMul(constant(4), x), b.CreateFAdd(b.CreateFMul(down, down), y2));
            Value* angle = call_libm(b, "atan2", {b.CreateFMul(constant(2), y), b.CreateFSub(b.CreateFMul(down, up), y2)});
            return complex(b.CreateFMul(constant(0.25), f(KOp::Log1p, ratio)), b.CreateFMul(constant(0.5), angle));
        }
        case KOp::Exp2:
            return complex_unary(KOp::Exp, complex(b.CreateFMul(constant(M_LN2), x), b.CreateFMul(constant(M_LN2), y)));
        case KOp::Logistic: {
            const Number e = complex_unary(KOp::Exp, complex_unary(KOp::Neg, a)), one = complex(constant(1), constant(0));
            return complex_binary(KOp::Div, one, complex_binary(KOp::Add, one, e));
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

/// asin, acos, acosh by roots of 1 - z and 1 + z (Kahan, Branch cuts for complex elementary functions): right on both sides of the cuts.
Number ScalarOps::complex_inverse(KOp o, const Number& a) {
    Value* x = a.re;
    const auto constant = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
    const auto root = [&](Value* re, Value* im) { return complex_unary(KOp::Sqrt, {re, im, a.dtype}); };
    const auto asinh = [&](Value* v) { return math_function(b, KOp::Asinh, v); };
    /// conj(p) * q
    const auto with_conjugate = [&](const Number& p, const Number& q) { return complex_binary(KOp::Mul, complex_unary(KOp::Conj, p), q); };
    const auto twice_angle = [&](Value* im, Value* re) { return b.CreateFMul(constant(2), call_libm(b, "atan2", {im, re})); };
    const Number plus = root(b.CreateFAdd(constant(1), x), a.im);
    if (o == KOp::Acosh) {
        const Number below = root(b.CreateFSub(x, constant(1)), a.im);
        return {asinh(with_conjugate(below, plus).re), twice_angle(below.im, plus.re), a.dtype};
    }
    const Number minus = root(b.CreateFSub(constant(1), x), b.CreateFNeg(a.im));
    if (o == KOp::Acos) return {twice_angle(minus.re, plus.re), asinh(with_conjugate(plus, minus).im), a.dtype};
    const Number product = complex_binary(KOp::Mul, minus, plus);
    return {call_libm(b, "atan2", {x, product.re}), asinh(with_conjugate(minus, plus).im), a.dtype};
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
        case KOp::Max:
        case KOp::Min: {
            // By real parts, then by imaginary ones; the second operand where neither is ahead, NaN included.
            const auto ahead = [&](Value* p, Value* q) { return o == KOp::Max ? b.CreateFCmpOGT(p, q) : b.CreateFCmpOLT(p, q); };
            Value* first = b.CreateSelect(b.CreateFCmpOEQ(a, e), ahead(c, g), ahead(a, e));
            return complex(b.CreateSelect(first, a, e), b.CreateSelect(first, c, g));
        }
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
