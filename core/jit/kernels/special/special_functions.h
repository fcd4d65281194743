// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace jaxscope::exec {

double digamma(double x);
double erf_inv(double x);

namespace special {

// Special functions of one number each, for float and double: the values that JAX's loops and XLA's series give, edges included.
// They keep to the precision of T where a result's range depends on it (what underflows in float is 0 in float).

enum class GammaPart { Value, Derivative, SampleDerivative };  ///< of P(a, x): itself, d/da, and -dP/da over the density

template <class T>
T igamma(T a, T x);
template <class T>
T igammac(T a, T x);
template <class T>
T igamma_grad_a(T a, T x);
template <class T>
T random_gamma_grad(T a, T x);
template <class T>
T zeta(T x, T q);
template <class T>
T polygamma(T n, T x);
template <class T>
T betainc(T a, T b, T x);

}  // namespace special

}  // namespace jaxscope::exec
