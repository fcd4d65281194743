// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "ir/kernel_builder.h"
#include "jit/kernels/stored_types.h"

// Loops along one axis, over a few neighbouring columns at a time.
namespace jaxscope::exec {

constexpr std::int64_t kColumns = 64;          ///< most of one call of cumulate
constexpr std::int64_t kExtremeColumns = 512;  ///< of find_extreme, which does little for each row

/// One block of an array [length, columns]: `stride` elements from one row to the next, `width` columns side by side.
struct AxisBlock {
    std::int64_t length, stride, width;
};

/// cumulate: running sums, products, maxima or minima of each column, kept in double precision where they are floating; row by row from
/// the first one (with a negative stride that is the last). `in` and `out` may be the same.
/// find_extreme: the row of each column's first largest or smallest element; the first NaN wins. Fewer than 2^31 rows.
// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define JAXSCOPE_ALONG_AXIS(T)                                                   \
    void cumulate(ReduceKind kind, const AxisBlock& block, const T* in, T* out); \
    void find_extreme(bool largest, const AxisBlock& block, const T* in, std::int64_t* row);
// NOLINTEND(bugprone-macro-parentheses)
JAXSCOPE_EACH_STORED_TYPE(JAXSCOPE_ALONG_AXIS)
#undef JAXSCOPE_ALONG_AXIS

}  // namespace jaxscope::exec
