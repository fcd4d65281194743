// SPDX-License-Identifier: Apache-2.0
#include "analysis/fit/hand_marks.h"

#include <algorithm>

#include "analysis/naming/by_hand.h"
#include "analysis/stages/subject.h"

namespace jaxscope {

namespace {

JaxprPtr function_of(const Inspection& now) {
    Choices plain = now.choices();
    plain.clear_policies();
    return make_subject(now.program(), plain).jaxpr;
}

/// JAX's words for a residual that this line makes.
bool is_of(const ResidualRow& r, const SaveCandidate& c) {
    if (c.has_name || !r.name.empty()) return c.has_name && r.name == c.name;
    if (c.source.empty() || !r.source.ends_with(" from " + c.source)) return false;
    return r.source.starts_with("output of " + c.primitive + " from ") || r.source.starts_with("output of jitted function");
}

/// All that the line makes inside of checkpoints: what it makes outside is there whatever a policy says.
bool is_kept(const SaveCandidate& c, const std::vector<ResidualRow>& rows) {
    std::int64_t bytes = 0;
    for (const ResidualRow& r : rows)
        if (is_of(r, c)) bytes += r.bytes;
    return bytes >= c.bytes && bytes > 0;
}

bool is_on_host(const SaveCandidate& c, const std::vector<ResidualRow>& rows) {
    return std::any_of(rows.begin(), rows.end(), [&](const ResidualRow& r) { return r.on_host && is_of(r, c); });
}

HandMark mark_of(const SaveCandidate& c, bool offload = false) {
    return c.has_name ? HandMark{c.name, "", "", offload} : HandMark{c.source, c.primitive, c.aval, offload};
}

bool is_same(const HandMark& a, const HandMark& b) { return a.place == b.place && a.primitive == b.primitive && a.aval == b.aval; }

}  // namespace

HandMark mark_of(const Jaxpr& jaxpr, const Eqn& eqn) {
    if (const std::optional<Sym> name = given_name(*eqn.prim, eqn.params)) return {name->str(), "", "", false};
    return {eqn.source->summary().str(), eqn.prim->name.c_str(), eqn.n_out > 0 ? to_text(jaxpr.aval(jaxpr.output(eqn, 0))) : "", false};
}

std::vector<HandMark> marks_of(const Inspection& now) {
    std::vector<HandMark> out;
    for (const SaveCandidate& c : markable(function_of(now), now.choices().marked_at))
        if (is_kept(c, now.residuals().rows)) out.push_back(mark_of(c, is_on_host(c, now.residuals().rows)));
    return out;
}

MarkReach reach_of(const Inspection& now, const HandMark& value) {
    const ByHand found = mark_by_hand(function_of(now), {value}, now.choices().marked_at);
    MarkReach out;
    for (const SaveCandidate& c : found.marked) {
        out.values += c.count;
        out.bytes += c.bytes;
    }
    return out;
}

Choices marked(const Inspection& now, const HandMark& value, HandVerdict verdict) {
    Choices out = now.choices();
    std::vector<HandMark> marks = out.by_hand ? *out.by_hand : marks_of(now);
    std::erase_if(marks, [&](const HandMark& m) { return is_same(m, value); });
    HandMark mark = value;
    mark.offload = verdict == HandVerdict::Offload;
    mark_by_hand(function_of(now), {mark}, out.marked_at);  // refuses what can't be named
    if (verdict != HandVerdict::Recompute) marks.push_back(mark);
    const MarkedAt at = out.marked_at;
    out.clear_policies();
    out.by_hand = std::move(marks);
    out.marked_at = at;
    return out;
}

Choices fitted(const Choices& plain, const BudgetFit& fit) {
    Choices out = plain;
    out.clear_policies();
    if (!fit.placement) return out;
    out.by_hand.emplace();
    for (const SaveCandidate& c : fit.saved) out.by_hand->push_back(mark_of(c));
    switch (fit.placement->kind) {
        case Placement::Kind::Existing:
            break;
        case Placement::Kind::Blocks:
            out.marked_at = MarkedAt::Blocks;
            break;
        case Placement::Kind::ScanBody:
            out.marked_at = MarkedAt::ScanBody;
            break;
        case Placement::Kind::Function:
            out.marked_at = MarkedAt::Function;
            break;
    }
    return out;
}

}  // namespace jaxscope
