// SPDX-License-Identifier: Apache-2.0
#include "analysis/stages/step.h"

#include <fmt/format.h>

#include "analysis/stages/region_splice.h"
#include "analysis/stages/subject.h"
#include "calls/remat/remat.h"
#include "ir/types/dtype.h"
#include "transforms/jaxpr_util.h"
#include "transforms/vjp.h"

namespace jaxscope {

namespace {

std::vector<std::string> texts(const std::vector<Sym>& paths, std::size_t n) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(i < paths.size() ? paths[i].str() : std::to_string(i));
    return out;
}

Step with_signature_of(const Program& p, JaxprPtr jaxpr, StepName of) {
    return {std::move(jaxpr), of, texts(p.in_paths, p.jaxpr->num_invars), texts(p.out_paths, p.jaxpr->outvars.size()), p.kept};
}

bool can_have_gradient(const Jaxpr& j, bool has_aux) {
    if (j.outvars.empty() || (!has_aux && j.outvars.size() != 1)) return false;
    const AvalRef a = j.aval(j.outvars.front());
    return a->is_array() && a->rank() == 0 && is_float(a->dtype);
}

/// The program differentiated as its residuals say. Arguments of integer type have no gradient; where the capture itself names the
/// arguments (`differentiate`), JAX's grad is asked, and refuses them.
Step differentiated(const Program& p, const Choices& c) {
    const Subject s = make_subject(p, c);
    const JaxprPtr j = with_policy(s.jaxpr, c);
    const bool gradient = can_have_gradient(*j, p.has_aux);
    std::vector<bool> wrt = s.wrt;
    for (std::uint32_t i = 0; i < j->num_invars; ++i) {
        const AvalRef a = j->aval(j->invar(i));
        wrt[i] = wrt[i] && ((gradient && p.differentiate_given) || (a->is_array() && is_inexact(a->dtype)));
    }
    Step step = gradient ? with_signature_of(p, value_and_grad(j, wrt, p.has_aux), {StepName::Kind::ValueAndGradient})
                         : with_signature_of(p, value_and_pullback(j, wrt), {StepName::Kind::ValueAndPullback});
    step.kept.resize(step.jaxpr->num_invars, true);
    const std::string made = gradient ? "gradient of " : "cotangent of ";
    for (std::size_t i = 0; i < wrt.size(); ++i)
        if (wrt[i]) step.out_paths.push_back(made + step.in_paths[i]);
    for (std::uint32_t k = 0; k < j->outvars.size() && !gradient; ++k)
        if (const AvalRef a = j->aval(j->outvars[k]); a->is_array() && is_inexact(a->dtype))
            step.in_paths.push_back("cotangent of " + step.out_paths[k]);
    return step;
}

/// What can't be differentiated has no what-ifs that it would have to be compared with, but a peak of its own.
Step differentiated_or_itself(const Program& p, const Choices& c) {
    try {
        return differentiated(p, c);
    } catch (const Error& e) {
        if (e.code != ErrorCode::NoRule && e.code != ErrorCode::NotDifferentiable && e.code != ErrorCode::UnknownPrimitive) throw;
        Step step = with_signature_of(p, p.jaxpr, {StepName::Kind::Program});
        step.lacks_gradient = true;
        step.why_no_gradient = std::string(e.fact());
        return step;
    }
}

/// Calls of one loss in an unrolled loop are regions of their own, but one line of the user's, where one policy would stand.
std::vector<int> same_differentiations(const Program& p, int number) {
    const Region& chosen = p.regions[static_cast<std::size_t>(number)];
    std::vector<int> out;
    for (std::size_t i = 0; i < p.regions.size(); ++i) {
        const Region& r = p.regions[i];
        const bool same = r.name == chosen.name && r.kind == chosen.kind && r.wrt == chosen.wrt && r.parent == chosen.parent &&
                          r.source->summary() == chosen.source->summary() && !r.source->summary().empty();
        if (same || static_cast<int>(i) == number) out.push_back(static_cast<int>(i));
    }
    return out;
}

StepName step_of(const Program& p, const std::vector<int>& regions) {
    const Region& r = p.regions[static_cast<std::size_t>(regions.front())];
    return {StepName::Kind::Step, regions.size(), r.name, r.source->summary()};
}

NewRegion region_anew(const Program& p, Choices c, int number) {
    const Region& r = p.regions[static_cast<std::size_t>(number)];
    if (!r.mark || !p.marked)
        throw Error(ErrorCode::NoRule,
                    fmt::format("expected region {} to stand in the step as one forward and one backward call, found none: {}", number,
                                r.why_unmarked.empty() ? std::string("the capture doesn't say where it stands") : r.why_unmarked.str()));
    c.region = number;
    const Subject s = make_subject(p, c);
    // What the function closes over has no values here: it comes in as the calls have it, in front.
    std::vector<bool> wrt(s.jaxpr->num_constvars, false);
    wrt.insert(wrt.end(), r.wrt_inputs.begin(), r.wrt_inputs.end());
    const Vjp derived = vjp(with_policy(convert_constvars(s.jaxpr), c), wrt, s.num_outputs);
    return {*r.mark, derived.forward, derived.backward, s.jaxpr->outvars.size()};
}

Step with_regions_anew(const Program& p, const Choices& c, const std::vector<int>& regions) {
    std::vector<NewRegion> anew;
    for (const int i : regions) anew.push_back(region_anew(p, c, i));
    return with_signature_of(p, splice_regions(p, std::move(anew)), step_of(p, regions));
}

}  // namespace

JaxprPtr with_policy(const JaxprPtr& function, const Choices& c) { return c.outer_policy() ? checkpoint(function, c.policy) : function; }

Step make_step(const Program& p, const Choices& c) {
    if (!c.changes_program() && !c.as_step) return with_signature_of(p, p.jaxpr, {StepName::Kind::Program});
    const std::optional<int> number = chosen_region(p, c);
    if (!number) return c.changes_program() ? differentiated(p, c) : differentiated_or_itself(p, c);
    if (!c.changes_program()) return with_signature_of(p, p.jaxpr, step_of(p, same_differentiations(p, *number)));
    return with_regions_anew(p, c, same_differentiations(p, *number));
}

Program program_to_run(const Program& of, const Step& step, const DonationReport& donation, const std::vector<ArrayPtr>& values) {
    Program p;
    p.name = of.name;
    p.jax_version = of.jax_version;
    p.producer = of.producer;
    p.flags = of.flags;
    p.files = of.files;
    p.rules = of.rules;
    p.jit = of.jit;
    p.jaxpr = step.jaxpr;
    const std::size_t n = step.jaxpr->num_invars;
    for (std::size_t i = 0; i < n; ++i) {
        p.in_paths.emplace_back(i < step.in_paths.size() ? step.in_paths[i] : "arg" + std::to_string(i));
        p.arg_of_input.push_back(static_cast<int>(i));
        p.arg_names.emplace_back("arg" + std::to_string(i));
    }
    for (std::size_t k = 0; k < step.jaxpr->outvars.size(); ++k)
        p.out_paths.emplace_back(k < step.out_paths.size() ? step.out_paths[k] : "[" + std::to_string(k) + "]");
    p.kept = step.kept;
    p.kept.resize(n, true);
    p.donated.resize(n, false);
    for (const DonatedLeaf& d : donation.donated) p.donated[static_cast<std::size_t>(d.input)] = true;
    p.values = values.empty() ? of.values : values;
    p.values.resize(n);
    if (of.in_shardings.size() == n) p.in_shardings = of.in_shardings;
    return p;
}

}  // namespace jaxscope
