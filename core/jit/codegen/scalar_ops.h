// SPDX-License-Identifier: Apache-2.0
#pragma once
// LLVM stays inside the code generator: include this from codegen files only.
#include <llvm/IR/IRBuilder.h>

#include "ir/kernel_builder.h"
#include "ir/types/dtype.h"

namespace jaxscope::exec {

/// A number in a register. Bool is i1; integers their own width (int4 and int2 i8, kept in range); bf16, f16, f8 and f4 are floats
/// rounded to their dtype after every operation (LLVM 14 aborts on its own bfloat type); complex numbers two values; keys one integer.
struct Number {
    llvm::Value* re = nullptr;
    llvm::Value* im = nullptr;
    DType dtype = DType::F32;
    llvm::Value* stored = nullptr;  ///< of floats narrower than f32: their bits, where they are known
};

/// What one part of a complex number is; other numbers are their own.
inline DType part_of(DType d) { return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d; }

/// Scalar code with XLA's semantics at the edges: x/0 = -1, x%0 = x, shifts by the width or more give 0 (arithmetic: the sign),
/// float to int saturates and NaN gives 0, min and max propagate NaN. Straight-line code only, so that loops vectorise.
class ScalarOps {
public:
    explicit ScalarOps(llvm::IRBuilder<>& builder) : b(builder) {}
    llvm::Type* register_type(DType d) const;  ///< of one part of a complex number
    llvm::Type* storage_type(DType d) const;   ///< of one part; complex elements are two of them
    Number load(llvm::Value* address, DType d);
    void store(llvm::Value* address, const Number& v);
    Number of_bits(llvm::Value* stored, DType d);  ///< of a storage_type; not of complex numbers
    llvm::Value* bits_of(const Number& v);
    Number literal(DType d, double re, double im, std::int64_t integer);
    Number unary(KOp o, const Number& a);
    Number binary(KOp o, const Number& a, const Number& b);
    Number call(const KFunction& f, const Number& a);
    Number select(const Number& condition, const Number& t, const Number& f);
    Number convert(const Number& v, DType to);
    Number bitcast(const Number& v, DType to);

    // Reductions keep their own accumulator: f32 for narrow floats, order-preserving integers for max and min of floats.
    llvm::Type* accumulator_type(ReduceKind k, DType d) const;
    llvm::Value* accumulator_start(ReduceKind k, DType d);
    llvm::Value* accumulate(ReduceKind k, DType d, llvm::Value* acc, llvm::Value* element);
    llvm::Value* to_accumulator(ReduceKind k, const Number& v);
    Number from_accumulator(ReduceKind k, DType d, llvm::Value* acc);

    llvm::IRBuilder<>& b;

private:
    Number real_unary(KOp o, const Number& a);
    Number integer_unary(KOp o, const Number& a);
    Number complex_unary(KOp o, const Number& a);
    Number complex_inverse(KOp o, const Number& a);
    Number float_binary(KOp o, const Number& x, const Number& y);
    Number next_after(const Number& x, const Number& y);
    Number integer_binary(KOp o, const Number& x, const Number& y);
    Number complex_binary(KOp o, const Number& x, const Number& y);
    llvm::Value* divide(llvm::Value* x, llvm::Value* y, bool is_signed, bool remainder);
    llvm::Value* quotient(llvm::Value* x, llvm::Value* y, bool is_signed);
    llvm::Value* round_to(DType d, llvm::Value* v);
    llvm::Value* wrap(DType d, llvm::Value* v);
    llvm::Value* float_to_int(llvm::Value* v, DType to);
    Number real(DType d, llvm::Value* v);
};

}  // namespace jaxscope::exec
