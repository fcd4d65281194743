// SPDX-License-Identifier: Apache-2.0
#include "report/fit/size_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "report/sections.h"

namespace jaxscope {

namespace {

Table::Cell number_cell(std::optional<std::int64_t> n) {
    return n ? Table::Cell(count_text(*n), static_cast<double>(*n)) : Table::Cell("-");
}

}  // namespace

bool SizeFitReport::fits() const {
    return std::any_of(rows.begin(), rows.end(), [](const SizeRow& r) { return r.largest.has_value(); });
}

SizeFitReport size_fit_report(SizeFit found, std::vector<std::string> axes, std::int64_t captures) {
    return {std::move(axes), found.budget, found.captured, found.multiple, std::move(found.rows), captures, found.tried};
}

namespace {
/// What several rows share is said once.
void problem_lines(Page& page, const std::vector<SizeRow>& rows) {
    std::vector<std::pair<std::string, std::vector<std::string>>> said;
    for (const SizeRow& r : rows) {
        if (r.problem.empty()) continue;
        auto at = std::find_if(said.begin(), said.end(), [&](const auto& s) { return s.first == r.problem; });
        if (at == said.end()) at = said.insert(said.end(), {r.problem, {}});
        at->second.push_back(r.policy);
    }
    for (const auto& [problem, policies] : said)
        page.line(policies.size() == rows.size() && rows.size() > 1 ? "all: " + problem
                                                                    : fmt::format("{}: {}", fmt::join(policies, ", "), problem));
}
}  // namespace

void size_fit_section(Page& page, const SizeFitReport& report) {
    page.heading(fmt::format("Largest {} within {}", fmt::join(report.axes, ", "), bytes_text(report.budget)));
    page.paragraph(fmt::format("{} as captured{}; each line was traced by Python for that size, derived and planned", report.captured,
                               report.multiple > 1 ? fmt::format(", tried in multiples of {}", report.multiple) : ""));
    Table t({{"policy", Table::Kind::Code},
             {"largest", Table::Kind::Number},
             {"planned peak", Table::Kind::Number},
             {"doesn't fit", Table::Kind::Number},
             {"planned peak", Table::Kind::Number}});
    for (const SizeRow& r : report.rows)
        t.add({r.policy, number_cell(r.largest), size_cell(r.planned_peak), number_cell(r.next), size_cell(r.next_peak)});
    page.table(t);
    problem_lines(page, report.rows);
    blocks_line(page, report.rows);
    page.line(fmt::format("{} sizes were traced, {} plans made", report.captures, report.tried));
}

}  // namespace jaxscope
