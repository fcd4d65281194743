// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// The halves of a differentiation as they stand under the vmaps that the capture recorded around its two calls.
///
/// What comes in: the halves derived anew, unmapped, and the calls that they are to replace. What goes out: the halves with the axes where
/// the calls had them, so that all around stays as it is; new residuals are mapped where the new forward half makes them so.
struct MappedForward {
    JaxprPtr jaxpr;
    std::vector<MarkedCall::Level> batch;     ///< the call's own levels: axes of its old residuals
    std::vector<std::vector<int>> residuals;  ///< per level: axes of the new residuals
};
/// `forward`  closed; results (`results` of them), then new residuals.
/// Throws     Error{NoRule} where it can't be mapped as the call is.
MappedForward map_forward(const JaxprPtr& forward, std::size_t results, const MarkedCall& call);

/// `backward`       closed; new residuals, then cotangents.
/// `old_residuals`  how many of the call's inputs are residuals.
/// A level that the forward call hasn't (jacrev maps the cotangents alone) leaves residuals unmapped.
JaxprPtr map_backward(const JaxprPtr& backward, const MappedForward& forward, std::size_t old_residuals, const MarkedCall& call);

}  // namespace jaxscope
