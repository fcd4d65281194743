// SPDX-License-Identifier: Apache-2.0
#include "analysis/naming/by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/escaped.h"
#include "base/suggest.h"
#include "base/text.h"
#include "calls/remat/remat.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

std::string file_line(const SaveCandidate& c) { return fmt::format("{}:{}", c.loc.file, c.loc.line); }

/// JAX's place string, or FILE:LINE with as many of the file's folders as the user likes to type.
bool names_place(const HandMark& mark, const SaveCandidate& c) {
    const std::string place = file_line(c);
    return mark.place == c.source || mark.place == place || place.ends_with("/" + mark.place) || (c.has_name && mark.place == c.name);
}

bool names_value(const HandMark& mark, const SaveCandidate& c) {
    return names_place(mark, c) && (mark.primitive.empty() || mark.primitive == c.primitive) && (mark.aval.empty() || mark.aval == c.aval);
}

Placement::Kind kind_of(MarkedAt at) {
    return at == MarkedAt::Blocks     ? Placement::Kind::Blocks
           : at == MarkedAt::ScanBody ? Placement::Kind::ScanBody
                                      : Placement::Kind::Function;
}

/// The checkpoints that are there, else one around everything, where nothing was said about where others could stand.
Placement placement_for(const JaxprPtr& function, MarkedAt at) {
    std::vector<Placement> ways = placements(function);
    if (ways.front().kind == Placement::Kind::Existing) return std::move(ways.front());
    for (Placement& way : ways)
        if (way.kind == kind_of(at)) return std::move(way);
    throw Error(ErrorCode::NotFound, at == MarkedAt::Blocks
                                         ? "expected repeated blocks in the function, to put a checkpoint around each, found none"
                                         : "expected a scan in the function, to put a checkpoint around its body, found none");
}

[[noreturn]] void refuse(const HandMark& mark, const std::vector<SaveCandidate>& all, Placement::Kind where) {
    std::set<std::pair<std::string, int>> places;
    for (const SaveCandidate& c : all)
        if (!c.loc.file.empty()) places.emplace(c.loc.file, c.loc.line);
    constexpr std::size_t kShown = 12;
    std::string shown;
    std::size_t n = 0;
    for (const auto& [file, line] : places)
        if (n++ < kShown) shown += fmt::format("{}{}:{}", shown.empty() ? "" : ", ", file, line);
    if (n > kShown) shown += fmt::format(" and {} more", n - kShown);
    Error error(ErrorCode::NotFound,
                fmt::format("expected a value that a checkpoint_name could name at '{}'{}{}, found none; there are such values at {}",
                            printable(mark.place), mark.primitive.empty() ? "" : " (" + printable(mark.primitive) + ")",
                            where == Placement::Kind::Existing ? " in the checkpoints that are there" : "", n == 0 ? "no line" : shown));
    std::vector<std::string_view> names;
    for (const SaveCandidate& c : all)
        if (c.has_name) names.emplace_back(c.name);
    throw suggest(error, mark.place, names);
}

std::string listed(const std::vector<SaveCandidate>& marked, const std::vector<bool>& offloaded, bool which) {
    std::string out;
    for (std::size_t k = 0; k < marked.size(); ++k)
        if (offloaded[k] == which) out += (out.empty() ? "" : ", ") + quoted_name(marked[k].name);
    return out;
}

PolicyPtr policy_of(const std::vector<SaveCandidate>& marked, const std::vector<bool>& offloaded) {
    if (marked.empty()) return make_policy("nothing_saveable");
    const std::string saved = listed(marked, offloaded, false), moved = listed(marked, offloaded, true);
    if (moved.empty()) return parse_policy("save_only_these_names(" + saved + ")");
    return parse_policy(fmt::format("save_and_offload_only_these_names([{}], [{}], \"device\", \"pinned_host\")", saved, moved));
}

}  // namespace

std::vector<SaveCandidate> markable(const JaxprPtr& function, MarkedAt at) {
    return name_candidates(placement_for(function, at).jaxpr, SIZE_MAX).candidates;
}

ByHand mark_by_hand(const JaxprPtr& function, const std::vector<HandMark>& marks, MarkedAt at) {
    ByHand out;
    out.where = placement_for(function, at);
    const std::vector<SaveCandidate> all = name_candidates(out.where.jaxpr, SIZE_MAX).candidates;
    for (const HandMark& mark : marks)
        if (std::none_of(all.begin(), all.end(), [&](const SaveCandidate& c) { return names_value(mark, c); }))
            refuse(mark, all, out.where.kind);
    const auto last_mark = [&](const SaveCandidate& c) {
        return std::find_if(marks.rbegin(), marks.rend(), [&](const HandMark& mark) { return names_value(mark, c); });
    };
    const NamedFunction named =
        name_candidates(out.where.jaxpr, SIZE_MAX, [&](const SaveCandidate& c) { return last_mark(c) != marks.rend(); });
    for (const SaveCandidate& c : named.candidates) {
        const auto mark = last_mark(c);
        if (mark == marks.rend()) continue;
        out.marked.push_back(c);
        out.offloaded.push_back(mark->offload);
    }
    out.policy = policy_of(out.marked, out.offloaded);
    out.jaxpr = replace_policy(
        named.jaxpr, [](const Eqn&) { return true; }, out.policy);
    out.where.jaxpr = nullptr;
    return out;
}

}  // namespace jaxscope
