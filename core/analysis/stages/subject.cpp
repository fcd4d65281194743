// SPDX-License-Identifier: Apache-2.0
#include "analysis/stages/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/naming/by_hand.h"
#include "analysis/naming/placements.h"
#include "calls/remat/remat.h"

namespace jaxscope {

namespace {

/// Numbers of all arguments, 0 to the largest that an input belongs to.
std::vector<int> all_arguments(const std::vector<int>& arg_of_input) {
    const int n = arg_of_input.empty() ? 0 : *std::max_element(arg_of_input.begin(), arg_of_input.end()) + 1;
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

void check_arguments(const std::vector<int>& wrt, const std::vector<int>& arg_of_input, const std::string& name) {
    const auto known = all_arguments(arg_of_input);
    for (const int a : wrt)
        if (std::find(known.begin(), known.end(), a) == known.end())
            throw Error(ErrorCode::NotFound, fmt::format("expected an argument of {} from 0 to {}, found {}",
                                                         name.empty() ? "the program" : name, static_cast<int>(known.size()) - 1, a));
}

/// Is this checkpoint the one that the user calls `site`: the function under it, or FILE:LINE of its call?
bool stands_at(const Eqn& e, const std::string& site) {
    if (site.empty()) return true;
    for (const JaxprPtr& body : e.params->jaxprs())
        if (body->name.str() == site) return true;
    for (const Frame& f : e.source->frames()) {
        const std::string place = fmt::format("{}:{}", f.file.str(), f.line);
        if (place == site || place.ends_with("/" + site)) return true;
    }
    return false;
}

Subject whole_program(const Program& p, const Choices& c) {
    Subject s;
    s.jaxpr = p.jaxpr;
    s.in_paths = p.in_paths;
    s.name = p.name.str();
    s.num_outputs = p.jaxpr->outvars.size();
    if (c.wrt_all)
        s.wrt_args = all_arguments(p.arg_of_input);
    else if (c.wrt)
        s.wrt_args = *c.wrt;
    else
        s.wrt_args = p.differentiate_given ? p.differentiate : all_arguments(p.arg_of_input);
    check_arguments(s.wrt_args, p.arg_of_input, s.name);
    for (const int a : p.arg_of_input) s.wrt.push_back(std::find(s.wrt_args.begin(), s.wrt_args.end(), a) != s.wrt_args.end());
    return s;
}

Subject region_subject(const Program& p, int number, const Choices& c) {
    const Region& r = p.regions[static_cast<std::size_t>(number)];
    Subject s;
    s.region = number;
    s.jaxpr = r.jaxpr;
    s.in_paths = r.in_paths;
    s.name = r.name.str();
    s.num_outputs = static_cast<std::size_t>(r.outputs);
    s.wrt_args = c.wrt_all ? all_arguments(r.arg_of_input) : c.wrt ? *c.wrt : r.wrt;
    check_arguments(s.wrt_args, r.arg_of_input, s.name);
    if (!c.wrt_all && !c.wrt) {
        s.wrt = r.wrt_inputs;  // an Equinox model's non-arrays are no inputs, and only its inexact leaves are differentiated
    } else {
        for (const int a : r.arg_of_input) s.wrt.push_back(std::find(s.wrt_args.begin(), s.wrt_args.end(), a) != s.wrt_args.end());
    }
    return s;
}

}  // namespace

std::optional<int> chosen_region(const Program& p, const Choices& c) {
    if (c.region == Choices::kProgram) return {};
    if (c.region == Choices::kAuto) return p.differentiate_given || p.regions.empty() ? std::nullopt : std::optional(0);
    if (static_cast<std::size_t>(c.region) < p.regions.size()) return c.region;
    throw Error(ErrorCode::NotFound,
                p.regions.empty() ? std::string("expected `program`: this program differentiates nothing inside, so it has no regions")
                                  : fmt::format("expected a region from 0 to {}, found {}", p.regions.size() - 1, c.region));
}

std::vector<Choices> each_region(const Program& p, const Choices& c) {
    std::vector<Choices> out = {c};
    if (c.region != Choices::kAuto || !chosen_region(p, c)) return out;
    for (std::size_t r = 1; r < p.regions.size(); ++r) {
        Choices other = c;
        other.clear_policies();
        other.wrt.reset();
        other.wrt_all = false;
        other.region = static_cast<int>(r);
        out.push_back(std::move(other));
    }
    return out;
}

bool is_differentiated(const Program& p) { return p.differentiate_given || !p.regions.empty(); }

Subject make_subject(const Program& p, const Choices& c) {
    const std::optional<int> region = chosen_region(p, c);
    Subject s = region ? region_subject(p, *region, c) : whole_program(p, c);
    if (c.by_hand) {
        if (c.policy || !c.replace_policy.empty())
            throw Error(ErrorCode::BadUsage, "expected values marked by hand or a policy, found both");
        s.jaxpr = mark_by_hand(s.jaxpr, *c.by_hand, c.marked_at).jaxpr;
    }
    if (c.each_block && c.policy) s.jaxpr = with_policy_on_blocks(s.jaxpr, c.policy);
    for (const Choices::Replacement& r : c.replace_policy) {
        int found = 0;
        s.jaxpr = replace_policy(
            s.jaxpr, [&](const Eqn& e) { return stands_at(e, r.site); }, r.policy, &found);
        if (found == 0)
            throw Error(ErrorCode::NotFound, r.site.empty() ? std::string("expected a jax.checkpoint inside the function, found none")
                                                            : "expected a jax.checkpoint at '" + printable(r.site) + "', found none");
    }
    return s;
}

}  // namespace jaxscope
