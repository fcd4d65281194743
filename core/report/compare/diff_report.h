// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `report/compare`: two programs, plans or reports side by side. Comes in: Inspections, or reports that were written earlier. Goes
// out: what differs, as data (declared once, below), and on a page. Never here: figures that an Inspection doesn't hold.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/program_diff.h"
#include "analysis/inspection.h"
#include "report/json/fields.h"
#include "report/json/report_fields.h"
#include "report/page.h"

namespace jaxscope {

/// What two sides are compared by. What a side doesn't have (a report of `plan` has no residuals) is null, and isn't compared.
struct ComparedSide {
    std::string file, name, jax_version;
    JaxprPtr jaxpr;
    std::optional<std::vector<ProgramInput>> inputs;
    std::optional<std::vector<ProgramOutput>> outputs;
    std::optional<std::vector<ResidualRow>> residuals;
    std::optional<std::vector<DonatedLeaf>> donated;
    std::map<std::string, std::int64_t> figures;  ///< bytes: "planned_peak", "residuals", ...
    std::vector<std::string> problems;            ///< what could not be had, and why
};
ComparedSide compared_side(const Inspection& inspection, const std::string& file);

/// A report of `report`, `plan`, `residuals`, ... that `--json` wrote. `text` is the program's, where it has it: the caller reads it.
struct ReportSide {
    ComparedSide side;
    std::string text;
};
/// Nothing: the file is no report of jaxscope's (nor anything that begins like JSON of ours). Throws Error{BadInput} for one that breaks.
std::optional<ReportSide> read_report_side(const std::string& file);

struct FigureDiff {
    std::optional<std::int64_t> a, b;
};
/// A path whose type, donation or presence isn't the same.
struct PathDiff {
    std::string path;
    std::string a, b;  ///< empty: not there
};
struct ResidualsDiff {
    std::vector<ResidualRow> added, removed;
    std::int64_t same = 0;
};
struct DiffReport {
    std::string a, b;  ///< the files
    bool same = true;
    std::int64_t same_equations = 0;
    std::vector<EqnDiff> added, removed, changed;
    std::vector<PathDiff> signature;  ///< inputs and outputs whose types aren't the same, or that one side alone has
    std::vector<PathDiff> donations;
    ResidualsDiff saved;
    std::map<std::string, FigureDiff> memory;
    std::vector<std::string> not_compared;  ///< what one side lacks, and why
};
DiffReport diff_sides(const ComparedSide& a, const ComparedSide& b);
void diff_page(Page& page, const DiffReport& diff);

/// "axes: (0,) -> (1,)", "operand 1 is another value".
std::string words(const EqnChange& change);

template <>
struct ReportFields<EqnDiff> {
    static constexpr auto fields =
        std::tuple(report_field("equation", &EqnDiff::equation, "its path in A; of `added` in B"),
                   report_field("other", &EqnDiff::other, "of `changed`: its path in B"), report_field("primitive", &EqnDiff::primitive),
                   report_field("aval", &EqnDiff::aval, "of its results"), report_field("bytes", &EqnDiff::bytes),
                   report_field("source", &EqnDiff::source), report_field("place", &EqnDiff::loc),
                   report_field("what", &EqnDiff::what, "of `changed`: what differs"));
};
template <>
struct ReportFields<FigureDiff> {
    static constexpr auto fields = std::tuple(report_field("a", &FigureDiff::a, "bytes"), report_field("b", &FigureDiff::b));
};
template <>
struct ReportFields<PathDiff> {
    static constexpr auto fields = std::tuple(report_field("path", &PathDiff::path), report_field("a", &PathDiff::a, "empty: not there"),
                                              report_field("b", &PathDiff::b));
};
template <>
struct ReportFields<ResidualsDiff> {
    static constexpr auto fields =
        std::tuple(report_field("added", &ResidualsDiff::added), report_field("removed", &ResidualsDiff::removed),
                   report_field("same", &ResidualsDiff::same, "values that both keep"));
};
template <>
struct ReportFields<DiffReport> {
    static constexpr auto fields =
        std::tuple(report_field("a", &DiffReport::a), report_field("b", &DiffReport::b), report_field("same", &DiffReport::same),
                   report_field("same_equations", &DiffReport::same_equations),
                   report_field("added", &DiffReport::added, "equations that B alone has"),
                   report_field("removed", &DiffReport::removed, "equations that A alone has"),
                   report_field("changed", &DiffReport::changed), report_field("signature", &DiffReport::signature, "inputs and outputs"),
                   report_field("donations", &DiffReport::donations, "what becomes of donated leaves"),
                   report_field("saved", &DiffReport::saved, "residuals"), report_field("memory", &DiffReport::memory, "bytes by figure"),
                   report_field("not_compared", &DiffReport::not_compared, "what one side lacks, and why"));
};

}  // namespace jaxscope
