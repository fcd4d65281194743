// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace jaxscope::exec {

/// A loop around the matrix product: strides in elements, 0 where an operand doesn't move.
struct DotLoop {
    std::int64_t size, lhs, rhs, out;
};
/// The innermost product: out[m, n] (+)= sum over k of lhs[m, k] * rhs[k, n], all with strides.
struct DotCore {
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t lhs_m = 1, lhs_k = 1, rhs_k = 1, rhs_n = 1, out_m = 1, out_n = 1;
    /// Do the result's rows lie one behind the other?
    bool dense_rows() const { return (out_n == 1 || n == 1) && (out_m == n || m == 1); }
    /// The product of the transposed operands in the other order, which is the transposed result.
    DotCore transposed() const { return {n, m, k, rhs_n, rhs_k, lhs_k, lhs_m, out_n, out_m}; }
};

struct DotShape {
    std::vector<DotLoop> loops;  ///< independent results: batch dimensions, free ones that don't merge
    std::vector<DotLoop> sums;   ///< contracted dimensions that don't merge: results add up
    DotCore core;

    /// How many independent products there are, and where number `index` begins in the operands and the result.
    std::int64_t count() const;
    DotLoop place(std::int64_t index) const;
    /// How many products of the core add up to one result, and where in the operands number `index` of them begins, beside place().
    std::int64_t sum_count() const;
    DotLoop sum_place(std::int64_t index) const;
};

}  // namespace jaxscope::exec
