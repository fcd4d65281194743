// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/compare/program_diff.h"
#include "picture/graph_model.h"

namespace jaxscope {

/// How many equations of an item of a graph the other program doesn't have alike.
struct DiffMark {
    std::int64_t alone = 0, changed = 0;  ///< alone: this side alone has them
    std::int64_t bytes = 0;               ///< of what they make
};
using DiffMarks = std::unordered_map<std::string, DiffMark>;  ///< by GraphItem::key

/// Of the first of two programs, or of the second one.
DiffMarks diff_marks(const GraphModel& model, const ProgramDiff& diff, bool first);

/// What is open at first: the groups that hold what differs.
std::set<std::string> first_look(const GraphModel& model, std::size_t budget, const DiffMarks& marks);

/// Says in each node's badge what differs in it: "+ 3", "\u2212 2", "~ 1".
void put_badges(VisibleGraph& graph, const DiffMarks& marks, bool first);

/// The equation of `to` that was traced where `path` of `from` was: of those at one place the n-th for the n-th. Nothing where there is
/// none.
std::optional<EqnPath> counterpart(const Jaxpr& from, const EqnPath& path, const Jaxpr& to);

}  // namespace jaxscope
