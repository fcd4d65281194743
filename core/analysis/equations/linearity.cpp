// SPDX-License-Identifier: Apache-2.0
#include "analysis/equations/linearity.h"

#include <algorithm>

#include "base/error.h"
#include "ir/interpret.h"

namespace jaxscope {

const std::vector<bool>& Linearity::variables(const Jaxpr& jaxpr, std::vector<bool> linear) {
    linear.resize(jaxpr.num_constvars + jaxpr.num_invars, false);
    std::pair key{&jaxpr, linear};
    if (const auto seen = known_.find(key); seen != known_.end()) return seen->second;
    linear.resize(jaxpr.num_vars(), false);
    EqnWalk(jaxpr, {}).forward([&](const Eqn& eqn) {
        const std::vector<bool> out = outputs(jaxpr, eqn, linear);
        std::copy(out.begin(), out.end(), linear.begin() + eqn.first_out);
    });
    return known_[std::move(key)] = std::move(linear);
}

std::vector<bool> Linearity::outputs(const Jaxpr& jaxpr, const Eqn& eqn, const std::vector<bool>& linear) {
    const auto inputs = jaxpr.inputs(eqn);
    const bool any = std::any_of(inputs.begin(), inputs.end(), [&](Atom a) { return a.is_var() && linear[a.var().index]; });
    if (!any || !eqn.params->holds_jaxpr()) return std::vector<bool>(eqn.n_out, any);
    std::vector<bool> out(eqn.n_out, false);
    for (const JaxprPtr& inner : eqn.params->jaxprs()) {
        if (inner->outvars.size() != eqn.n_out) return std::vector<bool>(eqn.n_out, true);
        const std::vector<bool>& within = variables(*inner, inputs_of(jaxpr, eqn, linear, *inner));
        for (std::uint32_t k = 0; k < eqn.n_out; ++k) {
            const Atom a = inner->outvars[k];
            out[k] = out[k] || (a.is_var() && within[a.var().index]);
        }
    }
    return out;
}

std::vector<bool> Linearity::inputs_of(const Jaxpr& outer, const Eqn& eqn, const std::vector<bool>& linear, const Jaxpr& inner) {
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
    const auto number = [&](const char* param) {
        const Attr* a = eqn.params->find(Sym(param));
        const auto* n = a ? a->get<std::int64_t>() : nullptr;
        return n ? static_cast<std::size_t>(*n) : 0;
    };
    const std::size_t first = inner.num_constvars + number("num_consts"), carries = number("num_carry");
    if (first + carries > result.size() || carries > inner.outvars.size()) return result;
    for (bool changed = carries > 0; changed;) {
        changed = false;
        const std::vector<bool>& within = variables(inner, result);
        for (std::size_t k = 0; k < carries; ++k) {
            const Atom a = inner.outvars[k];
            if (result[first + k] || a.is_literal() || !within[a.var().index]) continue;
            changed = result[first + k] = true;
        }
    }
    return result;
}

std::vector<bool> linear_variables(const Jaxpr& jaxpr, std::vector<bool> linear_inputs) {
    return Linearity().variables(jaxpr, std::move(linear_inputs));
}
std::vector<bool> linear_inputs_of(const Jaxpr& outer, const Eqn& eqn, const std::vector<bool>& linear, const Jaxpr& inner) {
    return Linearity().inputs_of(outer, eqn, linear, inner);
}

bool is_recomputed(const Jaxpr& unknown, std::size_t num_residuals, const EqnPath& path) {
    std::vector<bool> inputs(unknown.num_constvars + unknown.num_invars, true);
    std::fill(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(std::min(unknown.num_constvars + num_residuals, inputs.size())),
              false);
    Linearity linearity;
    const Jaxpr* at = &unknown;
    JaxprPath below;
    for (const auto& step : path.jaxpr.steps) {
        below.steps.push_back(step);
        const Jaxpr& inner = resolve(unknown, below);
        inputs = linearity.inputs_of(*at, at->eqns[step.eqn], linearity.variables(*at, inputs), inner);
        at = &inner;
    }
    if (path.eqn >= at->eqns.size()) throw Error(ErrorCode::NotFound, "expected an equation at '" + to_text(path) + "', found none");
    const Eqn& eqn = at->eqns[path.eqn];
    const std::vector<bool>& linear = linearity.variables(*at, inputs);
    const auto first = linear.begin() + eqn.first_out;
    return eqn.n_out > 0 && std::none_of(first, first + eqn.n_out, [](bool l) { return l; });
}

}  // namespace jaxscope
