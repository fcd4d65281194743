// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/builder.h"
#include "ir/primitive.h"

namespace jaxscope {

// Forward mode of the scatters (slicing.py, JAX 0.10.2). Those of overlapping updates are programs of their own: which update
// "wins" is unspecified, so the tangents are routed by identities (scatter) or shared among ties (scatter-min, scatter-max).

PrimalsTangents scatter_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx);
Values scatter_addsub_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
Values scatter_mul_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
Values scatter_extremal_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);

/// Throws Error{NotDifferentiable} unless the program promises unique indices.
void require_unique_indices(const Op& op);

}  // namespace jaxscope
