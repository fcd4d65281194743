// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <vector>

#include "analysis/equations/eqn_path.h"

namespace jaxscope {

/// Which variables depend on a tangent, through nested jaxprs output by output: of the primal and the tangent that a checkpoint in a
/// checkpoint gives, one does. Carries of a scan do as soon as one turn makes them. An answer is kept for every jaxpr and set of tangents.
class Linearity {
public:
    /// Per variable of `jaxpr`, given which of its constvars and invars are tangents.
    const std::vector<bool>& variables(const Jaxpr& jaxpr, std::vector<bool> linear_inputs);
    /// The tangents among the constvars and invars of a jaxpr that `eqn` holds, given the linear variables around it.
    std::vector<bool> inputs_of(const Jaxpr& outer, const Eqn& eqn, const std::vector<bool>& linear, const Jaxpr& inner);

private:
    std::vector<bool> outputs(const Jaxpr& jaxpr, const Eqn& eqn, const std::vector<bool>& linear);
    std::map<std::pair<const Jaxpr*, std::vector<bool>>, std::vector<bool>> known_;
};
std::vector<bool> linear_variables(const Jaxpr& jaxpr, std::vector<bool> linear_inputs);
std::vector<bool> linear_inputs_of(const Jaxpr& outer, const Eqn& eqn, const std::vector<bool>& linear, const Jaxpr& inner);

/// Is this equation of a split's unknown part computed from residuals alone? It was computed in the forward pass already.
/// `num_residuals`: the first so many invars, as in SplitReport.
bool is_recomputed(const Jaxpr& unknown, std::size_t num_residuals, const EqnPath& path);

}  // namespace jaxscope
