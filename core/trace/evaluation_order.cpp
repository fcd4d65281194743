// SPDX-License-Identifier: Apache-2.0
#include "trace/evaluation_order.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>

namespace jaxscope::jax::detail {

void EvaluationOrder::extend(std::size_t count) {
    const std::size_t had = order_.size();
    if (had >= count) return;
    order_.resize(count);
    std::iota(order_.begin() + static_cast<std::ptrdiff_t>(had), order_.end(), static_cast<std::uint32_t>(had));
}

std::uint32_t EvaluationOrder::behind_shared(const ::jaxscope::Jaxpr& recorded, const std::vector<Part>& parts) const {
    std::unordered_map<std::uint32_t, std::uint32_t> made_at;
    for (std::uint32_t at = parts.front().begin; at < parts.front().end; ++at) {
        const Eqn& e = recorded.eqns[order_[at]];
        for (std::uint32_t k = 0; k < e.n_out; ++k) made_at.emplace(e.first_out + k, at);
    }
    std::uint32_t begin = parts.front().begin;
    for (std::uint32_t at = parts.front().end; at < parts.back().end; ++at)
        for (const Atom a : recorded.inputs(recorded.eqns[order_[at]])) {
            const auto made = a.is_literal() ? made_at.end() : made_at.find(a.var().index);
            if (made != made_at.end()) begin = std::max(begin, made->second + 1);
        }
    return begin;
}

void EvaluationOrder::arrange(const ::jaxscope::Jaxpr& recorded, std::vector<Part> parts, const std::vector<std::size_t>& operand) {
    extend(parts.back().end);
    parts.front().begin = behind_shared(recorded, parts);
    std::uint32_t first = UINT32_MAX, end = 0;
    for (const Part& p : parts)
        for (std::uint32_t at = p.begin; at < p.end; ++at) {
            const Eqn& e = recorded.eqns[order_[at]];
            first = std::min(first, e.first_out), end = std::max(end, e.first_out + e.n_out);
        }
    std::vector<std::size_t> operand_of_var(end > first ? end - first : 0, 0);  // of variables that none of these made: 0
    for (std::size_t p = 0; p < parts.size(); ++p)
        for (std::uint32_t at = parts[p].begin; at < parts[p].end; ++at) {
            const Eqn& e = recorded.eqns[order_[at]];
            for (const Atom a : recorded.inputs(e)) {
                if (a.is_literal() || a.var().index < first || a.var().index >= end) continue;
                if (operand_of_var[a.var().index - first] > operand[p]) return;
            }
            for (std::uint32_t k = 0; k < e.n_out; ++k) operand_of_var[e.first_out + k - first] = operand[p];
        }
    std::vector<std::size_t> wanted(parts.size());
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    std::sort(wanted.begin(), wanted.end(), [&](std::size_t a, std::size_t b) { return operand[a] < operand[b]; });
    std::vector<std::uint32_t> arranged;
    for (const std::size_t p : wanted) arranged.insert(arranged.end(), order_.begin() + parts[p].begin, order_.begin() + parts[p].end);
    std::copy(arranged.begin(), arranged.end(), order_.begin() + parts.front().begin);
}

namespace {

/// Constvars in the order in which equations and results read them first: a trace makes them when it meets them.
std::vector<std::uint32_t> constvars_as_read(const ::jaxscope::Jaxpr& j, const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> out;
    std::vector<bool> seen(j.num_constvars, false);
    const auto see = [&](std::span<const Atom> atoms) {
        for (const Atom a : atoms)
            if (a.is_var() && a.var().index < j.num_constvars && !seen[a.var().index]) {
                seen[a.var().index] = true;
                out.push_back(a.var().index);
            }
    };
    for (std::uint32_t at = 0; at < j.eqns.size(); ++at) see(j.inputs(j.eqns[at < order.size() ? order[at] : at]));
    see(j.outvars);
    for (std::uint32_t i = 0; i < j.num_constvars; ++i)
        if (!seen[i]) out.push_back(i);
    return out;
}

}  // namespace

JaxprPtr EvaluationOrder::applied(const JaxprPtr& recorded) const {
    if (order_.empty()) return recorded;
    const ::jaxscope::Jaxpr& j = *recorded;
    auto out = std::make_shared<::jaxscope::Jaxpr>();
    out->name = j.name;
    out->num_constvars = j.num_constvars;
    out->num_invars = j.num_invars;
    out->arg_names = j.arg_names;
    out->effects = j.effects;
    out->eqns.reserve(j.eqns.size());
    out->atoms.reserve(j.atoms.size());
    out->reserve_vars(j.num_vars());
    std::vector<Var> now(j.num_vars());
    for (const std::uint32_t i : constvars_as_read(j, order_)) {
        now[i] = out->add_var(j.aval(Var{i}), j.dropped(Var{i}));
        if (!j.consts.empty()) out->consts.push_back(j.consts[i]);
    }
    for (std::uint32_t i = j.num_constvars; i < j.num_constvars + j.num_invars; ++i)
        now[i] = out->add_var(j.aval(Var{i}), j.dropped(Var{i}));
    const auto renamed = [&](Atom a) { return a.is_literal() ? a : Atom(now[a.var().index]); };
    for (std::uint32_t at = 0; at < j.eqns.size(); ++at) {
        const Eqn& from = j.eqns[at < order_.size() ? order_[at] : at];
        Eqn e = from;
        e.in_begin = static_cast<std::uint32_t>(out->atoms.size());
        for (const Atom a : j.inputs(from)) out->atoms.push_back(renamed(a));
        e.first_out = out->num_vars();
        for (std::uint32_t k = 0; k < e.n_out; ++k)
            now[from.first_out + k] = out->add_var(j.aval(j.output(from, k)), j.dropped(j.output(from, k)));
        out->eqns.push_back(e);
    }
    for (const Atom a : j.outvars) out->outvars.push_back(renamed(a));
    return out;
}

}  // namespace jaxscope::jax::detail
