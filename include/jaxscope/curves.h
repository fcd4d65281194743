// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy: polynomials, lines between points, areas below curves, convolutions of vectors.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::numpy {

/// `mode`: "full", "same" or "valid".
Array convolve(const Operand& a, const Operand& v, const char* mode = "full");
Array correlate(const Operand& a, const Operand& v, const char* mode = "valid");
/// A polynomial's value by its coefficients, the highest power first.
Array polyval(const Operand& p, const Operand& x);
/// The coefficients of degree `deg` that come nearest to the points (x, y).
Array polyfit(const Operand& x, const Operand& y, std::int64_t deg);
/// Between the points (xp, fp), whose xp rises, on straight lines; outside of them the value of the nearest one.
Array interp(const Operand& x, const Operand& xp, const Operand& fp);
struct Neighbours {
    Array dx = {};  ///< between neighbours; 1
    std::int64_t axis = -1;
};
Array trapezoid(const Operand& y, const Neighbours& how = {});
Array trapezoid(const Operand& y, const Operand& x, std::int64_t axis = -1);  ///< `x`: where the numbers stand

// Polynomials by their coefficients, the highest power first.
Array polyadd(const Operand& a, const Operand& b);
Array polysub(const Operand& a, const Operand& b);
Array polymul(const Operand& a, const Operand& b);
Array polyder(const Operand& p, std::int64_t m = 1);  ///< the m-th derivative
/// Integrated m times; `k`: the constants, one for each time or for all.
Array polyint(const Operand& p, std::int64_t m = 1);
Array polyint(const Operand& p, std::int64_t m, const Operand& k);
Array poly(const Operand& seq_of_zeros);  ///< the polynomial that is zero there; of a square matrix its characteristic one
std::pair<Array, Array> polydiv(const Operand& u, const Operand& v);  ///< quotient and rest
/// Where a polynomial is zero. `strip_zeros`: leading zeros are left out, which have to be known; else so many roots are NaN.
Array roots(const Operand& p, Flag strip_zeros = true);
struct Unwrapping {
    Array discont = {};  ///< jumps from this on are taken for turns; half a period
    std::int64_t axis = -1;
    Array period = {};  ///< 2 pi
};
/// Angles without jumps: what comes after a jump is turned by whole periods.
Array unwrap(const Operand& p, const Unwrapping& how = {});

}  // namespace jaxscope::jax::numpy
