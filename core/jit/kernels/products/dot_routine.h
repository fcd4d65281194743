// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>

#include "ir/primitive.h"
#include "jit/kernels/products/dot_core.h"

// Which code computes a product, and how long it takes: one judgement for all that cut, copy or transpose around it.
namespace jaxscope::exec {

/// Integers are summed modulo 2^32, or 2^64 where the result is that wide: what is stored is the same.
enum class Arithmetic : std::uint8_t { F32, F64, C64, C128, Word32, Word64 };
/// Products of floats with an integer result don't occur; the wider of the operands decides.
Arithmetic arithmetic_of(const Op& op);
std::int64_t width(Arithmetic a);
/// Is `d` computed with as it is stored?
bool native(Arithmetic a, DType d);

/// Calls fn with a number of the type that the arithmetic is done in.
template <class Fn>
void with_number(Arithmetic a, const Fn& fn) {
    switch (a) {
        case Arithmetic::F32:
            return fn(float{});
        case Arithmetic::F64:
            return fn(double{});
        case Arithmetic::C64:
            return fn(std::complex<float>{});
        case Arithmetic::C128:
            return fn(std::complex<double>{});
        case Arithmetic::Word32:
            return fn(std::uint32_t{});
        case Arithmetic::Word64:
            return fn(std::uint64_t{});
    }
}

enum class DotRoutine : std::uint8_t { Library, Packed, Slender, Small, Plain };
DotRoutine routine_of(const DotCore& core, Arithmetic arithmetic);

/// About how many nanoseconds of one thread.
double dot_cost(const DotShape& shape, const Op& op);

}  // namespace jaxscope::exec
