// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.random with typed threefry keys. Types of samplers are float32, bfloat16 or float16.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::random {

Array key(const Operand& seed);
/// The words of a key, as JAX's older programs pass it: all functions here take it too.
Array PRNGKey(const Operand& seed);
Array split(const Operand& key, const Shape& num = 2);
Array fold_in(const Operand& key, const Operand& data);
Array key_data(const Operand& key);
Array wrap_key_data(const Operand& words);
Array bits(const Operand& key, const Shape& shape = {}, dtype type = dtype::uint32);
/// Bounds: numbers, or arrays that broadcast to `shape`.
Array uniform(const Operand& key, const Shape& shape = {}, const Operand& minval = 0., const Operand& maxval = 1.);
Array uniform(const Operand& key, const Shape& shape, dtype type, const Operand& minval = 0., const Operand& maxval = 1.);
Array normal(const Operand& key, const Shape& shape = {}, dtype type = dtype::float32);
/// The numbers below `n` in an order by chance.
Array permutation(const Operand& key, std::int64_t n);
/// An array's parts along `axis` in an order by chance; `independent`: the numbers of each row in an order of its own.
Array permutation(const Operand& key, const Array& x, std::int64_t axis = 0, Flag independent = false);
/// int32, from `minval` on and below `maxval`: numbers, or arrays that broadcast to `shape`.
Array randint(const Operand& key, const Shape& shape, const Operand& minval, const Operand& maxval);
Array gumbel(const Operand& key, const Shape& shape = {}, dtype type = dtype::float32);
Array exponential(const Operand& key, const Shape& shape = {}, dtype type = dtype::float32);
Array laplace(const Operand& key, const Shape& shape = {}, dtype type = dtype::float32);
Array logistic(const Operand& key, const Shape& shape = {}, dtype type = dtype::float32);
Array cauchy(const Operand& key, const Shape& shape = {}, dtype type = dtype::float32);
Array rademacher(const Operand& key, const Shape& shape = {}, dtype type = dtype::int32);
Array truncated_normal(const Operand& key, const Operand& lower, const Operand& upper, const Shape& shape = {},
                       dtype type = dtype::float32);
Array gamma(const Operand& key, const Operand& a, const Shape& shape = {});
Array loggamma(const Operand& key, const Operand& a, const Shape& shape = {});
Array beta(const Operand& key, const Operand& a, const Operand& b, const Shape& shape = {});
Array chisquare(const Operand& key, const Operand& df, const Shape& shape = {});
Array t(const Operand& key, const Operand& df, const Shape& shape = {});
Array pareto(const Operand& key, const Operand& b, const Shape& shape = {});
// Without a shape each of these has that of its parameters.
Array poisson(const Operand& key, const Operand& lam, const Shape& shape = {});
/// `shape`: without the last dimension, which is that of `alpha`.
Array dirichlet(const Operand& key, const Operand& alpha, const Shape& shape = {});
Array rayleigh(const Operand& key, const Operand& scale, const Shape& shape = {});
Array maxwell(const Operand& key, const Shape& shape = {});
Array lognormal(const Operand& key, const Operand& sigma = 1., const Shape& shape = {});
Array weibull_min(const Operand& key, const Operand& scale, const Operand& concentration, const Shape& shape = {});
Array triangular(const Operand& key, const Operand& left, const Operand& mode, const Operand& right, const Shape& shape = {});
Array wald(const Operand& key, const Operand& mean, const Shape& shape = {});
Array f(const Operand& key, const Operand& dfnum, const Operand& dfden, const Shape& shape = {});
Array double_sided_maxwell(const Operand& key, const Operand& loc, const Operand& scale, const Shape& shape = {});
Array generalized_normal(const Operand& key, const Operand& p, const Shape& shape = {});
/// Points of `d` dimensions in the unit ball of the norm of order `p`.
Array ball(const Operand& key, std::int64_t d, const Operand& p = 2, const Shape& shape = {});
Array geometric(const Operand& key, const Operand& p, const Shape& shape = {});
/// Positions along `axis`, by logarithms of probabilities; `shape` ends in the other dimensions.
Array categorical(const Operand& key, const Operand& logits, std::int64_t axis = -1);
Array categorical(const Operand& key, const Operand& logits, std::int64_t axis, const Shape& shape);
struct Choosing {
    Flag replace = true;  ///< may a part be drawn again?
    Array p = {};         ///< probabilities
    std::int64_t axis = 0;
};
/// Of the numbers below `n`, or of an array's parts.
Array choice(const Operand& key, std::int64_t n, const Shape& shape, const Choosing& how);
Array choice(const Operand& key, const Array& x, const Shape& shape, const Choosing& how);
Array choice(const Operand& key, std::int64_t n, const Shape& shape = {}, bool replace = true, const Array& p = {});
Array choice(const Operand& key, const Array& x, const Shape& shape = {}, bool replace = true, const Array& p = {}, std::int64_t axis = 0);
Array choice(const Operand& key, std::int64_t n, const Shape& shape, const Array& p);
Array choice(const Operand& key, const Array& x, const Shape& shape, const Array& p);
/// Without a shape that of `p`.
Array bernoulli(const Operand& key, const Operand& p = 0.5, const Shape& shape = {});
/// Without a shape that of the means and covariances, whose leading dimensions are a batch.
Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& cov, const Shape& shape = {});
/// A matrix whose columns are orthogonal, of length one; `m` columns where given.
Array orthogonal(const Operand& key, std::int64_t n, std::int64_t m = 0);

}  // namespace jaxscope::jax::random
