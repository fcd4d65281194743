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
Array xlogy(const Operand& x, const Operand& y);
Array xlog1py(const Operand& x, const Operand& y);
using nn::logsumexp;
}  // namespace special

namespace stats::norm {
Array logpdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array pdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
Array cdf(const Operand& x, const Operand& loc = 0, const Operand& scale = 1);
}  // namespace stats::norm

namespace linalg {
Array cholesky(const Operand& a, bool lower = false);
/// A factor, and whether it is the lower one.
using Factor = std::pair<Array, bool>;
Factor cho_factor(const Operand& a, bool lower = false);
Array cho_solve(const Factor& c_and_lower, const Operand& b);
struct TriangularOptions {
    Flag transposed = false, lower = false, unit_diagonal = false;
};
Array solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& options = {});
Array block_diag(const Arrays& blocks, Where where = {});
}  // namespace linalg

}  // namespace jaxscope::jax::scipy
