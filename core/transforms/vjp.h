// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ir/jaxpr.h"
#include "transforms/linearize.h"

namespace jaxscope {

/// A function linearized into a builder: what jax.linearize and jax.vjp have after the forward pass.
struct LinearizedCall {
    Values outputs;                 ///< all results of the function
    Values residuals;               ///< what the linear half keeps, in its order: constants, inputs and results of equations of the builder
    JaxprPtr linear;                ///< inputs: residuals, then tangents of the differentiated inputs that can have one
    std::vector<bool> nonzero_out;  ///< per differentiated output: has it a tangent?
    std::vector<bool> wrt;          ///< per input: does `linear` take its tangent (differentiated and of inexact type)?
};
/// `wrt` per input. `num_outputs`: the first so many results are differentiated, the rest is aux.
/// Throws Error{NoRule | NotDifferentiable}.
LinearizedCall linearize_call(JaxprBuilder& b, const Jaxpr& j, const Values& in, const std::vector<bool>& wrt, std::size_t num_outputs,
                              bool literals = false);

/// jax.linearize as two jaxprs.
struct Linearized {
    JaxprPtr forward;  ///< inputs as the function's; outputs: its results, then the residuals (no literals, no duplicates)
    JaxprPtr linear;   ///< inputs: the residuals, then the tangents of `wrt`; outputs: the nonzero output tangents
    std::size_t num_residuals = 0;
    std::vector<bool> nonzero_out;  ///< per differentiated output
    std::vector<bool> wrt;          ///< per input: differentiated and of inexact type
};
/// Parameters as for `vjp`, whose forward pass this is. `literals`: numbers that the linear half reads are residuals, too.
Linearized linearize(const JaxprPtr& j, const std::vector<bool>& wrt, std::size_t num_outputs, bool literals = false);

/// The backward pass of what was linearized. Throws what transposition is refused for.
JaxprPtr pullback(const JaxprPtr& j, const Linearized& lin, const std::vector<bool>& wrt, std::size_t num_outputs);

/// jax.vjp as two jaxprs.
struct Vjp {
    JaxprPtr forward;  ///< inputs as the function's; outputs: its results, then the residuals (no literals, no duplicates)
    JaxprPtr
        backward;  ///< inputs: the residuals, then a cotangent per differentiated output; outputs: a cotangent per differentiated input
    std::size_t num_residuals = 0;
};
/// The function's constvars (without values, as a region has them) stay constvars of `forward`. `num_outputs`: results that are
/// differentiated; the rest is aux. Inputs of integer types get float0 cotangents, which are i1 zeros in JAX and zero literals here.
Vjp vjp(const JaxprPtr& j, const std::vector<bool>& wrt, std::size_t num_outputs);

/// jax.vjp and a call of its pullback: inputs are the function's, then a cotangent per result of inexact type; outputs are the results,
/// then a cotangent per input of `wrt`.
JaxprPtr value_and_pullback(const JaxprPtr& j, const std::vector<bool>& wrt);

/// What jax.grad takes for types that it refuses otherwise.
struct GradientTypes {
    bool holomorphic = false;
    bool allow_int = false;
};
/// jax.value_and_grad: outputs are the value, aux, then the gradients. The first result must be a scalar.
/// Throws Error{NotDifferentiable} in JAX's words for a result that is no real scalar or inputs that are no floats.
JaxprPtr value_and_grad(const JaxprPtr& j, const std::vector<bool>& wrt, bool has_aux = false, GradientTypes types = {});
/// jax.grad: the gradients, then aux.
JaxprPtr grad(const JaxprPtr& j, const std::vector<bool>& wrt, bool has_aux = false);

/// JAX's checks of what reverse mode differentiates by: `name` is "grad" or "jacrev".
void check_reverse_input(AvalRef aval, const char* name, GradientTypes types);
void check_reverse_output(AvalRef aval, const char* name, GradientTypes types);

}  // namespace jaxscope
