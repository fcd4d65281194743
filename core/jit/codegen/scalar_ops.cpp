// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "base/error.h"
#include "ir/types/element.h"
#include "jit/codegen/half_floats.h"
#include "jit/codegen/special_math.h"
#include "jit/codegen/vector_math.h"

namespace jaxscope::exec {

namespace {

using llvm::Value;

bool narrow_int(DType d) { return d == DType::S2 || d == DType::S4 || d == DType::U2 || d == DType::U4; }
/// Floats that live in a float register and are rounded after each operation.
bool small_float(DType d) { return is_float(d) && d != DType::F32 && d != DType::F64; }

llvm::Align alignment(DType d) { return llvm::Align(static_cast<std::uint64_t>(std::clamp<std::int64_t>(byte_size(d), 1, 8))); }

llvm::Value* call_small_float(llvm::IRBuilder<>& b, const char* name, DType d, Value* v, llvm::Type* result) {
    llvm::Module* m = b.GetInsertBlock()->getModule();
    const auto callee = m->getOrInsertFunction(name, llvm::FunctionType::get(result, {b.getInt32Ty(), v->getType()}, false));
    llvm::CallInst* call = b.CreateCall(callee, {b.getInt32(static_cast<unsigned>(d)), v});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
}

[[noreturn]] void unsupported(DType d) {
    throw Error(ErrorCode::NoRule, std::string("expected an operation that exists for ") + info(d).name + ", found one that doesn't");
}

}  // namespace

llvm::Type* ScalarOps::register_type(DType d) const {
    d = part_of(d);
    if (d == DType::F64) return b.getDoubleTy();
    if (is_float(d)) return b.getFloatTy();
    if (d == DType::Bool) return b.getInt1Ty();
    if (d == DType::Float0) return b.getInt8Ty();
    return b.getIntNTy(static_cast<unsigned>(byte_size(d) * 8));
}

llvm::Type* ScalarOps::storage_type(DType d) const {
    d = part_of(d);
    if (d == DType::F64) return b.getDoubleTy();
    if (d == DType::F32) return b.getFloatTy();
    if (d == DType::Bool || d == DType::Float0) return b.getInt8Ty();
    return b.getIntNTy(static_cast<unsigned>(byte_size(d) * 8));
}

Number ScalarOps::load(Value* address, DType d) {
    llvm::Type* t = storage_type(d);
    Value* pointer = b.CreateBitCast(address, t->getPointerTo());
    const auto one = [&](Value* p) -> Value* { return b.CreateAlignedLoad(t, p, alignment(part_of(d))); };
    if (is_complex(d)) return {one(pointer), one(b.CreateGEP(t, pointer, b.getInt64(1))), d};
    return of_bits(one(pointer), d);
}

Number ScalarOps::of_bits(Value* v, DType d) {
    if (d == DType::Bool) return {b.CreateICmpNE(v, b.getInt8(0)), nullptr, d};
    if (d == DType::BF16)
        return {b.CreateBitCast(b.CreateShl(b.CreateZExt(v, b.getInt32Ty()), b.getInt32(16)), b.getFloatTy()), nullptr, d, v};
    if (d == DType::F16) return {half_value(b, v), nullptr, d, v};
    if (small_float(d))
        return {call_small_float(b, "jaxscope_small_float_value", d, b.CreateZExt(v, b.getInt32Ty()), b.getFloatTy()), nullptr, d, v};
    return {v, nullptr, d};
}

void ScalarOps::store(Value* address, const Number& n) {
    const DType d = n.dtype;
    Value* pointer = b.CreateBitCast(address, storage_type(d)->getPointerTo());
    const llvm::Align align = alignment(part_of(d));
    if (is_complex(d)) {
        b.CreateAlignedStore(n.re, pointer, align);
        b.CreateAlignedStore(n.im, b.CreateGEP(storage_type(d), pointer, b.getInt64(1)), align);
        return;
    }
    b.CreateAlignedStore(bits_of(n), pointer, align);
}

Value* ScalarOps::bits_of(const Number& n) {
    const DType d = n.dtype;
    Value* v = n.re;
    if (n.stored) return n.stored;
    if (d == DType::Bool)
        v = b.CreateZExt(v, b.getInt8Ty());
    else if (d == DType::BF16)
        v = b.CreateTrunc(b.CreateLShr(b.CreateBitCast(v, b.getInt32Ty()), b.getInt32(16)), b.getInt16Ty());
    else if (d == DType::F16)
        v = half_bits(b, v);
    else if (small_float(d))
        v = b.CreateTrunc(call_small_float(b, "jaxscope_small_float_bits", d, v, b.getInt32Ty()), b.getInt8Ty());
    return v;
}

Number ScalarOps::literal(DType d, double re, double im, std::int64_t integer) {
    llvm::Type* t = register_type(d);
    if (is_complex(d)) return {llvm::ConstantFP::get(t, re), llvm::ConstantFP::get(t, im), d};
    // Rounded here: an instruction would stand where the number is first asked for, and others ask for it elsewhere.
    if (small_float(d)) {
        const std::uint16_t bits = small_float_bits(d, re);
        return {llvm::ConstantFP::get(t, small_float_value(d, bits)), nullptr, d, llvm::ConstantInt::get(storage_type(d), bits)};
    }
    if (is_float(d)) return {llvm::ConstantFP::get(t, re), nullptr, d};
    return {llvm::ConstantInt::get(t, static_cast<std::uint64_t>(integer), true), nullptr, d};
}

/// Rounds a float register to a narrower float dtype, ties to even.
Value* ScalarOps::round_to(DType d, Value* v) {
    if (!small_float(d)) return v;
    if (d == DType::F16) return rounded_to_half(b, v).value;
    if (d != DType::BF16)
        return call_small_float(b, "jaxscope_small_float_value", d, call_small_float(b, "jaxscope_small_float_bits", d, v, b.getInt32Ty()),
                                b.getFloatTy());
    Value* i = b.CreateBitCast(v, b.getInt32Ty());
    Value* odd = b.CreateAnd(b.CreateLShr(i, b.getInt32(16)), b.getInt32(1));
    Value* r = b.CreateAnd(b.CreateAdd(i, b.CreateAdd(odd, b.getInt32(0x7fff))), b.getInt32(0xffff0000u));
    Value* quiet = b.CreateOr(b.CreateAnd(i, b.getInt32(0xffff0000u)), b.getInt32(0x00400000));
    return b.CreateBitCast(b.CreateSelect(b.CreateFCmpUNO(v, v), quiet, r), b.getFloatTy());
}

Number ScalarOps::real(DType d, Value* v) {
    if (d != DType::F16) return {round_to(d, v), nullptr, d};
    const RoundedHalf r = rounded_to_half(b, v);
    return {r.value, nullptr, d, r.bits};
}

/// Keeps an int4/int2 register in range: sign or zero extension of the low bits.
Value* ScalarOps::wrap(DType d, Value* v) {
    if (!narrow_int(d)) return v;
    Value* shift = b.getInt8(static_cast<std::uint8_t>(8 - bit_width(d)));
    Value* up = b.CreateShl(v, shift);
    return is_signed_int(d) ? b.CreateAShr(up, shift) : b.CreateLShr(up, shift);
}

Number ScalarOps::select(const Number& c, const Number& t, const Number& f) {
    return {b.CreateSelect(c.re, t.re, f.re), t.im ? b.CreateSelect(c.re, t.im, f.im) : nullptr, t.dtype,
            t.stored && f.stored ? b.CreateSelect(c.re, t.stored, f.stored) : nullptr};
}

Value* ScalarOps::float_to_int(Value* v, DType to) {
    const unsigned bits = static_cast<unsigned>(bit_width(to));
    const bool is_signed = is_signed_int(to);
    llvm::Type* wide = b.getIntNTy(static_cast<unsigned>(byte_size(to) * 8));
    const double low = is_signed ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0.0;
    const double high = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits));  // the first number too large
    Value* too_low = b.CreateFCmpOLE(v, llvm::ConstantFP::get(v->getType(), low));
    Value* too_high = b.CreateFCmpOGE(v, llvm::ConstantFP::get(v->getType(), high));
    Value* bad = b.CreateOr(b.CreateFCmpUNO(v, v), b.CreateOr(too_low, too_high));
    Value* safe = b.CreateSelect(bad, llvm::ConstantFP::get(v->getType(), 0.0), v);
    Value* r = is_signed ? b.CreateFPToSI(safe, wide) : b.CreateFPToUI(safe, wide);
    const std::uint64_t max = is_signed ? (1ull << (bits - 1)) - 1 : bits == 64 ? ~0ull : (1ull << bits) - 1;
    const std::uint64_t min = is_signed ? ~((1ull << (bits - 1)) - 1) : 0;
    r = b.CreateSelect(too_low, llvm::ConstantInt::get(wide, min, true), r);
    return b.CreateSelect(too_high, llvm::ConstantInt::get(wide, max), r);
}

Number ScalarOps::convert(const Number& v, DType to) {
    const DType from = v.dtype;
    if (from == to) return v;
    if (is_complex(to)) {
        const DType part = part_of(to);
        const Number re = convert(is_complex(from) ? Number{v.re, nullptr, part_of(from)} : v, part);
        Value* im = is_complex(from) ? convert({v.im, nullptr, part_of(from)}, part).re : llvm::ConstantFP::get(register_type(to), 0.0);
        return {re.re, im, to};
    }
    if (to == DType::Bool) {
        if (is_complex(from)) {
            Value* zero = llvm::ConstantFP::get(v.re->getType(), 0.0);
            return {b.CreateOr(b.CreateFCmpUNE(v.re, zero), b.CreateFCmpUNE(v.im, zero)), nullptr, to};
        }
        Value* zero = llvm::Constant::getNullValue(v.re->getType());
        return {is_float(from) ? b.CreateFCmpUNE(v.re, zero) : b.CreateICmpNE(v.re, zero), nullptr, to};
    }
    if (is_complex(from)) return convert({v.re, nullptr, part_of(from)}, to);
    if (is_float(to)) {
        llvm::Type* t = register_type(to);
        Value* r = v.re;
        if (is_float(from))
            r = from == DType::F64 && to != DType::F64   ? b.CreateFPTrunc(r, t)
                : from != DType::F64 && to == DType::F64 ? b.CreateFPExt(r, t)
                                                         : r;
        else
            r = is_signed_int(from) ? b.CreateSIToFP(r, t) : b.CreateUIToFP(r, t);
        return real(to, r);
    }
    if (is_float(from)) return {float_to_int(v.re, to), nullptr, to};
    llvm::Type* t = register_type(to);
    return {wrap(to, is_signed_int(from) ? b.CreateSExtOrTrunc(v.re, t) : b.CreateZExtOrTrunc(v.re, t)), nullptr, to};
}

Number ScalarOps::bitcast(const Number& v, DType to) {
    if (v.dtype == to) return v;
    // Through the bits in memory: registers of narrow floats and bools hold something else.
    Value* bits = bits_of(v);
    if (bits->getType()->isFloatingPointTy()) bits = b.CreateBitCast(bits, b.getIntNTy(static_cast<unsigned>(byte_size(v.dtype) * 8)));
    if (bits->getType()->getIntegerBitWidth() != byte_size(to) * 8 || is_complex(to) || is_complex(v.dtype)) unsupported(to);
    if (to == DType::Bool || small_float(to)) return of_bits(bits, to);
    if (is_float(to)) return {b.CreateBitCast(bits, register_type(to)), nullptr, to};
    return {wrap(to, bits), nullptr, to};
}

Number ScalarOps::unary(KOp o, const Number& a) {
    if (is_complex(a.dtype)) return complex_unary(o, a);
    if (is_float(a.dtype)) return real_unary(o, a);
    return integer_unary(o, a);
}

Number ScalarOps::call(const KFunction& f, const Number& a) {
    JAXSCOPE_ASSERT(is_float(a.dtype));
    if (Value* y = special_function(b, f.name, a.re)) return real(a.dtype, y);
    return real(a.dtype, call_libm(b, f.name, {a.re}));
}

Number ScalarOps::real_unary(KOp o, const Number& a) {
    const DType d = a.dtype;
    Value* x = a.re;
    Value* zero = llvm::ConstantFP::get(x->getType(), 0.0);
    const auto intrinsic = [&](llvm::Intrinsic::ID id) { return real(d, b.CreateUnaryIntrinsic(id, x)); };
    switch (o) {
        case KOp::Neg:
            return real(d, b.CreateFNeg(x));
        case KOp::Abs:
            return intrinsic(llvm::Intrinsic::fabs);
        case KOp::Floor:
            return intrinsic(llvm::Intrinsic::floor);
        case KOp::Ceil:
            return intrinsic(llvm::Intrinsic::ceil);
        case KOp::RoundEven:
            return intrinsic(llvm::Intrinsic::nearbyint);
        case KOp::RoundAway: {
            // trunc(|x| + 0.5) would round 0.49999997 up: the largest number below one half is added instead.
            const double below_half = x->getType()->isFloatTy() ? 0.49999997f : 0.49999999999999994;
            Value* t = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b.CreateFAdd(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                                                                                   llvm::ConstantFP::get(x->getType(), below_half)));
            return real(d, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, t, x));
        }
        case KOp::Sign: {
            const auto signed_as_x = [&](double v) {
                return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(x->getType(), v), x);
            };
            // What is too small for a normal number counts as 0 here, as for XLA. NaN is its own sign.
            Value* of_numbers = b.CreateSelect(b.CreateFCmpOEQ(x, zero), signed_as_x(0.0), signed_as_x(1.0));
            return real(d, b.CreateSelect(b.CreateFCmpUNO(x, x), x, of_numbers));
        }
        case KOp::IsFinite: {
            Value* inf = llvm::ConstantFP::getInfinity(x->getType());
            return {b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), inf), nullptr, DType::Bool};
        }
        case KOp::Real:
        case KOp::Conj:
            return a;
        case KOp::Imag:
            return real(d, zero);
        default:
            if (o == KOp::ErfInv && x->getType()->isDoubleTy()) return real(d, erf_inv_f64(b, x));
            return real(d, math_function(b, o, x));
    }
}

Number ScalarOps::integer_unary(KOp o, const Number& a) {
    const DType d = a.dtype;
    Value* x = a.re;
    llvm::Type* t = x->getType();
    Value* zero = llvm::ConstantInt::get(t, 0);
    switch (o) {
        case KOp::Neg:
            return {wrap(d, b.CreateNeg(x)), nullptr, d};
        case KOp::Not:
            return {wrap(d, b.CreateNot(x)), nullptr, d};
        case KOp::Abs:
            return {is_signed_int(d) ? wrap(d, b.CreateSelect(b.CreateICmpSLT(x, zero), b.CreateNeg(x), x)) : x, nullptr, d};
        case KOp::Sign: {
            Value* one = llvm::ConstantInt::get(t, 1);
            Value* positive = b.CreateSelect(b.CreateICmpEQ(x, zero), zero, one);
            return {is_signed_int(d) ? b.CreateSelect(b.CreateICmpSLT(x, zero), llvm::ConstantInt::getSigned(t, -1), positive) : positive,
                    nullptr, d};
        }
        case KOp::PopulationCount:
        case KOp::Clz: {
            Value* v = narrow_int(d) ? b.CreateAnd(x, llvm::ConstantInt::get(t, (1u << bit_width(d)) - 1)) : x;
            if (o == KOp::PopulationCount) return {b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, v), nullptr, d};
            Value* n = b.CreateIntrinsic(llvm::Intrinsic::ctlz, {t}, {v, b.getFalse()});
            return {b.CreateSub(n, llvm::ConstantInt::get(t, t->getIntegerBitWidth() - static_cast<unsigned>(bit_width(d)))), nullptr, d};
        }
        case KOp::IsFinite:
            return {b.getTrue(), nullptr, DType::Bool};
        case KOp::Floor:
        case KOp::Ceil:
        case KOp::RoundEven:
        case KOp::RoundAway:
        case KOp::Real:
        case KOp::Conj:
            return a;
        default:
            unsupported(d);
    }
}

Number ScalarOps::binary(KOp o, const Number& x, const Number& y) {
    JAXSCOPE_ASSERT(x.re && y.re && x.re->getType() == y.re->getType());
    if (o == KOp::Complex) return {x.re, y.re, x.dtype == DType::F64 ? DType::C128 : DType::C64};
    if (is_complex(x.dtype)) return complex_binary(o, x, y);
    if (is_float(x.dtype)) return float_binary(o, x, y);
    return integer_binary(o, x, y);
}

Number ScalarOps::float_binary(KOp o, const Number& l, const Number& r) {
    const DType d = l.dtype;
    Value *x = l.re, *y = r.re;
    const auto truth = [&](Value* v) { return Number{v, nullptr, DType::Bool}; };
    switch (o) {
        case KOp::Add:
            return real(d, b.CreateFAdd(x, y));
        case KOp::Sub:
            return real(d, b.CreateFSub(x, y));
        case KOp::Mul:
            return real(d, b.CreateFMul(x, y));
        case KOp::Div:
            return real(d, b.CreateFDiv(x, y));
        case KOp::Max:
        case KOp::Min: {
            // NaN wins; of -0 and 0 the larger or smaller one is right.
            Value* first = o == KOp::Max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
            Value* picked = b.CreateSelect(b.CreateOr(first, b.CreateFCmpUNO(x, x)), x, y);
            return real(d, picked);
        }
        case KOp::Eq:
            return truth(b.CreateFCmpOEQ(x, y));
        case KOp::Ne:
            return truth(b.CreateFCmpUNE(x, y));
        case KOp::Lt:
            return truth(b.CreateFCmpOLT(x, y));
        case KOp::Le:
            return truth(b.CreateFCmpOLE(x, y));
        case KOp::Gt:
            return truth(b.CreateFCmpOGT(x, y));
        case KOp::Ge:
            return truth(b.CreateFCmpOGE(x, y));
        case KOp::LtTotal: {
            // -NaN < -inf < ... < -0 < 0 < ... < inf < NaN: the order of the bits once negative ones are flipped.
            llvm::Type* t = b.getIntNTy(x->getType()->getPrimitiveSizeInBits());
            const auto key = [&](Value* v) {
                Value* i = b.CreateBitCast(v, t);
                const unsigned bits = t->getIntegerBitWidth();
                return b.CreateXor(i, b.CreateLShr(b.CreateAShr(i, llvm::ConstantInt::get(t, bits - 1)), llvm::ConstantInt::get(t, 1)));
            };
            return truth(b.CreateICmpSLT(key(x), key(y)));
        }
        case KOp::NextAfter:
            return next_after(l, r);
        default:
            return real(d, math_function(b, o, x, y));
    }
}

/// The neighbour among the numbers of x's own type, by their bits: a float32's neighbour would be rounded back to x. Numbers that aren't
/// normal equal zero, as for XLA.
Number ScalarOps::next_after(const Number& x, const Number& y) {
    const std::int64_t width = byte_size(x.dtype);
    const DType bits = width == 1 ? DType::U8 : width == 2 ? DType::U16 : width == 4 ? DType::U32 : DType::U64;
    Value *from = bitcast(x, bits).re, *to = bitcast(y, bits).re;
    llvm::Type* t = from->getType();
    Value *one = llvm::ConstantInt::get(t, 1), *zero = llvm::ConstantInt::get(t, 0);
    Value* sign = llvm::ConstantInt::get(t, std::uint64_t{1} << (bit_width(x.dtype) - 1));
    Value *size = b.CreateAnd(from, b.CreateNot(sign)), *goal = b.CreateAnd(to, b.CreateNot(sign));
    Value* apart = b.CreateICmpNE(b.CreateAnd(from, sign), b.CreateAnd(to, sign));
    Value* smaller = b.CreateOr(apart, b.CreateICmpUGT(size, goal));
    Value* next = b.CreateSelect(smaller, b.CreateSub(from, one), b.CreateAdd(from, one));
    next = b.CreateSelect(b.CreateICmpEQ(size, zero), b.CreateOr(b.CreateAnd(to, sign), one), next);
    Value* found = b.CreateSelect(b.CreateFCmpOEQ(x.re, y.re), y.re, bitcast({next, nullptr, bits}, x.dtype).re);
    Value* nan = b.CreateSelect(b.CreateFCmpUNO(x.re, x.re), x.re, y.re);
    return {b.CreateSelect(b.CreateFCmpUNO(x.re, y.re), nan, found), nullptr, x.dtype};
}

/// x / 0 = -1 (all bits set) and x % 0 = x; the smallest number by -1 is itself, remainder 0.
Value* ScalarOps::divide(Value* x, Value* y, bool is_signed, bool remainder) {
    llvm::Type* t = x->getType();
    if (const auto* c = llvm::dyn_cast<llvm::ConstantInt>(y); c && !c->isZero() && !c->isMinusOne()) {  // LLVM multiplies
        if (remainder) return is_signed ? b.CreateSRem(x, y) : b.CreateURem(x, y);
        return is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
    }
    Value* zero = llvm::ConstantInt::get(t, 0);
    Value* one = llvm::ConstantInt::get(t, 1);
    Value* minus_one = llvm::ConstantInt::getSigned(t, -1);
    Value* by_zero = b.CreateICmpEQ(y, zero);
    Value* unsafe = by_zero;
    if (is_signed) {
        Value* smallest = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(t->getIntegerBitWidth()));
        Value* overflow = b.CreateAnd(b.CreateICmpEQ(x, smallest), b.CreateICmpEQ(y, minus_one));
        unsafe = b.CreateOr(unsafe, overflow);  // dividing by 1 instead gives the right answer: itself, remainder 0
    }
    Value* safe = b.CreateSelect(unsafe, one, y);
    Value* q = quotient(x, safe, is_signed);
    if (!remainder) return b.CreateSelect(by_zero, minus_one, q);
    return b.CreateSelect(by_zero, x, b.CreateSub(x, b.CreateMul(q, safe)));
}

/// Processors divide whole numbers one by one, floats in vectors. The float quotient of numbers of up to 16 (32) bits is off by less than
/// a 2^8th (2^21st) of its distance to the next whole number, so that cutting its fraction off gives the exact one.
Value* ScalarOps::quotient(Value* x, Value* y, bool is_signed) {
    const unsigned bits = x->getType()->getIntegerBitWidth();
    if (bits > 32) return is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
    llvm::Type* f = bits <= 16 ? b.getFloatTy() : b.getDoubleTy();
    const auto as_float = [&](Value* v) { return is_signed ? b.CreateSIToFP(v, f) : b.CreateUIToFP(v, f); };
    Value* q = b.CreateFDiv(as_float(x), as_float(y));
    return is_signed ? b.CreateFPToSI(q, x->getType()) : b.CreateFPToUI(q, x->getType());
}

Number ScalarOps::integer_binary(KOp o, const Number& l, const Number& r) {
    const DType d = l.dtype;
    const bool is_signed = is_signed_int(d);
    Value *x = l.re, *y = r.re;
    llvm::Type* t = x->getType();
    const auto number = [&](Value* v) { return Number{wrap(d, v), nullptr, d}; };
    const auto truth = [&](Value* v) { return Number{v, nullptr, DType::Bool}; };
    if (d == DType::Bool && (o == KOp::Add || o == KOp::Max)) o = KOp::Or;  // XLA's sum of predicates
    if (d == DType::Bool && (o == KOp::Mul || o == KOp::Min)) o = KOp::And;
    switch (o) {
        case KOp::Add:
            return number(b.CreateAdd(x, y));
        case KOp::Sub:
            return number(b.CreateSub(x, y));
        case KOp::Mul:
            return number(b.CreateMul(x, y));
        case KOp::Div:
            return number(divide(x, y, is_signed, false));
        case KOp::Rem:
            return number(divide(x, y, is_signed, true));
        case KOp::And:
            return number(b.CreateAnd(x, y));
        case KOp::Or:
            return number(b.CreateOr(x, y));
        case KOp::Xor:
            return number(b.CreateXor(x, y));
        case KOp::Max:
            return number(b.CreateSelect(is_signed ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y), x, y));
        case KOp::Min:
            return number(b.CreateSelect(is_signed ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y), x, y));
        case KOp::Shl:
        case KOp::ShrLogical:
        case KOp::ShrArithmetic: {
            Value* width = llvm::ConstantInt::get(t, static_cast<std::uint64_t>(bit_width(d)));
            Value* last = llvm::ConstantInt::get(t, static_cast<std::uint64_t>(bit_width(d) - 1));
            Value* inside = b.CreateICmpULT(y, width);
            Value* safe = b.CreateSelect(inside, y, o == KOp::ShrArithmetic ? last : llvm::ConstantInt::get(t, 0));
            if (o == KOp::ShrArithmetic) {
                Value* v = narrow_int(d) && !is_signed
                               ? b.CreateAShr(b.CreateShl(x, b.getInt8(static_cast<std::uint8_t>(8 - bit_width(d)))),
                                              b.getInt8(static_cast<std::uint8_t>(8 - bit_width(d))))
                               : x;
                return number(b.CreateAShr(v, safe));
            }
            Value* v = narrow_int(d) ? b.CreateAnd(x, llvm::ConstantInt::get(t, (1u << bit_width(d)) - 1)) : x;
            Value* shifted = o == KOp::Shl ? b.CreateShl(v, safe) : b.CreateLShr(v, safe);
            return number(b.CreateSelect(inside, shifted, llvm::ConstantInt::get(t, 0)));
        }
        case KOp::Eq:
            return truth(b.CreateICmpEQ(x, y));
        case KOp::Ne:
            return truth(b.CreateICmpNE(x, y));
        case KOp::Lt:
        case KOp::LtTotal:
            return truth(is_signed ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y));
        case KOp::Le:
            return truth(is_signed ? b.CreateICmpSLE(x, y) : b.CreateICmpULE(x, y));
        case KOp::Gt:
            return truth(is_signed ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y));
        case KOp::Ge:
            return truth(is_signed ? b.CreateICmpSGE(x, y) : b.CreateICmpUGE(x, y));
        default:
            unsupported(d);
    }
}

}  // namespace jaxscope::exec
