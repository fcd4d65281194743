// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of one program side by side. In: inspections of the program under each. Out: a row each, and their table.
#include <optional>
#include <string>
#include <vector>

#include "report/json/fields.h"
#include "report/page.h"

namespace jaxscope {

class Inspection;

/// All figures are one device's.
struct LayoutRow {
    std::string layout;
    std::optional<std::int64_t> planned_peak, arguments, outputs, aliased, temporaries, sent_bytes;  ///< null: not known, or `problem`
    std::string problem;
};
LayoutRow layout_row(std::string layout, const Inspection& inspection);
/// What XLA said of the program when it was captured with --compile. None: nothing.
std::optional<LayoutRow> xla_row(const Inspection& inspection);
void layouts_section(Page& page, const std::vector<LayoutRow>& rows);

template <>
struct ReportFields<LayoutRow> {
    static constexpr auto fields =
        std::tuple(report_field("layout", &LayoutRow::layout, "its specs; what the program is captured with; XLA's own figures of that"),
                   report_field("planned_peak", &LayoutRow::planned_peak), report_field("arguments", &LayoutRow::arguments),
                   report_field("outputs", &LayoutRow::outputs), report_field("aliased", &LayoutRow::aliased),
                   report_field("temporaries", &LayoutRow::temporaries),
                   report_field("sent_bytes", &LayoutRow::sent_bytes, "by each device in one run"),
                   report_field("problem", &LayoutRow::problem, "why figures are missing"));
};

}  // namespace jaxscope
