// SPDX-License-Identifier: Apache-2.0
// Jaxprs of make_jaxpr split, pruned and transposed, and read equation by equation.
#include <fmt/core.h>
#include <jaxscope/partial_eval.h>

#include "base/error.h"
#include "ir/jaxpr.h"
#include "ir/primitive.h"
#include "trace/functions.h"
#include "trace/policy.h"
#include "trace/refusals.h"
#include "transforms/dce.h"
#include "transforms/partial_eval.h"
#include "transforms/transpose.h"

namespace jaxscope::jax {

namespace {

const JaxprPtr& core_jaxpr(const Jaxpr& j) { return j.program().jaxpr; }
std::vector<std::string> texts(const Avals& avals) {
    std::vector<std::string> out;
    for (const AvalRef a : avals) out.push_back(to_text(a));
    return out;
}
JaxprEqn view(const jaxscope::Jaxpr& j, const Eqn& e) {
    JaxprEqn out{e.prim->name.c_str(), texts(j.in_avals(e)), texts(j.out_avals(e)), e.source->summary().str(), {}, {}};
    for (const auto& [name, value] : e.params->entries()) {
        std::vector<JaxprPtr> held;
        value.collect_jaxprs(held);
        for (JaxprPtr& h : held) out.jaxprs.emplace_back(name.str(), detail::public_jaxpr(std::move(h)));
        if (held.empty()) out.params.emplace_back(name.str(), detail::param_text(value));
    }
    return out;
}

}  // namespace

std::vector<bool> FlagOrEach::each(std::size_t n, const char* function, const char* what, const char* of, const Where& where) const {
    if (one_) return std::vector<bool>(n, all_);
    if (each_.size() == n) return each_;
    detail::refuse_at(where, ErrorCode::BadUsage,
                      fmt::format("{}: {} has {} flag{}, the jaxpr has {} {}{}", function, what, each_.size(), each_.size() == 1 ? "" : "s",
                                  n, of, n == 1 ? "" : "s"),
                      "give one flag for each");
}

std::string JaxprEqn::param(const std::string& name) const {
    for (const auto& [n, text] : params)
        if (n == name) return text;
    return {};
}
std::vector<JaxprEqn> eqns(const Jaxpr& jaxpr) {
    const jaxscope::Jaxpr& j = *core_jaxpr(jaxpr);
    std::vector<JaxprEqn> out;
    out.reserve(j.eqns.size());
    for (const Eqn& e : j.eqns) out.push_back(view(j, e));
    return out;
}
std::vector<std::string> in_avals(const Jaxpr& jaxpr) { return texts(core_jaxpr(jaxpr)->in_avals()); }
std::vector<std::string> out_avals(const Jaxpr& jaxpr) { return texts(core_jaxpr(jaxpr)->out_avals()); }

namespace interpreters::partial_eval {

Split partial_eval_jaxpr_custom(const Jaxpr& jaxpr, const FlagOrEach& in_unknowns, const FlagOrEach& in_inst,
                                const FlagOrEach& ensure_out_unknowns, const FlagOrEach& ensure_out_inst, const Policy& saveable,
                                Where where) {
    const JaxprPtr& j = core_jaxpr(jaxpr);
    const auto in = [&](const FlagOrEach& f, const char* what) {
        return f.each(j->num_invars, "partial_eval_jaxpr_custom", what, "input", where);
    };
    const auto out = [&](const FlagOrEach& f, const char* what) {
        return f.each(j->outvars.size(), "partial_eval_jaxpr_custom", what, "result", where);
    };
    const std::vector<bool> unknown = in(in_unknowns, "in_unknowns"), inst = in(in_inst, "in_inst");
    for (std::size_t i = 0; i < unknown.size(); ++i)
        if (unknown[i] && !inst[i])
            detail::refuse_at(
                where, ErrorCode::BadUsage,
                "partial_eval_jaxpr_custom: input " + std::to_string(i) + " is unknown and not in in_inst, so that neither half has it",
                "unknown inputs are instantiated: true in in_inst");
    return detail::at_place(where, [&] {
        const CustomPartialEval r =
            jaxscope::partial_eval_jaxpr_custom(j, unknown, inst, out(ensure_out_unknowns, "ensure_out_unknowns"),
                                                out(ensure_out_inst, "ensure_out_inst"), PolicyQuery{detail::policy_spec(saveable), {}});
        return Split{detail::public_jaxpr(r.known), detail::public_jaxpr(r.staged), r.unknown_out, r.inst_out,
                     static_cast<std::size_t>(r.num_residuals)};
    });
}

Used dce_jaxpr(const Jaxpr& jaxpr, const FlagOrEach& used_outputs, const FlagOrEach& instantiate, Where where) {
    const JaxprPtr& j = core_jaxpr(jaxpr);
    DceJaxpr r = jaxscope::dce_jaxpr(j, used_outputs.each(j->outvars.size(), "dce_jaxpr", "used_outputs", "result", where),
                                     instantiate.each(j->num_invars, "dce_jaxpr", "instantiate", "input", where));
    return {detail::public_jaxpr(std::move(r.jaxpr)), std::move(r.used_inputs)};
}

}  // namespace interpreters::partial_eval

namespace ad_checkpoint {

Transposed transpose_jaxpr(const Jaxpr& jaxpr, const FlagOrEach& in_linear, const FlagOrEach& out_zeros, Where where) {
    const JaxprPtr& j = core_jaxpr(jaxpr);
    const std::vector<bool> linear = in_linear.each(j->num_invars, "transpose_jaxpr", "in_linear", "input", where);
    std::vector<bool> nonzero = out_zeros.each(j->outvars.size(), "transpose_jaxpr", "out_zeros", "result", where);
    nonzero.flip();
    return detail::at_place(where, [&] {
        const TransposedJaxpr& t = transpose_rematted_jaxpr(j, linear, nonzero);
        Transposed out{detail::public_jaxpr(t.jaxpr), {}};
        for (std::size_t i = 0; i < linear.size(); ++i)
            if (linear[i]) out.in_zeros.push_back(!t.nonzero_in[i]);
        return out;
    });
}

}  // namespace ad_checkpoint
}  // namespace jaxscope::jax
