// SPDX-License-Identifier: Apache-2.0
#include "analysis/choices.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "ir/params.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

constexpr std::string_view kEachBlock = "each block:";

/// The region of the same name, and among those that share it the one with the same number.
int same_region(int region, const Program& from, const Program& to) {
    if (region < 0 || static_cast<std::size_t>(region) >= from.regions.size()) return region;
    const Sym name = from.regions[static_cast<std::size_t>(region)].name;
    const auto is_named = [&](const Region& r) { return r.name == name; };
    auto nth = std::count_if(from.regions.begin(), from.regions.begin() + region, is_named);
    for (std::size_t r = 0; r < to.regions.size(); ++r)
        if (is_named(to.regions[r]) && nth-- == 0) return static_cast<int>(r);
    return Choices::kAuto;
}

/// Of arguments or leaves, by their names.
std::vector<int> same_numbers(const std::vector<int>& numbers, const std::vector<Sym>& from, const std::vector<Sym>& to) {
    std::vector<int> out;
    for (const int n : numbers) {
        if (n < 0 || static_cast<std::size_t>(n) >= from.size()) continue;
        const auto found = std::find(to.begin(), to.end(), from[static_cast<std::size_t>(n)]);
        if (found != to.end()) out.push_back(static_cast<int>(found - to.begin()));
    }
    return out;
}

}  // namespace

bool operator==(const Choices& a, const Choices& b) {
    // Bindings, so that a member that is added must be named here; attributes, because these compare policies by content.
    const auto all = [](const Choices& c) {
        const auto& [region, wrt, wrt_all, policy, each_block, replaced, by_hand, marked_at, donate, kept_back, as_step, expand, project,
                     jit] = c;
        const auto& [threads, fuse, recompute_cheap, memory_limit, schedule, over_devices, debug, debug_prints, write_prints, target,
                     remat] = jit;
        std::vector<std::pair<std::string, Attr>> sites;
        for (const Choices::Replacement& r : replaced) sites.emplace_back(r.site, to_attr(r.policy));
        return std::tuple(region, wrt, wrt_all, to_attr(policy), each_block, sites, by_hand, marked_at, donate, kept_back, as_step, expand,
                          project, threads, fuse, recompute_cheap, memory_limit, schedule, over_devices, debug, debug_prints, write_prints,
                          target, remat);
    };
    return all(a) == all(b);
}

void set_policy(Choices& choices, std::string_view text) {
    text = trim(text);
    const std::string_view scope = trim(text.substr(0, text.find(':') + 1));
    choices.each_block = scope == kEachBlock;
    choices.policy = parse_policy(std::string(trim(choices.each_block ? text.substr(text.find(':') + 1) : text)));
}

std::string policy_words(const Choices& choices) {
    return (choices.each_block ? std::string(kEachBlock) + " " : "") + policy_text(*choices.policy);
}

Choices carried_over(const Choices& choices, const Program& from, const Program& to) {
    Choices out = choices;
    out.region = same_region(choices.region, from, to);
    if (out.region == Choices::kAuto && choices.region != Choices::kAuto) out.wrt.reset();  // they numbered that region's arguments
    if (choices.donate) out.donate = same_numbers(*choices.donate, from.arg_names, to.arg_names);
    out.kept_back = same_numbers(choices.kept_back, from.in_paths, to.in_paths);
    return out;
}

}  // namespace jaxscope
