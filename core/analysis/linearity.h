#pragma once
#include <vector>

#include "analysis/eqn_path.h"

namespace jaxscope {

/// Which variables of `jaxpr` depend on a tangent, given which of its constvars and invars are tangents. One entry per variable.
std::vector<bool> linear_variables(const Jaxpr& jaxpr, std::vector<bool> linear_inputs);

/// The tangents among the constvars and invars of a jaxpr that `eqn` holds, given the linear variables around it.
std::vector<bool> linear_inputs_of(const Jaxpr& outer, const Eqn& eqn, const std::vector<bool>& linear, const Jaxpr& inner);

/// Is this equation of a split's unknown part computed from residuals alone? It was computed in the forward pass already.
/// `num_residuals`: the first so many invars, as in SplitReport.
bool is_recomputed(const Jaxpr& unknown, std::size_t num_residuals, const EqnPath& path);

}  // namespace jaxscope
