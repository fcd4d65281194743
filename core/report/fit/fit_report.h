// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `report/fit`: how a step comes to fit a budget, as data and in words. Comes in: what analysis/fit found. Goes out: JSON fields, a
// section of a page, Python to write. Never here: the search.
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/fit_budget.h"
#include "analysis/fit/fit_proof.h"
#include "report/json/fields.h"
#include "report/json/report_fields.h"
#include "report/page.h"

namespace jaxscope {

/// A value to save: a SaveCandidate as reports show it.
struct SavedRow {
    std::string name;
    bool has_name = false;
    std::string primitive, aval, source, file;
    int line = 0;
    std::int64_t bytes = 0, count = 0;
    bool offloaded = false;
};
struct FitReport {
    std::int64_t budget = 0;
    bool fits = false, as_it_is = false;
    std::string of;             ///< what the peaks are of: "the step", "value and gradient"
    std::optional<int> region;  ///< of several differentiations the one that the checkpoint stands in
    FitFigures before, found;
    std::string where;  ///< the checkpoint that the policy stands in: "around each of 6 calls of block (model.py:40)"
    std::string policy;
    std::vector<SavedRow> saved;
    std::string python;
    std::int64_t tried = 0;
    bool exhaustive = false;
    std::vector<std::string> problems;
    std::int64_t devices = 1;  ///< of several, all figures are one's
    std::optional<FitProof> proof;
};
/// What values marked by hand come to in Python.
struct ByHandReport {
    std::string where, policy;
    std::vector<SavedRow> saved;
    std::string python;
};
/// Nothing where none were marked.
std::optional<ByHandReport> by_hand_report(const Inspection& inspection);
/// The key `by_hand`, where there is something to say.
void write_by_hand(JsonWriter& w, const Inspection& inspection);
void by_hand_section(Page& page, const ByHandReport& report);

/// `program` brings the source's own lines.
FitReport fit_report(const BudgetFit& fit, const Program& program);
void fit_section(Page& page, const FitReport& fit);

template <>
struct ReportFields<FitFigures> {
    static constexpr auto fields =
        std::tuple(report_field("planned_peak", &FitFigures::planned_peak), report_field("residual_bytes", &FitFigures::residual_bytes),
                   report_field("recomputed_flops", &FitFigures::recomputed_flops), report_field("total_flops", &FitFigures::total_flops));
};
template <>
struct ReportFields<SavedRow> {
    static constexpr auto fields = std::tuple(
        report_field("name", &SavedRow::name, "for checkpoint_name"),
        report_field("has_name", &SavedRow::has_name, "the program names it already"), report_field("primitive", &SavedRow::primitive),
        report_field("aval", &SavedRow::aval), report_field("source", &SavedRow::source), report_field("file", &SavedRow::file),
        report_field("line", &SavedRow::line), report_field("bytes", &SavedRow::bytes, "of all values that the line makes"),
        report_field("count", &SavedRow::count), report_field("offloaded", &SavedRow::offloaded, "to pinned_host"));
};
template <>
struct ReportFields<ByHandReport> {
    static constexpr auto fields = std::tuple(report_field("where", &ByHandReport::where, "the checkpoint that the policy stands in"),
                                              report_field("policy", &ByHandReport::policy), report_field("saved", &ByHandReport::saved),
                                              report_field("python", &ByHandReport::python, "what to write"));
};
template <>
struct ReportFields<FitProof> {
    static constexpr auto fields =
        std::tuple(report_field("patch", &FitProof::patch, "a unified diff of the sources"),
                   report_field("problem", &FitProof::problem, "why it could not be written or captured"),
                   report_field("planned_peak", &FitProof::planned_peak), report_field("residual_bytes", &FitProof::residual_bytes),
                   report_field("measured_peak", &FitProof::measured_peak),
                   report_field("unplanned", &FitProof::unplanned, "of what was measured: the libraries' own, which no plan knows"),
                   report_field("not_measured", &FitProof::not_measured, "why not"),
                   report_field("holds", &FitProof::holds, "the planned peak is within the budget"));
};
template <>
struct ReportFields<FitReport> {
    static constexpr auto fields = std::tuple(
        report_field("budget", &FitReport::budget), report_field("fits", &FitReport::fits),
        report_field("as_it_is", &FitReport::as_it_is, "without any change"), report_field("of", &FitReport::of, "what the peaks are of"),
        report_field("region", &FitReport::region, "of several differentiations the one that the checkpoint stands in"),
        report_field("before", &FitReport::before), report_field("found", &FitReport::found), report_field("where", &FitReport::where),
        report_field("policy", &FitReport::policy), report_field("saved", &FitReport::saved),
        report_field("python", &FitReport::python, "what to write"),
        report_field("tried", &FitReport::tried, "choices that were derived and planned"),
        report_field("exhaustive", &FitReport::exhaustive, "all subsets of the candidates were"),
        report_field("problems", &FitReport::problems),
        report_field("proof", &FitReport::proof, "with --prove: the same, captured from changed copies of the sources"));
};

}  // namespace jaxscope
