// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/kernel_builder.h"
#include "jit/kernels/narrow_floats.h"

// Loops along one axis, over a few neighbouring columns at a time.
namespace jaxscope::exec {

constexpr std::int64_t kColumns = 64;  ///< most of one call

/// One block of an array [length, columns]: `stride` elements from one row to the next, `width` columns side by side.
struct AxisBlock {
    std::int64_t length, stride, width;
};

/// The types that the loops below are made for.
#define JAXSCOPE_EACH_AXIS_TYPE(made_for)                                                                                             \
    made_for(float) made_for(double) made_for(Bf16) made_for(F16) made_for(std::int8_t) made_for(std::uint8_t) made_for(std::int16_t) \
        made_for(std::uint16_t) made_for(std::int32_t) made_for(std::uint32_t) made_for(std::int64_t) made_for(std::uint64_t)

/// cumulate: running sums, products, maxima or minima of each column, kept in double precision where they are floating; row by row from
/// the first one (with a negative stride that is the last). `in` and `out` may be the same.
/// find_extreme: the row of each column's first largest or smallest element; the first NaN wins. Fewer than 2^31 rows.
// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define JAXSCOPE_ALONG_AXIS(T)                                                   \
    void cumulate(ReduceKind kind, const AxisBlock& block, const T* in, T* out); \
    void find_extreme(bool largest, const AxisBlock& block, const T* in, std::int64_t* row);
// NOLINTEND(bugprone-macro-parentheses)
JAXSCOPE_EACH_AXIS_TYPE(JAXSCOPE_ALONG_AXIS)
#undef JAXSCOPE_ALONG_AXIS

/// fn(an element) for the type that `dtype` stands for in the loops above; false: there is none.
template <class Fn>
bool with_axis_type(DType dtype, const Fn& fn) {
    switch (dtype) {
        case DType::F32:
            return fn(float{}), true;
        case DType::F64:
            return fn(double{}), true;
        case DType::BF16:
            return fn(Bf16{}), true;
        case DType::F16:
            return fn(F16{}), true;
        case DType::S8:
            return fn(std::int8_t{}), true;
        case DType::U8:
            return fn(std::uint8_t{}), true;
        case DType::S16:
            return fn(std::int16_t{}), true;
        case DType::U16:
            return fn(std::uint16_t{}), true;
        case DType::S32:
            return fn(std::int32_t{}), true;
        case DType::U32:
            return fn(std::uint32_t{}), true;
        case DType::S64:
            return fn(std::int64_t{}), true;
        case DType::U64:
            return fn(std::uint64_t{}), true;
        default:
            return false;
    }
}

}  // namespace jaxscope::exec
