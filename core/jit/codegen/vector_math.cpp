// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/vector_math.h"

#include <cmath>
#include <string>

#include <llvm/IR/Module.h>

#include "jit/codegen/formula.h"

namespace jaxscope::exec {

namespace {

using llvm::Value;

/// A float rounded to a whole number n by adding one so large that no fraction is left of the sum: its last bits are n's.
struct Whole {
    Value* number;
    Value* exponent;  ///< n where a float has its exponent; modulo 2^9
};
constexpr double kNoFraction = 12582912;  // 1.5 * 2^23, whose own last nine bits are 0
Whole whole(const Formula& f, Value* sum) { return {f.b.CreateFSub(sum, f.c(kNoFraction)), f.b.CreateShl(f.bits(sum), f.ci(23))}; }

/// e^r for |r| <= ln2 / 2, times 2^n: a polynomial, to whose exponent n is added. The result must be a normal number.
Value* exp_of_rest(const Formula& f, Value* r, const Whole& n) {
    Value* p = f.poly(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
    p = f.fma(f.b.CreateFMul(r, r), p, f.b.CreateFAdd(r, f.c(1)));
    return f.number(f.b.CreateAdd(f.bits(p), n.exponent));
}
/// `y` between the bounds, 0 below (denormals are flushed: threads/denormals.h), infinity above; NaN stays one.
Value* between(const Formula& f, Value* x, double low, double high, Value* y) {
    y = f.b.CreateSelect(f.b.CreateFCmpOLT(x, f.c(low)), f.c(0), y);
    return f.b.CreateSelect(f.b.CreateFCmpUGT(x, f.c(high)), f.b.CreateFAdd(x, f.c(INFINITY)), y);
}

/// exp: x = n ln2 + r.
Value* exp_f32(const Formula& f, Value* x) {
    constexpr double kLow = -87.3365, kHigh = 88.72283;  // of normal results
    Value* t = f.clamp(x, kLow, kHigh);
    const Whole n = whole(f, f.fma(t, f.c(1.44269504088896341), f.c(kNoFraction)));
    Value* r = f.fma(n.number, f.c(-0.693359375), t);
    r = f.fma(n.number, f.c(2.12194440e-4), r);
    return between(f, x, kLow, kHigh, exp_of_rest(f, r, n));
}

/// What a logarithm is made of: x = (1 + rest) 2^exponent, with 1 + rest in [sqrt(1/2), sqrt(2)).
struct LogParts {
    Value* rest;
    Value* exponent;
    Value* bits;  ///< x's own, less those of sqrt(1/2)
};
LogParts log_parts(const Formula& f, Value* x) {
    Value* i = f.b.CreateSub(f.bits(x), f.ci(0x3f3504f3));
    Value* m = f.number(f.b.CreateAdd(f.b.CreateAnd(i, f.ci(0x007fffff)), f.ci(0x3f3504f3)));
    return {f.b.CreateFSub(m, f.c(1)), f.b.CreateSIToFP(f.b.CreateAShr(i, f.ci(23)), f.b.getFloatTy()), i};
}
/// Cephes' polynomial of `rest`; `x` decides what has no logarithm (denormals are zeros: threads/denormals.h).
Value* log_of(const Formula& f, Value* x, Value* r, Value* e) {
    Value* z = f.b.CreateFMul(r, r);
    Value* p = f.poly(r, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                          2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
    Value* y = f.b.CreateFMul(f.b.CreateFMul(p, r), z);
    y = f.fma(e, f.c(-2.12194440e-4), y);
    y = f.fma(z, f.c(-0.5), y);
    y = f.fma(e, f.c(0.693359375), f.b.CreateFAdd(r, y));
    y = f.b.CreateSelect(f.b.CreateFCmpOEQ(x, f.c(INFINITY)), x, y);
    y = f.b.CreateSelect(f.b.CreateFCmpOEQ(x, f.c(0)), f.c(-INFINITY), y);
    return f.b.CreateSelect(f.b.CreateFCmpULT(x, f.c(0)), f.c(NAN), y);
}
Value* log_f32(const Formula& f, Value* x) {
    const LogParts parts = log_parts(f, x);
    return log_of(f, x, parts.rest, parts.exponent);
}

/// log1p: the logarithm of u = 1 + x, to whose rest is added what the sum lost, scaled by 2^-exponent. That is made as 2^(1-exponent),
/// which is a number for the largest exponent, too.
Value* log1p_f32(const Formula& f, Value* x) {
    Value* u = f.b.CreateFAdd(x, f.c(1));
    Value* lost = f.b.CreateFSub(x, f.b.CreateFSub(u, f.c(1)));
    const LogParts parts = log_parts(f, u);
    Value* scale = f.number(f.b.CreateSub(f.ci(0x40000000), f.b.CreateAnd(parts.bits, f.ci(0xff800000))));
    Value* rest = f.fma(lost, f.b.CreateFMul(scale, f.c(0.5)), parts.rest);
    return f.b.CreateSelect(f.b.CreateFCmpOEQ(x, f.c(0)), x, log_of(f, u, rest, parts.exponent));  // of both zeros
}

Value* expm1_f32(const Formula& f, Value* x) {
    Value* u = exp_f32(f, x);
    Value* small = f.b.CreateFCmpOLT(f.fabs(x), f.c(0.34657));
    // Near zero: the same polynomial without the 1 that would swallow it.
    Value* p = f.poly(x, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
    Value* near = f.fma(f.b.CreateFMul(x, x), p, x);
    near = f.b.CreateSelect(f.b.CreateFCmpOEQ(x, f.c(0)), x, near);  // of both zeros
    return f.b.CreateSelect(small, near, f.b.CreateFSub(u, f.c(1)));
}

/// tanh: a rational function, x itself near 0 (the coefficients that XLA and Eigen use). From kOne on it is 1 exactly, as in XLA: what is
/// left of 1 - tanh(x)^2 is multiplied with large numbers in gelu's gradient.
Value* tanh_f32(const Formula& f, Value* x) {
    constexpr double kOne = 7.99881172180175781;
    Value* t = f.clamp(x, -kOne, kOne);
    Value* z = f.b.CreateFMul(t, t);
    Value* p = f.poly(z, {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05,
                          6.37261928875436e-04, 4.89352455891786e-03});
    Value* q = f.poly(z, {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03});
    Value* y = f.b.CreateFDiv(f.b.CreateFMul(t, p), q);
    y = f.b.CreateSelect(f.b.CreateFCmpOLT(f.fabs(x), f.c(0.0004)), x, y);
    Value* one = f.copysign(f.c(1), x);
    return f.b.CreateSelect(f.b.CreateFCmpOGE(f.fabs(x), f.c(kOne)), one, y);
}

/// The same in f64: t / (t + 2) of t = e^2|x| - 1, which is 2^n (e^r - 1) + (2^n - 1) and so exact near 0, too. At kOne t no longer has a
/// last bit for the 2.
Value* tanh_f64(const Formula& f, Value* x) {
    constexpr double kOne = 22, kNoFractionOfWide = 6755399441055744;  // 1.5 * 2^52
    llvm::IRBuilder<>& b = f.b;
    const auto c = [&](double v) { return f.of(x, v); };
    Value* a = f.fabs(x);
    a = b.CreateSelect(b.CreateFCmpOGT(a, c(kOne)), c(kOne), a);
    Value* y = b.CreateFAdd(a, a);
    Value* sum = f.fma(y, c(1.4426950408889634), c(kNoFractionOfWide));
    Value* n = b.CreateFSub(sum, c(kNoFractionOfWide));
    Value* r = f.fma(n, c(-0x1.62e42fefa39efp-1), y);
    r = f.fma(n, c(-0x1.abc9e3b39803fp-56), r);
    Value* q = f.poly(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                          1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
    Value* rest = f.fma(b.CreateFMul(r, r), q, r);
    Value* exponent = b.CreateShl(b.CreateBitCast(sum, b.getInt64Ty()), b.getInt64(52));
    Value* scale = b.CreateBitCast(b.CreateAdd(exponent, b.getInt64(std::uint64_t{1023} << 52)), b.getDoubleTy());
    Value* t = f.fma(scale, rest, b.CreateFSub(scale, c(1)));
    return f.copysign(b.CreateFDiv(t, b.CreateFAdd(t, c(2))), x);
}

Value* erf_f32(const Formula& f, Value* x) {
    Value* t = f.clamp(x, -4, 4);
    Value* z = f.b.CreateFMul(t, t);
    Value* p = f.poly(z, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
                          -2.95459980854025e-03, -1.60960333262415e-02});
    Value* q =
        f.poly(z, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02});
    return f.b.CreateFMul(t, f.b.CreateFDiv(p, q));  // t * p of the smallest would be a denormal
}

/// erf_inv after Giles, "Approximating the erfinv function": two polynomials of w = -log(1 - x^2).
Value* erf_inv_f32(const Formula& f, Value* x) {
    Value* w = f.b.CreateFNeg(log1p_f32(f, f.b.CreateFNeg(f.b.CreateFMul(x, x))));
    Value* central = f.b.CreateFCmpOLT(w, f.c(5));
    Value* w1 = f.b.CreateFSub(w, f.c(2.5));
    Value* root = f.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, w);
    Value* w2 = f.b.CreateFSub(root, f.c(3));
    Value* p1 = f.poly(w1, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
                            0.246640727, 1.50140941});
    Value* p2 = f.poly(w2, {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
                            1.00167406, 2.83297682});
    Value* y = f.b.CreateFMul(f.b.CreateSelect(central, p1, p2), x);
    Value* edge = f.b.CreateFCmpOEQ(f.fabs(x), f.c(1));
    return f.b.CreateSelect(edge, f.b.CreateFMul(x, f.c(INFINITY)), y);
}

/// 2^e * (2 / pi) modulo 4 for e = 0 .. 104, to 64 bits: a table in the module, looked up by exponent.
llvm::GlobalVariable* two_over_pi_table(llvm::Module& module) {
    static const char* const name = "two_over_pi";
    if (llvm::GlobalVariable* known = module.getGlobalVariable(name, true)) return known;
    static constexpr std::uint32_t bits[] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};
    std::vector<double> values;
    for (int e = 0; e <= 104; ++e) {
        double v = 0;
        for (int i = 63; i >= 0; --i) {
            const int j = e - 2 + i;  // bit j behind the point weighs 2^(e - j - 1)
            if (j >= 0 && (bits[j / 32] >> (31 - j % 32) & 1)) v += std::ldexp(1.0, 1 - i);
        }
        values.push_back(v);
    }
    llvm::Constant* data = llvm::ConstantDataArray::get(module.getContext(), values);
    return new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, name);
}

/// x * (2 / pi) modulo 4 for |x| >= 2^24, where the product in f64 has no fraction left: mantissa times table (Payne and Hanek).
Value* huge_quadrants(const Formula& f, Value* x) {
    llvm::IRBuilder<>& b = f.b;
    Value* i = f.bits(x);
    Value* exponent = b.CreateSub(b.CreateAnd(b.CreateLShr(i, f.ci(23)), f.ci(255)), f.ci(150));
    Value* safe = b.CreateSelect(b.CreateICmpSLT(exponent, f.ci(0)), f.ci(0), exponent);
    safe = b.CreateSelect(b.CreateICmpSGT(safe, f.ci(104)), f.ci(104), safe);
    Value* mantissa = b.CreateOr(b.CreateAnd(i, f.ci(0x007fffff)), f.ci(0x00800000));
    llvm::GlobalVariable* table = two_over_pi_table(*b.GetInsertBlock()->getModule());
    Value* entry = b.CreateInBoundsGEP(table->getValueType(), table, {b.getInt64(0), b.CreateZExt(safe, b.getInt64Ty())});
    Value* p = b.CreateFMul(b.CreateSIToFP(mantissa, b.getDoubleTy()), b.CreateLoad(b.getDoubleTy(), entry));
    return b.CreateSelect(b.CreateICmpSLT(i, f.ci(0)), b.CreateFNeg(p), p);
}

/// sin and cos: the argument is reduced in f64 with a two-part pi/2, and by table where that is not exact enough.
Value* sin_cos_f32(const Formula& f, Value* x, bool cosine) {
    llvm::IRBuilder<>& b = f.b;
    llvm::Type* f64 = b.getDoubleTy();
    const auto cd = [&](double v) { return llvm::ConstantFP::get(f64, v); };
    Value* finite = b.CreateFCmpOLT(f.fabs(x), f.c(INFINITY));
    Value* huge = b.CreateFCmpOGE(f.fabs(x), f.c(16777216.0));
    Value* wide = b.CreateFPExt(x, f64);
    Value* product = b.CreateSelect(huge, huge_quadrants(f, x), b.CreateFMul(wide, cd(0.63661977236758134308)));
    Value* q = f.round(product);
    Value* r = f.fma(q, cd(-1.5707963267948965580), wide);
    r = f.fma(q, cd(-6.1232339957367660359e-17), r);
    r = b.CreateSelect(huge, b.CreateFMul(b.CreateFSub(product, q), cd(1.5707963267948965580)), r);
    // The quadrant: q mod 4, found without a 64-bit conversion that could overflow.
    Value* q4 = b.CreateFSub(q, b.CreateFMul(cd(4), b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b.CreateFMul(q, cd(0.25)))));
    Value* k = b.CreateFPToSI(b.CreateSelect(finite, q4, cd(0)), b.getInt32Ty());
    if (cosine) k = b.CreateAdd(k, f.ci(1));
    Value* t = b.CreateFPTrunc(r, b.getFloatTy());
    Value* z = b.CreateFMul(t, t);
    Value* s = f.poly(z, {2.718311493989822e-6, -1.9839334836096632e-4, 8.3333293858894632e-3, -1.6666666641626524e-1});
    s = f.fma(b.CreateFMul(s, z), t, t);
    Value* c = f.poly(z, {-2.7557314135e-7, 2.48015873e-5, -1.3888888397e-3, 4.1666667908e-2, -0.5});
    c = f.fma(c, z, f.c(1));
    Value* odd = b.CreateICmpNE(b.CreateAnd(k, f.ci(1)), f.ci(0));
    Value* y = b.CreateSelect(odd, c, s);
    Value* negative = b.CreateICmpNE(b.CreateAnd(k, f.ci(2)), f.ci(0));
    y = b.CreateSelect(negative, b.CreateFNeg(y), y);
    if (!cosine) y = b.CreateSelect(b.CreateFCmpOEQ(x, f.c(0)), x, y);  // of both zeros
    return b.CreateSelect(finite, y, f.c(NAN));
}

Value* logistic(const Formula& f, Value* x) {
    Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
    return f.b.CreateFDiv(one, f.b.CreateFAdd(one, math_function(f.b, KOp::Exp, f.b.CreateFNeg(x))));
}

Value* exp2_f32(const Formula& f, Value* x) {
    constexpr double kLow = -126, kHigh = 127.99999237060547;  // of normal results
    Value* t = f.clamp(x, kLow, kHigh);
    const Whole n = whole(f, f.b.CreateFAdd(t, f.c(kNoFraction)));
    Value* r = f.b.CreateFMul(f.b.CreateFSub(t, n.number), f.c(0.69314718055994531));
    return between(f, x, kLow, kHigh, exp_of_rest(f, r, n));
}

Value* f32_function(const Formula& f, KOp o, Value* x) {
    switch (o) {
        case KOp::Exp:
            return exp_f32(f, x);
        case KOp::Exp2:
            return exp2_f32(f, x);
        case KOp::Expm1:
            return expm1_f32(f, x);
        case KOp::Log:
            return log_f32(f, x);
        case KOp::Log1p:
            return log1p_f32(f, x);
        case KOp::Tanh:
            return tanh_f32(f, x);
        case KOp::Sin:
            return sin_cos_f32(f, x, false);
        case KOp::Cos:
            return sin_cos_f32(f, x, true);
        case KOp::Erf:
            return erf_f32(f, x);
        case KOp::ErfInv:
            return erf_inv_f32(f, x);
        default:
            return nullptr;
    }
}

const char* libm_name(KOp o) {
    switch (o) {
        case KOp::Exp:
            return "exp";
        case KOp::Exp2:
            return "exp2";
        case KOp::Expm1:
            return "expm1";
        case KOp::Log:
            return "log";
        case KOp::Log1p:
            return "log1p";
        case KOp::Tanh:
            return "tanh";
        case KOp::Sin:
            return "sin";
        case KOp::Cos:
            return "cos";
        case KOp::Tan:
            return "tan";
        case KOp::Sinh:
            return "sinh";
        case KOp::Cosh:
            return "cosh";
        case KOp::Asin:
            return "asin";
        case KOp::Acos:
            return "acos";
        case KOp::Atan:
            return "atan";
        case KOp::Asinh:
            return "asinh";
        case KOp::Acosh:
            return "acosh";
        case KOp::Atanh:
            return "atanh";
        case KOp::Erf:
            return "erf";
        case KOp::Pow:
            return "pow";
        case KOp::Atan2:
            return "atan2";
        case KOp::Rem:
            return "fmod";
        default:
            return nullptr;
    }
}

/// 1, 2, 4, ... as far as x / y loses nothing that trunc would keep.
bool is_whole_power_of_two(const llvm::APFloat& y) {
    constexpr int kMost = 64;
    return y.isFiniteNonZero() && !y.isNegative() && y.getExactInverse(nullptr) && ilogb(y) >= 0 && ilogb(y) <= kMost;
}
/// fmod: every step is exact, and the remainder has x's sign where it is 0, too.
Value* remainder_by_power(llvm::IRBuilder<>& b, Value* x, const llvm::ConstantFP* y) {
    llvm::APFloat inverse(y->getValueAPF());
    y->getValueAPF().getExactInverse(&inverse);
    Value* times = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), inverse)));
    Value* rest = b.CreateFSub(x, b.CreateFMul(times, llvm::ConstantFP::get(x->getType(), y->getValueAPF())));
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rest, x);
}

}  // namespace

Value* call_libm(llvm::IRBuilder<>& b, const char* name, llvm::ArrayRef<Value*> args) {
    llvm::Type* t = args[0]->getType();
    const std::vector<llvm::Type*> types(args.size(), t);
    llvm::Module* module = b.GetInsertBlock()->getModule();
    const std::string full = t->isFloatTy() ? std::string(name) + "f" : name;
    const llvm::FunctionCallee callee = module->getOrInsertFunction(full, llvm::FunctionType::get(t, types, false));
    llvm::CallInst* call = b.CreateCall(callee, args);
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
}

Value* math_function(llvm::IRBuilder<>& b, KOp o, Value* x) {
    const Formula f(b);
    Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
    if (o == KOp::Sqrt) return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    if (o == KOp::Rsqrt) return b.CreateFDiv(one, b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
    if (o == KOp::Logistic) return logistic(f, x);
    if (x->getType()->isFloatTy())
        if (Value* y = f32_function(f, o, x)) return y;
    if (x->getType()->isDoubleTy() && o == KOp::Tanh) return tanh_f64(f, x);
    const char* name = libm_name(o);
    if (!name) throw Error(ErrorCode::NoRule, "expected a function of one number, found an operation that the code generator doesn't know");
    return call_libm(b, name, {x});
}

Value* math_function(llvm::IRBuilder<>& b, KOp o, Value* x, Value* y) {
    if (const auto* c = llvm::dyn_cast<llvm::ConstantFP>(y); o == KOp::Rem && c && is_whole_power_of_two(c->getValueAPF()))
        return remainder_by_power(b, x, c);
    return call_libm(b, libm_name(o), {x, y});
}

}  // namespace jaxscope::exec
