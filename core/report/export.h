// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is written for people and programs. Comes in: an Inspection. Goes out: JSON by its schema, HTML, Markdown, pages for terminals,
// SVG, PNG, PDF, dot, and the sentences that the window shows too. Never here: figures that the Inspection doesn't hold.
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/inspection.h"
#include "base/json_writer.h"
#include "picture/opened_groups.h"
#include "report/memory_report.h"
#include "report/page.h"
#include "report/profile.h"

namespace jaxscope {

struct ExportOptions {
    std::string what;         ///< of pictures: "program" or "split" (where it is empty); of csv which table, "residuals" where it is empty
    bool run = false;         ///< of reports: execute, for measured memory and time
    Depth depth;              ///< of pictures
    bool all = false;         ///< of reports for people: every row, nothing grouped
    double load_seconds = 0;  ///< what reading the program took, for the reports
};

/// The formats of `export_inspection`, as endings: "html", "json", ...
std::vector<std::string> export_formats();
/// That `format` is none of these, told as `found`.
Error unknown_format(const std::string& format, const std::string& found);
/// Which one a file's name ends in; the longest that fits (`x.perfetto.json` is no report). Empty: none.
std::string format_of_file(std::string_view name);
/// Has a format a picture, whose groups open?
bool has_picture(std::string_view format);
/// Writes one format. Reports: html, json, md. Pictures: svg, png, pdf (the last two through rsvg-convert), dot, mermaid. Text: jaxpr.
/// Tables: csv. For other tools: report/formats/formats.h.
/// Throws Error{BadUsage} for any other, Error{NotFound} where a picture's converter isn't installed.
void export_inspection(std::ostream& out, const Inspection& inspection, const std::string& format, const ExportOptions& options);

/// The picture of the program or of the split, as one SVG.
std::string inspection_svg(const Inspection& inspection, const std::string& what, Depth depth = {});

/// All stages of one inspection, as the reports show them.
struct FullReport {
    std::vector<std::string> verdict;  ///< the answer, before all tables
    MemoryReport memory;
    std::optional<TimeReport> time;
    std::optional<RunReport> run;
    std::optional<ProfileReport> profile;
    std::vector<PolicyRow> policies;
    std::vector<std::string> problems;  ///< stages that could not be had, and why
};
struct ReportRequest {
    bool run = false;
    bool large = false;  ///< run it even where that takes minutes or most of the memory
    int repeat = 3;
    double load_seconds = 0;
};
FullReport make_full_report(const Inspection& inspection, const ReportRequest& request);
/// Each command's fields under the same names.
void write_report_json(std::ostream& out, const Inspection& inspection, const FullReport& report);
/// The sections of the report on a page: a terminal's or Markdown.
void write_report_page(Page& page, const Inspection& inspection, const FullReport& report);
/// One self-contained file that opens offline.
void write_report_html(std::ostream& out, const Inspection& inspection, const FullReport& report, bool all = false, Depth depth = {});
void write_report_schema(std::ostream& out);
/// The field `outputs` of `run`: values as oracle.py has them.
void write_outputs(JsonWriter& w, const Step& step, const RunReport& report);
/// The field `sharding`, where the program has several devices.
void write_sharding(JsonWriter& w, const Inspection& inspection);

}  // namespace jaxscope
