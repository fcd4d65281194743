#include "analysis/linearity.h"

#include <algorithm>

#include "base/error.h"

namespace jaxscope {

std::vector<bool> linear_variables(const Jaxpr& jaxpr, std::vector<bool> linear) {
    linear.resize(jaxpr.num_vars(), false);
    for (const Eqn& eqn : jaxpr.eqns) {
        const auto inputs = jaxpr.inputs(eqn);
        const bool any = std::any_of(inputs.begin(), inputs.end(), [&](Atom a) { return a.is_var() && linear[a.var().index]; });
        for (std::uint32_t k = 0; any && k < eqn.n_out; ++k) linear[eqn.first_out + k] = true;
    }
    return linear;
}

std::vector<bool> linear_inputs_of(const Jaxpr& outer, const Eqn& eqn, const std::vector<bool>& linear, const Jaxpr& inner) {
    std::vector<bool> result(inner.num_constvars + inner.num_invars, false);
    const auto operands = outer.inputs(eqn);
    // Operands and invars correspond one to one, but for cond, whose first operand is the index, and while, whose operands are shared
    // out among its jaxprs: there everything counts as a tangent.
    if (operands.size() < inner.num_invars || operands.size() > inner.num_invars + 1) {
        std::fill(result.begin(), result.end(), true);
        return result;
    }
    for (std::uint32_t k = 0; k < inner.num_invars; ++k) {
        const Atom a = operands[operands.size() - inner.num_invars + k];
        result[inner.num_constvars + k] = a.is_var() && linear[a.var().index];
    }
    return result;
}

bool is_recomputed(const Jaxpr& unknown, std::size_t num_residuals, const EqnPath& path) {
    std::vector<bool> inputs(unknown.num_constvars + unknown.num_invars, true);
    std::fill(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(std::min(unknown.num_constvars + num_residuals, inputs.size())),
              false);
    const Jaxpr* at = &unknown;
    JaxprPath below;
    for (const auto& step : path.jaxpr.steps) {
        below.steps.push_back(step);
        const Jaxpr& inner = resolve(unknown, below);
        const std::vector<bool> linear = linear_variables(*at, inputs);
        inputs = linear_inputs_of(*at, at->eqns[step.eqn], linear, inner);
        at = &inner;
    }
    if (path.eqn >= at->eqns.size()) throw Error(ErrorCode::NotFound, "expected an equation at '" + to_text(path) + "', found none");
    const Eqn& eqn = at->eqns[path.eqn];
    return eqn.n_out > 0 && !linear_variables(*at, inputs)[eqn.first_out];
}

}  // namespace jaxscope
