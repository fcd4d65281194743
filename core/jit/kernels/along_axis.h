// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/kernel_builder.h"

// Loops along one axis, over a few neighbouring columns at a time.
namespace jaxscope::exec {

constexpr std::int64_t kColumns = 64;  ///< most of one call

/// One block of an array [length, columns]: `stride` elements from one row to the next, `width` columns side by side.
struct AxisBlock {
    std::int64_t length, stride, width;
};

/// Running sums, products, maxima or minima of each column, kept in double precision where they are floating; row by row from the first
/// one (with a negative stride that is the last). `in` and `out` may be the same.
void cumulate(ReduceKind kind, const AxisBlock& block, const float* in, float* out);
void cumulate(ReduceKind kind, const AxisBlock& block, const double* in, double* out);
void cumulate(ReduceKind kind, const AxisBlock& block, const std::int32_t* in, std::int32_t* out);

/// The row of each column's first largest or smallest element; the first NaN wins. Fewer than 2^31 rows.
void find_extreme(bool largest, const AxisBlock& block, const float* in, std::int64_t* row);
void find_extreme(bool largest, const AxisBlock& block, const double* in, std::int64_t* row);
void find_extreme(bool largest, const AxisBlock& block, const std::int32_t* in, std::int64_t* row);

}  // namespace jaxscope::exec
