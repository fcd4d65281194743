// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/dot_routine.h"

#include <algorithm>

#include "jit/kernels/products/slender_product.h"
#include "jit/kernels/products/small_product.h"

namespace jaxscope::exec {

namespace {

Arithmetic arithmetic_for(DType d) {
    if (d == DType::F64) return Arithmetic::F64;
    if (d == DType::C64) return Arithmetic::C64;
    if (d == DType::C128) return Arithmetic::C128;
    if (is_float(d)) return Arithmetic::F32;
    return byte_size(d) <= 4 ? Arithmetic::Word32 : Arithmetic::Word64;
}
double multiplications(const DotCore& c) { return static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k); }

/// Has each operand and the result one stride of 1, as the library wants it?
bool unit_strides(const DotCore& c) {
    const auto unit = [](std::int64_t a, std::int64_t na, std::int64_t b, std::int64_t nb) {
        return a == 1 || b == 1 || na == 1 || nb == 1;
    };
    return unit(c.lhs_m, c.m, c.lhs_k, c.k) && unit(c.rhs_k, c.k, c.rhs_n, c.n) && unit(c.out_m, c.m, c.out_n, c.n);
}
/// Is it large enough for packed panels? Where vectors can be read as they lie, and those that are read again stay in the first-level
/// cache, panels of them bring nothing.
bool worth_packing(const DotCore& c) {
    constexpr double kWorthPacking = 6000, kWorthPackingRows = 300000;
    constexpr std::int64_t kStays = 4096, kNarrow = 48;
    const std::int64_t side = c.rhs_n == 1 && c.out_n == 1 ? c.n : c.m;
    const bool small = lies_in_rows(c) && c.k * side <= kStays;
    if (small && side <= kNarrow) return false;
    if (multiplications(c) < (small ? kWorthPackingRows : kWorthPacking) || c.k < 4) return false;
    return std::min(c.m, c.n) >= 3 && std::max(c.m, c.n) >= 8;  // panels are as wide as a tile
}

/// Of the library, whose call takes a quarter of a microsecond, beside code of ours that is there already.
bool worth_a_call(const DotCore& c) {
    constexpr double kInVectors = 17000, kElse = 600;
    constexpr std::int64_t kLanes = 8, kAlone = 32;  ///< of one row alone each sum waits for the one before
    const auto in_vectors = [](std::int64_t operand, std::int64_t out, std::int64_t length, std::int64_t others) {
        return operand == 1 && out == 1 && length >= (others == 1 ? kAlone : kLanes);
    };
    const bool vectors = in_vectors(c.rhs_n, c.out_n, c.n, c.m) || in_vectors(c.lhs_m, c.out_m, c.m, c.n);
    return multiplications(c) >= (vectors ? kInVectors : lies_in_rows(c) || is_slender(c) ? kElse : 0);
}

/// Lines of the cache that are touched for a few numbers each: the processor reads the next ones ahead, but has to wait to write them.
double scattered(const DotCore& c) {
    constexpr std::int64_t kLine = 16;
    constexpr double kRead = 0.4, kWritten = 3;
    const auto lines = [](std::int64_t a, std::int64_t na, std::int64_t b, std::int64_t nb) {
        if (a > b) std::swap(a, b), std::swap(na, nb);
        return na < kLine && b >= kLine && b > na ? static_cast<double>(nb) : 0.0;
    };
    return kRead * (lines(c.lhs_m, c.m, c.lhs_k, c.k) + lines(c.rhs_k, c.k, c.rhs_n, c.n)) + kWritten * lines(c.out_m, c.m, c.out_n, c.n);
}

/// Of one core, its operands in the cache.
double core_cost(const DotCore& c, Arithmetic a) {
    const auto m = static_cast<double>(c.m), n = static_cast<double>(c.n), k = static_cast<double>(c.k);
    const double touched = m * k + k * n + m * n;
    // Of a multiplication and addition in vectors, beside that of float32.
    const double number = a == Arithmetic::F32 || a == Arithmetic::Word32 ? 1 : a == Arithmetic::C64 ? 4 : a == Arithmetic::C128 ? 8 : 2;
    switch (routine_of(c, a)) {
        case DotRoutine::Library:
            return 250 + 0.1 * touched + 0.03 * m * n * k + scattered(c);
        case DotRoutine::Packed:
            return 200 + 1.2 * touched + 0.04 * number * m * n * k;
        case DotRoutine::Slender:
            return 30 + (unit_strides(c) ? 0.3 : 1.0) * number * touched;
        case DotRoutine::Small:
            return 20 + 0.3 * touched + 0.08 * number * m * n * k;
        case DotRoutine::Plain:
            return 20 + (c.out_n == 1 && c.rhs_n == 1 ? 0.3 : 1.0) * number * m * n * k;
    }
    return 0;
}

}  // namespace

Arithmetic arithmetic_of(const Op& op) {
    Arithmetic widest = arithmetic_for(op.out[0]->dtype);
    for (const AvalRef a : op.in)
        if (const Arithmetic own = arithmetic_for(a->dtype); is_complex(a->dtype) && width(own) > width(widest)) widest = own;
    return widest;
}
std::int64_t width(Arithmetic a) {
    if (a == Arithmetic::F32 || a == Arithmetic::Word32) return 4;
    return a == Arithmetic::C128 ? 16 : 8;
}
bool native(Arithmetic a, DType d) {
    return (a == Arithmetic::F32 && d == DType::F32) || (a == Arithmetic::F64 && d == DType::F64) ||
           (a == Arithmetic::C64 && d == DType::C64) || (a == Arithmetic::C128 && d == DType::C128) ||
           (a == Arithmetic::Word32 && (d == DType::S32 || d == DType::U32)) ||
           (a == Arithmetic::Word64 && (d == DType::S64 || d == DType::U64));
}

DotRoutine routine_of(const DotCore& c, Arithmetic a) {
    const bool in_rows = lies_in_rows(c);
    const bool one_sum = c.m * c.n == 1;  // which the library adds up number by number
    if (a == Arithmetic::F32 && c.k > 0 && !one_sum && unit_strides(c) && worth_a_call(c)) return DotRoutine::Library;
    if (a != Arithmetic::Word64 && worth_packing(c)) return DotRoutine::Packed;
    if (is_slender(c) && c.k > 0) return DotRoutine::Slender;
    return in_rows ? DotRoutine::Small : DotRoutine::Plain;
}

double dot_cost(const DotShape& shape, const Op& op) {
    double calls = static_cast<double>(shape.count());
    for (const DotLoop& l : shape.sums) calls *= static_cast<double>(l.size);
    return calls * core_cost(shape.core, arithmetic_of(op));
}

}  // namespace jaxscope::exec
