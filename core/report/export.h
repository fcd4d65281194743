#pragma once
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/inspection.h"
#include "analysis/memory_report.h"

namespace jaxscope {

struct ExportOptions {
    std::string what = "split";  ///< of svg and dot: "program" or "split"
    bool run = false;            ///< of json and html: measured figures too
};

/// Writes one format: json, html, svg, dot, jaxpr. Throws Error{BadUsage} for any other.
void export_inspection(std::ostream& out, const Inspection& inspection, const std::string& format, const ExportOptions& options);

/// The picture of the program or of the split, as one SVG.
std::string inspection_svg(const Inspection& inspection, const std::string& what);

/// All stages of one inspection, as report.json and report.html show them.
struct FullReport {
    MemoryReport memory;
    std::optional<TimeReport> time;
    std::vector<PolicyRow> policies;
    std::vector<std::string> problems;  ///< stages that could not be had, and why
};
FullReport make_full_report(const Inspection& inspection, bool run, int repeat);
/// Each command's fields under the same names.
void write_report_json(std::ostream& out, const Inspection& inspection, const FullReport& report);
/// One self-contained file that opens offline.
void write_report_html(std::ostream& out, const Inspection& inspection, const FullReport& report);
void write_report_schema(std::ostream& out);

}  // namespace jaxscope
