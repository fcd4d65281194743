// SPDX-License-Identifier: Apache-2.0
#include "report/sharding/layouts.h"

#include "analysis/inspection.h"
#include "analysis/sharding/per_device.h"
#include "base/error.h"
#include "base/units.h"
#include "report/sharding/sharding_report.h"

namespace jaxscope {

LayoutRow layout_row(std::string layout, const Inspection& inspection) {
    LayoutRow row{std::move(layout)};
    try {
        const PerDevice& cut = inspection.per_device();
        if (!cut) throw Error(ErrorCode::NoRule, "figures of whole arrays alone: " + cut.why_global);
        const MemoryPlan& plan = inspection.plan();
        row.planned_peak = plan.planned_peak;
        row.arguments = plan.arguments;
        row.outputs = plan.outputs;
        row.aliased = plan.aliased;
        row.temporaries = plan.temporaries;
        row.sent_bytes = sent_bytes(*cut.program);
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        row.problem = e.fact();
    }
    return row;
}

std::optional<LayoutRow> xla_row(const Inspection& inspection) {
    const XlaFacts& x = inspection.program().xla;
    if (!x.known || x.out_of_memory || !x.arguments || !x.outputs || !x.aliased || !x.temporaries) return {};
    LayoutRow row{"as captured, by XLA"};
    row.planned_peak = *x.arguments + *x.outputs - *x.aliased + *x.temporaries;
    row.arguments = *x.arguments;
    row.outputs = *x.outputs;
    row.aliased = *x.aliased;
    row.temporaries = *x.temporaries;
    if (const auto choice = xla_choice(x)) row.sent_bytes = choice->sent_bytes;
    return row;
}

void layouts_section(Page& page, const std::vector<LayoutRow>& rows) {
    page.heading("Layouts, on each device");
    using Kind = Table::Kind;
    Table t({{"layout", Kind::Code},
             {"peak", Kind::Number, true},
             {"arguments", Kind::Number},
             {"temporaries", Kind::Number},
             {"sent", Kind::Number}});
    for (const LayoutRow& r : rows)
        t.add({r.layout, size_cell(r.planned_peak), size_cell(r.arguments), size_cell(r.temporaries), size_cell(r.sent_bytes)});
    page.table(t);
    for (const LayoutRow& r : rows)
        if (!r.problem.empty()) page.line(r.layout + ": " + r.problem);
}

}  // namespace jaxscope
