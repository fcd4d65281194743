// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.scipy: special functions, the normal distribution, triangular and Cholesky solves.
#include <jaxscope/nn.h>

namespace jaxscope::jax::scipy {

namespace special {
Array gammaln(const Operand& x);
Array digamma(const Operand& x);
Array erf(const Operand& x);
Array erfc(const Operand& x);
Array erfinv(const Operand& x);
Array expit(const Operand& x);
Array logit(const Operand& x);
Array ndtr(const Operand& x);  ///< the normal distribution's share below x
Array ndtri(const Operand& p);
Array log_ndtr(const Operand& x);
Array boxcox(const Operand& x, const Operand& lmbda);
Array boxcox1p(const Operand& x, const Operand& lmbda);
Array comb(const Operand& N, const Operand& k);
Array poch(const Operand& z, const Operand& m);
Array xlogy(const Operand& x, const Operand& y);
Array xlog1py(const Operand& x, const Operand& y);
Array gamma(const Operand& x);
Array gammasgn(const Operand& x);  ///< the sign of the gamma function
Array factorial(const Operand& n);
Array beta(const Operand& a, const Operand& b);
Array betaln(const Operand& a, const Operand& b);
Array betainc(const Operand& a, const Operand& b, const Operand& x);  ///< incomplete, regularised, as the next two
Array gammainc(const Operand& a, const Operand& x);
Array gammaincc(const Operand& a, const Operand& x);
Array polygamma(const Operand& n, const Operand& x);
Array multigammaln(const Operand& a, std::int64_t d);
Array entr(const Operand& x);  ///< -x log x
Array rel_entr(const Operand& p, const Operand& q);
Array kl_div(const Operand& p, const Operand& q);
Array i0(const Operand& x);
Array i0e(const Operand& x);
Array i1(const Operand& x);
Array i1e(const Operand& x);
using nn::log_softmax;
using nn::logsumexp;
using nn::softmax;
}  // namespace special

namespace stats::norm {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array sf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);  ///< 1 - cdf
Array logcdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array logsf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array ppf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);  ///< below which a share of q lies
Array isf(const Operand& q, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace stats::norm

namespace linalg {
Array cholesky(const Operand& a, bool lower = false);
/// A factor, and whether it is the lower one.
using Factor = std::pair<Array, bool>;
Factor cho_factor(const Operand& a, bool lower = false);
Array cho_solve(const Factor& c_and_lower, const Operand& b);
/// `assume_a`: "gen", "sym", "her", "pos" (by Cholesky's factor, of which `lower` says which half of `a` is read).
struct SolveOptions {
    const char* assume_a = "gen";
    Flag lower = false;
};
Array solve(const Operand& a, const Operand& b, const SolveOptions& options = {});
struct TriangularOptions {
    Flag transposed = false, lower = false, unit_diagonal = false;
};
Array solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& options = {});
Array block_diag(const Arrays& blocks, Where where = {});
/// a = p l u: a permutation, a triangle with ones on its diagonal, a triangle.
struct Lu {
    Array p, l, u;
};
Lu lu(const Operand& a);
/// Both triangles in one matrix, and the rows that were exchanged.
using LuFactor = std::pair<Array, Array>;
LuFactor lu_factor(const Operand& a);
/// `trans`: 1 of the transposed matrix, 2 of the conjugated one.
Array lu_solve(const LuFactor& lu_and_piv, const Operand& b, int trans = 0);
/// Equal along diagonals: by the first column, and the first row where that isn't its conjugate.
Array toeplitz(const Operand& c);
Array toeplitz(const Operand& c, const Operand& r);
Array hilbert(std::int64_t n, Where where = {});
/// The matrix exponential, by Pade's approximation and squaring; NaN where more than `max_squarings` are needed.
struct Exponential {
    Flag upper_triangular = false;
    std::int64_t max_squarings = 16;
};
Array expm(const Operand& a, const Exponential& how = {});
}  // namespace linalg

}  // namespace jaxscope::jax::scipy
