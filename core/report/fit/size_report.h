// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which sizes of an axis fit a budget, as data and in words. Comes in: what analysis/fit found. Goes out: JSON fields, a section of a page.
#include <optional>
#include <string>
#include <vector>

#include "analysis/fit/fit_size.h"
#include "report/json/fields.h"
#include "report/json/report_fields.h"
#include "report/page.h"

namespace jaxscope {

struct SizeFitReport {
    std::vector<std::string> axes;
    std::int64_t budget = 0, captured = 0, multiple = 1;
    std::vector<SizeRow> rows;
    std::int64_t captures = 0, tried = 0;
    /// Does the program fit at any size that was tried, under any of these policies?
    bool fits() const;
};

SizeFitReport size_fit_report(SizeFit found, std::vector<std::string> axes, std::int64_t captures);
void size_fit_section(Page& page, const SizeFitReport& report);

template <>
struct ReportFields<SizeRow> {
    static constexpr auto fields =
        std::tuple(report_field("policy", &SizeRow::policy), report_field("around", &SizeRow::around, "where the checkpoints were put"),
                   report_field("largest", &SizeRow::largest, "null: no size that was tried fits"),
                   report_field("planned_peak", &SizeRow::planned_peak),
                   report_field("next", &SizeRow::next, "the next size, which was planned and doesn't fit"),
                   report_field("next_peak", &SizeRow::next_peak), report_field("problem", &SizeRow::problem, "why a figure is missing"));
};
template <>
struct ReportFields<SizeFitReport> {
    static constexpr auto fields =
        std::tuple(report_field("axes", &SizeFitReport::axes), report_field("budget", &SizeFitReport::budget),
                   report_field("captured", &SizeFitReport::captured, "the size that the program has"),
                   report_field("multiple", &SizeFitReport::multiple), report_field("rows", &SizeFitReport::rows),
                   report_field("captures", &SizeFitReport::captures, "sizes for which Python traced the program"),
                   report_field("tried", &SizeFitReport::tried, "sizes and policies that were derived and planned"));
};

}  // namespace jaxscope
