// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "analysis/inspection.h"
#include "report/check/budget.h"
#include "report/json/fields.h"
#include "report/page.h"

namespace jaxscope {

/// Where a program doesn't keep to its budget, or what was asked about it can't be said.
struct Finding {
    std::string program;  ///< the file that was checked
    std::string rule;     ///< id of a CheckRule
    std::string level;    ///< "error" (the check fails), "warning", "note"
    std::string message;  ///< one line: what is, what may be
    std::string file;     ///< of the user's own line; the checked file where none is known
    int line = 0;         ///< from 1; 0: none is known
    std::optional<double> measured, limit;
    std::string remedy;  ///< what to do, with what it was tried to give; may be empty
};

struct CheckRule {
    const char* id;
    const char* title;
};
/// All rules that a finding may name.
std::span<const CheckRule> check_rules();
/// Those that a budget asks for.
std::vector<std::string> asked_rules(const Budget& budget);

struct CheckReport {
    bool passed = true;
    std::vector<Finding> findings;  ///< errors first, by program in the order given
    std::vector<ProgramFigures> programs;
    std::vector<std::optional<ProgramFigures>> before;  ///< what the baseline says of each; empty: there is no baseline
};

/// What one program measures, and where it isn't within its budget. Stages that can't be had are findings, too: never throws Error but
/// Error{Cancelled}.
std::vector<Finding> check_program(const Inspection& inspection, const Budget& budget, const ProgramFigures* baseline,
                                   ProgramFigures& figures);
/// What the budgets' entries and the files have to do with each other: limits that hold for no file, files that nothing is asked of.
std::vector<Finding> match_findings(const BudgetFile& budgets, const std::vector<std::string>& files,
                                    const std::vector<BudgetMatch>& matches);
/// A file that couldn't be opened.
Finding unreadable(const std::string& program, const std::string& message, const SourceLoc& loc);

using CheckWriter = void (*)(std::ostream& out, const CheckReport& report, Page& page);
/// Of "text" (which goes to the page), "json", "sarif", "junit", "markdown", "github". Throws Error{BadUsage} for others.
CheckWriter check_writer(const std::string& format);

template <>
struct ReportFields<Finding> {
    static constexpr auto fields =
        std::tuple(report_field("program", &Finding::program, "the file that was checked"), report_field("rule", &Finding::rule),
                   report_field("level", &Finding::level, "error, warning, note"), report_field("message", &Finding::message),
                   report_field("file", &Finding::file, "of the user's own line"), report_field("line", &Finding::line),
                   report_field("measured", &Finding::measured, "bytes, percent or a count, as `limit`"),
                   report_field("limit", &Finding::limit), report_field("remedy", &Finding::remedy, "what to do; what it gives was tried"));
};
template <>
struct ReportFields<ProgramFigures> {
    static constexpr auto fields = std::tuple(report_field("file", &ProgramFigures::file), report_field("name", &ProgramFigures::name),
                                              report_field("planned_peak", &ProgramFigures::planned_peak),
                                              report_field("residual_bytes", &ProgramFigures::residual_bytes),
                                              report_field("unused_donations", &ProgramFigures::unused_donations, "bytes"),
                                              report_field("recomputed_share", &ProgramFigures::recomputed_share, "percent of all work"),
                                              report_field("problem", &ProgramFigures::problem, "why a figure is missing"),
                                              report_field("threads", &ProgramFigures::threads, "that the peak is planned for"),
                                              report_field("peak_of", &ProgramFigures::peak_of, "what is planned"),
                                              report_field("rules", &ProgramFigures::rules, "what it was held to"));
};
template <>
struct ReportFields<CheckReport> {
    static constexpr auto fields =
        std::tuple(report_field("passed", &CheckReport::passed), report_field("findings", &CheckReport::findings),
                   report_field("programs", &CheckReport::programs));
};

}  // namespace jaxscope
