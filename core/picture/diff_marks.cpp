// SPDX-License-Identifier: Apache-2.0
#include "picture/diff_marks.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/units.h"

namespace jaxscope {
namespace {

void add_difference(const GraphModel& model, const std::string& path, std::int64_t bytes, bool changed, DiffMarks& out) {
    check_cancelled();
    try {
        for (const std::string& key : model.keys_around(parse_eqn_path(path))) {
            DiffMark& mark = out[key];
            ++(changed ? mark.changed : mark.alone);
            mark.bytes += bytes;
        }
    } catch (const Error&) {  // it stands where no picture goes
    }
}

/// Is it the same kind of equation, at the same place?
bool alike(const Eqn& a, const Eqn& b) { return a.prim == b.prim && a.source->traceback == b.source->traceback; }

/// In one jaxpr: the n-th of its kind is the n-th of its kind.
std::optional<std::uint32_t> nth_alike(const Jaxpr& from, std::uint32_t eqn, const Jaxpr& to) {
    std::size_t before = 0;
    for (std::uint32_t e = 0; e < eqn; ++e) before += alike(from.eqns[e], from.eqns[eqn]) ? 1 : 0;
    std::optional<std::uint32_t> last;
    for (std::uint32_t e = 0; e < to.eqns.size(); ++e) {
        if (!alike(to.eqns[e], from.eqns[eqn])) continue;
        last = e;
        if (before-- == 0) break;
    }
    return last;
}

}  // namespace

DiffMarks diff_marks(const GraphModel& model, const ProgramDiff& diff, bool first) {
    DiffMarks out;
    for (const EqnDiff& d : first ? diff.removed : diff.added) add_difference(model, d.equation, d.bytes, false, out);
    for (const EqnDiff& d : diff.changed) add_difference(model, first ? d.equation : d.other, d.bytes, true, out);
    return out;
}

std::set<std::string> first_look(const GraphModel& model, std::size_t budget, const DiffMarks& marks) {
    GraphMarks weights;
    for (const auto& [key, mark] : marks) weights[key] = {mark.bytes + 1, mark.alone + mark.changed};
    return weights.empty() ? model.first_look(budget) : model.first_look(budget, weights);
}

void put_badges(VisibleGraph& graph, const DiffMarks& marks, bool first) {
    for (VisibleGraph::Node& node : graph.nodes) {
        const auto found = marks.find(node.key);
        if (found == marks.end()) continue;
        const auto [alone, changed, bytes] = found->second;
        const std::string sign = first ? "\u2212" : "+";
        const bool one = node.kind == GraphItem::Kind::Equation;
        if (alone > 0) node.badge = one ? sign : sign + " " + count_text(alone);
        if (changed > 0) node.badge += (alone > 0 ? "  " : "") + (one ? std::string("~") : "~ " + count_text(changed));
    }
}

std::optional<EqnPath> counterpart(const Jaxpr& from, const EqnPath& path, const Jaxpr& to) {
    const Jaxpr *here = &from, *there = &to;
    EqnPath out;
    for (const JaxprPath::Step& step : path.jaxpr.steps) {
        const std::optional<std::uint32_t> call = nth_alike(*here, step.eqn, *there);
        if (!call) return traced_at(to, resolve(from, path).source->traceback);
        out.jaxpr.steps.push_back({*call, step.param, step.index});
        try {
            here = &resolve(from, JaxprPath{{path.jaxpr.steps.begin(),
                                             path.jaxpr.steps.begin() + static_cast<std::ptrdiff_t>(out.jaxpr.steps.size())}});
            there = &resolve(to, out.jaxpr);
        } catch (const Error&) {
            return EqnPath{{{out.jaxpr.steps.begin(), out.jaxpr.steps.end() - 1}}, *call};
        }
    }
    const std::optional<std::uint32_t> eqn = nth_alike(*here, path.eqn, *there);
    if (!eqn) return traced_at(to, here->eqns[path.eqn].source->traceback);
    out.eqn = *eqn;
    return out;
}

}  // namespace jaxscope
